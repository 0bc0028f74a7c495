//! A butterfly transform split into launches, and a launch into units: plain data, made from a device's limits.

use cubecl::prelude::*;

use crate::gpu::device::{DeviceLimit, DeviceLimitError, Limits, Result};

/// Units a cube is filled up to with tiles, forward and backward: small cubes, so that few units wait at a barrier.
const FORWARD_UNITS: u32 = 128;
const BACKWARD_UNITS: u32 = 64;
/// Stages of a backward launch, at most: a unit keeps the inputs of each of them, and sums for each of them.
const MAX_BACKWARD_STAGES: u32 = 10;
/// Adjacent tiles of a row that a cube takes where a row has several, so that it reads 32 consecutive bytes at a time.
const ADJACENT_TILES: u32 = 8;
/// Complex values of shared memory that a plane reads at once.
const BANKS: u32 = 16;

/// The way through the stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    Forward,
    /// Gradient of the input, and sums for the gradients of the butterflies, from the gradient of the output.
    Backward,
}

impl Propagation {
    /// Exchange buffers in shared memory: backward, one is read while the other is written.
    const fn exchanges(self) -> usize {
        match self {
            Self::Forward => 1,
            Self::Backward => 2,
        }
    }
}

/// One launch: consecutive stages of a transform.
///
/// A tile is the 2^stages values of a row that these stages connect with each other; a cube computes `tiles` of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ButterflyLaunchPlan {
    /// Stages of the transform: log2 of its length.
    pub log2_n: u32,
    pub first: u32,
    pub stages: u32,
    /// log2 of the values per unit.
    pub log2_values: u32,
    pub tiles: u32,
    /// Rows per unit: a unit works on the same tile of that many rows, and loads each twiddle once for all of them.
    pub rows_per_unit: u32,
}

impl ButterflyLaunchPlan {
    pub const fn tile_units(&self) -> u32 {
        1 << (self.stages - self.log2_values)
    }

    /// Groups of tiles per cube: one tile of each of the `rows_per_unit` rows.
    pub const fn groups(&self) -> u32 {
        self.tiles / self.rows_per_unit
    }

    pub const fn row_units(&self) -> u32 {
        self.tile_units() << self.log2_tiles()
    }

    pub const fn cube_units(&self) -> u32 {
        self.groups() * self.tile_units()
    }

    pub const fn is_single_tile(&self) -> bool {
        self.stages == self.log2_n
    }

    pub const fn log2_tiles(&self) -> u32 {
        self.log2_n - self.stages
    }

    /// Passes: a unit computes the stages of one on values in registers, with an exchange before the next.
    pub const fn passes(&self) -> u32 {
        self.stages.div_ceil(self.log2_values)
    }

    pub const fn pass_stages(&self, pass: u32) -> u32 {
        let left = self.stages - pass * self.log2_values;
        if left < self.log2_values { left } else { self.log2_values }
    }

    pub const fn unit_butterflies(&self) -> u32 {
        self.stages << (self.log2_values - 1)
    }

    /// Complex values of shared memory from one tile to the next. The stride keeps adjacent units on different banks
    /// where they are in adjacent tiles: where a row has several, and in its first launch at the first pass only.
    pub fn tile_stride(&self) -> u32 {
        let tile = padded(1 << self.stages, *self);
        match (self.is_single_tile(), self.first) {
            (true, _) => tile,
            (false, 0) => tile | 1,
            (false, _) => (tile - 2).next_multiple_of(BANKS) + 2,
        }
    }

    /// Complex values of shared memory per cube.
    pub fn exchange_len(&self) -> u32 {
        self.tiles * self.tile_stride()
    }

    /// Whether a cube has the units and the shared memory.
    pub(super) fn fits(&self, propagation: Propagation, limits: &Limits) -> bool {
        self.cube_units() <= limits.units
            && self.exchange_len() as usize * propagation.exchanges() * size_of::<[f32; 2]>() <= limits.shared
    }

    /// The launch with the most tiles per cube that pay and fit, in `units` units where a row is one tile.
    fn filled(self, propagation: Propagation, units: u32, limits: &Limits) -> Option<Self> {
        let (least, most) = if self.is_single_tile() {
            (1, units / self.tile_units().min(units))
        } else {
            let adjacent = ADJACENT_TILES.min(1 << self.log2_tiles());
            // Several rows per unit must not cost adjacent reads.
            (if self.rows_per_unit > 1 { adjacent } else { 1 }, adjacent)
        };
        let tiles = (least.ilog2()..=most.ilog2()).rev().map(|log2| self.rows_per_unit << log2);
        tiles.map(|tiles| Self { tiles, ..self }).find(|plan| plan.fits(propagation, limits))
    }
}

/// Padded offset in shared memory of tile value `at`. After the first pass adjacent units access values far apart, and
/// after the second, values of several groups: padding keeps either on different banks.
#[cube]
pub fn padded(at: u32, #[comptime] plan: ButterflyLaunchPlan) -> u32 {
    if comptime!(plan.log2_values <= 2) { at + at / 16 * 4 + at / 64 } else { at + at / 16 * 2 + at / 128 + at / 2048 }
}

/// The launch that computes `stages` stages from `first` on forward.
///
/// More values per unit mean fewer exchanges, and more rows per unit fewer loads of twiddles and gates; both mean more
/// registers and code. Devices without planes of one size, such as software ones, get little code.
pub fn forward_launch(
    log2_n: u32,
    first: u32,
    stages: u32,
    gated: bool,
    limits: &Limits,
) -> Option<ButterflyLaunchPlan> {
    // Many stages, or launches that read every row several times.
    let long = stages > 9 || stages < log2_n;
    let (most, rows_per_unit): (u32, u32) = match (limits.plane, gated) {
        (None, _) => (3, 1),
        (_, true) => (3, if long { 4 } else { 2 }),
        (_, false) => (if stages > 10 { 4 } else { 3 }, 2),
    };
    let passes = stages.div_ceil(most).max(2);
    let one =
        ButterflyLaunchPlan { log2_n, first, stages, log2_values: stages.div_ceil(passes), tiles: 1, rows_per_unit: 1 };
    (0..=rows_per_unit.ilog2()).rev().find_map(|log2| {
        ButterflyLaunchPlan { rows_per_unit: 1 << log2, ..one }.filled(Propagation::Forward, FORWARD_UNITS, limits)
    })
}

/// The launch that computes `stages` stages from `first` on backward: a unit has two butterflies of each, and keeps
/// their weights and sums in registers.
fn backward_launch(log2_n: u32, first: u32, stages: u32, limits: &Limits) -> Option<ButterflyLaunchPlan> {
    let one = ButterflyLaunchPlan { log2_n, first, stages, log2_values: 2, tiles: 1, rows_per_unit: 1 };
    (stages <= MAX_BACKWARD_STAGES).then_some(one)?.filled(Propagation::Backward, BACKWARD_UNITS, limits)
}

/// The fewest launches, of about as many stages each, that transform 2^log2_n values.
///
/// # Errors
/// If the device's shared memory does not hold the tiles of even the shortest launches.
pub fn launches(
    log2_n: u32,
    gated: bool,
    limits: &Limits,
    propagation: Propagation,
) -> Result<Vec<ButterflyLaunchPlan>> {
    split(log2_n, gated, limits, propagation).ok_or_else(|| {
        // The least memory that would do, to within a factor of two.
        let enough =
            |shared: &usize| split(log2_n, gated, &Limits { shared: *shared, ..*limits }, propagation).is_some();
        let needed = (1..32).map(|log2| limits.shared.max(1) << log2).find(enough).unwrap_or(usize::MAX);
        DeviceLimitError { limit: DeviceLimit::SharedMemory, needed: needed as u64, available: limits.shared as u64 }
    })
}

/// The forward launch of the same stages as a backward launch, which computes the input of the next one again.
///
/// # Errors
/// If the device's shared memory does not hold a tile.
pub fn recomputed_launch(plan: ButterflyLaunchPlan, gated: bool, limits: &Limits) -> Result<ButterflyLaunchPlan> {
    let needed = plan.exchange_len() as u64 * size_of::<[f32; 2]>() as u64;
    let error = DeviceLimitError { limit: DeviceLimit::SharedMemory, needed, available: limits.shared as u64 };
    forward_launch(plan.log2_n, plan.first, plan.stages, gated, limits).ok_or(error)
}

fn split(log2_n: u32, gated: bool, limits: &Limits, propagation: Propagation) -> Option<Vec<ButterflyLaunchPlan>> {
    (1..=log2_n / 2).find_map(|count| {
        let bound = |part: u32| part * log2_n / count;
        (0..count)
            .map(|part| {
                let (first, stages) = (bound(part), bound(part + 1) - bound(part));
                match propagation {
                    Propagation::Forward => forward_launch(log2_n, first, stages, gated, limits),
                    Propagation::Backward => backward_launch(log2_n, first, stages, limits),
                }
            })
            .collect()
    })
}
