//! Device code of mel spectra.

mod arguments;
mod fused;
mod gradients;
mod separate;

pub use arguments::{
    BandShapeLaunch, FrameInputLaunch, FrameSamplesArgs, MelFrameShapeLaunch, PairBuffersLaunch, SampleBuffersLaunch,
    SparseRowsLaunch,
};
pub use fused::{mel_frames, row_power};
pub use gradients::{add_frames, band_slopes, bin_gradients, window_sums};
pub use separate::{frame_bands, window_frames};
