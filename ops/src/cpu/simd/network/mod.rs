//! The gated butterfly network in f32, a row in every lane of a register.
//!
//! Rows are transposed into a tile of registers in bit-reversed order, go through the stages as a [`program`] has
//! them, and are transposed back. Lanes share nothing, so a row's result does not depend on the rows beside it.

mod backward_steps;
mod butterfly;
mod butterfly_backward;
mod frames;
mod learned;
mod learned_backward;
mod liveness;
mod prepared;
mod program;
mod steps;
mod sums;
#[cfg(test)]
mod tests;
mod tile;

use super::InstructionSet;
use crate::cpu::parallel::Tasks;
pub(in crate::cpu) use butterfly::butterfly;
pub(in crate::cpu) use butterfly_backward::butterfly_backward;
pub(in crate::cpu) use learned::{learned_welch_peaks, learned_welch_psd};
pub(in crate::cpu) use learned_backward::learned_welch_psd_backward;
pub(super) use prepared::with_buffer;

/// Shortest network that the kernels take.
pub(super) const MIN_N: usize = 8;

/// Whether the kernels take networks of length `n` on this thread.
pub(in crate::cpu) fn takes(n: usize) -> bool {
    let pays = InstructionSet::current() > InstructionSet::Portable || InstructionSet::is_forced();
    pays && n >= MIN_N
}

/// Butterflies that take as long as the unit of work of [`Tasks`].
const BUTTERFLIES_A_UNIT: usize = 8;

/// Tasks of whole tiles, for rows of `work` butterflies.
fn lane_tasks(rows: usize, work: usize) -> Tasks {
    whole_tiles(rows, Tasks::independent(rows, work.div_ceil(BUTTERFLIES_A_UNIT)))
}

/// Blocks of whole tiles, for rows of `work` butterflies that add to `partial` sums.
fn lane_blocks(rows: usize, work: usize, partial: usize) -> Tasks {
    whole_tiles(rows, Tasks::reduction(rows, work.div_ceil(BUTTERFLIES_A_UNIT), partial))
}

/// `tasks` with as many rows each as fill tiles.
fn whole_tiles(rows: usize, tasks: Tasks) -> Tasks {
    let per_task = tasks.rows.next_multiple_of(tile::MAX_LANES);
    Tasks { rows: per_task, count: rows.div_ceil(per_task) }
}

/// The length of which the widest registers are asked for that `rows` rows fill more than half of.
fn width(rows: usize) -> usize {
    if rows > tile::MAX_LANES / 2 { 256 } else { 64 }
}

/// [`width`] for rows of `n` complex values. From 1,024 on they are a multiple of 4 KB apart, so that the lines of sixteen, and
/// those of their imaginary parts, ask for more of a place of the first cache than it holds: half as many are faster.
fn complex_width(rows: usize, n: usize) -> usize {
    width(if n < 1024 { rows } else { 0 })
}
