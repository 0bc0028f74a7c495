//! Device code of Welch power and peaks in one launch.
//!
//! Per row: `row_power` loads a pair of segments and applies the window, the passes of `transform` transform it,
//! `row_power` sums and folds the squares (`gain` the products of neighbours, which it may take), and `select` writes the
//! strongest bins. `steps` is the same in launches of their own.

mod fused;
mod gain;
mod row_power;
mod select;
mod select_by_network;
mod steps;
mod team;

use cubecl::prelude::*;

use crate::gpu::complex::Complex;
use crate::gpu::signal::Signal;
use crate::gpu::top_k::PeakOutput;
pub use fused::welch;
pub use steps::{
    GainInputLaunch, SpectraShapeLaunch, SumGradientBuffersLaunch, apply_row_gain, gain_adjoint, gain_sums,
    spectrum_gradients, sum_products, sum_squares,
};

/// The buffers that the kernel reads.
#[derive(CubeType, CubeLaunch)]
pub struct WelchInput {
    /// `[rows, frame]`, of the plan's samples.
    pub signal: Signal,
    /// `[n]`.
    pub window: Box<[f32]>,
    /// The twiddles of the layout.
    pub twiddles: Box<[Complex]>,
    /// The factor of the scaling; read where the plan is scaled.
    pub factor: Box<[f32]>,
    /// `[bins, taps]`; read where the plan has a gain.
    pub gain: Box<[f32]>,
}

/// The buffers that the kernel writes: the variant is known when the kernel is compiled.
#[derive(CubeType, CubeLaunch)]
#[expect(dead_code, reason = "variants are constructed as the generated kernel arguments")]
pub enum WelchOutput {
    /// The power of every bin, `[rows, bins]`.
    Power(Box<[f32]>),
    /// The strongest bins of every row and their power, `[rows, k]`.
    Peaks(PeakOutput),
}

/// The shape of a launch.
#[derive(CubeType, CubeLaunch)]
pub struct LaunchShape {
    /// Rows of the launch.
    pub rows: u32,
    /// Samples from one row's start to the next.
    pub frame: u32,
    /// Samples of a row before its first segment.
    pub first: u32,
    /// Samples from one segment's start to the next.
    pub hop: u32,
    /// Peaks per row; not read where the output is power.
    pub k: u32,
    /// The first bin that is searched for peaks, where the plan is banded.
    pub lowest: u32,
    /// The number of bins that are searched, where the plan is banded.
    pub searched: u32,
    /// NaN, which not every compiler takes as a constant.
    pub missing: f32,
}
