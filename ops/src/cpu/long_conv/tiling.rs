//! Division of the rows of a batch into tiles of one group of channels, and of tiles into tasks.

use super::LongConvOperands;
use crate::cpu::real::Real;
use crate::cpu::runtime::tasks::Tasks;

/// Number of tasks that is enough for any number of threads.
const TASKS: usize = 64;

/// Division of rows into tiles of at most as many consecutive rows as lanes. A tile has the channels of one group from
/// one element of the batch, or, where there are few channels, all channels of several elements. All tiles of a group
/// have the same channels in the same lanes, so that kernels are transformed once. A task has the tiles of one group in
/// one block of the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tiling {
    /// Rows of a group of channels in a tile, at most.
    lanes: usize,
    rows: usize,
    channels: usize,
    /// Elements of the batch in a tile.
    elements: usize,
    /// Tiles of a group in one block.
    steps: usize,
    pub blocks: usize,
}

/// Rows of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConvTile {
    pub start: usize,
    pub rows: usize,
    task: usize,
}

impl Tiling {
    pub fn new<T: Real>(inputs: &LongConvOperands<'_, T>, lanes: usize) -> Self {
        let (rows, channels) = (inputs.rows(), inputs.channels);
        let elements = (lanes / channels).max(1);
        let pairs = inputs.pairs();
        // Four transforms per row.
        let work = 4 * pairs * (pairs.max(2).ilog2() as usize) / 2 * lanes.min(channels * elements);
        let tiles = (rows / channels).div_ceil(elements);
        // Every task transforms its kernels, so that blocks are few where groups are many.
        let least = tiles * channels.div_ceil(lanes) / TASKS;
        let steps = Tasks::reduction(tiles, work, inputs.kernel.len()).rows.max(least);
        Self { lanes, rows, channels, elements, steps, blocks: tiles.div_ceil(steps) }
    }

    pub fn groups(&self) -> usize {
        self.channels.div_ceil(self.lanes)
    }

    /// Number of tasks; task `block * groups + group` has a group in a block.
    pub fn tasks(&self) -> Tasks {
        Tasks { rows: 1, count: self.blocks * self.groups() }
    }

    pub fn group(&self, group: usize) -> std::ops::Range<usize> {
        group * self.lanes..((group + 1) * self.lanes).min(self.channels)
    }

    /// All tiles, in the order of their rows.
    pub fn tiles(&self) -> impl Iterator<Item = ConvTile> + use<> {
        let tiling = *self;
        let width = self.elements * self.channels;
        (0..self.rows.div_ceil(width)).flat_map(move |step| {
            let block = step / tiling.steps;
            let (start, end) = (step * width, ((step + 1) * width).min(tiling.rows));
            (0..tiling.groups()).map(move |group| {
                let task = block * tiling.groups() + group;
                if tiling.elements > 1 {
                    return ConvTile { start, rows: end - start, task };
                }
                let channels = tiling.group(group);
                ConvTile { start: start + channels.start, rows: channels.len(), task }
            })
        })
    }

    pub fn of_tasks(&self) -> Vec<Vec<ConvTile>> {
        let mut tasks = vec![Vec::new(); self.tasks().count];
        for tile in self.tiles() {
            tasks[tile.task].push(tile);
        }
        tasks
    }

    /// The rows of `n` values of each tile of each task; an absent slice has none.
    pub fn deal<'a, T>(&self, values: Option<&'a mut [T]>, n: usize) -> Vec<Vec<Option<&'a mut [T]>>> {
        let mut tasks: Vec<Vec<_>> = (0..self.tasks().count).map(|_| Vec::new()).collect();
        let mut rest = values;
        for tile in self.tiles() {
            let taken = rest.take().map(|values| {
                let (taken, left) = values.split_at_mut(tile.rows * n);
                rest = Some(left);
                taken
            });
            tasks[tile.task].push(taken);
        }
        tasks
    }

    /// The kernels of each task, of `taps` values, in one partial sum `[channels, taps]` per block.
    pub fn deal_kernels<'a, T>(&self, partial: Option<&'a mut [T]>, taps: usize) -> Vec<Option<&'a mut [T]>> {
        let Some(partial) = partial else { return (0..self.tasks().count).map(|_| None).collect() };
        let blocks = partial.chunks_mut(self.channels * taps);
        blocks.flat_map(|block| block.chunks_mut(self.lanes * taps).map(Some)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiling(batch: usize, channels: usize, lanes: usize, n: usize) -> Tiling {
        let signal = vec![0.0f32; batch * channels * n];
        let kernel = vec![0.0f32; channels * n];
        Tiling::new(&LongConvOperands { signal: &signal, kernel: &kernel, gate: None, channels, n }, lanes)
    }

    #[test]
    fn every_row_is_in_one_tile_with_its_channel_in_the_same_lane() {
        for (batch, channels, lanes) in [(1, 1, 16), (5, 3, 16), (40, 16, 16), (3, 17, 16), (2, 40, 16), (70, 5, 1)] {
            let tiling = tiling(batch, channels, lanes, 100);
            let mut next = 0;
            for tile in tiling.tiles() {
                assert_eq!(tile.start, next);
                next += tile.rows;
                let group = tiling.group(tile.task % tiling.groups());
                for lane in 0..tile.rows {
                    assert_eq!((tile.start + lane) % channels, group.start + lane % group.len());
                }
            }
            assert_eq!(next, batch * channels);
            assert_eq!(tiling.of_tasks().len(), tiling.blocks * tiling.groups());
        }
    }

    #[test]
    fn tiles_are_full_where_channels_are_few() {
        let tiles: Vec<usize> = tiling(7, 3, 16, 10).tiles().map(|tile| tile.rows).collect();
        assert_eq!(tiles, [15, 6]);
    }
}
