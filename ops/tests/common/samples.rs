//! Signals whose samples are not f32: results have the bits of the converted signal.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "a test says what it ran on")]

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use firefly_ops::from_host::{HostPeaks, HostSample, host_chunks, welch_peaks_from_host};
use firefly_ops::options::{LogUnit, Logarithm, MelBands, SegmentSet};
use firefly_ops::{
    Detrend, MelOptions, PowerSpectrumOptions, Scaling, StftOptions, WelchOptions, log_mel, power_spectrum,
    welch_peaks, welch_psd,
};

use super::{integers, noise, same, values};

const ROWS: usize = 5;

/// Integers over the range of a type, of 24 bits at most, so that f32 holds them.
fn numbers(count: usize, dtype: DType) -> Vec<i64> {
    let (low, high) = match dtype {
        DType::I8 => (-128, 127),
        DType::U8 => (0, 255),
        DType::I16 => (-32_768, 32_767),
        DType::U16 => (0, 65_535),
        _ => (-8_388_608, 8_388_607),
    };
    let scaled = |value: f64| low + ((value + 1.0) * 0.5 * (high - low) as f64).round() as i64;
    noise(count, 11).into_iter().map(scaled).collect()
}

/// A signal of integers, and the same in f32.
fn signals<const D: usize>(shape: [usize; D], device: &Device, dtype: DType) -> (Tensor<D, Int>, Tensor<D>) {
    let data = TensorData::new(numbers(shape.iter().product(), dtype), shape);
    let floats = Tensor::from_data(data.clone().convert::<f32>(), (device, DType::F32));
    (Tensor::from_data(data.convert_dtype(dtype), (device, dtype)), floats)
}

/// The estimates: in one launch and by steps, with overlapping and separate, all and chosen segments.
fn estimates() -> Vec<WelchOptions> {
    let some = WelchOptions::new(64, 4).with_hop(16).with_chosen(Some(SegmentSet::new([0, 1, 3]).unwrap()));
    vec![
        WelchOptions::new(8, 3).with_hop(5),
        WelchOptions::new(16, 1).with_detrend(Detrend::Constant),
        WelchOptions::new(64, 3).with_hop(70).with_scaling(Scaling::Density { sample_rate: 2.5 }),
        WelchOptions::new(256, 2),
        WelchOptions::new(2048, 2),
        WelchOptions::new(100, 2).with_detrend(Detrend::Constant),
        some,
        some.with_chosen(Some(SegmentSet::new([1, 3]).unwrap())),
    ]
}

/// Compares every operation that reads samples of any type on one device.
pub fn check_samples(device: &Device) {
    let types = [DType::I8, DType::U8, DType::I16, DType::U16, DType::I32];
    let types: Vec<_> = types.into_iter().filter(|dtype| device.supports_dtype(*dtype)).collect();
    println!("types of samples: {types:?}");
    for dtype in types {
        for options in estimates() {
            let frame = options.frame() + 3;
            let (integers, floats) = signals([ROWS, frame], device, dtype);
            compare(integers.clone(), floats.clone(), &options, dtype);
            // Rows that start within a word, an odd number of samples apart.
            let (rows, samples) = (1..ROWS, 1..frame - 1);
            let slices = [rows, samples];
            compare(integers.slice(slices.clone()), floats.slice(slices), &options, dtype);
        }
        let (integers, floats) = signals([2, 1501], device, dtype);
        for (n_fft, hop, center) in [(400, 160, true), (255, 60, false), (512, 128, true)] {
            let stft = StftOptions::new(n_fft).with_hop(hop).with_center(center);
            let options = MelOptions::new(stft, MelBands::new(16_000.0, 20));
            let window = || Tensor::ones([n_fft], device);
            let logarithm = Logarithm::new(LogUnit::Ten);
            let found = log_mel::<2, 3, _>(integers.clone(), window(), &options, &logarithm).unwrap();
            let expected = log_mel::<2, 3, _>(floats.clone(), window(), &options, &logarithm).unwrap();
            assert!(same(&values(found), &values(expected)), "{dtype:?}: mel of {n_fft}");
        }
        let options = PowerSpectrumOptions::new().with_scaling(Scaling::Spectrum);
        let [found, expected] =
            [power_spectrum(integers, None, &options).unwrap(), power_spectrum(floats, None, &options).unwrap()];
        assert!(same(&values(found), &values(expected)), "{dtype:?}: power spectrum");
    }
    let options = WelchOptions::new(64, 2);
    let samples = numbers(ROWS * options.frame(), DType::I16);
    let narrow: Vec<i16> = samples.iter().map(|&sample| sample as i16).collect();
    let floats: Vec<f32> = samples.iter().map(|&sample| sample as f32).collect();
    assert_eq!(of_host(&narrow, &options, device), of_host(&floats, &options, device));
}

fn of_host<S: HostSample>(samples: &[S], options: &WelchOptions, device: &Device) -> HostPeaks {
    let chunks = host_chunks(samples, options.frame(), device).unwrap();
    welch_peaks_from_host(chunks, Tensor::ones([options.n_fft], device), options, 4).unwrap()
}

fn compare(signal: Tensor<2, Int>, floats: Tensor<2>, options: &WelchOptions, dtype: DType) {
    let device = floats.device();
    let window = || Tensor::<1>::ones([options.n_fft], &device);
    let label = format!("{dtype:?}: n_fft {}, {} segments", options.n_fft, options.segments);
    let [found, expected] =
        [welch_psd(signal.clone(), window(), options).unwrap(), welch_psd(floats.clone(), window(), options).unwrap()];
    assert!(same(&values(found), &values(expected)), "{label}: power");
    let [found, expected] =
        [welch_peaks(signal, window(), options, 4).unwrap(), welch_peaks(floats, window(), options, 4).unwrap()];
    assert_eq!(integers(found.bins), integers(expected.bins), "{label}: bins");
    assert!(same(&values(found.power), &values(expected.power)), "{label}: power of peaks");
}
