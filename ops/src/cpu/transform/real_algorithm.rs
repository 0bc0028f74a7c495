//! Choice of the algorithm for real rows in f32, by their length and number.

use std::sync::Arc;

use super::bluestein::ChirpPlan;
use super::lanes::complex_points;
use super::plan::MixedRadixPlan;
use super::real_rows::RealRows;

/// The shortest real rows whose length is a power of two that are faster as complex rows than in lanes.
const MIN_REAL_ROWS: usize = 2048;

/// Algorithm that transforms real rows to their lower bins, and back.
pub(super) enum RealAlgorithm {
    /// By mixed radices with a row per lane.
    Lanes(Arc<MixedRadixPlan>),
    /// As complex rows of half as many values.
    Pairs(Arc<RealRows>),
    /// As a convolution with a chirp.
    Chirp(Arc<ChirpPlan>),
}

impl RealAlgorithm {
    /// The algorithm for `rows` rows of `n` samples on this thread; none where realfft is faster.
    pub fn of(n: usize, rows: usize) -> Option<Self> {
        let pairs = || RealRows::of(n).map(Self::Pairs);
        let lanes = || MixedRadixPlan::of(complex_points(n), rows).map(Self::Lanes);
        let is_long = n.is_power_of_two() && n >= MIN_REAL_ROWS;
        let rows = if is_long { pairs().or_else(lanes) } else { lanes().or_else(pairs) };
        rows.or_else(|| ChirpPlan::of(n).map(Self::Chirp))
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::cpu::isa::InstructionSet;

    #[test]
    fn long_powers_of_two_are_complex_rows() {
        for set in [InstructionSet::Avx2, InstructionSet::Avx512] {
            set.choose(|| {
                assert!(matches!(RealAlgorithm::of(512, 100), Some(RealAlgorithm::Lanes(_))));
                assert!(matches!(RealAlgorithm::of(512, 1), Some(RealAlgorithm::Pairs(_))));
                assert!(matches!(RealAlgorithm::of(4096, 100), Some(RealAlgorithm::Pairs(_))));
                assert!(matches!(RealAlgorithm::of(2003, 1), Some(RealAlgorithm::Chirp(_))));
                assert!(RealAlgorithm::of(99, 1).is_none());
            });
        }
    }
}
