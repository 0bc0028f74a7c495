//! The tables of a transform, made once per length and lane count.

use std::f64::consts::TAU;
use std::sync::OnceLock;

use super::lanes::{Complex, Lanes};
use super::memory::{Line, complexes, lines_of};

/// Shortest transform that the kernels take.
pub(super) const MIN_N: usize = 64;
/// Longest transform that the kernels take.
pub(super) const MAX_N: usize = 1 << 16;

/// Tables of the transform of `n` values in registers of `L` lanes, `n` at least L²: see [`transform`](super::transform).
#[derive(Debug)]
pub(super) struct Plan {
    /// Registers of a vector, `n / L`.
    pub columns: usize,
    /// The passes over columns, first to last. The first has radix [`entry`].
    pub passes: Vec<Pass>,
    /// Where, in blocks of the first pass's output, [`entry`] columns of the spectrum from that times q on are, for each q: one
    /// in each block.
    pub entry_at: Vec<u32>,
    lane_twiddles: Vec<Line>,
    half_turn: Vec<Line>,
}

/// A decimation-in-frequency pass over blocks of `size` columns.
#[derive(Debug)]
pub(super) struct Pass {
    pub size: usize,
    pub radix: usize,
    /// exp(-2πi j q / size) as (re, im) for j = 0..size / radix and q = 0..radix, q fastest. Empty for the last pass.
    pub twiddles: Vec<[f32; 2]>,
}

impl Plan {
    /// The plan for `n` values in registers of `V`.
    pub fn of<V: Lanes>(n: usize) -> &'static Self {
        const LENGTHS: usize = MAX_N.ilog2() as usize + 1;
        const WIDTHS: usize = 3;
        static PLANS: [OnceLock<Plan>; LENGTHS * WIDTHS] = [const { OnceLock::new() }; LENGTHS * WIDTHS];
        let width = (V::COUNT / 4).ilog2() as usize;
        PLANS[n.ilog2() as usize * WIDTHS + width].get_or_init(|| Self::new(n, V::COUNT))
    }

    fn new(n: usize, lanes: usize) -> Self {
        let columns = n / lanes;
        debug_assert!(n.is_power_of_two() && columns >= lanes);
        let passes = passes(columns, lanes);
        let (entry, len) = (entry(lanes), columns / entry(lanes));
        // Column / entry of what position p of a block of the first pass's output holds after all passes.
        let quotient_in = |position: usize| {
            let (mut quotient, mut weight) = (0, 1);
            for pass in &passes[1..] {
                quotient += weight * (position % pass.size / (pass.size / pass.radix));
                weight *= pass.radix;
            }
            quotient
        };
        let mut entry_at = vec![0; len];
        for position in 0..len {
            entry_at[quotient_in(position)] = position as u32;
        }
        let mut lane_twiddles = Vec::with_capacity(2 * n);
        for position in 0..columns {
            let column = position / len + entry * quotient_in(position % len);
            push_complexes(&mut lane_twiddles, (0..lanes).map(|lane| twiddle(column * lane, n)));
        }
        let mut half_turn = Vec::with_capacity(n);
        for bins in 0..columns / 2 {
            // A quarter of a turn besides.
            let factors = (0..lanes).map(|lane| twiddle(bins * lanes + lane + n / 2, 2 * n));
            push_complexes(&mut half_turn, factors);
        }
        let (lane_twiddles, half_turn) = (lines_of(&lane_twiddles), lines_of(&half_turn));
        Self { columns, passes, entry_at, lane_twiddles, half_turn }
    }

    /// exp(-2πi k j / n) for the column k that position p holds and lanes j, for each p. `V` is that of the plan.
    #[inline(always)]
    pub fn lane_twiddles<V: Lanes>(&self) -> &[Complex<V>] {
        &complexes(&self.lane_twiddles)[..self.columns]
    }

    /// -i exp(-πi k / n) for k = 0..n / 2. `V` is that of the plan.
    #[inline(always)]
    pub fn half_turn<V: Lanes>(&self) -> &[Complex<V>] {
        &complexes(&self.half_turn)[..self.columns / 2]
    }
}

/// Registers of real parts, each followed by that of its imaginary parts.
fn push_complexes(into: &mut Vec<f32>, values: impl Iterator<Item = [f32; 2]> + Clone) {
    into.extend(values.clone().map(|[re, _]| re));
    into.extend(values.map(|[_, im]| im));
}

/// The radix of the first pass.
pub(super) const fn entry(lanes: usize) -> usize {
    if lanes == 16 { 16 } else { 4 }
}

/// The passes over `columns`.
fn passes(columns: usize, lanes: usize) -> Vec<Pass> {
    let mut passes = Vec::new();
    let mut size = columns;
    while size > 1 {
        let radix = if passes.is_empty() { entry(lanes) } else { radix_of(size, lanes) };
        let factors = (0..size / radix).flat_map(|j| (0..radix).map(move |q| twiddle(j * q, size)));
        let twiddles = if size == radix { Vec::new() } else { factors.collect() };
        passes.push(Pass { size, radix, twiddles });
        size /= radix;
    }
    passes
}

/// The radix of a pass over blocks of `size` after the first: 4, or what ends it. 32 registers, which processors with 16
/// lanes have, hold 16 complex values; with 16 registers, 8 values spill, but less than another pass costs.
fn radix_of(size: usize, lanes: usize) -> usize {
    match size {
        2 | 8 => size,
        16 if lanes == 16 => 16,
        _ => 4,
    }
}

/// exp(-2πi m / n).
fn twiddle(m: usize, n: usize) -> [f32; 2] {
    let (sin, cos) = (TAU * (m % n) as f64 / n as f64).sin_cos();
    [cos as f32, -sin as f32]
}
