//! Window and gain of a Welch estimate.

use burn::backend::DispatchTensor;
use burn::tensor::Tensor;

use super::check;
use super::rows::SampleKind;
use crate::error::{ArgumentError, ensure};
use crate::op::inputs;
use crate::options::{POWER_TAPS, PRODUCT_TAPS, WelchOptions};

/// Window of a Welch estimate, and perhaps a gain of its bins. A window alone converts to one without a gain.
///
/// With a gain, the power of each bin is a combination of its own and its neighbours' powers P, and perhaps of products C
/// with them:
///
/// `gain[k, 0] · P[k−1] + gain[k, 1] · P[k] + gain[k, 2] · P[k+1]` and, with five factors,
/// `+ gain[k, 3] · C[k−1] + gain[k, 4] · C[k]`
///
/// `C[k]` is `2 Re X[k] X*[k+1]` averaged over segments and scaled as `|X[k]|²` is in the power. At the ends of the
/// spectrum the missing neighbour is the mirrored one. A gain of 0 times a power that overflows is NaN.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::{WelchOptions, WelchWeights, welch_psd};
///
/// // A gain that adds the power of both neighbours to each bin, for an impulse: 1 at DC and Nyquist, 2 elsewhere.
/// let device = Device::flex();
/// let impulse = Tensor::<1>::from_floats([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], &device);
/// let weights = WelchWeights::new(Tensor::ones([8], &device)).with_gain(Some(Tensor::ones([5, 3], &device)));
/// let power: Vec<f32> = welch_psd(impulse, weights, &WelchOptions::new(8, 1))?.into_data().iter().collect();
/// assert_eq!(power, [5.0, 5.0, 6.0, 5.0, 5.0]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct WelchWeights {
    /// Window, `[n_fft]`.
    pub window: Tensor<1>,
    /// Factors of the bin below, the bin itself and the bin above in each bin's power, `[bins, 3]`, and of the products
    /// with the bin below and with the bin above, `[bins, 5]`. For an even `n_fft`.
    pub gain: Option<Tensor<2>>,
}

impl WelchWeights {
    /// A window without a gain.
    pub fn new(window: Tensor<1>) -> Self {
        Self { window, gain: None }
    }

    /// The same window with another gain.
    pub fn with_gain(self, gain: Option<Tensor<2>>) -> Self {
        Self { gain, ..self }
    }

    /// The checked inputs of a Welch operation, in one type and as rows.
    pub(super) fn prepare<const D: usize, K: SampleKind>(
        self,
        operation: &'static str,
        signal: Tensor<D, K>,
        options: &WelchOptions,
    ) -> Result<inputs::WelchPsd<DispatchTensor>, ArgumentError> {
        let Self { window, gain } = self;
        check::signal(operation, &signal, options)?;
        let mut given = check::InputCheck::of(operation, "signal", &signal)?;
        given.transforms(["signal", "n_fft"], &signal, [options.n_fft, options.segments], None)?;
        let window = given.next("window", window, [options.n_fft])?;
        let gain = match gain {
            Some(gain) => {
                ensure(options.n_fft.is_multiple_of(2), operation, "n_fft", options.n_fft, "even, with a gain")?;
                let (shape, bins) = (gain.dims(), options.bins());
                let is_gain = [POWER_TAPS, PRODUCT_TAPS].iter().any(|&taps| shape == [bins, taps]);
                let expected = format_args!("[{bins}, {POWER_TAPS}] or [{bins}, {PRODUCT_TAPS}]");
                ensure(is_gain, operation, "gain", format_args!("{shape:?}"), expected)?;
                Some(given.next("gain", gain, shape)?.into_dispatch())
            }
            None => None,
        };
        Ok(inputs::WelchPsd { signal: given.samples(signal), window: window.into_dispatch(), gain })
    }
}

impl From<Tensor<1>> for WelchWeights {
    fn from(window: Tensor<1>) -> Self {
        Self::new(window)
    }
}
