//! Picker: the strategy that computes Welch peaks of a batch of frames on a device.
//!
//! On a calibrated device the measured [`Crossovers`] decide: one strategy for few frames, the fused operation for more.
//! On any other device the [published estimates](crate::published) decide.
//!
//! ```
//! use firefly_framework::picker::{PeaksRequest, PeaksSize, Strategy};
//! use firefly_framework::profile::Preset;
//! use firefly_ops::WelchOptions;
//!
//! let device = Preset::Cuda.profile();
//! let size = |batch| PeaksSize { options: WelchOptions::new(256, 2), batch, k: 16 };
//! let selected = |batch| PeaksRequest::new(size(batch), &device).select().selected.strategy;
//! assert_eq!((selected(8), selected(8192)), (Strategy::Host, Strategy::Fused));
//! ```

mod crossover;
mod request;

use std::fmt;

use firefly_ops::WelchOptions;
use serde::{Deserialize, Serialize};

use crate::movement::DataMovement;
pub use crossover::{Crossover, Crossovers};
pub use request::{Candidate, PeaksRequest, Selection};

/// A learned model is a candidate only if it has fewer open butterflies than one in this many.
const LEARNED_SPARSITY: usize = 4;
pub(crate) const SAMPLE_BYTES: u64 = 4;
const COMPLEX_BYTES: u64 = 8;
/// A bin of 4 bytes and a power of 4 bytes.
const PEAK_BYTES: u64 = 8;

/// Strategy of computing Welch peaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// Copy of the frames to the host, and computation there.
    Host,
    /// One operation on the device.
    Fused,
    /// Spectra on the device, read back, and searched on the host.
    Spectrum,
    /// The learned model on the device.
    Learned,
}

impl Strategy {
    /// Every strategy.
    pub const ALL: [Self; 4] = [Self::Host, Self::Fused, Self::Spectrum, Self::Learned];
    /// The strategies that compute exact peaks.
    pub const EXACT: [Self; 3] = [Self::Host, Self::Fused, Self::Spectrum];

    /// Name of the strategy.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Fused => "fused",
            Self::Spectrum => "spectrum",
            Self::Learned => "learned",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Problem size of Welch peaks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeaksSize {
    /// Parameters of the estimate.
    pub options: WelchOptions,
    /// Number of frames.
    pub batch: usize,
    /// Peaks per frame.
    pub k: usize,
}

impl PeaksSize {
    /// Bytes of the peaks.
    pub const fn peaks_bytes(&self) -> u64 {
        self.batch as u64 * self.k as u64 * PEAK_BYTES
    }

    /// Samples of all segments, those of overlapping segments counted in each.
    pub(crate) const fn segment_samples(&self) -> u64 {
        self.batch as u64 * self.options.segments as u64 * self.options.n_fft as u64
    }

    /// Bytes that any strategy has to move: every segment's samples, and the peaks.
    pub const fn useful_bytes(&self) -> u64 {
        self.segment_samples() * SAMPLE_BYTES + self.peaks_bytes()
    }

    /// Data movement on a host that transforms every segment on its own and then searches each frame's spectrum.
    pub const fn host_movement(&self) -> DataMovement {
        let samples = self.segment_samples();
        DataMovement {
            launches: self.batch as u64 * self.options.segments as u64 + self.batch as u64,
            syncs: 0,
            host_output: self.peaks_bytes(),
            traffic: samples * SAMPLE_BYTES + samples * COMPLEX_BYTES + self.peaks_bytes(),
        }
    }
}

/// Size of a learned model, as far as its time depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LearnedSize {
    /// Open butterflies per frame.
    pub open: usize,
    /// Butterflies per frame with every gate open.
    pub all: usize,
    /// Open segments per frame.
    pub segments: usize,
    /// Whether it runs on the kernels of exact estimates, as the models that calibration measures do.
    pub exact: bool,
    /// Whether its gain takes products of neighbouring bins.
    pub products: bool,
}

impl LearnedSize {
    /// Whether so few butterflies are open that the published rules make the model a candidate.
    pub const fn is_sparse(&self) -> bool {
        self.open * LEARNED_SPARSITY < self.all
    }

    /// Segments of the model without products that takes as long. On a host, a segment alone is transformed as a pair
    /// is for its products, and in half the time without them.
    pub const fn timed_segments(&self, on_gpu: bool) -> usize {
        if self.products && !on_gpu { self.segments.next_multiple_of(2) } else { self.segments }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_launches_one_transform_per_segment() {
        let size = PeaksSize { options: WelchOptions::new(256, 2), batch: 3, k: 16 };
        let expected = DataMovement { launches: 9, syncs: 0, host_output: 384, traffic: 6144 + 12_288 + 384 };
        assert_eq!(size.host_movement(), expected);
        assert_eq!(size.useful_bytes(), 6144 + 384);
    }
}
