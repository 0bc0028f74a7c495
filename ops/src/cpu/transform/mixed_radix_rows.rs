//! Transforms of complex rows in f32, the values of a row side by side in the lanes of registers.
//!
//! With n = L m, L the lanes, value j = L c + l is lane l of register c. The transform over the m registers is that of
//! a tile with a row per lane. Register k is then multiplied by exp(-2πi k l / n) in lane l, and every L neighbours are
//! transposed, so that the transform over lanes is one across registers, whose outputs are in order. A register with
//! two rows transforms both.

use std::sync::Arc;

use super::algorithm::Filled;
use super::passes::passes;
use super::plan::{MixedRadixPlan, largest_prime, turn};
use crate::cache::Cache;
use crate::cpu::fft::prefetch::{NextRow, Prefetch, RowArrays, next_row_pays};
use crate::cpu::fft::radix::{radix, transpose};
use crate::cpu::fft::unpack::store_rows;
use crate::cpu::isa::lines::{Line, RegisterShape, complexes, lines_for, take_complexes, take_values, with_lines};
use crate::cpu::isa::register::{Complex, MAX_LANES, Register};
use crate::cpu::isa::{InstructionSet, Kernel, simd_enabled};
use crate::cpu::runtime::tasks::Tasks;

/// The largest prime factor: its pass is a sum over all pairs.
const MAX_PRIME: usize = 19;
/// The longest rows: the tile of longer ones, of one row as it is, is not in the caches of a core.
const MAX_VALUES: usize = 1 << 16;

/// The registers that rows of `n` values fill on this thread, if any: a row has as many registers as lanes, or more.
pub(super) fn filled_by(n: usize) -> Option<Filled> {
    let fills = |lanes: usize| n.is_multiple_of(lanes) && n / lanes >= lanes;
    if !simd_enabled() || n > MAX_VALUES || !fills(MAX_LANES / 2) || largest_prime(n) > MAX_PRIME {
        return None;
    }
    Some(if fills(MAX_LANES) { Filled::Sixteen } else { Filled::Eight })
}

/// Plan of a transform of n = L m values.
struct RowPlan {
    /// The plan of the m registers.
    registers: Arc<MixedRadixPlan>,
    /// exp(-2πi k l / n) for the lanes l of each register k, the same in every row.
    lane_twiddles: Vec<Line>,
}

impl RowPlan {
    /// The plan for registers of as many lanes and rows.
    fn of(n: usize, shape: RegisterShape) -> Arc<Self> {
        static PLANS: Cache<(usize, RegisterShape), Arc<RowPlan>> = Cache::new();
        PLANS.get((n, shape), || Arc::new(Self::new(n, shape)))
    }

    fn new(n: usize, shape: RegisterShape) -> Self {
        let registers = n / shape.lanes;
        let lane_twiddles = shape.lines(0..registers, |k, lane| turn(k * lane, n));
        Self { registers: MixedRadixPlan::of_points(registers), lane_twiddles }
    }
}

/// The forward transforms of `input` `[rows, n]`, or of the rows that `output` has, times `factor`, in filled registers.
pub(super) fn transform_rows(
    input: Option<[&[f32]; 2]>,
    n: usize,
    filled: Filled,
    factor: f32,
    output: [&mut [f32]; 2],
) {
    let plan = RowPlan::of(n, filled.shape());
    let tasks = Tasks::independent_groups(output[0].len() / n, super::planned::work(n) / 8, 2);
    let prefetches = output[0].len() > 2 * n && next_row_pays(output[0].len());
    // The tile, a row in place of a second one that is missing, and the pairs of a pass with the largest prime.
    let lines = (4 + 2) * lines_for(n) + 2 * (MAX_PRIME + 1) * MAX_LANES / Line::LEN;
    let set = InstructionSet::current();
    tasks.run(tasks.pieces(input, n, output, n), |(input, output)| {
        with_lines(lines, |memory| {
            filled.dispatch(set, RowsKernel { plan: &plan, factor, prefetches, memory, input, output });
        });
    });
}

struct RowsKernel<'a> {
    plan: &'a RowPlan,
    factor: f32,
    prefetches: bool,
    memory: &'a mut [Line],
    input: Option<[&'a [f32]; 2]>,
    output: [&'a mut [f32]; 2],
}

impl Kernel for RowsKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        let Self { plan, factor, prefetches, mut memory, input, output: [out_re, out_im] } = self;
        let registers = &*plan.registers;
        // Memory of the task: the tile, the pairs of a pass, and a row that stands for a second one at the end.
        let n = V::LANES * registers.points;
        let tile = take_complexes::<V>(token, &mut memory, registers.points);
        let pairs = take_complexes::<V>(token, &mut memory, registers.largest_radix).as_chunks_mut::<2>().0;
        let mut spare = [take_values(&mut memory, n), take_values(&mut memory, n)];
        let twiddles = &complexes::<V>(token, &plan.lane_twiddles)[..registers.points];
        let mut transform = TileTransform { token, registers, tile, pairs, twiddles, factor: V::splat(token, factor) };
        let outputs = out_re.chunks_mut(V::ROWS * n).zip(out_im.chunks_mut(V::ROWS * n));
        for (at, (out_re, out_im)) in (0..).step_by(V::ROWS * n).zip(outputs) {
            let input = match input {
                Some([re, im]) => Some([&re[at..at + out_re.len()], &im[at..at + out_re.len()]]),
                None => None,
            };
            // Later rows are prefetched between the steps of this one, where a call is larger than the caches.
            let arrays = RowArrays::of(input, [out_re, out_im]);
            let output = [out_re, out_im];
            if prefetches {
                let mut next = NextRow::new(arrays.all(), V::ROWS * n, 2 * registers.points / V::LANES);
                transform.run(input, output, &mut spare, &mut next);
            } else {
                transform.run(input, output, &mut spare, &mut ());
            }
        }
    }
}

/// The transform of the rows of a register, times a factor.
struct TileTransform<'a, V: Register> {
    token: V::Token,
    registers: &'a MixedRadixPlan,
    tile: &'a mut [Complex<V>],
    pairs: &'a mut [[Complex<V>; 2]],
    twiddles: &'a [Complex<V>],
    factor: V,
}

impl<V: Register> TileTransform<'_, V> {
    /// Transforms a register's rows of `input`, or else of `output`, or one row. `spare` is a row of each part.
    #[inline(always)]
    fn run(
        &mut self,
        input: Option<[&[f32]; 2]>,
        [out_re, out_im]: [&mut [f32]; 2],
        [spare_re, spare_im]: &mut [&mut [f32]; 2],
        prefetcher: &mut impl Prefetch,
    ) {
        let n = V::LANES * self.registers.points;
        // Registers to their places, transforms over the registers with the lanes apart, then those over lanes.
        let [re, im] = input.unwrap_or([out_re, out_im]);
        self.load(rows_of(re, n), rows_of(im, n), prefetcher);
        passes(self.token, self.registers, self.tile, self.pairs);
        let output = [rows_of_mut(out_re, n, spare_re), rows_of_mut(out_im, n, spare_im)];
        match V::LANES {
            16 => self.lane_pass::<16>(output, prefetcher),
            8 => self.lane_pass::<8>(output, prefetcher),
            _ => self.lane_pass::<4>(output, prefetcher),
        }
    }

    /// Loads the registers to the places in which the passes take them.
    #[inline(always)]
    fn load(&mut self, re: [&[f32]; 2], im: [&[f32]; 2], prefetcher: &mut impl Prefetch) {
        let ([re, re_beside], [im, im_beside]) = (re.map(V::arrays), im.map(V::arrays));
        for (c, &place) in self.registers.places.iter().enumerate() {
            if c.is_multiple_of(V::LANES) {
                prefetcher.transform::<V>();
            }
            self.tile[place as usize] = Complex {
                re: V::load_rows(self.token, [&re[c], &re_beside[c]]),
                im: V::load_rows(self.token, [&im[c], &im_beside[c]]),
            };
        }
    }

    /// The twiddles of the lanes and the transforms over them, times the factor; `L` are the lanes.
    #[inline(always)]
    fn lane_pass<const L: usize>(&self, output: [[&mut [f32]; 2]; 2], prefetcher: &mut impl Prefetch) {
        let (token, count) = (self.token, self.tile.len());
        let [mut re, mut im] = output;
        for start in (0..count).step_by(L) {
            prefetcher.transform::<V>();
            // The last group begins with registers of the one before where there are not enough left.
            let start = start.min(count - L);
            let (tile, twiddles) = (&self.tile[start..start + L], &self.twiddles[start..start + L]);
            // The twiddles between the two transforms: exp(-2πi k l / n) for register k and lane l.
            let mut columns = [[V::splat(token, 0.0); L]; 2];
            for i in 0..L {
                let z = tile[i].times(twiddles[i]);
                (columns[0][i], columns[1][i]) = (z.re, z.im);
            }
            // Lanes become registers, and the transform over them one across registers.
            let (lanes_re, lanes_im) = (transpose::<V, L>(columns[0]), transpose::<V, L>(columns[1]));
            let mut lanes = [Complex::zero(token); L];
            for i in 0..L {
                lanes[i] = Complex { re: lanes_re[i], im: lanes_im[i] };
            }
            // Output i of the lanes of register k is bin i m + k of m registers.
            for (i, z) in radix::<V, L>(lanes).iter().enumerate() {
                let at = i * count + start;
                store_rows(z.re * self.factor, &mut re, at);
                store_rows(z.im * self.factor, &mut im, at);
            }
        }
    }
}

/// The first and the second row of a part, or the first alone.
#[inline(always)]
fn rows_of(part: &[f32], n: usize) -> [&[f32]; 2] {
    let (first, second) = part.split_at(n);
    [first, if second.is_empty() { first } else { second }]
}

/// The first and the second row of a part, the second `spare` where there is none.
#[inline(always)]
fn rows_of_mut<'a>(part: &'a mut [f32], n: usize, spare: &'a mut [f32]) -> [&'a mut [f32]; 2] {
    let (first, second) = part.split_at_mut(n);
    [first, if second.is_empty() { spare } else { second }]
}
