//! How a butterfly network is cut into launches, and a launch into units: data, made from a device's limits.

use super::place::padded;
use crate::gpu::limits::Limits;

/// Units a cube is filled up to with tiles, forward and backward: few wait for each other at once.
const FORWARD_UNITS: u32 = 128;
const BACKWARD_UNITS: u32 = 64;
/// Stages of a backward launch at most: a unit keeps what each of them read, and sums for each of them.
const MAX_BACKWARD_STAGES: u32 = 10;
/// Tiles next to each other that a cube takes where a row is cut, so that it reads 32 bytes at a time.
const TILES_ACROSS: u32 = 8;
/// Complex values of shared memory that a plane reads at once.
const BANKS: u32 = 16;

/// A run of stages that one launch computes.
///
/// A tile is the 2^stages values of a row that these stages join with each other; a cube computes `tiles` of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pass {
    /// Stages of the network: log2 of its length.
    pub length: u32,
    /// The first stage.
    pub first: u32,
    /// How many stages.
    pub stages: u32,
    /// log2 of the values a unit holds.
    pub values: u32,
    /// Tiles of a cube.
    pub tiles: u32,
    /// Tiles, of as many rows, that a unit works on at once, so that it loads each twiddle once for all of them.
    pub together: u32,
}

impl Pass {
    /// Units of a tile.
    pub const fn units(&self) -> u32 {
        1 << (self.stages - self.values)
    }

    /// Groups of tiles, of rows that units work on together, in a cube.
    pub const fn groups(&self) -> u32 {
        self.tiles / self.together
    }

    /// Units of a row.
    pub const fn row_units(&self) -> u32 {
        self.units() << self.cuts()
    }

    /// Units of a cube.
    pub const fn cube_units(&self) -> u32 {
        self.groups() * self.units()
    }

    /// Whether a row is one tile.
    pub const fn whole(&self) -> bool {
        self.stages == self.length
    }

    /// log2 of the tiles of a row.
    pub const fn cuts(&self) -> u32 {
        self.length - self.stages
    }

    /// Runs of stages a unit computes on values it holds; between them values change places.
    pub const fn steps(&self) -> u32 {
        self.stages.div_ceil(self.values)
    }

    /// Stages of a step.
    pub const fn step_stages(&self, step: u32) -> u32 {
        let left = self.stages - step * self.values;
        if left < self.values { left } else { self.values }
    }

    /// Complex values of shared memory from one tile to the next. Units next to each other are in tiles next to each other
    /// where a row is cut, in its first launch at the first step only.
    pub fn tile_stride(&self) -> u32 {
        let tile = padded(1 << self.stages, *self);
        match (self.whole(), self.first) {
            (true, _) => tile,
            (false, 0) => tile | 1,
            (false, _) => (tile - 2).next_multiple_of(BANKS) + 2,
        }
    }

    /// Complex values of shared memory of a cube.
    pub fn exchange_len(&self) -> u32 {
        self.tiles * self.tile_stride()
    }

    fn fits(&self, buffers: usize, limits: &Limits) -> bool {
        self.cube_units() <= limits.units
            && self.exchange_len() as usize * buffers * size_of::<[f32; 2]>() <= limits.shared
    }

    /// The launch with as many tiles a cube as pay, in `units` units for whole rows, and fit.
    fn filled(self, buffers: usize, units: u32, limits: &Limits) -> Option<Self> {
        let (least, most) = if self.whole() {
            (1, units / self.units().min(units))
        } else {
            let across = TILES_ACROSS.min(1 << self.cuts());
            // Rows together are no reason to read less side by side.
            (if self.together > 1 { across } else { 1 }, across)
        };
        let tiles = (least.ilog2()..=most.ilog2()).rev().map(|log| self.together << log);
        tiles.map(|tiles| Self { tiles, ..self }).find(|pass| pass.fits(buffers, limits))
    }
}

/// A launch that runs `stages` stages from `first` on forward.
///
/// More values a unit mean fewer exchanges, and more rows a unit fewer loads of twiddles and gates; both mean more registers
/// and code. Devices without planes of one size, such as software ones, get little code.
pub fn forward(length: u32, first: u32, stages: u32, gated: bool, limits: &Limits) -> Option<Pass> {
    // Many stages, or launches that read every row several times.
    let long = stages > 9 || stages < length;
    let (most, together): (u32, u32) = match (limits.plane, gated) {
        (None, _) => (3, 1),
        (_, true) => (3, if long { 4 } else { 2 }),
        (_, false) => (if stages > 10 { 4 } else { 3 }, 2),
    };
    let steps = stages.div_ceil(most).max(2);
    let one = Pass { length, first, stages, values: stages.div_ceil(steps), tiles: 1, together: 1 };
    (0..=together.ilog2()).rev().find_map(|log| Pass { together: 1 << log, ..one }.filled(1, FORWARD_UNITS, limits))
}

/// A launch that runs `stages` stages from `first` on backward: a unit has two butterflies of each, and keeps what it knows
/// of them.
pub fn backward(length: u32, first: u32, stages: u32, _gated: bool, limits: &Limits) -> Option<Pass> {
    let fits = stages <= MAX_BACKWARD_STAGES;
    fits.then_some(Pass { length, first, stages, values: 2, tiles: 1, together: 1 })?.filled(2, BACKWARD_UNITS, limits)
}

/// [`forward`] or [`backward`].
pub type Launch = fn(u32, u32, u32, bool, &Limits) -> Option<Pass>;

/// Cuts a network of 2^length values into the fewest launches of about as many stages each; `launch` is [`forward`] or
/// [`backward`].
pub fn passes(length: u32, gated: bool, limits: &Limits, launch: Launch) -> Option<Vec<Pass>> {
    (1..=length / 2).find_map(|count| {
        let bounds = |part: u32| part * length / count;
        (0..count).map(|part| launch(length, bounds(part), bounds(part + 1) - bounds(part), gated, limits)).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Limits = Limits {
        plane: None,
        plane_barrier: false,
        units: 256,
        shared: 16 << 10,
        cubes: 65_535,
        processors: None,
        buffer: 128 << 20,
    };
    const LARGE: Limits = Limits { plane: Some(32), units: 1024, shared: 48 << 10, ..SMALL };

    #[test]
    fn every_length_is_cut_into_launches_that_fit() {
        for limits in [SMALL, LARGE] {
            for length in 3..=16 {
                for (launch, buffers, gated) in [(forward as Launch, 1, false), (forward, 1, true), (backward, 2, true)]
                {
                    let passes = passes(length, gated, &limits, launch).unwrap_or_default();
                    let stages: Vec<u32> =
                        passes.iter().flat_map(|pass| pass.first..pass.first + pass.stages).collect();
                    assert_eq!(stages, (0..length).collect::<Vec<_>>());
                    for pass in passes {
                        assert!(pass.fits(buffers, &limits), "{pass:?}");
                        assert!(pass.whole() || (1 << pass.cuts()) % pass.tiles == 0, "{pass:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_is_read_once_where_shared_memory_holds_it() {
        let count = |length, limits| passes(length, false, limits, forward).map(|passes| passes.len());
        assert_eq!((count(8, &SMALL), count(12, &LARGE), count(16, &LARGE)), (Some(1), Some(1), Some(2)));
        let pass = forward(8, 0, 8, false, &LARGE);
        assert_eq!(pass, Some(Pass { length: 8, first: 0, stages: 8, values: 3, tiles: 8, together: 2 }));
    }

    #[test]
    fn steps_cover_the_stages() {
        for stages in 3..=12 {
            let pass =
                forward(stages, 0, stages, false, &LARGE).unwrap_or_else(|| panic!("{stages} stages have no launch"));
            assert_eq!((0..pass.steps()).map(|step| pass.step_stages(step)).sum::<u32>(), stages);
        }
    }
}
