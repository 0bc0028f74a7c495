//! The tables of a transform, made once per length and lane count.

use std::f64::consts::TAU;
use std::sync::OnceLock;

use super::lanes::{Complex, Lanes};
use super::memory::{Line, complexes, lines_of};

/// Shortest transform that the kernels take.
pub(super) const MIN_N: usize = 64;
/// Longest transform that the kernels take.
pub(super) const MAX_N: usize = 4096;

/// Tables of the transform of `n` values in registers of `L` lanes: see [`transform`](super::transform).
#[derive(Debug)]
pub(super) struct Plan {
    /// Registers of a vector, `n / L`, at least `L`.
    pub columns: usize,
    /// The passes over columns but the last, first to last.
    pub passes: Vec<Pass>,
    /// The block of four columns that the last pass leaves columns κ, κ + columns / 4, … in, for each κ.
    pub block_of: Vec<u32>,
    lane_twiddles: Vec<Line>,
}

/// A decimation-in-frequency pass over blocks of `size` columns.
#[derive(Debug)]
pub(super) struct Pass {
    pub size: usize,
    pub radix: usize,
    /// exp(-2πi j q / size) as (re, im) for j = 0..size / radix and q = 1..radix, q fastest. Empty where the next pass
    /// makes up for it.
    pub twiddles: Vec<[f32; 2]>,
}

impl Plan {
    /// The plan for `n` values in registers of `V`.
    pub fn of<V: Lanes>(n: usize) -> &'static Self {
        const LENGTHS: usize = (MAX_N / MIN_N).ilog2() as usize + 1;
        const WIDTHS: usize = 3;
        static PLANS: [OnceLock<Plan>; LENGTHS * WIDTHS] = [const { OnceLock::new() }; LENGTHS * WIDTHS];
        let length = (n / MIN_N).ilog2() as usize;
        let width = (V::COUNT / 4).ilog2() as usize;
        PLANS[length * WIDTHS + width].get_or_init(|| Self::new(n, V::COUNT))
    }

    fn new(n: usize, lanes: usize) -> Self {
        let columns = n / lanes;
        debug_assert!(n.is_power_of_two() && columns >= lanes.max(8));
        let passes = passes(columns);
        // The column of the spectrum that position p holds after all passes.
        let column_at = |position: usize| {
            let (mut column, mut weight) = (0, 1);
            for pass in &passes {
                column += weight * (position % pass.size / (pass.size / pass.radix));
                weight *= pass.radix;
            }
            column + weight * (position % 4)
        };
        let mut block_of = vec![0; columns / 4];
        for block in 0..columns / 4 {
            block_of[column_at(4 * block)] = block as u32;
        }
        let mut lane_twiddles = Vec::with_capacity(2 * n);
        for position in 0..columns {
            let twiddles = (0..lanes).map(|lane| twiddle(column_at(position) * lane, n));
            lane_twiddles.extend(twiddles.clone().map(|[re, _]| re));
            lane_twiddles.extend(twiddles.map(|[_, im]| im));
        }
        Self { columns, passes, block_of, lane_twiddles: lines_of(&lane_twiddles) }
    }

    /// exp(-2πi k j / n) for the column k that position p holds and lanes j, for each p. `V` is that of the plan.
    #[inline(always)]
    pub fn lane_twiddles<V: Lanes>(&self) -> &[Complex<V>] {
        &complexes(&self.lane_twiddles)[..self.columns]
    }
}

/// Radix 4 throughout, after one pass of radix 2 where that does not come out; the last pass of size 4 is not listed.
fn passes(columns: usize) -> Vec<Pass> {
    let mut passes = Vec::new();
    let mut size = columns;
    while size > 4 {
        let radix = if size.ilog2() % 2 == 1 { 2 } else { 4 };
        let factors = (0..size / radix).flat_map(|j| (1..radix).map(move |q| twiddle(j * q, size)));
        let twiddles = if size == 16 { Vec::new() } else { factors.collect() };
        passes.push(Pass { size, radix, twiddles });
        size /= radix;
    }
    passes
}

/// exp(-2πi m / n).
fn twiddle(m: usize, n: usize) -> [f32; 2] {
    let (sin, cos) = (TAU * (m % n) as f64 / n as f64).sin_cos();
    [cos as f32, -sin as f32]
}
