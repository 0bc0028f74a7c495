//! `top_k` against its definition: order, ties, values that are not finite, any length, type, layout and device.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::ExitCode;

use burn::tensor::{DType, Device, Tensor};
use common::devices::{CpuTest, DeviceTest, Trials, computed, tests};
use common::{integers, noise, same, tensor, uniform, values};
use firefly_ops::options::MAX_TOP_K_LENGTH;
use firefly_ops::{Peaks, WelchOptions, top_k, welch_peaks, welch_psd};
use firefly_reference::peaks;
use rayon::ThreadPoolBuilder;

fn main() -> ExitCode {
    let on_devices = tests![DeviceTest:
        the_largest_values_come_in_the_order_of_the_definition,
        the_longest_row_is_searched,
        ties_go_to_the_lower_position,
        values_that_are_not_finite_are_never_selected,
        the_largest_of_a_spectrum_are_its_peaks_to_the_bit,
        gradients_go_to_the_positions_selected,
    ];
    let on_cpu = tests![CpuTest:
        small_floats_are_searched_as_f32,
        searches_of_burn_select_values_that_are_not_finite,
        rows_do_not_depend_on_order_layout_or_threads,
        lengths_and_counts_out_of_range_are_refused,
    ];
    Trials::default().on_devices(on_devices).on_cpu(on_cpu).run()
}

/// Values of every kind: noise of both signs, few levels that tie, zeros of both signs, infinities, NaN, extremes.
fn special_values(count: usize, seed: u64) -> Vec<f64> {
    let kind = uniform(count, 0.0..1.0, seed + 1);
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::from(f32::MAX), f64::from(f32::MIN)];
    let value = |(i, (noise, kind)): (usize, (f64, f64))| match kind {
        kind if kind < 0.4 => noise,
        kind if kind < 0.8 => (4.0 * noise).round(),
        _ => special[i % special.len()],
    };
    noise(count, seed).into_iter().zip(kind).enumerate().map(value).collect()
}

fn assert_largest(label: &str, found: Peaks<2>, input: &[f64], length: usize, k: usize) {
    let (bins, power) = peaks::top_k(input, length, k);
    assert_eq!(integers(found.bins), bins, "{label}");
    let found = values(found.power);
    // −0 and 0 tie, so that either sign may stand where the definition has the other's position: compare values.
    let equal = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
    assert!(found.len() == power.len() && found.iter().zip(&power).all(equal), "{label}: {found:?}, not {power:?}");
}

fn the_largest_values_come_in_the_order_of_the_definition(device: &Device) {
    for &dtype in computed(device) {
        for length in [1, 2, 3, 5, 16, 17, 33, 64, 100, 129, 1000] {
            let input = special_values(7 * length, length as u64);
            let on_device = tensor(&input, [7, length], device, dtype);
            for k in [1, length.min(4), length.min(16), length / 2 + 1, length] {
                let label = format!("{dtype:?}, length {length}, k {k}");
                assert_largest(&label, top_k(on_device.clone(), k).unwrap(), &input, length, k);
            }
        }
    }
}

fn the_longest_row_is_searched(device: &Device) {
    let input = noise(MAX_TOP_K_LENGTH, 3);
    let row = tensor(&input, [1, MAX_TOP_K_LENGTH], device, DType::F32);
    assert_largest(&format!("{device:?}"), top_k(row, 5).unwrap(), &input, MAX_TOP_K_LENGTH, 5);
}

fn ties_go_to_the_lower_position(device: &Device) {
    let input = tensor(&[-0.0, 3.0, 0.0, 3.0, -1.0, 3.0], [1, 6], device, DType::F32);
    let Peaks { bins, power } = top_k(input, 6).unwrap();
    assert_eq!(integers(bins), [1, 3, 5, 0, 2, 4]);
    assert!(same(&values(power), &[3.0, 3.0, 3.0, -0.0, 0.0, -1.0]));
}

fn values_that_are_not_finite_are_never_selected(device: &Device) {
    let row = [f64::NAN, 1.0, f64::INFINITY, -2.0, f64::NEG_INFINITY];
    let input = tensor(&[row, [5.0; 5]].concat(), [2, 5], device, DType::F32);
    let Peaks { bins, power } = top_k(input, 4).unwrap();
    assert_eq!(integers(bins), [1, 3, -1, -1, 0, 1, 2, 3]);
    assert!(same(&values(power), &[1.0, -2.0, f64::NAN, f64::NAN, 5.0, 5.0, 5.0, 5.0]));
}

/// Why no rule rewrites Burn's searches, which also leave the order of ties open.
fn searches_of_burn_select_values_that_are_not_finite() {
    let row = [1.0, 4.0, f64::INFINITY, 4.0, f64::NAN, 2.0];
    let input: Tensor<2> = tensor(&row, [1, 6], &Device::flex(), DType::F32);
    let (power, bins) = input.clone().topk_with_indices(3, 1);
    assert!(same(&values(power), &[f64::NAN, f64::INFINITY, 4.0]));
    assert_eq!(integers(bins)[..2], [4, 2]);
    let Peaks { bins, power } = top_k(input, 3).unwrap();
    assert_eq!((values(power), integers(bins)), (vec![4.0, 4.0, 2.0], vec![1, 3, 5]));
}

fn the_largest_of_a_spectrum_are_its_peaks_to_the_bit(device: &Device) {
    for n in [8, 64, 256, 4096] {
        let options = WelchOptions::new(n, 2);
        let signal = tensor(&noise(5 * options.frame(), n as u64), [5, options.frame()], device, DType::F32);
        let window = tensor(&uniform(n, 0.1..1.0, 2), [n], device, DType::F32);
        let power = welch_psd(signal.clone(), window.clone(), &options).unwrap();
        for k in [1, 5, options.bins()] {
            let expected = welch_peaks(signal.clone(), window.clone(), &options, k).unwrap();
            let found = top_k(power.clone(), k).unwrap();
            assert_eq!((found.bins.dtype(), found.power.dtype()), (expected.bins.dtype(), DType::F32));
            assert_eq!(integers(found.bins), integers(expected.bins), "n {n}, k {k}");
            assert!(same(&values(found.power), &values(expected.power)), "n {n}, k {k}");
        }
    }
}

fn small_floats_are_searched_as_f32() {
    let device = Device::flex();
    let input = tensor(&special_values(3 * 40, 8), [3, 40], &device, DType::F32);
    for small in [DType::F16, DType::BF16] {
        let small = input.clone().cast(small);
        let [found, expected] = [small.clone(), small.cast(DType::F32)].map(|input| top_k(input, 9).unwrap());
        assert_eq!(found.power.dtype(), DType::F32);
        assert_eq!(integers(found.bins), integers(expected.bins));
        assert!(same(&values(found.power), &values(expected.power)));
    }
}

fn rows_do_not_depend_on_order_layout_or_threads() {
    const ROWS: usize = 3001;
    const LENGTH: usize = 65;
    let device = Device::flex();
    let input = special_values(ROWS * LENGTH, 5);
    let on_device = tensor(&input, [ROWS, LENGTH], &device, DType::F32);
    let run = |input: Tensor<2>| {
        let peaks = top_k(input, 6).unwrap();
        (integers(peaks.bins), values(peaks.power))
    };
    let expected = run(on_device.clone());
    let assert_same = |found: &(Vec<i64>, Vec<f64>), label: &str| {
        assert!(found.0 == expected.0 && same(&found.1, &expected.1), "{label}");
    };
    let flipped = run(on_device.clone().flip([0]));
    let rows = |found: &[i64]| found.chunks(6).rev().flatten().copied().collect::<Vec<_>>();
    assert_eq!(rows(&flipped.0), expected.0, "rows in the reverse order");
    let columns = on_device.clone().transpose();
    let columns = tensor(&values(columns), [LENGTH, ROWS], &device, DType::F32);
    assert_same(&run(columns.transpose()), "columns");
    for threads in [1, 3] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_same(&pool.install(|| run(on_device.clone())), "threads");
    }
}

fn gradients_go_to_the_positions_selected(device: &Device) {
    for device in [device.clone().autodiff(), device.clone().autodiff().gradient_checkpointing()] {
        let row = [1.0, 4.0, 2.0, 4.0, 3.0, f64::NAN, f64::INFINITY, f64::NAN];
        let input = tensor(&row, [2, 4], &device, DType::F32).require_grad();
        let weights = tensor(&[1.0, 10.0, 100.0, 2.0, 20.0, 200.0], [2, 3], &device, DType::F32);
        let power = top_k(input.clone(), 3).unwrap().power;
        // Row 0 selects positions 1, 3 and 2; row 1 position 0 alone, the others are NaN.
        let missing = power.clone().is_nan();
        let loss = (power.mask_fill(missing, 0.0) * weights).sum();
        let gradient = values(input.grad(&loss.backward()).unwrap());
        assert_eq!(gradient, [0.0, 1.0, 100.0, 10.0, 2.0, 0.0, 0.0, 0.0], "{device:?}");
    }
}

fn lengths_and_counts_out_of_range_are_refused() {
    let device = Device::flex();
    let refused = |length: usize, k: usize| {
        let error = top_k(Tensor::<2>::zeros([1, length], &device), k).err().unwrap();
        assert_eq!(error.operation, "top_k");
        (error.argument, error.got, error.expected)
    };
    let (lengths, too_long) = ("from 1 to 1048576 values per row", MAX_TOP_K_LENGTH + 1);
    assert_eq!(refused(0, 1), ("values", "0 values per row".into(), lengths.into()));
    assert_eq!(refused(too_long, 1), ("values", format!("{too_long} values per row"), lengths.into()));
    for k in [0, 6] {
        assert_eq!(refused(5, k), ("k", k.to_string(), "from 1 to the length of a row, 5".into()));
    }
    let none = top_k(Tensor::<2>::zeros([0, 5], &device), 2).unwrap();
    assert_eq!((none.bins.dims(), none.power.dims()), ([0, 2], [0, 2]));
}
