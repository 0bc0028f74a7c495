//! The learned transform beside its exact twin and a definition in float64.

use burn::tensor::{Device, Tensor};
use firefly_models::{LearnedFftConfig, SpectralFeatures};
use firefly_reference::Complex;
use firefly_reference::dft::dft;
use firefly_reference::window::{Symmetry, WindowShape, window};

use crate::common::{assert_close, samples, tensor, values};

const N_FFT: usize = 64;

/// One-sided power of each windowed row.
fn power(rows: &[f64]) -> Vec<f64> {
    let window = window(WindowShape::Hann, Symmetry::Periodic, N_FFT);
    let of_row = |row: &[f64]| -> Vec<f64> {
        let spectrum = dft(&row.iter().zip(&window).map(|(x, w)| Complex::from(x * w)).collect::<Vec<_>>());
        let sides = |bin: usize| if bin == 0 || bin == N_FFT / 2 { 1.0 } else { 2.0 };
        (0..=N_FFT / 2).map(|bin| sides(bin) * spectrum[bin].norm_sqr()).collect()
    };
    rows.chunks(N_FFT).flat_map(of_row).collect()
}

#[test]
fn an_untrained_model_and_its_twin_are_the_exact_transform() {
    let device = Device::flex();
    let rows = samples(5 * N_FFT, 3);
    let frames: Tensor<2> = tensor(&rows, [5, N_FFT], &device);
    for features in [SpectralFeatures::Power, SpectralFeatures::LogMel, SpectralFeatures::Peaks] {
        let config = LearnedFftConfig::new().with_n_fft(N_FFT).with_features(features).with_bands(8).with_k(4);
        let model = config.with_sample_rate(8_000.0).init(&device);
        let (learned, exact) = (model.forward(frames.clone(), model.hard_gates()), model.exact(frames.clone()));
        assert_eq!(learned.dims(), [5, model.config().values()]);
        let exact = values(exact);
        assert_close(&format!("{features:?}"), &values(learned), &exact, 1e-5);
        let mut expected = power(&rows);
        match features {
            SpectralFeatures::Power => {}
            SpectralFeatures::Peaks => {
                let strongest = |row: &[f64]| {
                    let mut row = row.to_vec();
                    row.sort_by(|a, b| b.total_cmp(a));
                    row[..4].to_vec()
                };
                expected = expected.chunks(N_FFT / 2 + 1).flat_map(strongest).collect();
            }
            // The bands are those of the operation, which has tests of its own.
            SpectralFeatures::LogMel => continue,
        }
        assert_close(&format!("{features:?}, exact"), &exact, &expected, 4e-6);
    }
}

#[test]
fn closed_gates_drop_butterflies() {
    let device = Device::flex();
    let model = LearnedFftConfig::new().with_n_fft(N_FFT).init(&device);
    let frames: Tensor<2> = tensor(&samples(N_FFT, 3), [1, N_FFT], &device);
    let closed = values(model.forward(frames.clone(), Tensor::zeros([6, N_FFT / 2], &device)));
    let open = values(model.forward(frames, model.hard_gates()));
    assert_ne!(closed, open);
    assert!(model.expected_open_gates().into_scalar::<f64>() <= 192.0);
}
