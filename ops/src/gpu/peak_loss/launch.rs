//! Launches of the losses and of their gradients.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::kernel::{self, PeakLossInputLaunch, PeakLossShapeLaunch, UNITS};
use crate::gpu::device::{GpuDevice, chunks, cubes, elements, floats, from_row};
use crate::options::PeakLossOptions;

/// Rows of power in device memory, and what they are compared with.
#[derive(Debug, Clone)]
pub struct PeakLossBuffers {
    /// `[rows, bins]`.
    pub power: Handle,
    /// `[rows, ranks]`.
    pub strongest: Handle,
    /// `[rows]`.
    pub reference_power: Handle,
    /// `[rows, bins]`.
    pub peaks: Handle,
    /// `[rows, bins]`.
    pub target_power: Handle,
    /// Number of rows.
    pub rows: usize,
    /// Bins of a row.
    pub bins: usize,
    /// Ranks that the boundary is between.
    pub ranks: usize,
}

impl PeakLossBuffers {
    /// `rows` rows from `row` on as a kernel argument.
    fn input(&self, row: usize, rows: usize) -> PeakLossInputLaunch {
        let of = |buffer: &Handle, length: usize| floats(&from_row(buffer, row, length), rows * length);
        PeakLossInputLaunch::new(
            of(&self.power, self.bins),
            of(&self.strongest, self.ranks),
            of(&self.reference_power, 1),
            of(&self.peaks, self.bins),
            of(&self.target_power, self.bins),
        )
    }

    fn shape(&self, rows: usize, options: &PeakLossOptions) -> PeakLossShapeLaunch {
        let inverse_temperature = (1.0 / options.temperature) as f32;
        let [ranking, of_power] = options.weights.map(|weight| weight as f32);
        let offset = options.offset as f32;
        PeakLossShapeLaunch::new(rows as u32, self.bins as u32, inverse_temperature, offset, ranking, of_power)
    }
}

/// The two losses of each row, `[rows, 2]`.
pub fn peak_loss(device: &GpuDevice, inputs: &PeakLossBuffers, options: &PeakLossOptions, into: &Handle) {
    for chunk in chunks(device, inputs.rows, 0, inputs.bins) {
        let rows = chunk.len();
        kernel::losses::launch(
            &device.client,
            cubes(device, rows),
            CubeDim::new_1d(UNITS),
            inputs.input(chunk.start, rows),
            floats(&from_row(into, chunk.start, 2), 2 * rows),
            inputs.shape(rows, options),
            inputs.ranks as u32,
        );
    }
}

/// Gradients in the power, `[rows, bins]`, for those of the losses, `[rows, 2]`.
pub fn peak_loss_backward(
    device: &GpuDevice,
    inputs: &PeakLossBuffers,
    grad: &Handle,
    options: &PeakLossOptions,
    into: &Handle,
) {
    for chunk in chunks(device, inputs.rows, 0, inputs.bins) {
        let rows = chunk.len();
        let (cubes, units) = elements(device, rows * inputs.bins);
        kernel::gradients::launch(
            &device.client,
            cubes,
            units,
            inputs.input(chunk.start, rows),
            floats(&from_row(grad, chunk.start, 2), 2 * rows),
            floats(&from_row(into, chunk.start, inputs.bins), rows * inputs.bins),
            inputs.shape(rows, options),
            inputs.ranks as u32,
        );
    }
}
