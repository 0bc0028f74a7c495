//! Models that work along the last dimension: tensors of any rank have the values of their rows.

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::tensor::{Device, Tensor};
use firefly_models::{
    AdaptiveWelchPeaksConfig, ButterflyConfig, LearnedFftConfig, MelClassifierConfig, SpectralDenoiserConfig,
    SpectralFeatures,
};
use firefly_ops::fft::ComplexTensor;

use crate::common::{assert_close, samples, tensor, values};

/// Leading dimensions of a batch, of six rows.
const LEADING: [usize; 2] = [2, 3];
const ROWS: usize = 6;

/// Asserts that outputs of the first row, `rank_1`, and of the batch, `rank_3`, have the values of those of the rows,
/// and that their shapes end alike.
fn assert_rows(what: &str, [rank_1, rank_2, rank_3]: [(Vec<usize>, Vec<f64>); 3]) {
    let ([_, end @ ..], rows) = (&rank_2.0[..], rank_2.1) else { panic!("{what} has no rows") };
    assert_eq!(rank_1.0, end, "{what}");
    assert_eq!(rank_3.0, [&LEADING[..], end].concat(), "{what}");
    assert_close(what, &rank_1.1, &rows[..rows.len() / ROWS], 1e-5);
    assert_close(what, &rank_3.1, &rows, 1e-5);
}

/// The outputs of `$call` on the first row, on the rows and on the batch.
macro_rules! ranks {
    ($what:expr, $rows:expr, $signal:ident => $call:expr) => {{
        let rows: &Tensor<2> = &$rows;
        let length = rows.dims()[1];
        let output = |tensor: &burn::tensor::TensorData| {
            (tensor.shape().to_vec(), tensor.clone().convert::<f64>().iter::<f64>().collect::<Vec<_>>())
        };
        let one = {
            let $signal: Tensor<1> = rows.clone().narrow(0, 0, 1).reshape([length]);
            output(&$call.into_data())
        };
        let two = {
            let $signal: Tensor<2> = rows.clone();
            output(&$call.into_data())
        };
        let three = {
            let $signal: Tensor<3> = rows.clone().reshape([LEADING[0], LEADING[1], length]);
            output(&$call.into_data())
        };
        assert_rows($what, [one, two, three]);
    }};
}

fn rows(length: usize, device: &Device) -> Tensor<2> {
    tensor(&samples(ROWS * length, 5), [ROWS, length], device)
}

#[test]
fn adaptive_peaks_are_those_of_the_rows() {
    let device = Device::flex();
    let model = AdaptiveWelchPeaksConfig::new().with_n_fft(32).with_k(6).with_rounds(vec![1, 2, 4]).init(&device);
    let rows = rows(model.options().frame(), &device);
    ranks!("bins", rows, signal => model.forward(signal).peaks.bins);
    ranks!("power", rows, signal => model.forward(signal).peaks.power);
    ranks!("segments", rows, signal => model.forward(signal).segments);
    ranks!("dense bins", rows, signal => model.forward_dense(signal).peaks.bins);
    ranks!("dense segments", rows, signal => model.forward_dense(signal).segments);
    ranks!("stops", rows, signal => model.rounds(signal).stops);
}

#[test]
fn features_of_a_learned_transform_are_those_of_the_rows() {
    let device = Device::flex();
    for features in [SpectralFeatures::Power, SpectralFeatures::LogMel, SpectralFeatures::Peaks] {
        let config = LearnedFftConfig::new().with_n_fft(32).with_features(features).with_bands(5).with_k(4);
        let (model, rows) = (config.init(&device), rows(32, &device));
        ranks!("learned", rows, signal => model.forward(signal, model.hard_gates()));
        ranks!("exact", rows, signal => model.exact(signal));
        ranks!("peaks", rows, signal => model.peaks(signal, model.hard_gates()).bins);
        ranks!("exact peaks", rows, signal => model.exact_peaks(signal).bins);
    }
}

#[test]
fn denoised_signals_masks_and_scores_are_those_of_the_rows() {
    let device = Device::flex();
    let denoiser = SpectralDenoiserConfig::new().with_n_fft(32).with_hop(8).with_hidden(4).with_layers(1).init(&device);
    let rows = rows(200, &device);
    ranks!("denoised", rows, signal => denoiser.forward(signal));
    let masks: Tensor<3> = denoiser.mask(rows.clone());
    let batch: Tensor<4> = denoiser.mask(rows.clone().reshape([LEADING[0], LEADING[1], 200]));
    assert_eq!(batch.dims()[..2], LEADING);
    assert_eq!(values(batch), values(masks));
    let config = MelClassifierConfig::new().with_sample_rate(800.0).with_n_fft(40).with_hop(16).with_bands(8);
    let classifier = config.with_channels(vec![4]).init(&device);
    ranks!("scores", rows, signal => classifier.forward(signal));
}

#[test]
fn learned_transforms_are_those_of_the_rows() {
    let device = Device::flex();
    let model = ButterflyConfig::new().with_n(16).with_extra_steps(true).init(&device);
    ranks!("real part", rows(16, &device), signal => model.forward(ComplexTensor::from(signal)).re);
    ranks!("imaginary part", rows(16, &device), signal => model.forward(ComplexTensor::from(signal)).im);
    ranks!("factor", rows(16, &device), signal => model.factors(0)[2].forward(ComplexTensor::from(signal)).im);
    ranks!("permutation", rows(16, &device), signal => model.permutation(0).forward(signal));
}

#[test]
fn a_forward_pass_panics_with_the_message_of_the_error() {
    let device = Device::flex();
    let model = LearnedFftConfig::new().with_n_fft(32).init(&device);
    let short = Tensor::<2>::zeros([1, 31], &device);
    let error = model.try_exact_peaks(short.clone()).unwrap_err().to_string();
    let panic = catch_unwind(AssertUnwindSafe(|| model.exact_peaks(short))).unwrap_err();
    assert_eq!(panic.downcast_ref::<String>(), Some(&error));
}
