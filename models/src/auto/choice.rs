//! Which tier and method a call is computed by, with what was predicted of each.

use std::fmt::Write;

use firefly_framework::cost::DeviceProfile;
use firefly_ops::WelchOptions;

use super::method::{Destination, Method, Workload};
use super::strategy::Strategy;
use crate::tier::Tier;

/// What `auto` may choose between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Selection {
    /// Methods of the configuration's tier: the same signal gives the same peaks, whatever the batch.
    #[default]
    Method,
    /// Methods of any tier that the frames are long enough for, and the learned model: fastest at any accuracy.
    AnyTier,
    /// By fixed limits on the batch: one segment for small ones, the device for large ones, two segments on the host between.
    Legacy,
}

/// How much of a signal a frame holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Enough for every tier: eight segments.
    Full,
    /// Two segments.
    Fast,
    /// One segment.
    Single,
}

impl Layout {
    /// The layout of frames of `frame` samples; `None` if they are shorter than a segment.
    pub fn of(options: &WelchOptions, frame: usize) -> Option<Self> {
        [Self::Full, Self::Fast, Self::Single].into_iter().find(|layout| frame >= layout.samples(options))
    }

    /// Samples of a frame in this layout.
    pub const fn samples(self, options: &WelchOptions) -> usize {
        WelchOptions { segments: self.longest_tier().segments(), ..*options }.frame()
    }

    /// The tier of the most segments that a frame holds.
    pub const fn longest_tier(self) -> Tier {
        match self {
            Self::Full => Tier::Reference,
            Self::Fast => Tier::Fast,
            Self::Single => Tier::Ultra,
        }
    }
}

/// A tier, a way to compute it, and its predicted nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The tier.
    pub tier: Tier,
    /// The method.
    pub method: Method,
    /// Predicted nanoseconds.
    pub nanoseconds: f64,
}

/// What was chosen for a batch, and among what.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The tier and method that run.
    pub chosen: Candidate,
    /// Everything that was considered.
    pub considered: Vec<Candidate>,
}

/// Everything a choice follows from.
pub(super) struct Question<'a> {
    pub strategy: Strategy,
    pub selection: Selection,
    /// The only method that is considered, if one is.
    pub method: Option<Method>,
    pub destination: Destination,
    /// The tier of the configuration.
    pub tier: Tier,
    /// The estimate, whatever its number of segments.
    pub options: WelchOptions,
    pub k: usize,
    pub batch: usize,
    pub frame: usize,
    /// Whether frames are in the host's own memory.
    pub on_host: bool,
    /// Whether only one operation on the device will do: gradients flow through it, and it takes any float.
    pub direct: bool,
    pub butterflies: Option<(usize, usize)>,
    pub device: &'a DeviceProfile,
}

const LEGACY_SMALL_ON_HOST: usize = 256;
const LEGACY_SMALL_ON_DEVICE: usize = 128;
const LEGACY_LARGE: usize = 8192;

impl Question<'_> {
    pub fn answer(&self) -> Choice {
        let wanted = |pair: &(Tier, Method)| self.method.is_none_or(|method| method == pair.1);
        let considered: Vec<Candidate> =
            self.pairs().into_iter().filter(wanted).filter_map(|(tier, method)| self.candidate(tier, method)).collect();
        let fastest = considered.iter().min_by(|a, b| a.nanoseconds.total_cmp(&b.nanoseconds)).copied();
        let chosen = fastest.unwrap_or(Candidate { tier: self.tier, method: Method::Fused, nanoseconds: f64::NAN });
        Choice { chosen, considered }
    }

    fn candidate(&self, tier: Tier, method: Method) -> Option<Candidate> {
        let workload = Workload {
            options: WelchOptions { segments: tier.segments(), ..self.options },
            batch: self.batch,
            k: self.k,
            destination: self.destination,
            on_host: self.on_host,
            butterflies: self.butterflies,
        };
        let forced = self.strategy == Strategy::Learned;
        let predicted = workload.predict(method, self.device);
        // A learned model that was asked for runs, sparse or not.
        let nanoseconds = if forced { Some(predicted.unwrap_or(f64::NAN)) } else { predicted };
        nanoseconds.map(|nanoseconds| Candidate { tier, method, nanoseconds })
    }

    /// The tiers and methods that may run.
    fn pairs(&self) -> Vec<(Tier, Method)> {
        let host = if self.on_host || self.direct { Method::Fused } else { Method::Host };
        let methods: &[Method] =
            if self.direct { &[Method::Fused] } else { &[Method::Host, Method::Fused, Method::Spectrum] };
        let of = |tier: Tier, methods: &[Method]| methods.iter().map(|method| (tier, *method)).collect::<Vec<_>>();
        match self.strategy {
            Strategy::Ultra => of(Tier::Ultra, &[host]),
            Strategy::Fast => of(Tier::Fast, &[host]),
            Strategy::Fused if self.direct => of(Tier::Fast, &[Method::Fused]),
            Strategy::Fused => of(Tier::Fast, &[Method::Fused, Method::Spectrum]),
            Strategy::Reference => of(Tier::Reference, methods),
            Strategy::Learned => of(self.tier, &[Method::Learned]),
            Strategy::Auto => match self.selection {
                Selection::Method => of(self.tier, methods),
                Selection::AnyTier => self.any_tier(methods),
                Selection::Legacy => self.legacy(host),
            },
        }
    }

    fn any_tier(&self, methods: &[Method]) -> Vec<(Tier, Method)> {
        let Some(layout) = Layout::of(&self.options, self.frame) else { return vec![(self.tier, Method::Fused)] };
        let held = Tier::ALL.into_iter().filter(|tier| tier.segments() <= layout.longest_tier().segments());
        let mut pairs: Vec<_> = held.flat_map(|tier| methods.iter().map(move |method| (tier, *method))).collect();
        if self.butterflies.is_some() {
            pairs.push((self.tier, Method::Learned));
        }
        pairs
    }

    fn legacy(&self, host: Method) -> Vec<(Tier, Method)> {
        let small = if self.on_host { LEGACY_SMALL_ON_HOST } else { LEGACY_SMALL_ON_DEVICE };
        if self.batch <= small {
            return vec![(Tier::Ultra, host)];
        }
        if self.on_host || self.batch < LEGACY_LARGE {
            return vec![(Tier::Fast, host)];
        }
        match self.candidate(self.tier, Method::Learned) {
            Some(_) => vec![(self.tier, Method::Learned)],
            None => vec![(Tier::Fast, Method::Fused)],
        }
    }
}

impl Choice {
    /// The choice and every prediction, in a line.
    pub fn explain(&self) -> String {
        let mut text = format!("{} {}", self.chosen.tier, self.chosen.method);
        let mut separator = " of ";
        for Candidate { tier, method, nanoseconds } in &self.considered {
            // Writing to a string can't fail.
            let _ = write!(text, "{separator}{tier} {method} {:.1} µs", nanoseconds / 1e3);
            separator = ", ";
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use firefly_framework::cost::Preset;

    use super::*;

    fn ask(strategy: Strategy, selection: Selection, preset: Preset, batch: usize) -> Question<'static> {
        let device: &'static DeviceProfile = Box::leak(Box::new(preset.profile()));
        Question {
            strategy,
            selection,
            method: None,
            destination: Destination::Host,
            tier: Tier::Reference,
            options: WelchOptions::new(256, 8),
            k: 16,
            batch,
            frame: 1152,
            on_host: preset == Preset::Cpu,
            direct: false,
            butterflies: None,
            device,
        }
    }

    fn chosen(question: &Question<'_>) -> (Tier, Method) {
        let chosen = question.answer().chosen;
        (chosen.tier, chosen.method)
    }

    #[test]
    fn auto_keeps_the_tier_at_every_batch() {
        for preset in Preset::ALL {
            for batch in [1, 100, 10_000, 1_000_000] {
                let choice = ask(Strategy::Auto, Selection::Method, preset, batch).answer();
                assert_eq!(choice.chosen.tier, Tier::Reference);
                assert!(choice.considered.iter().all(|candidate| candidate.nanoseconds >= choice.chosen.nanoseconds));
            }
        }
    }

    #[test]
    fn any_tier_takes_the_cheapest_that_the_frame_holds() {
        let question = ask(Strategy::Auto, Selection::AnyTier, Preset::Cpu, 100);
        assert_eq!(question.answer().chosen.tier, Tier::Ultra);
        assert_eq!(question.answer().considered.len(), 6);
        let fast = Question { frame: 384, ..question };
        assert_eq!(fast.answer().considered.len(), 4);
    }

    #[test]
    fn legacy_limits_hold() {
        let legacy = |preset, batch| chosen(&ask(Strategy::Auto, Selection::Legacy, preset, batch));
        assert_eq!(legacy(Preset::Cpu, 256).0, Tier::Ultra);
        assert_eq!(legacy(Preset::Cpu, 257).0, Tier::Fast);
        assert_eq!(legacy(Preset::Cpu, 100_000).0, Tier::Fast);
        assert_eq!(legacy(Preset::Cuda, 128), (Tier::Ultra, Method::Host));
        assert_eq!(legacy(Preset::Cuda, 129), (Tier::Fast, Method::Host));
        assert_eq!(legacy(Preset::Cuda, 8191), (Tier::Fast, Method::Host));
        assert_eq!(legacy(Preset::Cuda, 8192), (Tier::Fast, Method::Fused));
        let sparse =
            Question { butterflies: Some((1, 100)), ..ask(Strategy::Auto, Selection::Legacy, Preset::Cuda, 8192) };
        assert_eq!(chosen(&sparse).1, Method::Learned);
        let dense = Question { butterflies: Some((90, 100)), ..sparse };
        assert_eq!(chosen(&dense).1, Method::Fused);
    }

    #[test]
    fn forced_strategies_are_what_they_say() {
        let forced = |strategy, preset| chosen(&ask(strategy, Selection::Method, preset, 1000));
        assert_eq!(forced(Strategy::Ultra, Preset::Cuda), (Tier::Ultra, Method::Host));
        assert_eq!(forced(Strategy::Fast, Preset::Cuda), (Tier::Fast, Method::Host));
        assert_eq!(forced(Strategy::Fused, Preset::Cuda).0, Tier::Fast);
        assert_eq!(forced(Strategy::Reference, Preset::Cuda).0, Tier::Reference);
        assert_eq!(forced(Strategy::Learned, Preset::Cuda).1, Method::Learned);
    }

    #[test]
    fn gradients_need_one_operation() {
        for strategy in [Strategy::Auto, Strategy::Fast, Strategy::Fused, Strategy::Reference] {
            let question = Question { direct: true, ..ask(strategy, Selection::Method, Preset::Wgpu, 1) };
            assert_eq!(chosen(&question).1, Method::Fused);
        }
    }

    #[test]
    fn layouts_follow_from_the_frame() {
        let options = WelchOptions::new(256, 2);
        let layout = |frame| Layout::of(&options, frame);
        assert_eq!(layout(1152), Some(Layout::Full));
        assert_eq!((layout(1151), layout(384)), (Some(Layout::Fast), Some(Layout::Fast)));
        assert_eq!((layout(383), layout(255)), (Some(Layout::Single), None));
    }
}
