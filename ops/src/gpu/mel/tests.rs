//! Limits of launches without a device; mel spectra and power of rows on the devices that are present. The public
//! functions are checked in `tests/mel.rs`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::{MelCall, check_bands, mel};
use crate::gpu::device::{DeviceLimit, GpuDevice, MAX_ELEMENTS, empty};
use crate::gpu::segments::{DeviceFrames, row_power};
use crate::gpu::tests::devices::{accelerators, noise, read, small, upload};
use crate::gpu::tests::launched::take_launched;
use crate::options::{LogGuard, LogUnit, Logarithm, MelBands, MelOptions, SignalPadding, SpectrumKind, StftOptions};

const ROWS: usize = 3;
const SAMPLES: usize = 500;
const BANDS: usize = 12;

/// Rows of samples in device memory.
fn rows(device: &GpuDevice) -> DeviceFrames {
    DeviceFrames::contiguous(upload(device, &noise(ROWS * SAMPLES, 1)), ROWS, SAMPLES)
}

/// Mel spectra of [rows].
fn spectra(device: &GpuDevice, options: &MelOptions, logarithm: Option<&Logarithm>) -> Vec<f32> {
    let window = upload(device, &noise(options.stft.n_fft, 2));
    let output = empty(&device.client, ROWS * BANDS * options.stft.frames(SAMPLES));
    mel(device, &MelCall { rows: rows(device), window: &window, options, logarithm }, &output).unwrap();
    read(device, &output)
}

/// Power of the first `n` samples of [rows], times a factor or not.
fn power(device: &GpuDevice, n: usize, is_scaled: bool) -> Vec<f32> {
    let (window, factor) = (upload(device, &noise(n, 3)), upload(device, &[0.25]));
    let output = empty(&device.client, ROWS * (n / 2 + 1));
    let is_computed = row_power(device, &rows(device), n, &window, is_scaled.then_some(&factor), &output).unwrap();
    assert!(is_computed, "{n} samples take one launch");
    read(device, &output)
}

/// Frames that are read by pairs of samples: their length, distance and padding are even.
fn paired() -> MelOptions {
    MelOptions::new(StftOptions::new(360).with_hop(100), MelBands::new(8000.0, BANDS))
}

/// Outputs of every kernel that transforms frames and sums their bands in one launch.
pub fn outputs_of_kernels(device: &GpuDevice) -> Vec<Vec<f32>> {
    let stft = StftOptions::new(45).with_hop(20).with_pad(SignalPadding::Constant(0.25));
    let single = MelOptions::new(stft, MelBands::new(8000.0, BANDS)).with_kind(SpectrumKind::Amplitude);
    let logarithm = Logarithm::new(LogUnit::Ten).with_guard(LogGuard::Offset(1e-2));
    vec![
        spectra(device, &paired(), None),
        spectra(device, &single, Some(&logarithm)),
        power(device, 60, false),
        power(device, 45, true),
    ]
}

#[test]
fn more_bands_than_a_launch_counts_are_refused() {
    for (rows, frames, bands) in [(1, 1 << 20, 1 << 11), (64, 1 << 20, 32), (1000, 1 << 15, 1 << 10)] {
        check_bands(rows, frames, bands).unwrap();
        assert!(rows.min(64) * frames * bands <= MAX_ELEMENTS, "{rows} rows");
        let error = check_bands(rows, frames, bands + 1).unwrap_err();
        assert_eq!(
            (error.limit, error.needed as usize),
            (DeviceLimit::LaunchElements, rows.min(64) * frames * (bands + 1))
        );
    }
    assert!(check_bands(usize::MAX, usize::MAX, usize::MAX).is_err());
}

#[test]
#[ignore = "needs a device; run with --include-ignored"]
fn one_launch_and_one_per_step_give_the_same() {
    for device in accelerators() {
        let is_in_one = || take_launched()[0].contains("mel_frames");
        take_launched();
        let in_one = spectra(&device, &paired(), None);
        assert!(is_in_one());
        let by_steps = spectra(&small(&device), &paired(), None);
        assert!(!is_in_one());
        let largest = in_one.iter().fold(0f32, |most, value| most.max(value.abs()));
        let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * largest;
        assert!(in_one.len() == by_steps.len() && in_one.iter().zip(&by_steps).all(close));
    }
}
