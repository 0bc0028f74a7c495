//! How the segments of a batch stand in the buffers between kernels.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::options::{Detrend, WelchOptions};

/// A batch of frames and the segments that are taken of them.
#[derive(Debug, Clone)]
pub(super) struct Segments<'a> {
    /// `[rows, frame]`.
    pub signal: Handle,
    pub rows: usize,
    pub frame: usize,
    pub options: &'a WelchOptions,
    /// Whether two segments of a row are the two parts of one complex row.
    pub paired: bool,
}

/// What kernels know of [`Segments`] when they are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Form {
    pub n: u32,
    pub segments: u32,
    pub paired: bool,
    pub detrend: bool,
    /// Units that work on one segment, where they must talk to each other.
    pub units: u32,
}

/// Units of a cube whose units talk to each other.
pub(super) const CUBE_UNITS: u32 = 128;

impl Segments<'_> {
    pub fn form(&self) -> Form {
        let n = self.options.n_fft as u32;
        Form {
            n,
            segments: self.options.segments as u32,
            paired: self.paired,
            detrend: self.options.detrend == Detrend::Constant,
            units: (n / 8).clamp(1, CUBE_UNITS),
        }
    }

    /// Transforms: segments, or pairs of them.
    pub fn transforms(&self) -> usize {
        self.rows * self.form().transforms() as usize
    }

    /// The numbers of one of the two parts of all transforms.
    pub fn values(&self) -> usize {
        self.transforms() * self.options.n_fft
    }

    /// Segments of the batch.
    pub fn count(&self) -> usize {
        self.rows * self.options.segments
    }
}

impl Form {
    /// Transforms of a row.
    pub const fn transforms(&self) -> u32 {
        if self.paired { self.segments.div_ceil(2) } else { self.segments }
    }

    /// Segments that a cube works on.
    pub const fn teams(&self) -> u32 {
        CUBE_UNITS / self.units
    }
}

/// Which transform of the batch segment `segment` of row `row` belongs to.
#[cube]
pub(super) fn transform_of(row: u32, segment: u32, #[comptime] form: Form) -> u32 {
    let own = if comptime!(form.paired) { segment / 2 } else { segment };
    row * comptime!(form.transforms()) + own
}

/// The sum over the units of a team of what each of them has, for all of them; every unit of the cube must call it.
#[cube]
pub(super) fn team_sum(value: f32, #[comptime] units: u32) -> f32 {
    let mut shared = Shared::<[f32]>::new_slice(comptime!(CUBE_UNITS as usize));
    shared[UNIT_POS as usize] = value;
    #[unroll]
    for level in 0..comptime!(units.ilog2()) {
        let apart = comptime!(units >> (level + 1));
        sync_cube();
        if UNIT_POS % units < apart {
            let other = shared[(UNIT_POS + apart) as usize];
            shared[UNIT_POS as usize] += other;
        }
    }
    sync_cube();
    shared[(UNIT_POS - UNIT_POS % units) as usize]
}
