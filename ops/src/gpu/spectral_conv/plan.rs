//! Products of complex matrices per mode, spread over cubes, and parts of a batch that are computed one after another:
//! plain data, made from sizes and a device's limits.
//!
//! Adjacent units take adjacent modes, so that they read consecutive values. A unit computes a tile of the product of
//! its mode in registers; the tiles of a cube lie side by side, so that they share the rows and columns that they read.

use std::ops::Range;

use crate::gpu::device::{DeviceLimit, DeviceLimitError, Limits, MAX_ELEMENTS, Result};
use crate::spectral_shape::SpectralShape;

/// Rows and columns of a tile, at most: its sums and factors fit the registers of a unit. (On an H200, tiles of 8 × 4
/// take 7 % longer.)
const TILE: (usize, usize) = (4, 8);
/// Modes of a cube, at most.
const LANES: usize = 32;
/// Units of a cube, at most.
const UNITS: usize = 256;
/// Cubes per processor below which a sum is cut into parts.
const CUBES_PER_PROCESSOR: usize = 4;
/// Processors of a device that does not report them.
const PROCESSORS: usize = 32;
/// The fewest terms of a part.
const PART: usize = 64;

/// Sizes of a product: `rows` × `terms` by `terms` × `columns`, at each of `modes` modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProductSize {
    pub rows: usize,
    pub columns: usize,
    pub terms: usize,
    pub modes: usize,
}

/// Form of a product, and the places of its matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProductForm {
    /// Whether the right factor is conjugated.
    pub conjugates: bool,
    /// Whether the product is Hermitian: its upper half is computed alone.
    pub is_hermitian: bool,
    pub left: MatrixStrides,
    pub right: MatrixStrides,
    pub product: MatrixStrides,
}

/// Positions of a matrix's rows of modes: that of (i, j) is `row`·i + `column`·j.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MatrixStrides {
    pub row: u32,
    pub column: u32,
}

/// The part of a product that one unit computes: what the kernel is compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ModeTile {
    pub rows: u32,
    pub columns: u32,
    /// Whether no tile goes beyond the rows.
    pub has_all_rows: bool,
    /// Whether no tile goes beyond the columns.
    pub has_all_columns: bool,
    pub form: ProductForm,
}

/// The cubes of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProductPlan {
    pub tile: ModeTile,
    /// Modes of a cube.
    pub lanes: usize,
    /// Tiles of a cube, below and beside each other.
    pub patch: [usize; 2],
    /// Cubes per mode, below and beside each other.
    pub patches: [usize; 2],
    /// Cubes side by side along the modes.
    pub blocks: usize,
    /// Terms of a part of the sum.
    pub part_terms: usize,
    /// Parts of the sum, none of them empty, which are added by further launches if there are several.
    pub parts: usize,
}

impl ProductPlan {
    /// The cubes of a product on a device.
    pub fn of(size: ProductSize, form: ProductForm, limits: &Limits) -> Self {
        let ProductSize { rows, columns, terms, modes } = size;
        let tile_rows = rows.next_power_of_two().min(TILE.0);
        let tile_columns = columns.next_power_of_two().min(TILE.1);
        let tiles = [rows.div_ceil(tile_rows), columns.div_ceil(tile_columns)];
        // As even blocks as there can be.
        let lanes = modes.div_ceil(modes.div_ceil(LANES));
        let blocks = modes.div_ceil(lanes);
        let fits = (UNITS.min(limits.units as usize) / lanes).max(1);
        // As many tiles below each other as beside, or half as many.
        let beside = tiles[1].min(floor_power_of_two((2 * fits).isqrt()).min(fits));
        let patch = [tiles[0].min(fits / beside), beside];
        let patches = [tiles[0].div_ceil(patch[0]), tiles[1].div_ceil(patch[1])];
        let cubes = blocks * patches[0] * patches[1];
        let busy = CUBES_PER_PROCESSOR * limits.processors.map_or(PROCESSORS, |count| count as usize);
        let parts = (busy / cubes.max(1)).clamp(1, (terms / PART).max(1));
        let part_terms = terms.div_ceil(parts).max(1);
        let tile = ModeTile {
            rows: tile_rows as u32,
            columns: tile_columns as u32,
            has_all_rows: rows.is_multiple_of(tile_rows),
            has_all_columns: columns.is_multiple_of(tile_columns),
            form,
        };
        Self { tile, lanes, patch, patches, blocks, part_terms, parts: terms.div_ceil(part_terms).max(1) }
    }

    pub fn units(&self) -> usize {
        self.lanes * self.patch[0] * self.patch[1]
    }

    pub fn cubes(&self) -> usize {
        self.blocks * self.patches[0] * self.patches[1] * self.parts
    }
}

/// The largest power of two that is at most `value`, which is at least 1.
fn floor_power_of_two(value: usize) -> usize {
    1 << value.ilog2()
}

/// Bytes of scratch memory per launch, about.
const SCRATCH: usize = 512 << 20;
/// Batches are cut where a buffer starts at a multiple of so many values, as devices align bindings to 256 bytes.
const ALIGNED_VALUES: usize = 64;

/// Parts of a batch whose arrays are counted in 32 bits and take limited memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchPlan {
    batch: usize,
    /// Batch elements per part, the last one aside.
    pub step: usize,
}

impl BatchPlan {
    /// The parts of a batch that is not empty. `strides` are the distances of the rows that are read and written.
    ///
    /// # Errors
    /// If the fewest batch elements that a batch can be cut into have more values than a launch counts, or the weights
    /// have.
    pub fn of(shape: &SpectralShape, strides: &[usize]) -> Result<Self> {
        let counted = |elements| DeviceLimitError::unless(DeviceLimit::LaunchElements, elements, MAX_ELEMENTS);
        counted(shape.inputs.saturating_mul(shape.outputs).saturating_mul(shape.channel_modes()))?;
        let (last, channels) = (shape.last(), shape.inputs.max(shape.outputs));
        let rows = shape.samples() / shape.points[last];
        let largest = strides.iter().fold(0, |most, &stride| most.max(channels.saturating_mul(rows * stride)));
        let aligned_after = |values: usize| ALIGNED_VALUES >> values.trailing_zeros().min(ALIGNED_VALUES.ilog2());
        let unit = strides
            .iter()
            .flat_map(|stride| [shape.inputs, shape.outputs].map(|channels| aligned_after(channels * rows * stride)))
            .fold(1, usize::max);
        let unit = unit.min(shape.batch);
        counted(unit.saturating_mul(largest))?;
        let between = if last == 0 { shape.channel_modes() } else { shape.values_between(last - 1) };
        // Two arrays of complex values are in use at a time.
        let in_scratch = SCRATCH / (2 * size_of::<[f32; 2]>() * channels * between);
        let step = (in_scratch.min(MAX_ELEMENTS / largest) / unit * unit).max(unit);
        Ok(Self { batch: shape.batch, step })
    }

    pub fn parts(self) -> impl Iterator<Item = Range<usize>> {
        let Self { batch, step } = self;
        (0..batch).step_by(step).map(move |start| start..batch.min(start + step))
    }
}
