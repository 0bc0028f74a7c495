//! Launches of products of matrices per mode.

use cubecl::prelude::*;

use super::kernel::{self, ModeProductShapeLaunch};
use super::plan::{MatrixStrides, ProductForm, ProductPlan, ProductSize};
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{GpuDevice, cubes, launch};
use crate::gpu::reduce::sum_rows;

/// A matrix of complex rows of modes in device memory; row (i, j) starts at `row`·i + `column`·j.
#[derive(Debug, Clone)]
pub struct ModeMatrix {
    pub values: ComplexRows,
    pub row: usize,
    pub column: usize,
}

impl ModeMatrix {
    fn strides(&self) -> MatrixStrides {
        MatrixStrides { row: self.row as u32, column: self.column as u32 }
    }
}

/// A product of matrices, one per mode.
#[derive(Debug, Clone, Copy)]
pub struct ModeProduct {
    pub size: ProductSize,
    /// Whether the right factor is conjugated.
    pub conjugates: bool,
    /// Whether the product is added to what is there.
    pub accumulates: bool,
}

impl ModeProduct {
    /// Computes the product of `left` and `right` into `product`, which is contiguous in some order.
    pub fn launch(&self, device: &GpuDevice, left: &ModeMatrix, right: &ModeMatrix, product: &ModeMatrix) {
        let ProductSize { rows, columns, terms, modes } = self.size;
        let form = ProductForm {
            conjugates: self.conjugates,
            left: left.strides(),
            right: right.strides(),
            product: product.strides(),
        };
        let plan = ProductPlan::of(self.size, form, &device.limits);
        let values = rows * columns * modes;
        let is_direct = plan.parts == 1 && !self.accumulates;
        let sums = match is_direct {
            true => product.values.clone(),
            false => ComplexRows::empty(&device.client, plan.parts * values),
        };
        let shape = ModeProductShapeLaunch::new(
            rows as u32,
            columns as u32,
            terms as u32,
            modes as u32,
            plan.lanes as u32,
            plan.blocks as u32,
            plan.patch[1] as u32,
            plan.patch[0] as u32,
            plan.patches[1] as u32,
            plan.patches[0] as u32,
            plan.part_terms as u32,
            values as u32,
        );
        // SAFETY: units past the last cube, mode, row or column end at once; the others read rows and columns of the
        // matrices, the last ones where a tile goes beyond, and write their own. The loop ends at the last term.
        unsafe {
            launch!(
                device,
                kernel::mode_product(
                    &device.client,
                    cubes(device, plan.cubes()),
                    CubeDim::new_1d(plan.units() as u32),
                    left.values.buffers(rows * terms * modes),
                    right.values.buffers(terms * columns * modes),
                    sums.buffers(plan.parts * values),
                    shape,
                    plan.tile,
                )
            );
        }
        if !is_direct {
            let into = [&product.values.re, product.values.imaginary()];
            for (sums, into) in [&sums.re, sums.imaginary()].into_iter().zip(into) {
                sum_rows(device, sums.clone(), plan.parts, values, into, self.accumulates);
            }
        }
    }
}
