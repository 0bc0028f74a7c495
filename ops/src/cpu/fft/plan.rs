//! Tables of a transform, computed once per length and register type.

use std::f64::consts::TAU;
use std::sync::OnceLock;

use crate::cpu::fft::radix;
use crate::cpu::isa::Width;
use crate::cpu::isa::lines::{Line, RegisterShape, complexes};
use crate::cpu::isa::portable::Portable;
use crate::cpu::isa::register::{Complex, Register};
use crate::options::MAX_N_FFT;

/// Shortest transform that the kernels take.
pub(in crate::cpu) const MIN_N: usize = 64;
/// Shortest transform in one row of sixteen lanes.
pub(in crate::cpu) const MIN_N_SIXTEEN_LANES: usize = shortest::<Portable<16>>();
/// Shortest transform in two rows of eight lanes.
pub(in crate::cpu) const MIN_N_TWO_ROWS: usize = shortest::<Portable<8, 2>>();

const _: () = assert!(MIN_N >= shortest::<Portable<4>>() && MIN_N == shortest::<Portable<8>>());

/// The width of registers for transforms of `n` values.
pub(in crate::cpu) fn width(n: usize) -> Width {
    if n >= MIN_N_SIXTEEN_LANES { Width::Sixteen } else { Width::Eight }
}

/// Tables of the [`passes`](super::passes) over `n` values in registers of one type, `n` at least [`shortest`].
#[derive(Debug)]
pub(in crate::cpu) struct FftPlan {
    /// Registers of a vector, `n / L`.
    pub columns: usize,
    /// The passes over columns, first to last. The first has the registers' radix.
    pub passes: Vec<Pass>,
    /// Position, in each block of the first pass's output, of the columns of the spectrum from q times its radix on, for
    /// each q. As many blocks as the radix have one of these columns each; with sixteen lanes they have them together, as
    /// [`value_at`](radix::value_at) tells.
    pub entry_at: Vec<u32>,
    lane_twiddles: Vec<Line>,
    half_turn: Vec<Line>,
}

/// A decimation-in-frequency pass over blocks of `size` columns.
#[derive(Debug)]
pub(in crate::cpu) struct Pass {
    pub size: usize,
    pub radix: usize,
    /// exp(-2πi j q / size) as (re, im) for j = 0..size / radix and q = 0..radix, q fastest. Empty for the last pass.
    pub twiddles: Vec<[f32; 2]>,
}

impl FftPlan {
    /// The plan for `n` values in registers of `V`.
    pub fn of<V: Register>(n: usize) -> &'static Self {
        const LENGTHS: usize = MAX_N_FFT.ilog2() as usize + 1;
        // By lanes: 4, 8 and 16 in one row, and two rows of 8.
        const KINDS: usize = 4;
        static PLANS: [OnceLock<FftPlan>; LENGTHS * KINDS] = [const { OnceLock::new() }; LENGTHS * KINDS];
        const { assert!(V::ROWS == 1 || V::LANES == 8) };
        let kind = if V::ROWS == 2 { 3 } else { (V::LANES / 4).ilog2() as usize };
        PLANS[n.ilog2() as usize * KINDS + kind].get_or_init(|| Self::new::<V>(n))
    }

    fn new<V: Register>(n: usize) -> Self {
        let (lanes, columns) = (V::LANES, n / V::LANES);
        debug_assert!(n.is_power_of_two() && n >= shortest::<V>());
        let passes = passes(columns, V::RADIX);
        let (entry, len) = (V::RADIX, columns / V::RADIX);
        // The column / entry that position p of a block of the first pass's output holds after all passes.
        let quotient_in = |position: usize| {
            let (mut quotient, mut weight) = (0, 1);
            for pass in &passes[1..] {
                let digit = position % pass.size / (pass.size / pass.radix);
                quotient += weight * if pass.radix == 16 { radix::value_after_last_pass(digit) } else { digit };
                weight *= pass.radix;
            }
            quotient
        };
        let mut entry_at = vec![0; len];
        for position in 0..len {
            entry_at[quotient_in(position)] = position as u32;
        }
        let shape = RegisterShape::of::<V>();
        let lane_twiddles = shape.lines(0..columns, |position, lane| {
            let (block, quotient) = (position / len, quotient_in(position % len));
            let (column, lane) = if lanes == 16 { radix::value_at(block, lane) } else { (block, lane) };
            twiddle((column + entry * quotient) * lane, n)
        });
        // n / 2 of 2 n is the factor -i.
        let half_turn = shape.lines(0..columns / 2, |bins, lane| twiddle(bins * lanes + lane + n / 2, 2 * n));
        Self { columns, passes, entry_at, lane_twiddles, half_turn }
    }

    /// Calls of [`Prefetch::transform`](super::prefetch::Prefetch::transform) per row.
    #[inline(always)]
    pub fn prefetch_steps<V: Register>(&self) -> usize {
        let last = self.passes[1..].last().map_or(0, |pass| self.columns / pass.radix);
        self.columns / V::RADIX + last + self.columns / V::LANES
    }

    /// exp(-2πi k j / n) for the column k and the lane j of each value of position p, for each p. With sixteen lanes they
    /// are those that [`value_at`](radix::value_at) tells. `V` is that of the plan.
    #[inline(always)]
    pub fn lane_twiddles<V: Register>(&self, token: V::Token) -> &[Complex<V>] {
        &complexes(token, &self.lane_twiddles)[..self.columns]
    }

    /// -i exp(-πi k / n) for k = 0..n / 2. `V` is that of the plan.
    #[inline(always)]
    pub fn half_turn<V: Register>(&self, token: V::Token) -> &[Complex<V>] {
        &complexes(token, &self.half_turn)[..self.columns / 2]
    }
}

/// The shortest transform in registers of `V`, with the columns that the lane pass and the first pass need.
pub(in crate::cpu) const fn shortest<V: Register>() -> usize {
    V::LANES * if V::LANES > V::RADIX { V::LANES } else { V::RADIX }
}

/// The passes over `columns`.
fn passes(columns: usize, entry: usize) -> Vec<Pass> {
    let mut passes = Vec::new();
    let mut size = columns;
    while size > 1 {
        let radix = if passes.is_empty() { entry } else { radix_of(size, entry) };
        let factors = (0..size / radix).flat_map(|j| (0..radix).map(move |q| twiddle(j * q, size)));
        let twiddles = if size == radix { Vec::new() } else { factors.collect() };
        passes.push(Pass { size, radix, twiddles });
        size /= radix;
    }
    passes
}

/// The radix of a pass over blocks of `size` after the first, of radix `entry`: 4, or the size where that ends the
/// transform. With 16 registers, 8 values spill, which costs less than another pass.
fn radix_of(size: usize, entry: usize) -> usize {
    match size {
        2 | 8 => size,
        16 if entry == 16 => 16,
        _ => 4,
    }
}

/// exp(-2πi m / n).
fn twiddle(m: usize, n: usize) -> [f32; 2] {
    let (sin, cos) = (TAU * (m % n) as f64 / n as f64).sin_cos();
    [cos as f32, -sin as f32]
}
