//! Plan of a transform with a row per lane: its passes, their twiddles, and the order that rows are loaded in.

use std::f64::consts::TAU;
use std::sync::Arc;

use crate::cache::Cache;
use crate::cpu::isa::{InstructionSet, simd_enabled};

/// The most points of a transform: a tile of rows stays within the second-level cache.
const MAX_POINTS: usize = 4096;
/// The largest prime factor: its pass is a sum over all pairs.
const MAX_PRIME: usize = 200;
/// The fewest rows: with fewer, too many lanes are empty.
const MIN_ROWS: usize = 7;

/// One pass, in place: `radix` transforms of `len` points each become one of `radix * len` points.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cpu) struct Pass {
    pub radix: usize,
    /// Points of the transforms that are joined.
    pub len: usize,
    /// exp(-2πi jk / (radix len)), j below `len`, k from 1 to `radix`: `[len][radix - 1]`; none in the first pass.
    pub twiddles: Vec<[f32; 2]>,
    /// (cos, sin) of 2π q / radix for every q, where the radix has no code of its own.
    pub turns: Vec<[f32; 2]>,
}

/// Plan of a forward transform of complex values whose length has small factors: its passes.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cpu) struct MixedRadixPlan {
    pub points: usize,
    pub(super) passes: Vec<Pass>,
    pub largest_radix: usize,
    /// Place of each value in the tile: the reverse of its digits in the mixed radices.
    pub places: Vec<u32>,
    /// -i exp(-2πi k / (2 points)) for k up to half the points: they join the halves of a real transform of 2 · points.
    pub half_turns: Vec<[f32; 2]>,
}

impl MixedRadixPlan {
    /// The plan of `points` points for `rows` rows in f32 on this thread, if rows in lanes are the faster way.
    pub fn of(points: usize, rows: usize) -> Option<Arc<Self>> {
        let pays = rows >= MIN_ROWS && points <= MAX_POINTS && simd_enabled() && largest_prime(points) <= MAX_PRIME;
        pays.then(|| Self::of_points(points))
    }

    pub(super) fn of_points(points: usize) -> Arc<Self> {
        static PLANS: Cache<(usize, bool), Arc<MixedRadixPlan>> = Cache::new();
        // Thirty-two registers hold sixteen complex values.
        let wide = holds_sixteen(InstructionSet::current());
        PLANS.get((points, wide), || Arc::new(Self::new(points, if wide { 16 } else { 8 })))
    }

    /// The plan of `points` points with radices up to `largest`, a power of two, or a prime.
    fn new(points: usize, largest: usize) -> Self {
        let mut places = vec![0];
        let mut passes = Vec::new();
        for radix in radices(points, largest) {
            let len = places.len();
            places = (0..radix * len).map(|value| (value % radix * len) as u32 + places[value / radix]).collect();
            let twiddles = if len == 1 {
                Vec::new()
            } else {
                (0..len).flat_map(|j| (1..radix).map(move |k| turn(j * k, radix * len))).collect()
            };
            let turns = match radix {
                2..=5 | 7 | 8 | 16 => Vec::new(),
                _ => (0..radix).map(|q| turn(radix - q, radix)).collect(),
            };
            passes.push(Pass { radix, len, twiddles, turns });
        }
        // -i exp(-iθ) is exp(-i (θ + π/2)).
        let half_turns = (0..=points / 2).map(|k| turn(2 * k + points, 4 * points)).collect();
        let largest_radix = passes.iter().map(|pass| pass.radix).max().unwrap_or(1);
        Self { points, passes, largest_radix, places, half_turns }
    }

    /// Work of a row in the unit of [`Tasks`](crate::cpu::runtime::tasks::Tasks), a radix-2 butterfly.
    pub fn work(&self) -> usize {
        let pass = |pass: &Pass| if pass.turns.is_empty() { pass.radix.ilog2() as usize + 1 } else { pass.radix };
        self.points * self.passes.iter().map(pass).sum::<usize>() / 8 + self.points
    }
}

#[cfg(target_arch = "x86_64")]
fn holds_sixteen(set: InstructionSet) -> bool {
    set == InstructionSet::Avx512
}

#[cfg(not(target_arch = "x86_64"))]
fn holds_sixteen(_set: InstructionSet) -> bool {
    false
}

/// exp(-2πi m / n).
pub(super) fn turn(m: usize, n: usize) -> [f32; 2] {
    // Reduced to an eighth of a turn, where the functions are exact to the last bit.
    let (quarter, rest) = (4 * (m % n) / n, 4 * (m % n) % n);
    let angle = |part: usize| TAU / 4.0 * part as f64 / n as f64;
    let (cos, sin) = if 2 * rest <= n {
        (angle(rest).cos(), angle(rest).sin())
    } else {
        (angle(n - rest).sin(), angle(n - rest).cos())
    };
    let (cos, sin) = [(cos, sin), (-sin, cos), (-cos, -sin), (sin, -cos)][quarter];
    [cos as f32, -sin as f32]
}

pub(super) fn largest_prime(mut n: usize) -> usize {
    let mut factor = 2;
    while factor * factor <= n {
        if n.is_multiple_of(factor) { n /= factor } else { factor += 1 }
    }
    n
}

/// The radices of `n`, in the order of their passes: primes, then ascending powers of two up to `largest`.
fn radices(mut n: usize, largest: usize) -> Vec<usize> {
    let mut odd = Vec::new();
    let mut factor = 3;
    let twos = n.trailing_zeros() as usize;
    n >>= twos;
    while n > 1 {
        if n.is_multiple_of(factor) {
            odd.push(factor);
            n /= factor;
        } else {
            factor += 2;
        }
    }
    let bits = largest.ilog2() as usize;
    let count = twos.div_ceil(bits);
    // As even as possible: 32 is 4 · 8 rather than 2 · 16.
    let power = |index: usize| 1 << ((twos + index) / count.max(1));
    odd.into_iter().chain((0..count).map(power)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
    fn radices_are_factors_within_bounds() {
        for largest in [8, 16] {
            for n in 1..3000 {
                let radices = radices(n, largest);
                assert_eq!(radices.iter().product::<usize>(), n);
                assert!(radices.iter().all(|&radix| radix <= largest || largest_prime(radix) == radix));
            }
        }
        assert_eq!(radices(1000, 16), [5, 5, 5, 8]);
        assert_eq!(radices(32, 16), [4, 8]);
        assert!(radices(1, 16).is_empty());
    }

    #[test]
    fn places_are_a_permutation() {
        for n in [1, 2, 6, 15, 60, 97, 128] {
            let mut places = MixedRadixPlan::new(n, 16).places;
            places.sort_unstable();
            assert!(places.into_iter().eq(0..n as u32));
        }
        // With two radices of 2 it is the order of reversed bits.
        assert_eq!(MixedRadixPlan::new(4, 2).places, [0, 2, 1, 3]);
    }

    #[test]
    fn turns_are_exact_at_quarters() {
        assert_eq!([0, 1, 2, 3].map(|m| turn(m, 4)), [[1.0, -0.0], [0.0, -1.0], [-1.0, -0.0], [-0.0, 1.0]]);
        assert_eq!(turn(1, 8), [0.5f64.sqrt() as f32, -(0.5f64.sqrt() as f32)]);
    }
}
