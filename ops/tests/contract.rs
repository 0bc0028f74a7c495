//! Properties of the numeric contract, for every operation on generated settings and signals.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use burn::tensor::{DType, Device, Tensor};
use common::case::{Case, Output};
use common::samples::check_samples;
use common::weights::gained_psd;
use common::{integers, same, tensor, uniform, values};
use firefly_ops::fft::ComplexTensor;
use firefly_ops::{Band, Detrend, Peaks, Scaling, WelchOptions, butterfly, welch_peaks, welch_psd};
use firefly_reference::peaks::top_k;
use proptest::prelude::*;
use rayon::ThreadPoolBuilder;

prop_compose! {
    fn any_options()(
        stages in 3u32..=7,
        segments in 1usize..=4,
        hop in 0.0..1.2,
        scaling in prop_oneof![
            Just(Scaling::Power),
            Just(Scaling::Spectrum),
            (0.5..50_000.0).prop_map(|sample_rate| Scaling::Density { sample_rate }),
        ],
        detrend in prop_oneof![Just(Detrend::None), Just(Detrend::Constant)],
        band in prop::option::of((0.0..1.0, 0.0..1.0)),
    ) -> WelchOptions {
        let n_fft = 1usize << stages;
        let hop = 1 + (hop * n_fft as f64) as usize;
        let options = WelchOptions::new(n_fft, segments).with_hop(hop).with_scaling(scaling).with_detrend(detrend);
        options.with_band(band.map(|(first, share)| {
            let first = (first * options.bins() as f64) as usize;
            Band::new(first..first + 1 + (share * (options.bins() - first) as f64) as usize)
        }))
    }
}

prop_compose! {
    fn any_case()(
        options in any_options(),
        k in 0.0..1.0,
        rows in 1usize..=9,
        extra in 0usize..=9,
        seed in 0u64..1 << 32,
    ) -> Case {
        Case { k: 1 + (k * options.searched().len() as f64) as usize, options, rows, extra, seed }
    }
}

fn any_dtype() -> impl Strategy<Value = DType> {
    prop_oneof![Just(DType::F32), Just(DType::F64)]
}

/// Checks that two runs agree to the bit.
fn assert_same(label: &str, actual: &[Output], expected: &[Output]) {
    assert_eq!(actual.len(), expected.len());
    for (actual, expected) in actual.iter().zip(expected) {
        assert_eq!((actual.length, actual.dtype), (expected.length, expected.dtype), "{}", actual.name);
        assert!(same(&actual.values, &expected.values), "{label}: {} differs", actual.name);
    }
}

/// Checks that peaks are what sorting the power of the same rows gives: strongest first, ties by the lower bin, only
/// finite power, (-1, NaN) for what is missing, and the very power of the spectrum.
fn assert_sorted(label: &str, outputs: &[Output], options: &WelchOptions, k: usize) {
    let find = |name: &str| outputs.iter().find(|output| output.name == name).unwrap();
    for operation in ["welch_", "gained_"] {
        let power = find(&format!("{operation}psd"));
        let searched = options.searched();
        let in_band: Vec<f64> =
            power.values.chunks(power.length).flat_map(|row| &row[searched.clone()]).copied().collect();
        let (bins, peaks) = top_k(&in_band, searched.len(), k);
        let whole = |bin: i64| if bin < 0 { bin as f64 } else { (bin + searched.start as i64) as f64 };
        let bins: Vec<f64> = bins.into_iter().map(whole).collect();
        let found = (find(&format!("bins of {operation}peaks")), find(&format!("power of {operation}peaks")));
        assert!(same(&found.0.values, &bins), "{label}, {operation}: bins {:?}, not {bins:?}", found.0.values);
        assert!(same(&found.1.values, &peaks), "{label}, {operation}: power {:?}, not {peaks:?}", found.1.values);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn peaks_are_the_sorted_spectrum(case in any_case(), dtype in any_dtype()) {
        assert_sorted("noise", &case.outputs(case.signal(&case.samples(), dtype)), &case.options, case.k);
    }

    /// Few levels and many zeros: powers that are equal to the bit.
    #[test]
    fn equal_powers_go_to_the_lower_bin(case in any_case(), dtype in any_dtype(), zeros in 0.0..1.0) {
        let chance = uniform(case.rows * case.frame(), 0.0..1.0, case.seed + 9);
        let level = |(x, chance): (&f64, f64)| if chance < zeros { 0.0 } else { x.signum() };
        let samples: Vec<f64> = case.samples().iter().zip(chance).map(level).collect();
        assert_sorted("levels", &case.outputs(case.signal(&samples, dtype)), &case.options, case.k);
    }

    #[test]
    fn a_row_that_is_not_finite_changes_no_other(
        case in any_case(),
        dtype in any_dtype(),
        row in 0usize..9,
        sample in 0.0..1.0,
        poison in prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e25, f64::MAX]),
    ) {
        let mut samples = case.samples();
        let clean = case.outputs(case.signal(&samples, dtype));
        let (frame, row) = (case.frame(), row % case.rows);
        samples[row * frame + (sample * frame as f64) as usize] = poison;
        let spoilt = case.outputs(case.signal(&samples, dtype));
        for (spoilt, clean) in spoilt.iter().zip(&clean) {
            for other in (0..case.rows).filter(|&other| other != row) {
                prop_assert!(same(spoilt.row(other), clean.row(other)), "{}: row {} differs", clean.name, other);
            }
        }
        assert_sorted("spoilt", &spoilt, &case.options, case.k);
    }

    #[test]
    fn permuting_rows_permutes_results(case in any_case(), dtype in any_dtype(), shift in 0usize..9) {
        // Reversed and rotated, so that rows meet other neighbours.
        let order: Vec<usize> = (0..case.rows).rev().map(|row| (row + shift) % case.rows).collect();
        let samples = case.samples();
        let permuted: Vec<f64> =
            order.iter().flat_map(|&row| &samples[row * case.frame()..][..case.frame()]).copied().collect();
        let expected = case.outputs(case.signal(&samples, dtype));
        for (output, expected) in case.outputs(case.signal(&permuted, dtype)).iter().zip(&expected) {
            for (place, &row) in order.iter().enumerate() {
                prop_assert!(same(output.row(place), expected.row(row)), "{}: row {}", output.name, row);
            }
        }
    }

    #[test]
    fn a_row_does_not_depend_on_its_batch(case in any_case(), dtype in any_dtype()) {
        let samples = case.samples();
        let together = case.outputs(case.signal(&samples, dtype));
        for (row, frame) in samples.chunks(case.frame()).enumerate() {
            for (alone, together) in case.outputs(case.signal(frame, dtype)).iter().zip(&together) {
                prop_assert!(same(&alone.values, together.row(row)), "{}: row {}", alone.name, row);
            }
        }
    }

    #[test]
    fn a_power_of_two_scales_exactly(case in any_case(), dtype in any_dtype(), exponent in -10i32..=10) {
        let factor = 2f64.powi(exponent);
        let scaled: Vec<f64> = case.samples().iter().map(|x| x * factor).collect();
        let expected = case.outputs(case.signal(&case.samples(), dtype));
        for (output, expected) in case.outputs(case.signal(&scaled, dtype)).iter().zip(expected) {
            let by = factor.powi(expected.degree);
            let scaled: Vec<f64> = expected.values.iter().map(|value| value * by).collect();
            prop_assert!(same(&output.values, &scaled), "{} scaled by {}", output.name, factor);
        }
    }

    #[test]
    fn samples_past_the_last_segment_are_ignored(case in any_case(), dtype in any_dtype(), tail in 1usize..300) {
        let expected = case.outputs(case.signal(&case.samples(), dtype));
        let longer = Case { extra: case.extra + tail, ..case.clone() };
        let samples: Vec<f64> = case.samples().chunks(case.frame())
            .flat_map(|frame| frame[..case.options.frame()].iter().copied()
                .chain(std::iter::repeat_n(f64::NAN, case.extra + tail)))
            .collect();
        assert_same("a longer frame", &longer.outputs(longer.signal(&samples, dtype)), &expected);
    }

    #[test]
    fn the_layout_of_a_signal_makes_no_difference(case in any_case(), dtype in any_dtype()) {
        let (rows, frame, device) = (case.rows, case.frame(), Device::flex());
        let signal = case.signal(&case.samples(), dtype);
        let expected = case.outputs(signal.clone());
        let columns: Vec<f64> =
            (0..frame).flat_map(|i| case.samples().chunks(frame).map(|row| row[i]).collect::<Vec<_>>()).collect();
        let transposed = tensor(&columns, [frame, rows], &device, dtype).transpose();
        assert_same("transposed", &case.outputs(transposed), &expected);

        let wide = Tensor::<2>::full([rows + 2, frame + 5], f64::NAN, (&device, dtype));
        let sliced = wide.slice_assign([1..rows + 1, 3..frame + 3], signal.clone()).slice([1..rows + 1, 3..frame + 3]);
        assert_same("sliced", &case.outputs(sliced), &expected);

        let flipped = signal.flip([0, 1]).flip([0, 1]);
        assert_same("flipped twice", &case.outputs(flipped), &expected);

        let one = tensor(&case.samples()[..frame], [1, frame], &device, dtype);
        let repeated = case.outputs(one.clone().repeat(&[rows, 1]));
        assert_same("broadcast", &case.outputs(one.expand([rows, frame])), &repeated);
    }

    #[test]
    fn small_floats_compute_in_f32(case in any_case()) {
        let signal = case.signal(&case.samples(), DType::F32);
        for small in [DType::F16, DType::BF16] {
            let small = signal.clone().cast(small);
            let outputs = case.outputs(small.clone());
            for output in outputs.iter().filter(|output| output.degree > 0) {
                prop_assert_eq!(output.dtype, DType::F32, "{}", output.name);
            }
            assert_same("a small float", &outputs, &case.outputs(small.cast(DType::F32)));
        }
    }

    #[test]
    fn doubles_compute_in_f64(case in any_case()) {
        let single = case.outputs(case.signal(&case.samples(), DType::F32));
        let double = case.outputs(case.signal(&case.samples(), DType::F64));
        for (single, double) in single.iter().zip(&double).filter(|(single, _)| single.degree > 0) {
            prop_assert_eq!((single.dtype, double.dtype), (DType::F32, DType::F64), "{}", single.name);
            prop_assert!(!same(&single.values, &double.values), "{} has no more than f32", single.name);
        }
    }

    /// The type that parameters are stored in makes no difference beyond their own rounding.
    #[test]
    fn parameters_of_any_float_meet_any_signal(case in any_case(), dtype in any_dtype()) {
        let (options, device) = (&case.options, Device::flex());
        let signal = case.signal(&case.samples(), dtype);
        let weights = case.weights().rounded();
        let [single, double] = [DType::F32, DType::F64].map(|parameters| {
            let parameters = weights.tensors(options, &device, parameters);
            let exact = welch_psd(signal.clone(), parameters.window.clone(), options).unwrap();
            [exact, gained_psd(signal.clone(), &parameters, options).unwrap()].map(values)
        });
        prop_assert!(same(&single[0], &double[0]) && same(&single[1], &double[1]));
    }
}

fn case(options: WelchOptions, rows: usize, k: usize) -> Case {
    Case { options, k, rows, extra: 0, seed: 5 }
}

fn ones(n: usize) -> Tensor<1> {
    Tensor::ones([n], &Device::flex())
}

#[test]
fn an_impulse_ties_all_interior_bins() {
    let options = WelchOptions::new(8, 1);
    let signal = tensor(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [1, 8], &Device::flex(), DType::F32);
    let Peaks { bins, power } = welch_peaks(signal, ones(8), &options, 5).unwrap();
    assert_eq!(integers(bins), [1, 2, 3, 0, 4]);
    assert_eq!(values(power), [2.0, 2.0, 2.0, 1.0, 1.0]);
}

#[test]
fn silence_has_the_lowest_bins() {
    let options = WelchOptions::new(64, 3).with_detrend(Detrend::Constant);
    let case = case(options, 2, 33);
    let outputs = case.outputs(case.signal(&vec![0.0; 2 * case.frame()], DType::F32));
    assert_sorted("silence", &outputs, &options, 33);
    let bins = outputs.iter().find(|output| output.name == "bins of welch_peaks").unwrap();
    assert_eq!(bins.row(1), (0..33).map(f64::from).collect::<Vec<_>>());
}

#[test]
fn a_row_of_nan_has_no_peaks() {
    let case = case(WelchOptions::new(16, 2), 3, 4);
    let mut samples = case.samples();
    samples[case.frame() + 9] = f64::NAN;
    let outputs = case.outputs(case.signal(&samples, DType::F32));
    for output in outputs.iter().filter(|output| output.name.contains("peaks")) {
        let missing = if output.degree == 0 { -1.0 } else { f64::NAN };
        assert!(same(output.row(1), &[missing; 4]), "{}: {:?}", output.name, output.row(1));
        assert!([0, 2].iter().all(|&row| output.row(row).iter().all(|value| *value >= 0.0)), "{}", output.name);
    }
}

/// A tone so loud that its bin overflows, while the others stay finite.
#[test]
fn a_bin_that_overflows_is_left_out() {
    let (n, bins) = (64, 33);
    let tone: Vec<f64> = (0..n).map(|i| 1e18 * (std::f64::consts::TAU * 5.0 * i as f64 / n as f64).cos()).collect();
    let options = WelchOptions::new(n, 1);
    let signal = || tensor(&tone, [1, n], &Device::flex(), DType::F32);
    let power = values(welch_psd(signal(), ones(n), &options).unwrap());
    assert_eq!(power.iter().filter(|power| power.is_finite()).count(), bins - 1);
    assert_eq!(power[5], f64::INFINITY);
    let peaks = welch_peaks(signal(), ones(n), &options, bins).unwrap();
    let (found, strength) = (integers(peaks.bins), values(peaks.power));
    assert!(!found.contains(&5));
    assert_eq!(found[bins - 1], -1);
    assert!(strength[bins - 1].is_nan() && strength[..bins - 1].iter().all(|power| power.is_finite()));
}

#[test]
fn any_number_of_peaks_is_a_prefix_of_all() {
    let all = case(WelchOptions::new(32, 2), 3, 17);
    let expected = all.outputs(all.signal(&all.samples(), DType::F32));
    for k in 1..=17 {
        let some = Case { k, ..all.clone() };
        let outputs = some.outputs(some.signal(&some.samples(), DType::F32));
        for (output, expected) in outputs.iter().zip(&expected).filter(|(output, _)| output.name.contains("peaks")) {
            assert_eq!(output.length, k);
            assert!((0..3).all(|row| same(output.row(row), &expected.row(row)[..k])), "{}: k {k}", output.name);
        }
    }
}

#[test]
fn no_rows_give_no_rows() {
    let (case, device) = (case(WelchOptions::new(16, 2), 0, 3), Device::flex());
    let empty = |length: usize, device: &Device| Tensor::<2>::zeros([0, length], device);
    for output in case.outputs(empty(case.frame(), &device)) {
        assert_eq!(output.values.len(), 0, "{}", output.name);
    }
    let peaks = welch_peaks(empty(case.frame(), &device), ones(16), &case.options, 3).unwrap();
    assert_eq!((peaks.bins.dims(), peaks.power.dims()), ([0, 3], [0, 3]));

    // Nothing to learn from: gradients of zero.
    let device = device.autodiff();
    let mut parameters = case.weights().tensors(&case.options, &device, DType::F32);
    parameters.gain = parameters.gain.require_grad();
    let gain = parameters.gain.clone();
    let power = gained_psd(empty(case.frame(), &device), &parameters, &case.options).unwrap();
    let gradient = values(gain.grad(&power.sum().backward()).unwrap());
    assert_eq!(gradient, vec![0.0; 3 * 9]);
}

/// Every operation and its gradients with enough rows to be shared out.
fn on_threads(threads: usize, options: WelchOptions, rows: usize) -> Vec<Vec<f64>> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let case = case(options, rows, 5);
        let samples = case.samples();
        let mut results: Vec<Vec<f64>> =
            case.outputs(case.signal(&samples, DType::F32)).into_iter().map(|output| output.values).collect();
        let device = Device::flex().autodiff();
        let signal = tensor(&samples, [rows, case.frame()], &device, DType::F32).require_grad();
        let mut parameters = case.weights().tensors(&options, &device, DType::F32);
        parameters.window = parameters.window.require_grad();
        parameters.twiddles = parameters.twiddles.require_grad();
        parameters.gates = parameters.gates.require_grad();
        parameters.gain = parameters.gain.require_grad();
        let gain = parameters.gain.clone();
        let (window, twiddles, gates) =
            (parameters.window.clone(), parameters.twiddles.clone(), parameters.gates.clone());
        let re = signal.clone().narrow(1, 0, options.n_fft);
        let rows = ComplexTensor::new(re.clone(), re);
        let ComplexTensor { re, im } = butterfly(rows, twiddles.clone(), Some(gates.clone())).unwrap();
        let exact = welch_psd(signal.clone(), window.clone(), &options).unwrap();
        let gained = gained_psd(signal.clone(), &parameters, &options).unwrap();
        for loss in [re.sum() + im.sum(), exact.sum(), gained.log().sum()] {
            let gradients = loss.backward();
            results.extend(signal.grad(&gradients).map(values));
            results.extend(window.grad(&gradients).map(values));
            results.extend(twiddles.grad(&gradients).map(values));
            results.extend(gates.grad(&gradients).map(values));
            results.extend(gain.grad(&gradients).map(values));
        }
        assert_eq!(results.len(), 10 + 3 + 2 + 3);
        results
    })
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    for (options, rows) in
        [(WelchOptions::new(8, 3), 4099), (WelchOptions::new(256, 2), 201), (WelchOptions::new(4096, 2), 13)]
    {
        let one = on_threads(1, options, rows);
        for threads in [2, 3] {
            let more = on_threads(threads, options, rows);
            assert!(one.iter().zip(&more).all(|(one, more)| same(one, more)), "{threads} threads, {options:?}");
        }
    }
}

#[test]
fn samples_of_any_type_are_read_as_they_are() {
    check_samples(&Device::flex());
}
