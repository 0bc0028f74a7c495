//! Options of the operations: plain data, checked when an operation is called.
//!
//! ```
//! use firefly_ops::options::{Scaling, WelchOptions};
//!
//! let options = WelchOptions::new(256, 3).with_hop(64).with_scaling(Scaling::Spectrum);
//! assert_eq!((options.frame(), options.bins()), (384, 129));
//! let error = options.with_hop(0).validate("welch_psd").unwrap_err();
//! assert_eq!(error.to_string(), "welch_psd: `hop` is 0, but must be at least 1");
//! ```

mod adam;
mod band;
mod fft;
mod local_maxima;
mod logarithm;
mod mel;
mod peak_loss;
mod power_spectrum;
mod segments;
mod stft;
mod welch;
mod window;

#[cfg(any(feature = "flex", feature = "ndarray"))]
pub(crate) use adam::AdamCoefficients;
pub use adam::{AdamOptions, WeightDecay};
pub use band::Band;
pub use fft::ConvolveMode;
pub use fft::Direction;
pub use fft::FftOptions;
pub use fft::Norm;
pub use local_maxima::{Interpolation, LocalMaximaOptions};
pub use logarithm::{LogGuard, LogUnit, Logarithm};
pub use mel::{MelBands, MelNorm, MelOptions, MelScale, SpectrumKind};
pub use peak_loss::PeakLossOptions;
pub use power_spectrum::PowerSpectrumOptions;
pub use segments::{SegmentPlacement, SegmentSet};
pub use stft::SignalPadding;
pub use stft::StftOptions;
#[cfg(feature = "cube")]
pub(crate) use welch::has_butterflies;
pub use welch::{Detrend, MAX_N_FFT, MIN_N_FFT, Scaling, WelchOptions, validate_n_fft};
pub use window::{Window, WindowSymmetry};
