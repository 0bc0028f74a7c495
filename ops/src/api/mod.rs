//! The operations as users call them: arguments are checked and converted to one type, then dispatched to the tensors'
//! backend.

mod butterfly;
mod check;
pub mod fft;
pub mod from_host;
mod local_maxima;
mod long_conv;
mod mel;
mod peaks;
mod psd;
mod rows;
mod spectral_conv;
pub mod training;
mod welch_weights;

pub use butterfly::butterfly;
pub use local_maxima::{LocalMaxima, local_maxima};
pub use long_conv::long_conv;
pub use mel::{log_mel, mel, mel_filters};
pub use peaks::{MAX_TOP_K_LENGTH, Peaks, top_k, welch_peaks};
pub use psd::{power_spectrum, welch_psd, welch_psd_complex};
pub use rows::SampleKind;
#[cfg(any(feature = "fusion", feature = "router"))]
pub(crate) use spectral_conv::check_sizes as check_spectral_conv;
pub use spectral_conv::spectral_conv;
pub use welch_weights::WelchWeights;
