//! Options of the operations: plain data, checked when an operation is called.

mod convolve_mode;
mod direction;
mod fft;
mod local_maxima;
mod norm;
mod stft;
mod welch;
mod window;

pub use convolve_mode::ConvolveMode;
pub use direction::Direction;
pub use fft::FftOptions;
pub use local_maxima::{Interpolation, LocalMaximaOptions};
pub use norm::Norm;
pub use stft::StftOptions;
pub use welch::{Detrend, MAX_N_FFT, MIN_N_FFT, Scaling, WelchOptions, validate_n_fft};
pub use window::{Window, WindowSymmetry};
