//! The operations as users call them: arguments are checked and converted to one type, then dispatched to the tensors'
//! backend.

pub mod audio;
mod butterfly;
mod check;
mod convolution;
pub mod cross_spectra;
pub mod fft;
pub mod from_host;
mod local_maxima;
mod local_maxima_2d;
mod mel;
pub mod multitaper;
mod peaks;
mod psd;
pub mod resampling;
mod rows;
mod segments;
pub mod significance;
pub mod tracks;
pub mod training;
pub mod trend;

pub use butterfly::butterfly;
#[cfg(any(feature = "fusion", feature = "router"))]
pub(crate) use convolution::check_sizes as check_spectral_conv;
pub use convolution::{long_conv, spectral_conv};
pub use local_maxima::{LocalMaxima, local_maxima};
pub use local_maxima_2d::{LocalMaxima2d, local_maxima_2d};
pub use mel::{log_mel, mel, mel_filters};
#[cfg(any(feature = "fusion", feature = "router"))]
pub(crate) use peaks::validate_selection;
pub use peaks::{Peaks, top_k, welch_peaks, welch_peaks_complex};
pub use psd::{WelchWeights, power_spectrum, power_spectrum_complex, welch_psd, welch_psd_complex};
pub use rows::SampleKind;
