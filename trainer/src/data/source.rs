//! Source of training frames: recordings, synthetic signals, or a mixture.

use rayon::prelude::*;

use super::frames::FrameSampler;
use super::mixture::Mixture;
use super::synthetic::Synthetic;

/// Source of training frames. Cheap to clone and usable from any thread.
#[derive(Debug, Clone)]
pub enum FrameSource {
    /// Frames of recordings.
    Recordings(FrameSampler),
    /// Synthetic frames.
    Synthetic(Synthetic),
    /// Frames of several sources.
    Mixture(Mixture),
}

impl FrameSource {
    /// Samples in one frame.
    pub fn frame(&self) -> usize {
        match self {
            Self::Recordings(sampler) => sampler.frame(),
            Self::Synthetic(synthetic) => synthetic.frame_len(),
            Self::Mixture(mixture) => mixture.frame(),
        }
    }

    /// Whether no frame is of a recording.
    pub fn is_synthetic(&self) -> bool {
        match self {
            Self::Recordings(_) => false,
            Self::Synthetic(_) => true,
            Self::Mixture(mixture) => mixture.is_synthetic(),
        }
    }

    /// Writes the frame of this index, a pure function of seed and index.
    ///
    /// # Panics
    /// If `frame` is not of length [`frame`](Self::frame).
    pub fn fill(&self, index: u64, frame: &mut [f32]) {
        match self {
            Self::Recordings(sampler) => sampler.fill(index, frame),
            Self::Synthetic(synthetic) => synthetic.frame(index, frame),
            Self::Mixture(mixture) => mixture.source(index).fill(index, frame),
        }
    }

    /// Writes the frames `first`, `first + 1`, … into `rows`, row-major `[count, frame]`.
    ///
    /// # Panics
    /// If `rows` is not a whole number of frames.
    pub fn fill_batch(&self, first: u64, rows: &mut [f32]) {
        let frame = self.frame();
        assert_eq!(rows.len() % frame, 0, "length of a batch of whole frames");
        match self {
            // Serial: starting parallel tasks takes longer than the copies.
            Self::Recordings(_) => {
                for (index, row) in (first..).zip(rows.chunks_exact_mut(frame)) {
                    self.fill(index, row);
                }
            }
            Self::Synthetic(_) | Self::Mixture(_) => {
                rows.par_chunks_exact_mut(frame).enumerate().for_each(|(row, out)| self.fill(first + row as u64, out))
            }
        }
    }
}

#[cfg(test)]
mod tests;
