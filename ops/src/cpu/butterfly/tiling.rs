//! Tasks of whole tiles, and the width of their registers.

use crate::cpu::isa::Width;
use crate::cpu::isa::register::MAX_LANES;
use crate::cpu::runtime::tasks::Tasks;

/// Butterflies on registers that take as long as the unit of work of [`Tasks`].
const BUTTERFLIES_PER_UNIT: usize = 8;

/// Tasks of whole tiles, for rows of `work` butterflies.
pub(in crate::cpu) fn tile_tasks(rows: usize, work: usize) -> Tasks {
    whole_tiles(rows, Tasks::independent(rows, work.div_ceil(BUTTERFLIES_PER_UNIT)))
}

/// Blocks of whole tiles, for rows of `work` butterflies that add to `partial` sums.
pub(in crate::cpu) fn tile_blocks(rows: usize, work: usize, partial: usize) -> Tasks {
    whole_tiles(rows, Tasks::reduction(rows, work.div_ceil(BUTTERFLIES_PER_UNIT), partial))
}

/// `tasks` whose rows are rounded up to whole tiles.
fn whole_tiles(rows: usize, tasks: Tasks) -> Tasks {
    let per_task = tasks.rows.next_multiple_of(MAX_LANES);
    Tasks { rows: per_task, count: rows.div_ceil(per_task) }
}

/// The widest registers that `rows` rows fill more than half of.
pub(in crate::cpu) fn width(rows: usize) -> Width {
    if rows > MAX_LANES / 2 { Width::Sixteen } else { Width::Eight }
}

/// [`width`] for rows of `n` complex values. From 1,024 on, rows are a multiple of 4 KiB apart: the cache lines of
/// sixteen rows, and those of their imaginary parts, exceed the ways of one set of the first-level cache, and eight
/// lanes are faster.
pub(in crate::cpu) fn complex_width(rows: usize, n: usize) -> Width {
    if n < 1024 { width(rows) } else { Width::Eight }
}
