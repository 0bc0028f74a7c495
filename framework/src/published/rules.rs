//! Published rules: which candidates are considered, what is picked, and thresholds on the batch.

use firefly_ops::WelchOptions;

use super::{MAX_ULTRA_BATCH, decide, estimate, fused, is_viable, learned_scale};
use crate::cost::FusionDecision;
use crate::picker::{Candidate, Crossover, LearnedSize, PeaksRequest, PeaksSize, Selection, Strategy};
use crate::profile::DeviceProfile;

/// Ratio of predicted times up to which strategies count as equally fast: calls of one strategy differ by more. Of
/// equally fast ones `Fused` runs, which writes no spectra to memory.
const TIE: f64 = 1.1;

/// The number of segments and the strategy by the published thresholds on the batch. A sparse learned model replaces
/// `Fused`.
pub(crate) fn by_thresholds(request: &PeaksRequest<'_>) -> (usize, Strategy) {
    let (segments, strategy) = match (request.on_host, request.size.batch) {
        (true, ..=256) | (false, ..=128) => (1, Strategy::Host),
        (true, _) | (false, ..=8191) => (2, Strategy::Host),
        (false, _) => (2, Strategy::Fused),
    };
    if strategy == Strategy::Fused && request.learned.is_some_and(|learned| learned.is_sparse()) {
        return (request.size.options.segments, Strategy::Learned);
    }
    (segments, request.executable(strategy))
}

/// The candidate of the least published estimate, or `Fused` with as many segments if that ties with it; `Fused` with
/// the configured number of segments where nothing was estimated.
pub(crate) fn select(request: &PeaksRequest<'_>, candidates: &[(usize, Strategy)]) -> Selection {
    let estimated: Vec<Candidate> =
        candidates.iter().filter_map(|&(segments, strategy)| candidate(request, segments, strategy)).collect();
    let follows_rules = !request.by_thresholds && request.device.peaks.gpu;
    let is_forced = request.segments.len() < 2;
    let is_considered = |&Candidate { segments, strategy, .. }: &Candidate| {
        !follows_rules || is_worth(strategy, &request.size_of(segments), is_forced, request.device)
    };
    let worth: Vec<Candidate> = estimated.iter().copied().filter(is_considered).collect();
    let considered = if worth.is_empty() { estimated } else { worth };
    let time = |candidate: &Candidate| candidate.nanoseconds.unwrap_or(f64::INFINITY);
    let fastest = considered.iter().min_by(|a, b| time(a).total_cmp(&time(b)));
    let configured = request.size.options.segments;
    let none = Candidate { segments: configured, strategy: Strategy::Fused, nanoseconds: None };
    let selected = fastest.map_or(none, |fastest| {
        let ties = |other: &&Candidate| {
            (other.segments, other.strategy) == (fastest.segments, Strategy::Fused)
                && time(other) <= TIE * time(fastest)
        };
        *considered.iter().find(ties).unwrap_or(fastest)
    });
    Selection { selected, considered, crossover: None }
}

/// A candidate with its estimate; `None` of a learned model that is not sparse, unless it is the only candidate.
fn candidate(request: &PeaksRequest<'_>, segments: usize, strategy: Strategy) -> Option<Candidate> {
    let size = request.size_of(segments);
    let nanoseconds = if strategy == Strategy::Learned {
        let sparse = request.learned.filter(|learned| learned.is_sparse());
        sparse.map(|learned| fused(&size, request.device, learned_scale(&learned)))
    } else {
        Some(estimate(strategy, &size, request.on_host, request.device) + request.upload(strategy))
    };
    let is_only = request.strategies == [Strategy::Learned];
    (nanoseconds.is_some() || is_only).then_some(Candidate { segments, strategy, nanoseconds })
}

/// Whether a strategy is in question on a GPU: on the host with one segment, unless that is forced, only up to a batch;
/// fused and learned only where the fusion gate says so; and spectra that the host searches, the baseline that the gate
/// compares the fused operation with, never.
fn is_worth(strategy: Strategy, size: &PeaksSize, is_forced: bool, device: &DeviceProfile) -> bool {
    let is_small = is_forced || size.options.segments > 1 || size.batch <= MAX_ULTRA_BATCH;
    is_small
        && match strategy {
            Strategy::Host => true,
            Strategy::Spectrum => false,
            Strategy::Fused | Strategy::Learned => decide(size, device).fuse(),
        }
}

/// Ways to compute peaks as in the published benchmark: name, segments and strategy.
pub const PATHS: [(&str, usize, Strategy); 5] = [
    ("ultra", 1, Strategy::Host),
    ("fast", 2, Strategy::Host),
    ("block", 2, Strategy::Spectrum),
    ("fused", 2, Strategy::Fused),
    ("learned", 2, Strategy::Learned),
];

/// Estimated time of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathEstimate {
    /// Name of the path.
    pub path: &'static str,
    /// Nanoseconds.
    pub nanoseconds: f64,
    /// Whether the path may be picked.
    pub considered: bool,
}

/// Estimates and decision that determine the choice of a path, for one problem on one device.
#[derive(Debug, Clone, PartialEq)]
pub struct Breakdown {
    /// Estimates in the order of [`PATHS`]; none of a learned model unless one is given.
    pub estimates: Vec<PathEstimate>,
    /// Decision of the fusion gate, with score, least gain, benefit and greatest slowdown.
    pub decision: FusionDecision,
    /// The measured crossover, on a calibrated device.
    pub crossover: Option<Crossover>,
    /// Name of the candidate with the least estimate, or of the path that the measured crossover names.
    pub pick: &'static str,
}

impl Breakdown {
    /// The estimate of a path.
    pub fn estimate(&self, path: &str) -> Option<&PathEstimate> {
        self.estimates.iter().find(|estimate| estimate.path == path)
    }
}

/// Breakdown for `batch` frames of two segments of `n_fft` samples with `k` peaks each (one segment for `ultra`), whose
/// frames are in host memory.
///
/// On a calibrated device, the measured crossover picks: the block path or two segments on the host for few frames, and
/// the fused operation for more. On any other device the least published estimate does, among the host paths and, on a
/// GPU, what the gate decides to fuse: one segment not above 128 frames, a `learned` model of two segments
/// only if it is sparse, and never the block path.
pub fn breakdown(
    profile: &DeviceProfile,
    batch: usize,
    n_fft: usize,
    k: usize,
    learned: Option<LearnedSize>,
) -> Breakdown {
    let size = |segments| PeaksSize { options: WelchOptions::new(n_fft, segments), batch, k };
    // On a host, the path of the host and the fused operation are one kernel, whose time was measured.
    let measured = |segments| {
        let crossover = profile.crossovers.at(n_fft, segments, k).filter(|_| !is_viable(profile))?;
        Some(crossover.fused * batch as f64)
    };
    let estimated = |(path, segments, strategy)| {
        let size = size(segments);
        let nanoseconds = match strategy {
            Strategy::Learned => fused(&size, profile, learned_scale(&learned?)),
            Strategy::Host | Strategy::Fused => {
                measured(segments).unwrap_or_else(|| estimate(strategy, &size, false, profile))
            }
            Strategy::Spectrum => estimate(strategy, &size, false, profile),
        };
        let is_dense = strategy == Strategy::Learned && !learned?.is_sparse();
        let considered = if is_viable(profile) {
            !is_dense && is_worth(strategy, &size, false, profile)
        } else {
            strategy == Strategy::Host
        };
        Some(PathEstimate { path, nanoseconds, considered })
    };
    let estimates: Vec<PathEstimate> = PATHS.into_iter().filter_map(estimated).collect();
    let considered = estimates.iter().filter(|estimate| estimate.considered);
    let least = considered.min_by(|a, b| a.nanoseconds.total_cmp(&b.nanoseconds)).map_or("fast", |least| least.path);
    let crossover = profile.crossovers.at(n_fft, 2, k);
    let pick = crossover.map_or(least, |crossover| match crossover.few {
        Strategy::Host if (batch as f64) < crossover.frames => "fast",
        Strategy::Spectrum if (batch as f64) < crossover.frames => "block",
        _ => "fused",
    });
    Breakdown { estimates, decision: decide(&size(2), profile), crossover, pick }
}
