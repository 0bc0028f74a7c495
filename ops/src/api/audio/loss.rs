//! Distance of signals by their short-time spectra.

use burn::tensor::Tensor;

use crate::api::check::InputCheck;
use crate::api::fft::{root, stft};
use crate::error::{ArgumentError, Result, ensure};
use crate::options::{StftOptions, Window, WindowSymmetry};

/// Multi-resolution STFT loss: the mean over resolutions of spectral convergence, ‖Y − X‖ / ‖Y‖ of the magnitudes X of
/// `input` and Y of `target` as a whole, plus the mean of |ln Y − ln X| (R. Yamamoto, E. Song and J. Kim, "Parallel
/// WaveGAN", 2020), as `MultiResolutionSTFTLoss` of auraloss 0.4 with its defaults. Power below 10⁻⁸ counts as that.
///
/// - `input`, `target`: `[.., samples]`, of one shape. Differentiable in both.
/// - `resolutions`: frames, under periodic Hann windows; those of 1,024, 2,048 and 512 samples of the paper if `None`.
///
/// Errors are those of [`stft`]; also signals of different shapes, no signals or no resolutions.
pub fn multi_resolution_stft_loss<const D: usize>(
    input: Tensor<D>,
    target: Tensor<D>,
    resolutions: Option<&[StftOptions]>,
) -> Result<Tensor<1>> {
    const NAME: &str = "multi_resolution_stft_loss";
    let default = [(1024, 120, 600), (2048, 240, 1200), (512, 50, 240)]
        .map(|(n_fft, hop, length)| StftOptions::new(n_fft).with_hop(hop).with_window_length(length));
    let (resolutions, dims) = (resolutions.unwrap_or(&default), input.dims());
    let shape = [dims[..D - 1].iter().product(), dims[D - 1]];
    ensure(shape[0] >= 1, NAME, "input", format_args!("{dims:?}"), "at least one row of samples")?;
    ensure(!resolutions.is_empty(), NAME, "resolutions", "empty", "at least one resolution")?;
    let mut inputs = InputCheck::of(NAME, "input", &input)?;
    let signals = [inputs.next("target", target, dims)?, inputs.first(input)];
    let device = signals[1].device();
    let dtype = signals[1].dtype();
    let mut sum = Tensor::zeros([1], (&device, dtype));
    for options in resolutions {
        let window = Window::Hann.tensor(options.window_samples(), WindowSymmetry::Periodic, dtype.into(), &device);
        let magnitude = |signal: &Tensor<D>| {
            let spectra = stft::<2, 3>(signal.clone().reshape(shape), Some(window.clone()), options);
            let spectra = spectra.map_err(|error| ArgumentError { operation: NAME, ..error })?;
            Ok(spectra.abs_squared().clamp_min(1e-8).sqrt())
        };
        let (y, x) = (magnitude(&signals[0])?, magnitude(&signals[1])?);
        let norm = |values: Tensor<3>| root(values.square().sum());
        sum = sum + norm(y.clone() - x.clone()) / norm(y.clone()) + (y.log() - x.log()).abs().mean();
    }
    Ok(sum / resolutions.len() as f64)
}
