//! Breakdown of a decision: every estimate, the gate's terms, and what is picked.

use std::fmt;

use firefly_ops::WelchOptions;
use serde::{Deserialize, Serialize};

use super::{MAX_ULTRA_BATCH, block, decide, fused, host, is_viable, learned_scale};
use crate::cost::{FusionDecision, LearnedSize, PeaksSize, PeaksWorkload, Strategy};
use crate::profile::DeviceProfile;

/// Way to compute peaks, named as in the published benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Path {
    /// One segment on the host.
    Ultra,
    /// Two segments on the host.
    Fast,
    /// Two segments, spectra on the device and peaks on the host.
    Block,
    /// Two segments, one operation on the device.
    Fused,
    /// A learned model, one operation on the device.
    Learned,
}

impl Path {
    /// Every path.
    pub const ALL: [Self; 5] = [Self::Ultra, Self::Fast, Self::Block, Self::Fused, Self::Learned];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ultra => "ultra",
            Self::Fast => "fast",
            Self::Block => "block",
            Self::Fused => "fused",
            Self::Learned => "learned",
        }
    }

    /// Segments per frame.
    const fn segments(self) -> usize {
        if matches!(self, Self::Ultra) { 1 } else { 2 }
    }

    /// The strategy whose measured latencies are those of this path on a device.
    const fn strategy(self) -> Strategy {
        match self {
            Self::Ultra | Self::Fast => Strategy::Host,
            Self::Block => Strategy::Spectrum,
            Self::Fused => Strategy::Fused,
            Self::Learned => Strategy::Learned,
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Estimated time of a path.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PathEstimate {
    /// The path.
    pub path: Path,
    /// Nanoseconds.
    pub nanoseconds: f64,
    /// Whether the time follows from measured latencies rather than from the published estimate.
    pub measured: bool,
    /// Whether the path may be picked.
    pub considered: bool,
}

/// Estimates and decision that determine the choice of a path, for one problem on one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Breakdown {
    /// Name of the device profile.
    pub device: String,
    /// Number of frames.
    pub batch: usize,
    /// Samples per segment.
    pub n_fft: usize,
    /// Peaks per frame.
    pub k: usize,
    /// Estimates in the order of [`Path::ALL`]; none of a learned model unless one is given.
    pub estimates: Vec<PathEstimate>,
    /// Decision of the fusion gate, with score, least gain, benefit and greatest slowdown.
    pub decision: FusionDecision,
    /// The candidate with the least estimate.
    pub pick: Path,
}

impl Breakdown {
    /// Whether the score of the data movement alone is high enough.
    pub fn should_fuse_io(&self) -> bool {
        self.decision.saves_enough()
    }

    /// Whether to fuse: the score is high enough, and fusing is predicted to slow nothing down past the limit.
    pub fn should_fuse(&self) -> bool {
        self.decision.fuse()
    }

    /// The estimate of a path.
    pub fn estimate(&self, path: Path) -> Option<&PathEstimate> {
        self.estimates.iter().find(|estimate| estimate.path == path)
    }
}

/// Breakdown for `batch` frames of two segments of `n_fft` samples with `k` peaks each (one segment for
/// [`Path::Ultra`]), whose frames are in host memory.
///
/// A path is estimated by its measured latencies if the profile has them, and else by its published estimate. Rules for
/// candidates on a GPU:
///
/// - one segment: not above [`MAX_ULTRA_BATCH`] frames;
/// - the fused operation: where the gate decides to fuse;
/// - a `learned` model of two candidate segments: where the gate decides to fuse and the model is sparse;
/// - the block path: never, because it is the baseline that the gate compares the fused operation with.
pub fn breakdown(
    profile: &DeviceProfile,
    batch: usize,
    n_fft: usize,
    k: usize,
    learned: Option<LearnedSize>,
) -> Breakdown {
    let size = |path: Path| PeaksSize { options: WelchOptions::new(n_fft, path.segments()), batch, k };
    let decision = decide(&size(Path::Fused), profile);
    let estimates: Vec<PathEstimate> = Path::ALL
        .into_iter()
        .filter_map(|path| {
            let (nanoseconds, measured) = estimate(path, &size(path), profile, learned)?;
            let considered = match path {
                Path::Ultra => !profile.peaks.gpu || batch <= MAX_ULTRA_BATCH,
                Path::Fast => true,
                Path::Block => false,
                Path::Fused => is_viable(profile) && decision.fuse(),
                Path::Learned => is_viable(profile) && decision.fuse() && learned.is_some_and(|size| size.is_sparse()),
            };
            Some(PathEstimate { path, nanoseconds, measured, considered })
        })
        .collect();
    let considered = estimates.iter().filter(|estimate| estimate.considered);
    let pick = considered.min_by(|a, b| a.nanoseconds.total_cmp(&b.nanoseconds)).map_or(Path::Fast, |least| least.path);
    Breakdown { device: profile.name.clone(), batch, n_fft, k, estimates, decision, pick }
}

/// Nanoseconds of a path, and whether they follow from measured latencies; `None` for `Learned` without a learned
/// model.
fn estimate(
    path: Path,
    size: &PeaksSize,
    profile: &DeviceProfile,
    learned: Option<LearnedSize>,
) -> Option<(f64, bool)> {
    if let Some(nanoseconds) = PeaksWorkload::new(*size).with_learned(learned).measured(path.strategy(), profile) {
        return Some((nanoseconds, true));
    }
    let published = match path {
        Path::Ultra | Path::Fast => host(size, profile),
        Path::Block => block(size, profile),
        Path::Fused => fused(size, profile, 1.0),
        Path::Learned => fused(size, profile, learned_scale(&learned?)),
    };
    Some((published, false))
}
