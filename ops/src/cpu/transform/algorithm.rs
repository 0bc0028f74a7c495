//! Choice of the algorithm for rows in f32, by their length and number.

use std::sync::Arc;

use super::bluestein::ChirpPlan;
use super::lanes::complex_points;
use super::plan::MixedRadixPlan;
use super::real_rows::RealRows;
use super::{long_rows, mixed_radix_rows, short_rows};
use crate::cpu::isa::lines::RegisterShape;
use crate::cpu::isa::register::Register;
use crate::cpu::isa::{self, InstructionSet, Kernel, Width, dispatch, dispatch_two_rows};

/// The shortest power of two that goes through the passes of [`fft`](crate::cpu::fft), if registers do not hold it.
const MIN_PASSES: usize = 128;

/// Algorithm that transforms complex rows.
pub(super) enum ComplexAlgorithm {
    /// In registers from load to store.
    Short(Filled),
    /// By the passes of [`fft`](crate::cpu::fft).
    Passes,
    /// By those passes in parts, whose spectra are joined.
    Long,
    /// By mixed radices over registers with values of a row side by side.
    Rows(Filled),
    /// By mixed radices with a row per lane; also of rows that are cut or padded.
    Lanes(Arc<MixedRadixPlan>),
    /// As a convolution with a chirp; also of rows that are cut or padded.
    Chirp(Arc<ChirpPlan>),
}

impl ComplexAlgorithm {
    /// The algorithm on this thread for `rows` rows of `n` values, cut or padded from `width`, if rustfft is not faster.
    pub fn of(n: usize, width: usize, rows: usize) -> Option<Self> {
        let whole = if width == n { Self::of_whole_rows(n) } else { None };
        whole.or_else(|| MixedRadixPlan::of(n, rows).map(Self::Lanes)).or_else(|| ChirpPlan::of(n).map(Self::Chirp))
    }

    /// The algorithm, if there is one, that fills registers with the values of a row, for any number of `n`-point rows.
    pub fn of_whole_rows(n: usize) -> Option<Self> {
        if let Some(filled) = short_rows::filled_by(n) {
            return Some(Self::Short(filled));
        }
        if long_rows::supports_length(n) {
            return Some(Self::Long);
        }
        if n.is_power_of_two() && n >= MIN_PASSES && isa::supports_length(n) {
            return Some(Self::Passes);
        }
        mixed_radix_rows::filled_by(n).map(Self::Rows)
    }
}

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

/// Registers that rows fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filled {
    /// One row in sixteen lanes.
    Sixteen,
    /// Two rows in eight lanes each, or one where there are no such registers.
    Eight,
}

impl Filled {
    /// Runs `kernel` with `set` on such registers.
    pub fn dispatch(self, set: InstructionSet, kernel: impl Kernel) {
        match self {
            Self::Sixteen => dispatch(set, Width::Sixteen, kernel),
            Self::Eight => dispatch_two_rows(set, kernel),
        }
    }

    /// The shape of the registers that a kernel runs on, called from this thread.
    pub fn shape(self) -> RegisterShape {
        let mut shape = RegisterShape::default();
        self.dispatch(InstructionSet::current(), ShapeKernel(&mut shape));
        shape
    }
}

/// Kernel that finds the shape of its registers.
struct ShapeKernel<'a>(&'a mut RegisterShape);

impl Kernel for ShapeKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, _token: V::Token) {
        *self.0 = RegisterShape::of::<V>();
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::cpu::isa::InstructionSet;

    fn names(rows: usize, lengths: impl IntoIterator<Item = usize>) -> Vec<&'static str> {
        let name = |n| match ComplexAlgorithm::of(n, n, rows) {
            Some(ComplexAlgorithm::Short(_)) => "short",
            Some(ComplexAlgorithm::Passes) => "passes",
            Some(ComplexAlgorithm::Long) => "long",
            Some(ComplexAlgorithm::Rows(_)) => "rows",
            Some(ComplexAlgorithm::Lanes(_)) => "lanes",
            Some(ComplexAlgorithm::Chirp(_)) => "chirp",
            None => "rustfft",
        };
        lengths.into_iter().map(name).collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
    fn the_algorithm_follows_from_length_and_number_of_rows() {
        for set in [InstructionSet::Avx2, InstructionSet::Avx512] {
            set.choose(|| {
                assert_eq!(names(1, [8, 16, 64, 256, 4096]), ["short", "short", "short", "passes", "passes"]);
                assert_eq!(names(1, [8192, 1 << 20]), ["long", "long"]);
                assert_eq!(names(1, [192, 1080, 10_000]), ["rows", "rows", "rows"]);
                assert_eq!(names(100, [4, 100, 199, 1031]), ["lanes", "lanes", "lanes", "chirp"]);
                assert_eq!(
                    names(1, [100, 251, 1031, 401, 8 * 1031]),
                    ["rustfft", "chirp", "chirp", "rustfft", "rustfft"]
                );
            });
        }
    }

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
