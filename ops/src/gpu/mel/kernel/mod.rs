//! Device code of mel spectra.

mod arguments;
mod backward;
mod fused;
mod separate;

pub use arguments::{BandShapeLaunch, FrameInputLaunch, SparseRowsLaunch};
pub use backward::{band_slopes, bin_gradients};
pub use fused::{mel_frames, row_power};
pub use separate::frame_bands;
