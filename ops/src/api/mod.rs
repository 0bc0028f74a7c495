//! The operations as users call them: arguments are checked and converted to one type, then dispatched to the tensors'
//! backend.

mod adam;
mod butterfly;
mod check;
pub mod fft;
mod from_host;
mod leading_dimensions;
mod learned;
mod local_maxima;
mod long_conv;
mod mel;
mod peak_loss;
mod peaks;
mod power_spectrum;
mod psd;
mod spectral_conv;
mod top_k;

pub use adam::{AdamState, adam_step};
pub use butterfly::butterfly;
pub use from_host::{HostError, HostPeaks, host_chunks, welch_peaks_from_host};
pub use learned::{LearnedParameters, learned_welch_peaks, learned_welch_psd};
pub use local_maxima::{LocalMaxima, local_maxima};
pub use long_conv::long_conv;
pub use mel::{log_mel, mel, mel_filters};
pub use peak_loss::{PeakTargets, peak_loss};
pub use peaks::{Peaks, welch_peaks};
pub use power_spectrum::power_spectrum;
pub use psd::welch_psd;
pub use spectral_conv::spectral_conv;
pub use top_k::{MAX_TOP_K_LENGTH, top_k};
