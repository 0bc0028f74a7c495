//! Request for a strategy, with everything that the selection depends on, and the selection with every candidate.

use std::fmt;

use super::{LearnedSize, PeaksSize, Strategy};
use crate::profile::DeviceProfile;
use crate::published;

/// Candidate: a number of segments and a strategy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Segments of each frame that are averaged.
    pub segments: usize,
    /// The strategy.
    pub strategy: Strategy,
    /// Predicted nanoseconds, if there is a prediction.
    pub nanoseconds: Option<f64>,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", published::segments_label(self.segments), self.strategy)
    }
}

/// The selected candidate for a batch, and all that were considered.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// The candidate that runs.
    pub selected: Candidate,
    /// Every candidate, in the order in which they were considered.
    pub considered: Vec<Candidate>,
    /// Number of frames up to which another strategy than the fused operation is the fastest, where it was measured.
    pub crossover: Option<f64>,
}

impl Selection {
    /// The selection, every candidate with its prediction, and the crossover, in one line.
    pub fn explain(&self) -> String {
        let time = |nanoseconds: f64| format!(" {:.1} µs", nanoseconds / 1e3);
        let predicted =
            |candidate: &Candidate| format!("{candidate}{}", candidate.nanoseconds.map(time).unwrap_or_default());
        let considered: Vec<String> = self.considered.iter().map(predicted).collect();
        let of = if considered.is_empty() { "" } else { " of " };
        let crossover = self.crossover.map(|frames| format!("; fused from {:.0} frames on", frames.ceil()));
        format!("{}{of}{}{}", self.selected, considered.join(", "), crossover.unwrap_or_default())
    }
}

/// Arguments on which a selection depends.
#[non_exhaustive]
#[derive(Debug, Clone, Copy)]
pub struct PeaksRequest<'a> {
    /// The problem, with the configured number of segments.
    pub size: PeaksSize,
    /// Profile of the device.
    pub device: &'a DeviceProfile,
    /// Candidate numbers of segments; that of the problem if there are none.
    pub segments: &'a [usize],
    /// Candidate strategies.
    pub strategies: &'a [Strategy],
    /// Whether the published thresholds on the batch decide.
    pub by_thresholds: bool,
    /// Samples per frame, which have room for some of the candidate numbers of segments.
    pub frame: usize,
    /// Whether peaks stay on the device of the frames; they are delivered in host memory otherwise.
    pub keep_on_device: bool,
    /// Whether the frames are in host memory.
    pub on_host: bool,
    /// Whether only one operation on the device is possible: where gradients are tracked, and for floats other than
    /// f32.
    pub direct: bool,
    /// The learned model, if there is one.
    pub learned: Option<LearnedSize>,
}

impl<'a> PeaksRequest<'a> {
    /// The request for exact peaks, delivered in host memory, of frames on a device; on a host if the profile is of one.
    pub const fn new(size: PeaksSize, device: &'a DeviceProfile) -> Self {
        Self {
            size,
            device,
            segments: &[],
            strategies: &Strategy::EXACT,
            by_thresholds: false,
            frame: size.options.frame(),
            keep_on_device: false,
            on_host: !device.peaks.gpu,
            direct: false,
            learned: None,
        }
    }

    /// The candidate that is the fastest by the device's crossovers, or where it was not calibrated by the published
    /// estimates; `Fused` with the configured number of segments where there is no candidate.
    pub fn select(&self) -> Selection {
        let candidates = if self.by_thresholds { vec![published::by_thresholds(self)] } else { self.candidates() };
        if self.by_thresholds || self.device.crossovers.is_empty() {
            published::select(self, &candidates)
        } else {
            self.by_crossover(&candidates)
        }
    }

    /// The problem with another number of segments, in segments that overlap as those of the problem.
    pub fn size_of(&self, segments: usize) -> PeaksSize {
        PeaksSize { options: self.size.options.with_segments(segments), ..self.size }
    }

    /// Nanoseconds of copying peaks that a strategy finds on the host to the device.
    pub fn upload(&self, strategy: Strategy) -> f64 {
        let found_on_host = matches!(strategy, Strategy::Host | Strategy::Spectrum);
        if !found_on_host || self.on_host || !self.keep_on_device {
            return 0.0;
        }
        self.device.roundtrip + self.size.peaks_bytes() as f64 / self.device.link_bandwidth
    }

    /// The strategy that runs in the place of one that is impossible here: on a host, `Host` is the same as `Fused`,
    /// and where only one operation is possible, that is `Fused`.
    pub const fn executable(&self, strategy: Strategy) -> Strategy {
        match strategy {
            Strategy::Learned => Strategy::Learned,
            Strategy::Host if self.on_host => Strategy::Fused,
            _ if self.direct => Strategy::Fused,
            other => other,
        }
    }

    /// Candidate numbers of segments and strategies, each pair once; whether a learned model is the only one.
    fn candidates(&self) -> Vec<(usize, Strategy)> {
        let configured = self.size.options.segments;
        let numbers: Vec<usize> = match self.segments {
            [] => vec![configured],
            numbers => {
                let fits = |segments: &usize| self.frame >= self.size_of(*segments).options.frame();
                numbers.iter().copied().filter(fits).collect()
            }
        };
        if numbers.is_empty() {
            return vec![(configured, Strategy::Fused)];
        }
        let mut pairs = Vec::new();
        for segments in numbers {
            for &strategy in self.strategies.iter().filter(|strategy| **strategy != Strategy::Learned) {
                let pair = (segments, self.executable(strategy));
                if !pairs.contains(&pair) {
                    pairs.push(pair);
                }
            }
        }
        if self.strategies.contains(&Strategy::Learned) && self.learned.is_some() {
            pairs.push((configured, Strategy::Learned));
        }
        pairs
    }

    /// The candidate of the fewest segments, by the strategy that the measured crossover names; a learned model in its
    /// place if that was measured to be faster.
    fn by_crossover(&self, candidates: &[(usize, Strategy)]) -> Selection {
        let (PeaksSize { options, batch, k }, crossovers) = (self.size, &self.device.crossovers);
        let candidate = |segments, strategy| {
            let per_frame = match strategy {
                Strategy::Fused => crossovers.at(options.n_fft, segments, k).map(|found| found.fused),
                Strategy::Learned => {
                    self.learned.and_then(|model| crossovers.learned(&model, options.n_fft, k, self.device.peaks.gpu))
                }
                Strategy::Host | Strategy::Spectrum => None,
            };
            Candidate { segments, strategy, nanoseconds: per_frame.map(|time| time * batch as f64) }
        };
        let considered: Vec<Candidate> =
            candidates.iter().map(|&(number, strategy)| candidate(number, strategy)).collect();
        let (learned, exact): (Vec<Candidate>, Vec<Candidate>) =
            considered.iter().copied().partition(|candidate| candidate.strategy == Strategy::Learned);
        let learned = learned.first().copied();
        let Some(&first) = exact.iter().min_by_key(|candidate| candidate.segments) else {
            let selected = learned.unwrap_or_else(|| candidate(options.segments, Strategy::Fused));
            return Selection { selected, considered, crossover: None };
        };
        let is =
            |candidate: &&Candidate, strategy| (candidate.segments, candidate.strategy) == (first.segments, strategy);
        let of = |strategy| exact.iter().find(|candidate| is(candidate, strategy)).copied();
        let crossover = crossovers.at(options.n_fft, first.segments, k).filter(|found| found.few != Strategy::Fused);
        let limit = crossover.map(|found| found.limit(self.upload(found.few)));
        let is_few = limit.is_some_and(|limit| (batch as f64) < limit);
        let few = crossover.filter(|_| is_few).and_then(|found| of(found.few));
        let exact = few.or_else(|| of(Strategy::Fused)).unwrap_or(first);
        let fused = candidate(first.segments, Strategy::Fused).nanoseconds;
        let is_faster = |learned: &Candidate| fused.zip(learned.nanoseconds).is_some_and(|(fused, time)| time < fused);
        let selected = learned.filter(is_faster).unwrap_or(exact);
        Selection { selected, considered, crossover: limit }
    }
}

#[cfg(test)]
mod tests;
