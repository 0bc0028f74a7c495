//! Estimates whose times calibration measures.

use std::fmt;

use super::peaks::Strategy;

/// An estimate whose time calibration measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasuredEstimate {
    /// A strategy; of the learned model, one with every gate open.
    Strategy(Strategy),
    /// The learned model with as few open blocks of bins as have the peaks.
    FewestBlocks,
    /// The learned model with a transform that is halved once.
    Halved,
}

impl MeasuredEstimate {
    /// Key of its latency table in a device profile.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strategy(strategy) => strategy.name(),
            Self::FewestBlocks => "learned_fewest_blocks",
            Self::Halved => "learned_halved",
        }
    }

    /// Whether it finds the peaks of a learned model.
    pub const fn is_learned(self) -> bool {
        !matches!(self, Self::Strategy(Strategy::Host | Strategy::Fused | Strategy::Spectrum))
    }
}

impl fmt::Display for MeasuredEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
