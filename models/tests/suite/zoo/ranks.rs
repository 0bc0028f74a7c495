//! Models that work along the last dimension: tensors of any rank have the values of their rows.

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::tensor::{Device, Tensor};
use firefly_models::{ButterflyConfig, MelClassifierConfig, SpectralDenoiserConfig};
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
    let model = ButterflyConfig::new().with_n(32).init(&device);
    let short = || ComplexTensor::from(Tensor::<2>::zeros([1, 31], &device));
    let error = model.try_forward(short()).unwrap_err().to_string();
    let panic = catch_unwind(AssertUnwindSafe(|| model.forward(short()))).unwrap_err();
    assert_eq!(panic.downcast_ref::<String>(), Some(&error));
}
