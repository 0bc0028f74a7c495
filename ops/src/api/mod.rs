//! The operations as users call them: arguments are checked and converted to one type, then dispatched to the tensors'
//! backend.

mod butterfly;
mod check;
pub mod fft;
pub mod from_host;
mod leading_dimensions;
mod local_maxima;
mod long_conv;
mod mel;
mod peaks;
mod power_spectrum;
mod psd;
mod samples;
mod spectral_conv;
mod top_k;
pub mod training;
mod welch_weights;

pub use butterfly::butterfly;
pub use local_maxima::{LocalMaxima, local_maxima};
pub use long_conv::long_conv;
pub use mel::{log_mel, mel, mel_filters};
pub use peaks::{Peaks, welch_peaks};
pub use power_spectrum::power_spectrum;
pub use psd::{welch_psd, welch_psd_complex};
pub use samples::SampleKind;
#[cfg(any(feature = "fusion", feature = "router"))]
pub(crate) use spectral_conv::check_sizes as check_spectral_conv;
pub use spectral_conv::spectral_conv;
pub use top_k::{MAX_TOP_K_LENGTH, top_k};
pub use welch_weights::WelchWeights;
