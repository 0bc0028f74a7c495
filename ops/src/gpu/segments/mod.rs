//! Segments of rows: samples times a window, their spectra, and the gradients of both, in one launch per step; and frames
//! that are transformed within a cube.
//!
//! Any length and any device can run them: mel spectra and Welch estimates that do not fit one launch, and the gradients
//! of both, are made of these.

mod frames;
mod kernel;
mod launch;

use cubecl::prelude::BufferArg;
use cubecl::server::Handle;

use crate::gpu::device::{floats, pairs};
use crate::sample_type::SampleType;
pub(super) use frames::{FrameInput, FramePlan, FusedFramePlan, frame_magnitudes, magnitude_at};
pub(super) use kernel::{SegmentShape, has_gradient, sample_place};
pub(super) use launch::{SegmentSpectra, Segments, add_scaling_gradient, frame_input, row_power, scaling_factor};

/// Units of a cube whose units sum over segments together.
pub const CUBE_UNITS: u32 = 128;

/// Frames in device memory.
#[derive(Debug, Clone)]
pub struct DeviceFrames {
    /// Frame `r` is the `len` samples from `skipped + r * stride` on.
    pub signal: Handle,
    pub samples: SampleType,
    /// Samples before the first frame, fewer than a word has.
    pub skipped: usize,
    /// Number of frames, at least one.
    pub rows: usize,
    /// Samples of a frame.
    pub len: usize,
    /// Samples from one frame's start to the next: more than `len` where rows are padded, less where frames overlap.
    pub stride: usize,
}

impl DeviceFrames {
    /// Frames `rows` of these.
    pub fn slice(&self, rows: std::ops::Range<usize>) -> Self {
        let (first, per_word) = (self.skipped + rows.start * self.stride, self.samples.per_word());
        let signal = self.signal.clone().offset_start((first / per_word * size_of::<u32>()) as u64);
        Self { signal, skipped: first % per_word, rows: rows.len(), ..*self }
    }

    /// Values that a row takes at most, in the signal or in its gradient.
    pub fn row_values(&self) -> usize {
        self.len.max(self.stride)
    }

    /// The signal, of f32, as a kernel argument.
    pub fn buffer(&self) -> BufferArg {
        assert_eq!(self.samples, SampleType::F32, "the kernel reads f32");
        floats(&self.signal, self.span())
    }

    /// The signal in words as a kernel argument.
    pub fn words(&self) -> BufferArg {
        let samples = self.held_samples();
        // SAFETY: the handle holds the samples, and memory is allocated in whole words.
        unsafe { BufferArg::from_raw_parts(self.signal.clone(), samples.div_ceil(self.samples.per_word())) }
    }

    /// The signal in its own type as a kernel argument.
    pub fn elements(&self) -> BufferArg {
        // SAFETY: the handle holds the samples.
        unsafe { BufferArg::from_raw_parts(self.signal.clone(), self.held_samples()) }
    }

    /// Samples from the start of the handle to the end of the last frame.
    ///
    /// # Panics
    /// If the handle is shorter.
    fn held_samples(&self) -> usize {
        let samples = self.skipped + self.span();
        let (needed, size) = ((samples * self.samples.bytes()) as u64, self.signal.size_in_used());
        assert!(needed <= size, "a buffer of {size} bytes is used as one of {needed}");
        samples
    }

    /// The pairs of samples of the signal as a kernel argument, if every frame starts with one.
    pub fn pairs(&self) -> Option<BufferArg> {
        let is_paired = self.samples == SampleType::F32 && self.stride.is_multiple_of(2);
        if is_paired { pairs(&self.signal, self.span()) } else { None }
    }

    /// Values from the first to the last of all frames.
    const fn span(&self) -> usize {
        (self.rows - 1) * self.stride + self.len
    }
}

/// Samples beyond the ends of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowPadding {
    None,
    /// The mirror image, without the sample at the end.
    Reflect,
    /// The sample at the end.
    Edge,
    /// The samples at the other end.
    Circular,
    Constant,
}

/// Segments, as kernels are compiled for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SegmentPlan {
    /// Samples of a segment.
    pub n: u32,
    /// Samples beyond the ends of a row.
    pub padding: RowPadding,
    pub detrend: bool,
}

impl SegmentPlan {
    /// Units per segment, in kernels whose units sum over a segment together.
    pub fn units(&self) -> u32 {
        1 << (self.n / 8).clamp(1, CUBE_UNITS).ilog2()
    }

    /// Segments per cube of such kernels.
    pub fn cube_segments(&self) -> u32 {
        CUBE_UNITS / self.units()
    }
}
