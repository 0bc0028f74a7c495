//! Selection of a tier and a strategy for a batch: a request with everything that the selection depends on, and the
//! selection with the predicted time of every candidate.

use std::fmt::{self, Write};

use firefly_framework::cost::{LearnedSize, PeaksSize, PeaksWorkload, Strategy, published};
use firefly_framework::profile::DeviceProfile;
use firefly_ops::WelchOptions;

use super::AutoWelchPeaksConfig;
use crate::tier::Tier;

/// A tier, a strategy that computes it, and the predicted time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The tier.
    pub tier: Tier,
    /// The strategy.
    pub strategy: Strategy,
    /// Predicted nanoseconds; NaN where nothing was predicted.
    pub nanoseconds: f64,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.tier, self.strategy)
    }
}

/// The selected candidate for a batch, and all that were considered.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// The tier and strategy that run.
    pub selected: Candidate,
    /// Every candidate, in the order in which they were considered.
    pub considered: Vec<Candidate>,
}

impl Selection {
    /// The selection and every prediction, in one line.
    pub fn explain(&self) -> String {
        let mut text = self.selected.to_string();
        let mut separator = " of ";
        for candidate in &self.considered {
            // Writing to a string can't fail.
            let _ = write!(text, "{separator}{candidate} {:.1} µs", candidate.nanoseconds / 1e3);
            separator = ", ";
        }
        text
    }
}

/// Arguments on which a selection depends.
#[derive(Clone, Copy)]
pub(super) struct PlanRequest<'a> {
    pub config: &'a AutoWelchPeaksConfig,
    /// Number of frames.
    pub batch: usize,
    /// Samples per frame.
    pub frame: usize,
    /// Whether the frames are in host memory.
    pub on_host: bool,
    /// Whether only one operation on the device is possible: where gradients are tracked, and for floats other than
    /// f32.
    pub direct: bool,
    /// The learned model, if there is one.
    pub learned: Option<LearnedSize>,
    /// Profile of the device.
    pub device: &'a DeviceProfile,
}

/// A published threshold: the tier and strategy of batches up to a size.
struct BatchThreshold {
    max_batch: usize,
    tier: Tier,
    strategy: Strategy,
}

/// Published thresholds for frames in host memory.
const ON_HOST: [BatchThreshold; 2] = [
    BatchThreshold { max_batch: 256, tier: Tier::Ultra, strategy: Strategy::Host },
    BatchThreshold { max_batch: usize::MAX, tier: Tier::Fast, strategy: Strategy::Host },
];

/// Published thresholds for frames on a device; a sparse learned model replaces `Fused`.
const ON_DEVICE: [BatchThreshold; 3] = [
    BatchThreshold { max_batch: 128, tier: Tier::Ultra, strategy: Strategy::Host },
    BatchThreshold { max_batch: 8191, tier: Tier::Fast, strategy: Strategy::Host },
    BatchThreshold { max_batch: usize::MAX, tier: Tier::Fast, strategy: Strategy::Fused },
];

/// Ratio of predicted times up to which strategies count as equally fast: calls of one strategy differ by more. Of
/// equally fast ones `Fused` runs, which writes no spectra to memory.
const TIE: f64 = 1.1;

impl PlanRequest<'_> {
    /// The candidate of the shortest predicted time, or `Fused` at its tier if that ties with it; `Fused` at the
    /// configured tier where nothing was predicted.
    pub fn select(&self) -> Selection {
        let pairs = if self.config.by_thresholds { vec![self.by_thresholds()] } else { self.candidates() };
        let predicted: Vec<Candidate> =
            pairs.into_iter().filter_map(|(tier, strategy)| self.predict(tier, strategy)).collect();
        let worth: Vec<Candidate> =
            predicted.iter().copied().filter(|candidate| self.is_considered(candidate)).collect();
        let considered = if worth.is_empty() { predicted } else { worth };
        let fastest = considered.iter().min_by(|a, b| a.nanoseconds.total_cmp(&b.nanoseconds));
        let none = Candidate { tier: self.config.peaks.tier, strategy: Strategy::Fused, nanoseconds: f64::NAN };
        let selected = fastest.map_or(none, |fastest| {
            let ties = |candidate: &&Candidate| {
                (candidate.tier, candidate.strategy) == (fastest.tier, Strategy::Fused)
                    && candidate.nanoseconds <= TIE * fastest.nanoseconds
            };
            *considered.iter().find(ties).unwrap_or(fastest)
        });
        Selection { selected, considered }
    }

    /// A candidate with its predicted time; `None` for a strategy that is impossible, or a learned model that is
    /// neither measured nor sparse.
    fn predict(&self, tier: Tier, strategy: Strategy) -> Option<Candidate> {
        let workload = PeaksWorkload::new(self.size(tier))
            .with_keep_on_device(self.config.keep_on_device)
            .with_on_host(self.on_host)
            .with_learned(self.learned);
        let predicted = workload.predict(strategy, self.device);
        // A learned model that is the only candidate runs, sparse or not.
        let nanoseconds = if self.config.is_learned() { predicted.unwrap_or(f64::NAN) } else { predicted? };
        Some(Candidate { tier, strategy, nanoseconds })
    }

    /// Whether a candidate is in question on a device that was not calibrated, by the published rules for GPUs: one
    /// segment only up to a batch, fused and learned only where the fusion gate says so, and spectra that the host
    /// searches never. Measured latencies need no such rules.
    fn is_considered(&self, candidate: &Candidate) -> bool {
        if self.config.by_thresholds || !self.device.peaks.gpu || !self.device.latencies.is_empty() {
            return true;
        }
        let several = self.config.tiers.len() > 1;
        if several && candidate.tier == Tier::Ultra && self.batch > published::MAX_ULTRA_BATCH {
            return false;
        }
        match candidate.strategy {
            Strategy::Host => true,
            Strategy::Spectrum => false,
            Strategy::Fused | Strategy::Learned => published::decide(&self.size(candidate.tier), self.device).fuse(),
        }
    }

    fn size(&self, tier: Tier) -> PeaksSize {
        PeaksSize { options: self.options(tier), batch: self.batch, k: self.config.peaks.k }
    }

    /// Candidate tiers and strategies, each once.
    fn candidates(&self) -> Vec<(Tier, Strategy)> {
        let configured = self.config.peaks.tier;
        let tiers: Vec<Tier> = match self.config.tiers.as_slice() {
            [] => vec![configured],
            tiers => tiers.iter().copied().filter(|tier| self.frame >= self.options(*tier).frame()).collect(),
        };
        if tiers.is_empty() {
            return vec![(configured, Strategy::Fused)];
        }
        let mut pairs = Vec::new();
        for tier in tiers {
            for &strategy in self.config.strategies.iter().filter(|strategy| **strategy != Strategy::Learned) {
                let pair = (tier, self.executable(strategy));
                if !pairs.contains(&pair) {
                    pairs.push(pair);
                }
            }
        }
        if self.config.strategies.contains(&Strategy::Learned) && self.learned.is_some() {
            pairs.push((configured, Strategy::Learned));
        }
        pairs
    }

    /// The strategy that runs in the place of one that is impossible here: on a host, `Host` is the same as `Fused`,
    /// and where only one operation is possible, that is `Fused`.
    fn executable(&self, strategy: Strategy) -> Strategy {
        match strategy {
            Strategy::Learned => Strategy::Learned,
            Strategy::Host if self.on_host => Strategy::Fused,
            _ if self.direct => Strategy::Fused,
            other => other,
        }
    }

    /// The tier and strategy by published thresholds.
    fn by_thresholds(&self) -> (Tier, Strategy) {
        let table = if self.on_host { &ON_HOST[..] } else { &ON_DEVICE };
        let last = &table[table.len() - 1];
        let BatchThreshold { tier, strategy, .. } =
            table.iter().find(|row| self.batch <= row.max_batch).unwrap_or(last);
        let configured = self.config.peaks.tier;
        if *strategy == Strategy::Fused && self.learned.is_some_and(|learned| learned.is_sparse()) {
            return (configured, Strategy::Learned);
        }
        (*tier, self.executable(*strategy))
    }

    /// Options of the estimate at a tier.
    fn options(&self, tier: Tier) -> WelchOptions {
        self.config.peaks.clone().with_tier(tier).options()
    }
}

#[cfg(test)]
mod tests {
    use firefly_framework::cost::PEAKS_AXES;
    use firefly_framework::profile::{LatencyAxis, LatencyTable, Preset};

    use super::*;
    use crate::welch_peaks::WelchPeaksConfig;

    fn config(name: &str) -> AutoWelchPeaksConfig {
        let peaks = WelchPeaksConfig::new().with_tier(Tier::Reference);
        AutoWelchPeaksConfig::new().with_peaks(peaks).with_published(name).unwrap()
    }

    fn learned_size() -> LearnedSize {
        LearnedSize { open: 2, all: 8, segments: 2, exact: true, products: true, closed_blocks: 0, halvings: 0 }
    }

    fn request<'a>(config: &'a AutoWelchPeaksConfig, device: &'a DeviceProfile, batch: usize) -> PlanRequest<'a> {
        let on_host = device.name == "cpu";
        let learned = config.is_learned().then(learned_size);
        PlanRequest { config, batch, frame: 1152, on_host, direct: false, learned, device }
    }

    fn select(name: &str, preset: Preset, batch: usize) -> Selection {
        request(&config(name), &preset.profile(), batch).select()
    }

    fn selected(name: &str, preset: Preset, batch: usize) -> (Tier, Strategy) {
        let selected = select(name, preset, batch).selected;
        (selected.tier, selected.strategy)
    }

    #[test]
    fn auto_keeps_the_tier_at_every_batch() {
        for preset in Preset::ALL {
            for batch in [1, 100, 10_000, 1_000_000] {
                let Selection { selected, considered } = select("auto", preset, batch);
                assert_eq!(selected.tier, Tier::Reference);
                assert!(considered.iter().all(|candidate| TIE * candidate.nanoseconds >= selected.nanoseconds));
            }
        }
    }

    #[test]
    fn of_equally_fast_strategies_the_fused_one_runs() {
        let selected = |fused: f64, spectrum: f64| {
            let table = |nanoseconds| {
                let axis = |(name, interpolation): (&str, _)| LatencyAxis {
                    name: name.into(),
                    interpolation,
                    values: vec![1.0],
                };
                LatencyTable::new(PEAKS_AXES.map(axis).to_vec(), vec![nanoseconds]).unwrap()
            };
            let latencies = [("fused".to_string(), table(fused)), ("spectrum".to_string(), table(spectrum))].into();
            let device = DeviceProfile { latencies, ..Preset::Cpu.profile() };
            request(&config("auto"), &device, 100).select().selected.strategy
        };
        assert_eq!(selected(1.09, 1.0), Strategy::Fused);
        assert_eq!(selected(1.11, 1.0), Strategy::Spectrum);
        assert_eq!(selected(1.0, 1.11), Strategy::Fused);
    }

    #[test]
    fn any_selects_the_cheapest_tier_that_the_frame_holds() {
        let (config, device) = (config("any"), Preset::Cpu.profile());
        let request = request(&config, &device, 100);
        assert_eq!(request.select().selected.tier, Tier::Ultra);
        assert_eq!(request.select().considered.len(), 6);
        let considered = |frame| PlanRequest { frame, ..request }.select().considered;
        assert_eq!((considered(1151).len(), considered(384).len(), considered(383).len()), (4, 4, 2));
        // Too short for any tier: the operation itself reports it.
        assert_eq!(considered(255)[0].to_string(), "reference fused");
    }

    #[test]
    fn gpus_without_a_calibration_follow_the_published_rules() {
        let considered = |name: &str, batch| -> Vec<String> {
            select(name, Preset::Cuda, batch).considered.iter().map(ToString::to_string).collect()
        };
        let any = considered("any", 8192);
        assert!(!any.iter().any(|name| name.contains("ultra") || name.contains("spectrum")), "{any:?}");
        assert!(any.contains(&"fast fused".to_string()) && any.contains(&"fast host".to_string()), "{any:?}");
        assert_eq!(considered("any", 64), ["ultra host", "fast host", "reference host"]);
        // A strategy selected by name runs, whatever the gate decides.
        assert_eq!(selected("learned", Preset::Cuda, 8).1, Strategy::Learned);
    }

    #[test]
    fn published_thresholds_hold() {
        let by_thresholds = |preset, batch| selected("legacy", preset, batch);
        assert_eq!(by_thresholds(Preset::Cpu, 256).0, Tier::Ultra);
        assert_eq!(by_thresholds(Preset::Cpu, 257).0, Tier::Fast);
        assert_eq!(by_thresholds(Preset::Cpu, 100_000).0, Tier::Fast);
        assert_eq!(by_thresholds(Preset::Cuda, 128), (Tier::Ultra, Strategy::Host));
        assert_eq!(by_thresholds(Preset::Cuda, 129), (Tier::Fast, Strategy::Host));
        assert_eq!(by_thresholds(Preset::Cuda, 8191), (Tier::Fast, Strategy::Host));
        assert_eq!(by_thresholds(Preset::Cuda, 8192), (Tier::Fast, Strategy::Fused));
        let (config, device) = (config("legacy"), Preset::Cuda.profile());
        let with = |open| {
            let learned = Some(LearnedSize { open, all: 100, segments: 8, exact: false, ..learned_size() });
            let request = PlanRequest { learned, ..request(&config, &device, 8192) };
            request.select().selected.strategy
        };
        assert_eq!((with(1), with(90)), (Strategy::Learned, Strategy::Fused));
    }

    #[test]
    fn published_names_select_their_tier_and_strategy() {
        assert_eq!(selected("ultra", Preset::Cuda, 1000), (Tier::Ultra, Strategy::Host));
        assert_eq!(selected("fast", Preset::Cuda, 1000), (Tier::Fast, Strategy::Host));
        assert_eq!(selected("fused", Preset::Cuda, 1000).0, Tier::Fast);
        assert_eq!(selected("reference", Preset::Cuda, 1000).0, Tier::Reference);
        assert_eq!(selected("learned", Preset::Cuda, 1000).1, Strategy::Learned);
    }

    #[test]
    fn gradients_need_one_operation() {
        for name in ["auto", "fast", "fused", "reference"] {
            let (config, device) = (config(name), Preset::Wgpu.profile());
            let request = PlanRequest { direct: true, ..request(&config, &device, 1) };
            assert_eq!(request.select().selected.strategy, Strategy::Fused);
        }
    }
}
