//! Log-mel spectra and cepstral coefficients against their definitions in float64.

use std::f64::consts::PI;

use burn::tensor::{Device, Tensor};
use firefly_models::{LogMelConfig, MfccConfig};
use firefly_ops::options::{LogUnit, MelNorm, MelScale, SpectrumKind};
use firefly_reference::mel::{Log, MelDefinition, Padding, Scale};
use firefly_reference::window::{Symmetry, WindowShape, window};

use crate::common::{assert_close, samples, tensor, values};

const SAMPLES: usize = 700;

fn config() -> LogMelConfig {
    LogMelConfig::new().with_sample_rate(8_000.0).with_n_fft(100).with_hop(40).with_bands(10).with_f_min(100.0)
}

/// Bands `[bands, frames]` of one row.
fn reference(config: &LogMelConfig, row: &[f64]) -> Vec<f64> {
    let squared = config.kind == SpectrumKind::Power;
    let factor = match config.unit {
        LogUnit::Natural => 1.0,
        LogUnit::Ten => 1.0 / 10f64.ln(),
        LogUnit::Decibel => (if squared { 10.0 } else { 20.0 }) / 10f64.ln(),
    };
    let definition = MelDefinition {
        n_fft: config.n_fft,
        hop: config.hop,
        padding: Some(Padding::Reflect),
        normalized: false,
        squared,
        sample_rate: config.sample_rate,
        bands: config.bands,
        edges: [config.f_min, config.f_max.unwrap_or(config.sample_rate / 2.0)],
        scale: if config.scale == MelScale::Htk { Scale::Htk } else { Scale::Slaney },
        equal_area: config.norm == MelNorm::Slaney,
        log: Some(Log { factor, offset: 0.0, floor: config.floor }),
    };
    definition.bands(row, &window(WindowShape::Hann, Symmetry::Periodic, config.n_fft))
}

/// Every combination of scale and norm, unit, and what is summed.
fn configs() -> Vec<LogMelConfig> {
    let scales = [(MelScale::Htk, MelNorm::None), (MelScale::Slaney, MelNorm::Slaney)];
    let units = [LogUnit::Natural, LogUnit::Ten, LogUnit::Decibel];
    let kinds = [SpectrumKind::Power, SpectrumKind::Amplitude];
    let mut configs = Vec::new();
    for (scale, norm) in scales {
        for unit in units {
            configs.extend(kinds.map(|kind| {
                config().with_scale(scale).with_norm(norm).with_unit(unit).with_kind(kind).with_floor(1e-4)
            }));
        }
    }
    configs
}

#[test]
fn fixed_and_untrained_filters_are_the_definition() {
    let device = Device::flex();
    let rows = samples(2 * SAMPLES, 3);
    let signal: Tensor<2> = tensor(&rows, [2, SAMPLES], &device);
    for config in configs() {
        let expected: Vec<f64> = rows.chunks(SAMPLES).flat_map(|row| reference(&config, row)).collect();
        for learned in [false, true] {
            let model = config.clone().with_learned(learned).init(&device);
            let bands: Tensor<3> = model.forward(signal.clone());
            assert_eq!(bands.dims(), [2, 10, 1 + SAMPLES / 40]);
            assert_close(&format!("{config}, learned {learned}"), &values(bands), &expected, 2e-5);
        }
    }
}

#[test]
fn coefficients_are_the_cosine_transform_of_bands() {
    let device = Device::flex();
    let row = samples(SAMPLES, 3);
    let mel = config().with_unit(LogUnit::Decibel);
    let (bands, frames) = (mel.bands, 1 + SAMPLES / 40);
    let of_bands = reference(&mel, &row);
    let mut expected = Vec::new();
    for coefficient in 0..4 {
        let scale = (if coefficient == 0 { 1.0 } else { 2.0 } / bands as f64).sqrt();
        let angle = |band: usize| PI * coefficient as f64 * (2 * band + 1) as f64 / (2 * bands) as f64;
        expected.extend((0..frames).map(|frame| {
            (0..bands).map(|band| scale * angle(band).cos() * of_bands[band * frames + frame]).sum::<f64>()
        }));
    }
    let model = MfccConfig::new(mel).with_coefficients(4).init(&device);
    let found: Tensor<2> = model.forward(tensor(&row, [SAMPLES], &device));
    assert_eq!(found.dims(), [4, frames]);
    assert_close("coefficients", &values(found), &expected, 1e-5);
}

#[test]
fn silence_is_the_floor_and_has_finite_gradients() {
    let device = Device::flex().autodiff();
    for kind in [SpectrumKind::Power, SpectrumKind::Amplitude] {
        let model = config().with_learned(true).with_kind(kind).init(&device);
        let signal = Tensor::<2>::zeros([1, SAMPLES], &device).require_grad();
        let bands: Tensor<3> = model.forward(signal.clone());
        assert!(values(bands.clone().inner()).iter().all(|value| (value + 10.0).abs() < 1e-4));
        let gradients = bands.sum().backward();
        assert!(values(signal.grad(&gradients).unwrap()).iter().all(|value| value.is_finite()), "{kind:?}");
    }
}
