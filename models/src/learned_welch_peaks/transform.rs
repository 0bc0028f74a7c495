//! Learned transform of a model's segments: butterflies with twiddles and gates of their own, composed of operations.

use burn::module::{Module, Param};
use burn::tensor::{Device, FloatDType, Tensor};
use firefly_ops::{ArgumentError, Detrend, Direction, Scaling, WelchOptions, WelchWeights, butterfly, exact_twiddles};

/// Twiddles and gates of a butterfly transform that are parameters of a model.
///
/// Such a transform takes several times as long as the exact one: each step is an operation of its own, and no two
/// segments share a transform.
#[derive(Module, Debug)]
pub struct LearnedTransform {
    /// Twiddle factors, real part first, `[log2 n_fft, n_fft/2, 2]`.
    pub twiddles: Param<Tensor<3>>,
    /// Logits of the butterflies' gates, `[log2 n_fft, n_fft/2]`.
    pub gate_logits: Param<Tensor<2>>,
}

impl LearnedTransform {
    /// The untrained transform: exact twiddles, and gates with the logit `open_logit`.
    pub(super) fn new(options: &WelchOptions, open_logit: f64, device: &Device) -> Result<Self, ArgumentError> {
        let shape = [options.stages(), options.n_fft / 2];
        let twiddles = exact_twiddles(options.n_fft, Direction::Forward, FloatDType::F32, device)?;
        Ok(Self {
            twiddles: Param::from_tensor(twiddles),
            gate_logits: Param::from_tensor(Tensor::full(shape, open_logit, device)),
        })
    }
}

/// Twiddles `[log2 n, n/2, 2]` and gates `[log2 n, n/2]` of a transform.
#[derive(Debug, Clone)]
pub(super) struct Butterflies {
    pub twiddles: Tensor<3>,
    pub gates: Tensor<2>,
}

/// Power `[rows, bins]` of frames `[rows, frame]`: every segment through gated butterflies, then the sum over segments
/// with `segment_weights` `[segments]`, and the gain.
pub(super) fn power_by_butterflies(
    signal: Tensor<2>,
    weights: &WelchWeights,
    segment_weights: &Tensor<1>,
    butterflies: &Butterflies,
    options: &WelchOptions,
) -> Result<Tensor<2>, ArgumentError> {
    let WelchOptions { n_fft, segments, .. } = *options;
    let ([rows, _], bins) = (signal.dims(), options.bins());
    // Detrending and the window, a row per segment.
    let mut samples = segments_of_rows(signal, options).reshape([rows * segments, n_fft]);
    if options.detrend == Detrend::Constant {
        samples = samples.clone() - samples.mean_dim(1);
    }
    let samples = samples * weights.window.clone().unsqueeze::<2>();
    let zeros = Tensor::zeros(samples.dims(), (&samples.device(), samples.dtype()));
    let Butterflies { twiddles, gates } = butterflies.clone();
    let (re, im) = butterfly(samples, zeros, twiddles, Some(gates))?;
    let [re, im] = [re, im].map(|part| part.narrow(1, 0, bins));
    // The weighted sum over segments, scaled.
    let scale = scale_of(&weights.window, options.scaling);
    let sum = |terms: Tensor<2>| -> Tensor<2> {
        let [_, length] = terms.dims();
        let terms: Tensor<3> = terms.reshape([rows, segments, length]);
        let sum: Tensor<2> = (terms * segment_weights.clone().reshape([1, segments, 1])).sum_dim(1).squeeze_dim(1);
        sum * scale.clone().unsqueeze::<2>()
    };
    // Interior bins count twice.
    let [inner_re, inner_im] = [&re, &im].map(|part| part.clone().narrow(1, 1, bins - 2));
    let squares = |re: Tensor<2>, im: Tensor<2>| re.powi_scalar(2) + im.powi_scalar(2);
    let ends = |at: usize| squares(re.clone().narrow(1, at, 1), im.clone().narrow(1, at, 1));
    let power = sum(Tensor::cat(vec![ends(0), squares(inner_re, inner_im) * 2.0, ends(bins - 1)], 1));
    let Some(gain) = &weights.gain else { return Ok(power) };
    // The gain, the spectrum mirrored at its ends.
    let [_, taps] = gain.dims();
    let tap = |at: usize| -> Tensor<2> { gain.clone().narrow(1, at, 1).transpose() };
    let at = |values: &Tensor<2>, first: usize, length: usize| values.clone().narrow(1, first, length);
    let below = Tensor::cat(vec![at(&power, 1, 1), at(&power, 0, bins - 1)], 1);
    let above = Tensor::cat(vec![at(&power, 1, bins - 1), at(&power, bins - 2, 1)], 1);
    let gained = below * tap(0) + power * tap(1) + above * tap(2);
    if taps == 3 {
        return Ok(gained);
    }
    let shifted = |part: &Tensor<2>, first: usize| part.clone().narrow(1, first, bins - 1);
    let products = sum((shifted(&re, 0) * shifted(&re, 1) + shifted(&im, 0) * shifted(&im, 1)) * 2.0);
    let below = Tensor::cat(vec![at(&products, 0, 1), products.clone()], 1);
    let above = Tensor::cat(vec![products.clone(), at(&products, bins - 2, 1)], 1);
    Ok(gained + below * tap(3) + above * tap(4))
}

/// The segments of frames `[rows, frame]`, `[rows, segments, n_fft]`.
pub(super) fn segments_of_rows(signal: Tensor<2>, options: &WelchOptions) -> Tensor<3> {
    signal.narrow(1, 0, options.frame()).unfold(1, options.n_fft, options.hop)
}

/// Factor of the scaling, `[1]`.
fn scale_of(window: &Tensor<1>, scaling: Scaling) -> Tensor<1> {
    match scaling {
        Scaling::Power => Tensor::ones([1], (&window.device(), window.dtype())),
        Scaling::Spectrum => window.clone().sum().powi_scalar(2).recip(),
        Scaling::Density { sample_rate } => (window.clone().powi_scalar(2).sum() * sample_rate).recip(),
    }
}
