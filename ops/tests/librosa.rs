//! Mel filters and spectra of librosa, which `fixtures/make_mel.py` stores.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use burn::tensor::{DType, Device, FloatDType, Tensor};
use common::{tensor, values};
use firefly_ops::options::{
    LogGuard, LogUnit, Logarithm, MelBands, MelNorm, MelScale, SignalPadding, SpectrumKind, mel_filters,
};
use firefly_ops::{MelOptions, StftOptions, Window, WindowSymmetry, log_mel, mel};
use serde::Deserialize;

/// A case of `fixtures/mel.json`.
#[derive(Deserialize)]
struct FilterCase {
    sample_rate: f64,
    n_fft: usize,
    count: usize,
    f_min: f64,
    f_max: Option<f64>,
    htk: bool,
    slaney_norm: bool,
    /// Of each band, the first bin and the weights from there on.
    filters: Vec<(usize, Vec<f64>)>,
}

#[test]
fn filters_are_those_of_librosa() {
    let fixtures: Vec<FilterCase> = serde_json::from_str(include_str!("fixtures/mel.json")).unwrap();
    assert_eq!(fixtures.len(), 6);
    for case in fixtures {
        let scale = if case.htk { MelScale::Htk } else { MelScale::Slaney };
        let norm = if case.slaney_norm { MelNorm::Slaney } else { MelNorm::None };
        let bands =
            MelBands::new(case.sample_rate, case.count).with_f_min(case.f_min).with_scale(scale).with_norm(norm);
        let bands = case.f_max.map_or(bands, |f_max| bands.with_f_max(f_max));
        let found = mel_filters(case.n_fft, &bands).unwrap();
        assert_eq!(found.len(), case.count);
        for (found, (first, weights)) in found.iter().zip(&case.filters) {
            let mut expected = vec![0.0; case.n_fft / 2 + 1];
            expected[*first..first + weights.len()].copy_from_slice(weights);
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-12, "{bands:?}: {found} is not {expected}");
            }
        }
    }
}

/// A case of `fixtures/mel_spectra.json`.
#[derive(Deserialize)]
struct SpectraCase {
    n_fft: usize,
    hop: usize,
    window_length: usize,
    center: bool,
    pad: String,
    power: f64,
    count: usize,
    htk: bool,
    decibels: bool,
    signal: Vec<f64>,
    frames: usize,
    bands: Vec<f64>,
}

impl SpectraCase {
    fn options(&self) -> MelOptions {
        let pad = match self.pad.as_str() {
            "reflect" => SignalPadding::Reflect,
            "edge" => SignalPadding::Edge,
            "constant" => SignalPadding::Constant(0.0),
            other => panic!("no padding is called {other}"),
        };
        let stft = StftOptions::new(self.n_fft).with_hop(self.hop).with_window_length(self.window_length);
        let scale = if self.htk { MelScale::Htk } else { MelScale::Slaney };
        let kind = if self.power == 2.0 { SpectrumKind::Power } else { SpectrumKind::Amplitude };
        let bands = MelBands::new(8000.0, self.count).with_scale(scale);
        MelOptions::new(stft.with_center(self.center).with_pad(pad), bands).with_kind(kind)
    }
}

#[test]
fn spectra_are_those_of_librosa() {
    let fixtures: Vec<SpectraCase> = serde_json::from_str(include_str!("fixtures/mel_spectra.json")).unwrap();
    assert_eq!(fixtures.len(), 4);
    let device = Device::flex();
    for case in fixtures {
        let (options, samples) = (case.options(), case.signal.len());
        let window = Window::Hann.tensor(case.window_length, WindowSymmetry::Periodic, FloatDType::F64, &device);
        let signal = tensor::<1>(&case.signal, [samples], &device, DType::F64);
        let floor = if options.kind == SpectrumKind::Power { 1e-10 } else { 1e-5 };
        let logarithm = Logarithm::new(LogUnit::Decibel).with_guard(LogGuard::Floor(floor));
        let bands: Tensor<2> = if case.decibels {
            log_mel(signal, window, &options, &logarithm).unwrap()
        } else {
            mel(signal, window, &options).unwrap()
        };
        assert_eq!(bands.dims(), [case.count, case.frames]);
        for (found, expected) in values(bands).into_iter().zip(case.bands) {
            assert!(
                (found - expected).abs() <= 1e-10 * (1.0 + expected.abs()),
                "{options:?}: {found} is not {expected}"
            );
        }
    }
}
