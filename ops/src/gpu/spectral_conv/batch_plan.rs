//! Parts of a batch that are computed one after another: plain data, made from sizes alone.

use std::ops::Range;

use crate::gpu::device::{DeviceLimit, DeviceLimitError, MAX_ELEMENTS};
use crate::spectral_shape::SpectralShape;

/// Bytes of scratch memory per launch, about.
const SCRATCH: usize = 512 << 20;
/// Batches are cut where a buffer starts at a multiple of so many values, as devices align bindings to 256 bytes.
const ALIGNED_VALUES: usize = 64;

/// Parts of a batch whose arrays are counted in 32 bits and take limited memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchPlan {
    batch: usize,
    /// Batch elements per part, the last one aside.
    pub step: usize,
}

impl BatchPlan {
    /// The parts of a batch that is not empty. `strides` are the distances of the rows that are read and written.
    ///
    /// # Errors
    /// If the fewest batch elements that a batch can be cut into have more values than a launch counts, or the weights
    /// have.
    pub fn of(shape: &SpectralShape, strides: &[usize]) -> Result<Self, DeviceLimitError> {
        let counted = |elements| DeviceLimitError::unless(DeviceLimit::LaunchElements, elements, MAX_ELEMENTS);
        counted(shape.inputs.saturating_mul(shape.outputs).saturating_mul(shape.channel_modes()))?;
        let (last, channels) = (shape.last(), shape.inputs.max(shape.outputs));
        let rows = shape.samples() / shape.points[last];
        let largest = strides.iter().fold(0, |most, &stride| most.max(channels.saturating_mul(rows * stride)));
        let aligned_after = |values: usize| ALIGNED_VALUES >> values.trailing_zeros().min(ALIGNED_VALUES.ilog2());
        let unit = strides
            .iter()
            .flat_map(|stride| [shape.inputs, shape.outputs].map(|channels| aligned_after(channels * rows * stride)))
            .fold(1, usize::max);
        let unit = unit.min(shape.batch);
        counted(unit.saturating_mul(largest))?;
        let between = if last == 0 { shape.channel_modes() } else { shape.values_between(last - 1) };
        // Two arrays of complex values are in use at a time.
        let in_scratch = SCRATCH / (2 * size_of::<[f32; 2]>() * channels * between);
        let step = (in_scratch.min(MAX_ELEMENTS / largest) / unit * unit).max(unit);
        Ok(Self { batch: shape.batch, step })
    }

    /// The batch elements of each part.
    pub fn parts(self) -> impl Iterator<Item = Range<usize>> {
        let Self { batch, step } = self;
        (0..batch).step_by(step).map(move |start| start..batch.min(start + step))
    }
}
