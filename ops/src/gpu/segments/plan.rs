//! Segments of a batch, and their order in the buffers between kernels.

use cubecl::prelude::BufferArg;
use cubecl::server::Handle;

use crate::gpu::device::{floats, from_row, pairs};
use crate::options::{Detrend, WelchOptions};

/// Units of a cube whose units work on segments together.
pub const CUBE_UNITS: u32 = 128;

/// Frames in device memory.
#[derive(Debug, Clone)]
pub struct DeviceFrames {
    /// Frame `r` is the `len` values from `r * stride` on.
    pub signal: Handle,
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
        Self { signal: from_row(&self.signal, rows.start, self.stride), rows: rows.len(), ..*self }
    }

    /// Rows of `len` values one after the other.
    #[cfg(test)]
    pub fn contiguous(signal: Handle, rows: usize, len: usize) -> Self {
        Self { signal, rows, len, stride: len }
    }

    /// Values that a row takes at most, in the signal or in its gradient.
    pub fn row_values(&self) -> usize {
        self.len.max(self.stride)
    }

    /// The signal as a kernel argument.
    pub fn buffer(&self) -> BufferArg {
        floats(&self.signal, self.span())
    }

    /// The pairs of samples of the signal as a kernel argument, if every frame starts with one.
    pub fn pairs(&self) -> Option<BufferArg> {
        if self.stride.is_multiple_of(2) { pairs(&self.signal, self.span()) } else { None }
    }

    /// Values from the first to the last of all frames.
    const fn span(&self) -> usize {
        (self.rows - 1) * self.stride + self.len
    }
}

/// A batch of frames and the segments taken of them.
#[derive(Debug, Clone)]
pub struct SegmentBatch<'a> {
    pub frames: DeviceFrames,
    pub options: &'a WelchOptions,
    /// Whether two segments of a row are the real and the imaginary part of one complex row.
    pub paired: bool,
}

/// The order of segments and transforms, as kernels are compiled for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SegmentLayout {
    /// Samples of a segment.
    pub n: u32,
    /// Segments of a row.
    pub segments: u32,
    /// Whether two segments are the two parts of one transform.
    pub paired: bool,
    /// Whether the mean of a segment is subtracted.
    pub detrend: bool,
    /// Units per segment, in kernels whose units sum over a segment together.
    pub units: u32,
}

impl SegmentBatch<'_> {
    /// The order of segments and transforms.
    pub fn layout(&self) -> SegmentLayout {
        let n = self.options.n_fft as u32;
        SegmentLayout {
            n,
            segments: self.options.segments as u32,
            paired: self.paired,
            detrend: self.options.detrend == Detrend::Constant,
            units: 1 << (n / 8).clamp(1, CUBE_UNITS).ilog2(),
        }
    }

    /// Transforms of the batch: segments, or pairs of them.
    pub fn transforms(&self) -> usize {
        self.frames.rows * self.layout().transforms() as usize
    }

    /// Values of one part of all transforms.
    pub fn values(&self) -> usize {
        self.transforms() * self.options.n_fft
    }

    /// Segments of the batch.
    pub fn segments(&self) -> usize {
        self.frames.rows * self.options.segments
    }

    /// Samples of the batch.
    pub fn samples(&self) -> usize {
        self.frames.rows * self.frames.len
    }

    /// Bins of all spectra of the batch.
    pub fn bins(&self) -> usize {
        self.frames.rows * self.options.bins()
    }

    /// Products of the bins of all spectra of the batch with the bins above.
    pub fn products(&self) -> usize {
        self.frames.rows * (self.options.bins() - 1)
    }
}

impl SegmentLayout {
    /// One-sided bins.
    pub const fn bins(&self) -> u32 {
        self.n / 2 + 1
    }

    /// Transforms per row.
    pub const fn transforms(&self) -> u32 {
        if self.paired { self.segments.div_ceil(2) } else { self.segments }
    }

    /// Segments per row that transforms have room for: of an odd number of paired segments, the last pair has one more.
    pub const fn slots(&self) -> u32 {
        if self.paired { 2 * self.transforms() } else { self.transforms() }
    }

    /// Segments per cube.
    pub const fn cube_segments(&self) -> u32 {
        CUBE_UNITS / self.units
    }
}
