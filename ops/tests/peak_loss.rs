//! `peak_loss` against its definition and its differences, on every device.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::ExitCode;

use burn::tensor::{DType, Device, Tensor};
use common::devices::{CpuTest, DeviceTest, Trials, computed, tests};
use common::{tensor, uniform, values};
use firefly_ops::options::PeakLossOptions;
use firefly_ops::training::{PeakTargets, peak_loss};
use firefly_reference::peak_loss::PeakLossDefinition;

const ROWS: usize = 7;

fn main() -> ExitCode {
    let on_devices = tests![DeviceTest:
        losses_are_those_of_the_definition,
        gradients_are_differences_of_the_definition,
        no_rows_give_no_losses,
    ];
    let on_cpu = tests![CpuTest:
        ranks_of_any_number_are_rows,
        many_rows_are_those_of_small_batches,
        arguments_out_of_range_are_refused,
    ];
    Trials::default().on_devices(on_devices).on_cpu(on_cpu).run()
}

/// Rows of power over several magnitudes, and targets.
struct Case {
    bins: usize,
    options: PeakLossOptions,
    power: Vec<f64>,
    peaks: Vec<f64>,
    target_power: Vec<f64>,
    reference_power: Vec<f64>,
}

impl Case {
    fn new(rows: usize, bins: usize, options: PeakLossOptions) -> Self {
        let narrow = |value: f64| f64::from(value as f32);
        let of = |seed| uniform(rows * bins, 0.0..1.0, seed);
        let mut peaks = vec![0.0; rows * bins];
        for (row, peaks) in peaks.chunks_mut(bins).enumerate() {
            (0..options.k).for_each(|peak| peaks[(row + 3 * peak) % bins] = 1.0);
        }
        Self {
            bins,
            options,
            power: of(1).iter().map(|x| narrow((12.0 * x - 9.0).exp())).collect(),
            peaks,
            target_power: of(2).iter().map(|x| narrow((6.0 * x - 4.0).exp())).collect(),
            reference_power: uniform(rows, 0.5..2.0, 3),
        }
    }

    /// The two losses of a row for its power, with the boundary of other power, times their weights.
    fn losses(&self, row: usize, power: &[f64], ranked: &[f64]) -> [f64; 2] {
        let PeakLossOptions { k, temperature, offset, weights, .. } = self.options;
        let bins = row * self.bins..(row + 1) * self.bins;
        let (peaks, target_power) = (&self.peaks[bins.clone()], &self.target_power[bins]);
        let definition = PeakLossDefinition {
            peaks,
            target_power,
            reference_power: self.reference_power[row],
            k,
            temperature,
            offset,
        };
        let [ranking, of_power] = definition.losses(power, ranked);
        [weights[0] * ranking, weights[1] * of_power]
    }

    fn targets(&self, device: &Device, dtype: DType) -> PeakTargets<2> {
        let rows = self.reference_power.len();
        let of = |values: &[f64], width: usize| tensor(values, [rows, width], device, dtype);
        PeakTargets::new(of(&self.peaks, self.bins), of(&self.target_power, self.bins), of(&self.reference_power, 1))
    }

    fn power(&self, device: &Device, dtype: DType) -> Tensor<2> {
        tensor(&self.power, [self.reference_power.len(), self.bins], device, dtype)
    }
}

fn cases() -> Vec<Case> {
    let options = |k| PeakLossOptions::new(k);
    vec![
        Case::new(ROWS, 129, options(16).with_temperature(0.5).with_weights([2.0, 0.1])),
        Case::new(ROWS, 33, options(1).with_offset(1e-3)),
        Case::new(ROWS, 5, options(5)),
        Case::new(ROWS, 1, options(1)),
        Case::new(ROWS, 513, options(40).with_temperature(2.0)),
    ]
}

fn losses_are_those_of_the_definition(device: &Device) {
    for &dtype in computed(device) {
        let tolerance = if dtype == DType::F64 { 1e-12 } else { 5e-6 };
        for case in cases() {
            let losses = peak_loss(case.power(device, dtype), case.targets(device, dtype), &case.options).unwrap();
            assert_eq!((losses.dims(), losses.dtype()), ([ROWS, 2], dtype));
            for (row, found) in values(losses).chunks(2).enumerate() {
                let power = &case.power[row * case.bins..(row + 1) * case.bins];
                for (found, expected) in found.iter().zip(case.losses(row, power, power)) {
                    let allowed = tolerance * (1.0 + expected);
                    assert!((found - expected).abs() <= allowed, "{} bins: {found} is not {expected}", case.bins);
                }
            }
        }
    }
}

fn gradients_are_differences_of_the_definition(device: &Device) {
    let weights = [0.7, 0.3];
    let tracked = device.clone().autodiff();
    for &dtype in computed(device) {
        for case in cases() {
            let power = case.power(&tracked, dtype).require_grad();
            let losses = peak_loss(power.clone(), case.targets(&tracked, dtype), &case.options).unwrap();
            let weighted = losses * tensor(&weights, [1, 2], &tracked, dtype);
            let gradient = values(power.grad(&weighted.sum().backward()).unwrap());
            for (row, gradient) in gradient.chunks(case.bins).enumerate() {
                let power = &case.power[row * case.bins..(row + 1) * case.bins];
                for (bin, found) in gradient.iter().enumerate() {
                    let step = 1e-6 * power[bin];
                    let [above, below] = [step, -step].map(|step| {
                        let mut moved = power.to_vec();
                        moved[bin] += step;
                        let losses = case.losses(row, &moved, power);
                        weights[0] * losses[0] + weights[1] * losses[1]
                    });
                    let expected = (above - below) / (2.0 * step);
                    // Relative to what a change of the bin's logarithm does.
                    let error = (found - expected).abs() * power[bin];
                    assert!(error <= 2e-5 * (1.0 + expected.abs() * power[bin]), "{found} is not {expected}");
                }
            }
        }
    }
}

fn no_rows_give_no_losses(device: &Device) {
    let empty = |width: usize| Tensor::<2>::zeros([0, width], device);
    let targets = PeakTargets::new(empty(9), empty(9), empty(1));
    assert_eq!(peak_loss(empty(9), targets, &PeakLossOptions::new(2)).unwrap().dims(), [0, 2]);
}

fn ranks_of_any_number_are_rows() {
    let (device, case) = (Device::flex(), Case::new(6, 20, PeakLossOptions::new(3)));
    let PeakTargets { peaks, power: target_power, reference_power, .. } = case.targets(&device, DType::F32);
    let power = case.power(&device, DType::F32);
    let cubes = PeakTargets::new(
        peaks.clone().reshape([2, 3, 20]),
        target_power.clone().reshape([2, 3, 20]),
        reference_power.clone().reshape([2, 3, 1]),
    );
    let expected =
        peak_loss(power.clone(), PeakTargets::new(peaks, target_power, reference_power), &case.options).unwrap();
    let found = peak_loss(power.reshape([2, 3, 20]), cubes, &case.options).unwrap();
    assert_eq!(found.dims(), [2, 3, 2]);
    assert_eq!(values(found), values(expected));
}

fn many_rows_are_those_of_small_batches() {
    let (device, case) = (Device::flex(), Case::new(3001, 65, PeakLossOptions::new(9)));
    let PeakTargets { peaks, power: target_power, reference_power, .. } = case.targets(&device, DType::F32);
    let power = case.power(&device, DType::F32);
    let of = |rows: std::ops::Range<usize>| {
        let part = |tensor: &Tensor<2>| tensor.clone().slice([rows.clone()]);
        peak_loss(
            part(&power),
            PeakTargets::new(part(&peaks), part(&target_power), part(&reference_power)),
            &case.options,
        )
        .unwrap()
    };
    let all = values(of(0..3001));
    assert_eq!(all[2 * 1700..2 * 1703], values(of(1700..1703)));
}

fn arguments_out_of_range_are_refused() {
    let (device, case) = (Device::flex(), Case::new(2, 9, PeakLossOptions::new(3)));
    let message = |options: &PeakLossOptions, targets: PeakTargets<2>| {
        peak_loss(case.power(&device, DType::F32), targets, options).unwrap_err().to_string()
    };
    let targets = || case.targets(&device, DType::F32);
    assert!(message(&PeakLossOptions::new(10), targets()).contains("`k` is 10"));
    assert!(message(&PeakLossOptions::new(0), targets()).contains("`k` is 0"));
    assert!(message(&case.options.with_temperature(0.0), targets()).contains("`temperature` is 0"));
    assert!(message(&case.options.with_offset(f64::NAN), targets()).contains("`offset` is NaN"));
    let narrow = PeakTargets::new(targets().peaks.narrow(1, 0, 8), targets().power, targets().reference_power);
    assert!(message(&case.options, narrow).contains("`targets.peaks`"));
}
