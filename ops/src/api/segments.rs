//! Segments of rows as tensors, for estimates that are composed of other operations.

use burn::tensor::{Int, Tensor, TensorData};

use super::fft::{ComplexTensor, frames, rfft};
use super::peaks::top_k;
use super::trend::detrended;
use crate::error::Result;
use crate::options::{Average, Scaling, WelchOptions};

/// The segments of rows `[rows, frame]` that an estimate averages, without their trend: `[rows, segments, n_fft]`.
pub(super) fn segments(rows: Tensor<2>, options: &WelchOptions) -> Result<Tensor<3>> {
    let whole: Tensor<3> = frames(rows.narrow(1, 0, options.frame()), options.n_fft, options.hop)?;
    let whole = match options.chosen {
        Some(chosen) => {
            let indices: Vec<i64> = chosen.indices().map(|index| index as i64).collect();
            whole.clone().select(1, Tensor::<1, Int>::from_data(&indices[..], &whole.device()))
        }
        None => whole,
    };
    Ok(detrended(whole, options.detrend))
}

/// One-sided spectra of the windowed segments of rows, `[rows, segments, bins]`.
pub(super) fn spectra(rows: Tensor<2>, window: &Tensor<1>, options: &WelchOptions) -> Result<ComplexTensor<3>> {
    rfft(windowed(rows, window, options)?)
}

/// The [`segments`] of rows times a window.
pub(super) fn windowed(rows: Tensor<2>, window: &Tensor<1>, options: &WelchOptions) -> Result<Tensor<3>> {
    Ok(segments(rows, options)? * window.clone().reshape([1, 1, options.n_fft]))
}

/// Average over segments, `[rows, segments, bins]` → `[rows, bins]`.
pub(super) fn averaged(values: Tensor<3>, average: Average) -> Result<Tensor<2>> {
    let [rows, count, bins] = values.dims();
    if average == Average::Mean {
        return Ok(values.mean_dim(1).reshape([rows, bins]));
    }
    let values = values.swap_dims(1, 2);
    // The last of the upper half; of an even number the last two.
    let (upper, middle) = (count / 2 + 1, 2 - count % 2);
    let median = top_k(values.clone(), upper)?.power.narrow(2, upper - middle, middle).mean_dim(2);
    // 0, or NaN where a value is not finite: those are not among the largest.
    let not_finite = (values * 0.0).sum_dim(2);
    // The mean of the median of as many numbers with an exponential distribution of mean 1.
    let bias = 1.0 + (1..=(count - 1) / 2).map(|i| 1.0 / (2 * i + 1) as f64 - 1.0 / (2 * i) as f64).sum::<f64>();
    Ok(((median + not_finite) / bias).reshape([rows, bins]))
}

/// Factor on |X|² of a scaling, `[1, 1]`.
pub(super) fn scale(window: &Tensor<1>, scaling: Scaling) -> Tensor<2> {
    let divisor = match scaling {
        Scaling::Power => window.ones_like().narrow(0, 0, 1),
        Scaling::Spectrum => window.clone().sum().square(),
        Scaling::Density { sample_rate } => window.clone().square().sum() * sample_rate,
    };
    divisor.recip().reshape([1, 1])
}

/// Values `[1, bins]`: 2 for interior bins of a one-sided spectrum of `n_fft` points, 1 for the others.
pub(super) fn one_sided<const D: usize>(n_fft: usize, like: &Tensor<D>) -> Tensor<2> {
    let bins = n_fft / 2 + 1;
    let factors: Vec<f64> = (0..bins).map(|bin| if bin > 0 && 2 * bin < n_fft { 2.0 } else { 1.0 }).collect();
    Tensor::from_data(TensorData::new(factors, [1, bins]), (&like.device().inner(), like.dtype()))
}
