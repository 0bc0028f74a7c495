//! Options of the operations: plain data, checked when an operation is called.

mod direction;
mod local_maxima;
mod welch;
mod window;

pub use direction::Direction;
pub use local_maxima::{Interpolation, LocalMaximaOptions};
pub use welch::{Detrend, MAX_N_FFT, MIN_N_FFT, Scaling, WelchOptions, validate_n_fft};
pub use window::{Window, WindowSymmetry};
