//! Periods of a series, by its spectrum.

use burn::tensor::activation::softmax;
use burn::tensor::{Int, Tensor};
use firefly_ops::fft::rfft;
use firefly_ops::{ArgumentError, Norm, top_k};

/// Added to squared amplitudes, whose root has no finite gradient at 0.
const OFFSET: f64 = 1e-12;

/// Strongest periods of a batch of series.
#[derive(Debug, Clone)]
pub struct Periods {
    /// Frequencies, in periods per series, strongest first: `[k]`.
    pub frequencies: Tensor<1, Int>,
    /// Weight of each frequency in each series, the softmax of its amplitude: `[batch, k]`.
    pub weights: Tensor<2>,
}

/// The `k` frequencies with the largest amplitudes, averaged over batch and channels and without the mean, of `series`
/// `[batch, samples, channels]`.
///
/// After H. Wu, T. Hu, Y. Liu, H. Zhou, J. Wang and M. Long, "TimesNet: Temporal 2D-variation modeling for general time
/// series analysis" (2023), equation 1. Differentiable in the series through the weights.
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// use firefly_models::find_periods;
///
/// // Six periods in 48 samples.
/// let time = Tensor::<1, Int>::arange(0..48, &Device::flex()).float();
/// let series = (time * (6.0 * std::f32::consts::TAU / 48.0)).sin().reshape([1, 48, 1]);
/// let periods = find_periods(series, 2)?;
/// assert_eq!(periods.frequencies.into_data().iter::<i64>().next(), Some(6));
/// # Ok::<(), firefly_models::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`] for a `k` of 0 or more than half the samples.
pub fn find_periods(series: Tensor<3>, k: usize) -> Result<Periods, ArgumentError> {
    let [batch, samples, _] = series.dims();
    let most = samples / 2;
    if !(1..=most).contains(&k) {
        return Err(ArgumentError::new("find_periods", "k", k, format!("from 1 to half the samples, {most}")));
    }
    let squares = rfft(series.swap_dims(1, 2), None, 2, Norm::Backward)?.abs_squared();
    let amplitudes: Tensor<2> = (squares + OFFSET).sqrt().mean_dim(1).reshape([batch, most + 1]);
    // Without the mean, at frequency 0.
    let mean = amplitudes.clone().mean_dim(0).narrow(1, 1, most);
    let frequencies = top_k(mean, k)?.bins.reshape([k]) + 1;
    let weights = softmax(amplitudes.select(1, frequencies.clone()), 1);
    Ok(Periods { frequencies, weights })
}
