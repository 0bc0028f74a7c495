//! Tasks of whole tiles, and the width of their registers.

use crate::cpu::butterfly::tile;
use crate::cpu::runtime::tasks::Tasks;

/// Butterflies that take as long as the unit of work of [`Tasks`].
const BUTTERFLIES_PER_UNIT: usize = 8;

/// Tasks of whole tiles, for rows of `work` butterflies.
pub(in crate::cpu) fn lane_tasks(rows: usize, work: usize) -> Tasks {
    whole_tiles(rows, Tasks::independent(rows, work.div_ceil(BUTTERFLIES_PER_UNIT)))
}

/// Blocks of whole tiles, for rows of `work` butterflies that add to `partial` sums.
pub(in crate::cpu) fn lane_blocks(rows: usize, work: usize, partial: usize) -> Tasks {
    whole_tiles(rows, Tasks::reduction(rows, work.div_ceil(BUTTERFLIES_PER_UNIT), partial))
}

/// `tasks` with as many rows each as fill tiles.
fn whole_tiles(rows: usize, tasks: Tasks) -> Tasks {
    let per_task = tasks.rows.next_multiple_of(tile::MAX_LANES);
    Tasks { rows: per_task, count: rows.div_ceil(per_task) }
}

/// The length of which the widest registers are asked for that `rows` rows fill more than half of.
pub(in crate::cpu) fn width(rows: usize) -> usize {
    if rows > tile::MAX_LANES / 2 { 256 } else { 64 }
}

/// [`width`] for rows of `n` complex values. From 1,024 on they are a multiple of 4 KB apart, so that the lines of sixteen, and
/// those of their imaginary parts, ask for more of a place of the first cache than it holds: half as many are faster.
pub(in crate::cpu) fn complex_width(rows: usize, n: usize) -> usize {
    width(if n < 1024 { rows } else { 0 })
}
