//! Device code of the product per mode, and of the columns of matrices as rows.

use cubecl::prelude::*;

use super::plan::ModeTile;
use crate::gpu::complex::{ComplexArray, ComplexBuffers, ComplexValues, zeros};

/// Sizes of a product of matrices, its cubes, and where its matrices lie.
#[derive(CubeType, CubeLaunch)]
pub struct ModeProductShape {
    pub rows: u32,
    pub columns: u32,
    pub terms: u32,
    pub modes: u32,
    /// Modes of a cube.
    pub lanes: u32,
    /// Cubes side by side along the modes.
    pub blocks: u32,
    /// Tiles of a cube beside each other.
    pub patch_columns: u32,
    /// Tiles of a cube below each other.
    pub patch_rows: u32,
    /// Cubes beside each other.
    pub column_patches: u32,
    /// Cubes below each other.
    pub row_patches: u32,
    /// Elements of the batch, whose matrices lie one after the other.
    pub batch: u32,
    /// Parts of the sum.
    pub parts: u32,
    /// Terms of a part of the sum.
    pub part_terms: u32,
    /// Values from one part of the sum to the next.
    pub part_stride: u32,
}

/// Products of complex matrices, one per mode of every element of a batch: a unit adds up the terms of a tile of one.
#[cube(launch, launch_unchecked)]
pub fn mode_product(
    left: &ComplexBuffers,
    right: &ComplexBuffers,
    product: &mut ComplexBuffers,
    shape: ModeProductShape,
    #[comptime] tile: ModeTile,
) {
    // The cube's block of modes, patch of tiles and part of the sum. Cubes of the same modes and rows of the left
    // factor come one after the other, so that they find them in the cache.
    let cube = CUBE_POS as u32;
    let column_patch = cube % shape.column_patches;
    let rest = cube / shape.column_patches;
    let block = rest % shape.blocks;
    let rest = rest / shape.blocks;
    let row_patch = rest % shape.row_patches;
    let rest = rest / shape.row_patches;
    let (part, element) = (rest % shape.parts, rest / shape.parts);
    // The unit's mode and tile: adjacent units take adjacent modes, which are adjacent in memory.
    let (lane, slot) = (UNIT_POS % shape.lanes, UNIT_POS / shape.lanes);
    let mode = block * shape.lanes + lane;
    let i = (row_patch * shape.patch_rows + slot / shape.patch_columns) * comptime!(tile.rows);
    let j = (column_patch * shape.patch_columns + slot % shape.patch_columns) * comptime!(tile.columns);
    let first = part * shape.part_terms;
    if mode >= shape.modes || i >= shape.rows || j >= shape.columns || first >= shape.terms || element >= shape.batch {
        terminate!();
    }
    if comptime!(tile.form.is_hermitian) {
        if i >= j + comptime!(tile.columns) {
            terminate!();
        }
    }

    let rows = comptime!(tile.rows);
    let columns = comptime!(tile.columns);
    // Where the unit's lines of both factors start, so that the loop over terms adds an offset only.
    let left_mode = element * shape.rows * shape.terms * shape.modes + mode;
    let right_mode = element * shape.terms * shape.columns * shape.modes + mode;
    let product_mode = part * shape.part_stride + element * shape.rows * shape.columns * shape.modes + mode;
    let mut sum = zeros(comptime!(rows * columns));
    let mut left_at = Array::<u32>::new(comptime!(rows as usize));
    #[unroll]
    for row in 0..rows {
        left_at[comptime!(row as usize)] =
            line_at(i, row, shape.rows, tile.form.left.row, tile.has_all_rows) + left_mode;
    }
    let mut right_at = Array::<u32>::new(comptime!(columns as usize));
    #[unroll]
    for column in 0..columns {
        right_at[comptime!(column as usize)] =
            line_at(j, column, shape.columns, tile.form.right.column, tile.has_all_columns) + right_mode;
    }
    // Two terms at a time: the factors of the second are on their way while the first is added.
    let end = min(first + shape.part_terms, shape.terms);
    let mut term = first;
    while term + 1 < end {
        let a = factors(left, &left_at, term * comptime!(tile.form.left.column), rows);
        let b = factors(right, &right_at, term * comptime!(tile.form.right.row), columns);
        let c = factors(left, &left_at, (term + 1) * comptime!(tile.form.left.column), rows);
        let d = factors(right, &right_at, (term + 1) * comptime!(tile.form.right.row), columns);
        add_term(&mut sum, &a, &b, tile);
        add_term(&mut sum, &c, &d, tile);
        term += 2;
    }
    // The last term of an odd number.
    if term < end {
        let a = factors(left, &left_at, term * comptime!(tile.form.left.column), rows);
        let b = factors(right, &right_at, term * comptime!(tile.form.right.row), columns);
        add_term(&mut sum, &a, &b, tile);
    }

    // Store the tile, without what lies beyond the matrix.
    #[unroll]
    for row in 0..rows {
        #[unroll]
        for column in 0..columns {
            let (i, j) = (i + row, j + column);
            let strides = comptime!(tile.form.product);
            let at = product_mode + i * comptime!(strides.row) + j * comptime!(strides.column);
            let re = sum.re[comptime!((row * columns + column) as usize)];
            let im = sum.im[comptime!((row * columns + column) as usize)];
            if comptime!(tile.form.is_hermitian) {
                if i <= j && j < shape.columns {
                    // The diagonal is real, and the lower half the conjugate of its mirror image.
                    let im = select(i < j, im, 0.0f32.runtime());
                    let image = product_mode + j * comptime!(strides.row) + i * comptime!(strides.column);
                    product.re[image as usize] = re;
                    product.im[image as usize] = -im;
                    product.re[at as usize] = re;
                    product.im[at as usize] = im;
                }
            } else if i < shape.rows && j < shape.columns {
                product.re[at as usize] = re;
                product.im[at as usize] = im;
            }
        }
    }
}

/// Start of line `first + offset` of a matrix, or of its last one where a tile goes beyond it.
#[cube]
fn line_at(first: u32, #[comptime] offset: u32, lines: u32, #[comptime] stride: u32, #[comptime] has_all: bool) -> u32 {
    if comptime!(has_all) {
        first * stride + comptime!(offset * stride)
    } else {
        min(first + offset, lines - 1) * stride
    }
}

/// The factors of a term, `offset` values after the starts of `count` lines.
#[cube]
fn factors(values: &ComplexBuffers, starts: &Array<u32>, offset: u32, #[comptime] count: u32) -> ComplexValues {
    let mut loaded = ComplexValues::none();
    #[unroll]
    for line in 0..count {
        let at = (starts[comptime!(line as usize)] + offset) as usize;
        loaded.push(values.re[at], values.im[at]);
    }
    loaded
}

/// Adds the products of a term to the sums of a tile.
#[cube]
fn add_term(sum: &mut ComplexArray, left: &ComplexValues, right: &ComplexValues, #[comptime] tile: ModeTile) {
    #[unroll]
    for column in 0..comptime!(tile.columns) {
        let re = right.re[comptime!(column as usize)];
        let im = right.im[comptime!(column as usize)];
        let im = if comptime!(tile.form.conjugates) { -im } else { im };
        // Each factor of the column meets every row of the tile: that is what a tile saves reads by.
        #[unroll]
        for row in 0..comptime!(tile.rows) {
            let to = comptime!((row * tile.columns + column) as usize);
            let (a_re, a_im) = (left.re[comptime!(row as usize)], left.im[comptime!(row as usize)]);
            sum.re[to] = fma(a_re, re, fma(-a_im, im, sum.re[to]));
            sum.im[to] = fma(a_re, im, fma(a_im, re, sum.im[to]));
        }
    }
}

/// Shape of matrices as a kernel argument: `[matrices, rows, width]`, whose rows are some of the `points` of a column.
#[derive(CubeType, CubeLaunch)]
pub struct ColumnShape {
    /// Values that are written.
    pub values: u32,
    pub rows: u32,
    pub points: u32,
    pub width: u32,
}

/// Columns as rows, `[matrices, width, points]`: their modes where `[matrices, rows, width]` has them, and 0 elsewhere.
#[cube(launch, launch_unchecked)]
pub fn columns_to_rows(from: &ComplexBuffers, into: &mut ComplexBuffers, shape: ColumnShape) {
    let at = ABSOLUTE_POS as u32;
    if at >= shape.values {
        terminate!();
    }
    // Adjacent units write adjacent points of a row; what they read is a row of the matrix apart.
    let point = at % shape.points;
    let column = at / shape.points % shape.width;
    let matrix = at / shape.points / shape.width;
    // The modes are the lowest frequencies of either sign: the first points, and the last ones.
    let is_lower = point < (shape.rows + 1) / 2;
    let mut re = 0.0f32;
    let mut im = 0.0f32;
    if is_lower || point >= shape.points - shape.rows / 2 {
        let row = select(is_lower, point, point - (shape.points - shape.rows));
        let from_at = ((matrix * shape.rows + row) * shape.width + column) as usize;
        re = from.re[from_at];
        im = from.im[from_at];
    }
    into.re[at as usize] = re;
    into.im[at as usize] = im;
}

/// The modes `[matrices, rows, width]` of columns that lie as rows, `[matrices, width, points]`.
#[cube(launch, launch_unchecked)]
pub fn rows_to_columns(from: &ComplexBuffers, into: &mut ComplexBuffers, shape: ColumnShape) {
    let at = ABSOLUTE_POS as u32;
    if at >= shape.values {
        terminate!();
    }
    // Adjacent units write adjacent columns; what they read is a row of points apart.
    let column = at % shape.width;
    let row = at / shape.width % shape.rows;
    let matrix = at / shape.width / shape.rows;
    // The point of mode `row`: the modes of negative frequency are the last points.
    let point = select(row < (shape.rows + 1) / 2, row, row + shape.points - shape.rows);
    let from_at = ((matrix * shape.width + column) * shape.points + point) as usize;
    into.re[at as usize] = from.re[from_at];
    into.im[at as usize] = from.im[from_at];
}
