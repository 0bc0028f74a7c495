//! A unit's sequence, its part of it, roots of unity from small tables, and the exchange of values between passes.

use cubecl::prelude::*;

use crate::gpu::complex::{Complex, ComplexValues, complex, times};
use crate::gpu::short_transform::output_position;
use crate::gpu::transform::launch_plan::{Fold, SequenceAccess, TransformLaunchPlan, fine_roots};

/// The sequence that a unit works on.
#[derive(CubeType, Clone, Copy)]
pub struct Sequence {
    /// The sequence's row. Past the last sequence, that of the last sequence.
    pub row: u32,
    /// The sequence's number in its row.
    pub column: u32,
    pub is_present: bool,
    /// Offset of the sequence in the exchange memory.
    pub base: u32,
    /// The unit's number among the units of its sequence.
    pub t: u32,
}

/// This unit's sequence among those of `rows` rows, where adjacent units are spread as `access` takes adjacent values.
#[cube]
pub fn own_sequence(rows: u32, #[comptime] access: SequenceAccess, #[comptime] plan: TransformLaunchPlan) -> Sequence {
    let sequences = comptime!(plan.layout.sequences);
    // Side by side in memory: adjacent units in adjacent sequences. One after the other: adjacent units in one
    // sequence.
    let slot =
        if comptime!(access.is_by_columns()) { UNIT_POS % sequences } else { UNIT_POS / comptime!(plan.layout.units) };
    let t =
        if comptime!(access.is_by_columns()) { UNIT_POS / sequences } else { UNIT_POS % comptime!(plan.layout.units) };
    sequence_at(slot, t, rows, plan)
}

/// The sequence in slot `slot` of this unit's cube, as unit `t` of its units has it.
#[cube]
pub fn sequence_at(slot: u32, t: u32, rows: u32, #[comptime] plan: TransformLaunchPlan) -> Sequence {
    let base = slot * comptime!(plan.layout.sequence_stride);
    if comptime!(plan.mirrors_columns()) {
        // The first half of the slots has columns, the second one their mirror images.
        let pairs = comptime!(plan.layout.sequences / 2);
        let (number, per_row) = (CUBE_POS as u32 * pairs + slot % pairs, comptime!(plan.sequences_per_row() / 2));
        let known = min(number, rows * per_row - 1);
        let column = known % per_row;
        let mirror = comptime!(plan.columns).runtime() - column;
        let mirror = select(column == 0, comptime!(plan.with_first_column()).runtime(), mirror);
        let column = select(slot < pairs, column, mirror);
        Sequence { row: known / per_row, column, is_present: number < rows * per_row, base, t }
    } else {
        let number = CUBE_POS as u32 * comptime!(plan.layout.sequences) + slot;
        let count = rows * comptime!(plan.columns);
        // Units past the last sequence compute that one too, because every unit must reach the cube's barriers.
        let known = min(number, count - 1);
        let (row, column) = (known / comptime!(plan.columns), known % comptime!(plan.columns));
        Sequence { row, column, is_present: number < count, base, t }
    }
}

/// Number of short transform `q` of a unit; past the last one, the last one.
#[cube]
pub fn short_transform(
    t: u32,
    #[comptime] q: u32,
    #[comptime] span: u32,
    #[comptime] plan: TransformLaunchPlan,
) -> u32 {
    let j = t + comptime!(q * plan.layout.units);
    if comptime!(is_always_present(q, span, &plan)) { j } else { min(j, comptime!(span - 1).runtime()) }
}

/// Whether a unit has a short transform `q`.
#[cube]
pub fn has_short_transform(
    t: u32,
    #[comptime] q: u32,
    #[comptime] span: u32,
    #[comptime] plan: TransformLaunchPlan,
) -> bool {
    if comptime!(is_always_present(q, span, &plan)) {
        true.runtime()
    } else {
        t + comptime!(q * plan.layout.units) < span
    }
}

/// Offset in shared memory of value `i` of a sequence.
#[cube]
pub fn padded(i: u32, #[comptime] plan: TransformLaunchPlan) -> u32 {
    if comptime!(plan.layout.padding == 0) { i } else { i + i / comptime!(plan.layout.padding) }
}

/// Bin N − k of N.
#[cube]
pub fn mirrored(k: u32, #[comptime] points: u32) -> u32 {
    select(k == 0, 0u32.runtime(), comptime!(points).runtime() - k)
}

/// Whether bin `k` of a sequence is one of `modes` modes.
#[cube]
pub fn is_mode(k: u32, #[comptime] modes: u32, #[comptime] plan: TransformLaunchPlan) -> bool {
    k < comptime!(modes.div_ceil(2)) || k >= comptime!(plan.layout.n - modes / 2)
}

/// The mode that bin `k` of a sequence is, if it is one.
#[cube]
pub fn mode_of(k: u32, #[comptime] modes: u32, #[comptime] plan: TransformLaunchPlan) -> u32 {
    let lower = comptime!(modes.div_ceil(2));
    select(k < lower, k, k - comptime!(plan.layout.n - modes))
}

/// exp(−2πi·exponent/of): the product of a finer and a coarser root, which start at `from` in the table.
#[cube]
pub fn root(table: &[Complex], #[comptime] from: u32, exponent: u32, #[comptime] of: u32) -> Complex {
    let fine = comptime!(fine_roots(of));
    let coarse = table[(comptime!(from + fine) + exponent / fine) as usize];
    times(table[(comptime!(from) + exponent % fine) as usize], coarse)
}

/// exp(−2πi·k/2h), with h points: the twiddle that folds bin k, by a table of roots from `from` on.
#[cube]
pub fn fold_twiddle(table: &[Complex], #[comptime] from: u32, k: u32, #[comptime] fold: Fold) -> Complex {
    root(table, from, k * comptime!(fold.root() / (2 * fold.points)), comptime!(fold.root()))
}

/// Place in a real row of sample `i` as it is transformed: in a cosine transform the even ones come first, then the odd
/// ones backwards.
#[cube]
pub fn sample(i: u32, #[comptime] plan: TransformLaunchPlan) -> u32 {
    if comptime!(plan.is_cosine) {
        select(i < comptime!(plan.points), 2 * i, comptime!(4 * plan.points - 1).runtime() - 2 * i)
    } else {
        i
    }
}

/// Whether every unit has a short transform `q`.
fn is_always_present(q: u32, span: u32, plan: &TransformLaunchPlan) -> bool {
    (q + 1) * plan.layout.units <= span
}

/// Writes the outputs of a pass where the next one finds its inputs: output m of short transform j is value m·before of
/// the block that the `before` earlier short transforms next to it share. The outputs of the last pass are in order.
#[cube]
pub fn write_exchange(
    z: &ComplexValues,
    exchange: &mut Shared<[Complex]>,
    sequence: &Sequence,
    #[comptime] pass: u32,
    #[comptime] plan: TransformLaunchPlan,
) {
    let radix = comptime!(plan.radix(pass));
    let before = comptime!(plan.before(pass));
    let is_constant = comptime!(plan.layout.writes_at_constant_steps(radix, before));
    #[unroll]
    for q in 0..comptime!(plan.layout.per_unit(radix)) {
        let j = short_transform(sequence.t, q, comptime!(plan.span(pass)), plan);
        // Place of output 0: the block of short transform j, then its place in the block.
        let first = (j / before) * comptime!(before * radix) + j % before;
        let start = sequence.base + padded(first, plan);
        // A unit past the last short transform holds copies of it, and writes none of them.
        if has_short_transform(sequence.t, q, comptime!(plan.span(pass)), plan) {
            #[unroll]
            for m in 0..radix {
                // Where padding allows it, outputs are a constant apart, and one address serves all of them.
                let held = comptime!((q * radix + output_position(m, radix)) as usize);
                let at = if comptime!(is_constant) {
                    start + comptime!(plan.layout.padded(m * before))
                } else {
                    sequence.base + padded(first + comptime!(m * before), plan)
                };
                exchange[at as usize] = complex(z.re[held], z.im[held]);
            }
        }
    }
}

/// Reads the inputs of a pass.
#[cube]
pub fn read_exchange(
    z: &mut ComplexValues,
    exchange: &mut Shared<[Complex]>,
    sequence: &Sequence,
    #[comptime] pass: u32,
    #[comptime] plan: TransformLaunchPlan,
) {
    let radix = comptime!(plan.radix(pass));
    let span = comptime!(plan.span(pass));
    let is_constant = comptime!(plan.layout.reads_at_constant_steps(span));
    #[unroll]
    for q in 0..comptime!(plan.layout.per_unit(radix)) {
        let j = short_transform(sequence.t, q, span, plan);
        // Input m of short transform j is value j + m·span: adjacent units read adjacent values, on different banks.
        let start = sequence.base + padded(j, plan);
        #[unroll]
        for m in 0..radix {
            let at = if comptime!(is_constant) {
                start + comptime!(plan.layout.padded(m * span))
            } else {
                sequence.base + padded(j + comptime!(m * span), plan)
            };
            let value = exchange[at as usize];
            z.set(comptime!((q * radix + m) as usize), value.extract(0usize), value.extract(1usize));
        }
    }
}
