//! Device code of the product per mode, and of the columns of matrices as rows.

use cubecl::prelude::*;

use super::plan::Tile;
use crate::gpu::complex::{ComplexArray, ComplexBuffers};

/// Positions of a matrix's rows of modes as a kernel argument: that of (i, j) is `row`·i + `column`·j.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub struct MatrixStrides {
    pub row: u32,
    pub column: u32,
}

/// Sizes of a product of matrices, its cubes, and where its matrices lie.
#[derive(CubeType, CubeLaunch)]
pub struct ProductShape {
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
    /// Terms of a part of the sum.
    pub part_terms: u32,
    /// Values from one part of the sum to the next.
    pub part_stride: u32,
    pub left: MatrixStrides,
    pub right: MatrixStrides,
    pub product: MatrixStrides,
}

/// Products of complex matrices, one per mode: a unit adds up the terms of a tile of one mode.
#[cube(launch, launch_unchecked)]
pub fn mode_product(
    left: &ComplexBuffers,
    right: &ComplexBuffers,
    product: &mut ComplexBuffers,
    shape: ProductShape,
    #[comptime] tile: Tile,
) {
    // Cubes that share columns of the right factor come one after the other.
    let cube = CUBE_POS as u32;
    let column_patch = cube % shape.column_patches;
    let rest = cube / shape.column_patches;
    let block = rest % shape.blocks;
    let rest = rest / shape.blocks;
    let row_patch = rest % shape.row_patches;
    let part = rest / shape.row_patches;
    let (lane, slot) = (UNIT_POS % shape.lanes, UNIT_POS / shape.lanes);
    let mode = block * shape.lanes + lane;
    let i = (row_patch * shape.patch_rows + slot / shape.patch_columns) * comptime!(tile.rows);
    let j = (column_patch * shape.patch_columns + slot % shape.patch_columns) * comptime!(tile.columns);
    let first = part * shape.part_terms;
    if mode >= shape.modes || i >= shape.rows || j >= shape.columns || first >= shape.terms {
        terminate!();
    }

    let rows = comptime!(tile.rows);
    let columns = comptime!(tile.columns);
    let sums = comptime!((rows * columns) as usize);
    let mut sum = ComplexArray { re: Array::new(sums), im: Array::new(sums) };
    #[unroll]
    for at in 0..comptime!(rows * columns) {
        sum.re[comptime!(at as usize)] = 0.0f32;
        sum.im[comptime!(at as usize)] = 0.0f32;
    }
    // Rows and columns past the end read the last ones.
    let mut left_at = Array::<u32>::new(comptime!(rows as usize));
    #[unroll]
    for row in 0..rows {
        left_at[comptime!(row as usize)] = min(i + row, shape.rows - 1) * shape.left.row + mode;
    }
    let mut right_at = Array::<u32>::new(comptime!(columns as usize));
    #[unroll]
    for column in 0..columns {
        right_at[comptime!(column as usize)] = min(j + column, shape.columns - 1) * shape.right.column + mode;
    }
    let mut a = ComplexArray { re: Array::new(comptime!(rows as usize)), im: Array::new(comptime!(rows as usize)) };
    for term in first..min(first + shape.part_terms, shape.terms) {
        #[unroll]
        for row in 0..rows {
            let at = (left_at[comptime!(row as usize)] + term * shape.left.column) as usize;
            a.re[comptime!(row as usize)] = left.re[at];
            a.im[comptime!(row as usize)] = left.im[at];
        }
        #[unroll]
        for column in 0..columns {
            let at = (right_at[comptime!(column as usize)] + term * shape.right.row) as usize;
            let re = right.re[at];
            let im = right.im[at];
            let im = if comptime!(tile.conjugates) { -im } else { im };
            #[unroll]
            for row in 0..rows {
                let to = comptime!((row * columns + column) as usize);
                let (a_re, a_im) = (a.re[comptime!(row as usize)], a.im[comptime!(row as usize)]);
                sum.re[to] = fma(a_re, re, fma(-a_im, im, sum.re[to]));
                sum.im[to] = fma(a_re, im, fma(a_im, re, sum.im[to]));
            }
        }
    }

    #[unroll]
    for row in 0..rows {
        #[unroll]
        for column in 0..columns {
            let (i, j) = (i + row, j + column);
            if i < shape.rows && j < shape.columns {
                let at = (part * shape.part_stride + i * shape.product.row + j * shape.product.column + mode) as usize;
                product.re[at] = sum.re[comptime!((row * columns + column) as usize)];
                product.im[at] = sum.im[comptime!((row * columns + column) as usize)];
            }
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
    let point = at % shape.points;
    let column = at / shape.points % shape.width;
    let matrix = at / shape.points / shape.width;
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
    let column = at % shape.width;
    let row = at / shape.width % shape.rows;
    let matrix = at / shape.width / shape.rows;
    let point = select(row < (shape.rows + 1) / 2, row, row + shape.points - shape.rows);
    let from_at = ((matrix * shape.width + column) * shape.points + point) as usize;
    into.re[at as usize] = from.re[from_at];
    into.im[at as usize] = from.im[from_at];
}
