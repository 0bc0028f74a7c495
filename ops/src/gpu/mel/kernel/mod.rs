//! Device code of mel spectra.

mod arguments;
mod backward;
mod fused;
mod separate;

pub use arguments::{
    BandShapeLaunch, FrameInputLaunch, FrameSamplesArgs, MelFrameShapeLaunch, PairBuffersLaunch, SampleBuffersLaunch,
    SparseRowsLaunch,
};
pub use backward::{add_frames, band_slopes, bin_gradients, window_sums};
pub use fused::{mel_frames, row_power};
pub use separate::{frame_bands, window_frames};
