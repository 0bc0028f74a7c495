//! Losses of rows of power against target peaks: one launch forward, and one backward.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::device::{GpuDevice, chunks, elements, floats, from_row, grid, launch_checked};
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
    pub rows: usize,
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
        launch_checked!(losses(
            device,
            grid(device, rows, UNITS),
            inputs.input(chunk.start, rows),
            floats(&from_row(into, chunk.start, 2), 2 * rows),
            inputs.shape(rows, options),
            inputs.ranks as u32,
        ));
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
        launch_checked!(gradients(
            device,
            elements(device, rows * inputs.bins),
            inputs.input(chunk.start, rows),
            floats(&from_row(grad, chunk.start, 2), 2 * rows),
            floats(&from_row(into, chunk.start, inputs.bins), rows * inputs.bins),
            inputs.shape(rows, options),
            inputs.ranks as u32,
        ));
    }
}

/// Units that add up the losses of a row.
const UNITS: u32 = 64;

/// Rows of power, and what they are compared with.
#[derive(CubeType, CubeLaunch)]
pub struct PeakLossInput {
    /// `[rows, bins]`.
    pub power: Box<[f32]>,
    /// `[rows, ranks]`.
    pub strongest: Box<[f32]>,
    /// `[rows]`.
    pub reference_power: Box<[f32]>,
    /// `[rows, bins]`.
    pub peaks: Box<[f32]>,
    /// `[rows, bins]`.
    pub target_power: Box<[f32]>,
}

/// The shape of a launch, and the parameters of the loss.
#[derive(CubeType, CubeLaunch)]
pub struct PeakLossShape {
    pub rows: u32,
    pub bins: u32,
    pub inverse_temperature: f32,
    pub offset: f32,
    /// Factor of the ranking loss.
    pub ranking: f32,
    /// Factor of the power loss.
    pub of_power: f32,
}

/// Intermediate values of a bin, which the forward and the backward pass share.
#[derive(CubeType)]
struct Bin {
    /// Power relative to the reference power, with the offset.
    relative: f32,
    /// 1 at the target peaks and −1 at all other bins, per temperature.
    slope: f32,
    /// Distance on the wrong side of the boundary, in temperatures.
    wrong: f32,
    /// exp(−|wrong|).
    tail: f32,
    /// Logarithm of the ratio to the target power.
    error: f32,
}

/// Relative log power of a row's boundary: the mean of that of the ranks that it is between.
#[cube]
fn boundary(input: &PeakLossInput, shape: &PeakLossShape, row: u32, #[comptime] ranks: u32) -> f32 {
    let mut sum = 0.0f32;
    #[unroll]
    for rank in 0..ranks {
        let power = input.strongest[(row * ranks + rank) as usize];
        sum += (power / input.reference_power[row as usize] + shape.offset).ln();
    }
    sum / comptime!(ranks as f32)
}

#[cube]
fn bin(input: &PeakLossInput, shape: &PeakLossShape, row: u32, at: u32, boundary: f32) -> Bin {
    let reference_power = input.reference_power[row as usize];
    let relative = input.power[at as usize] / reference_power + shape.offset;
    let slope = (2.0f32 * input.peaks[at as usize] - 1.0f32) * shape.inverse_temperature;
    let wrong = (boundary - relative.ln()) * slope;
    let error = (relative / (input.target_power[at as usize] / reference_power + shape.offset)).ln();
    Bin { relative, slope, wrong, tail: (-wrong.abs()).exp(), error }
}

/// The two losses of each row, `[rows, 2]`: a cube of `UNITS` per row.
#[cube(launch)]
fn losses(input: &PeakLossInput, output: &mut [f32], shape: PeakLossShape, #[comptime] ranks: u32) {
    let row = CUBE_POS as u32;
    if row >= shape.rows {
        terminate!();
    }
    // Each unit adds the losses of every `UNITS`-th bin.
    let of_row = boundary(input, &shape, row, ranks);
    let mut ranking = 0.0f32;
    let mut of_power = 0.0f32;
    for place in range_stepped(UNIT_POS, shape.bins, UNITS) {
        let at = row * shape.bins + place;
        let bin = bin(input, &shape, row, at, of_row);
        // ln(1 + e^wrong), exact to rounding for every sign.
        ranking += max(bin.wrong, 0.0f32) + bin.tail.log1p();
        of_power += bin.error * bin.error * input.peaks[at as usize];
    }
    // A tree over the units, whose order follows from their number alone.
    let mut sums = Shared::<[f32]>::new_slice(comptime!(2 * UNITS as usize));
    sums[UNIT_POS as usize] = ranking;
    sums[(UNITS + UNIT_POS) as usize] = of_power;
    let mut half = comptime!(UNITS / 2).runtime();
    while half > 0 {
        sync_cube();
        if UNIT_POS < half {
            let other = UNIT_POS + half;
            sums[UNIT_POS as usize] = sums[UNIT_POS as usize] + sums[other as usize];
            sums[(UNITS + UNIT_POS) as usize] = sums[(UNITS + UNIT_POS) as usize] + sums[(UNITS + other) as usize];
        }
        half /= 2;
    }
    if UNIT_POS == 0 {
        output[(2 * row) as usize] = shape.ranking * sums[0usize];
        output[(2 * row + 1) as usize] = shape.of_power * sums[comptime!(UNITS as usize)];
    }
}

/// Gradients in the power, `[rows, bins]`, for `grad` `[rows, 2]`: a unit per bin.
#[cube(launch)]
fn gradients(input: &PeakLossInput, grad: &[f32], output: &mut [f32], shape: PeakLossShape, #[comptime] ranks: u32) {
    let at = ABSOLUTE_POS as u32;
    if at >= shape.rows * shape.bins {
        terminate!();
    }
    let row = at / shape.bins;
    let of_row = boundary(input, &shape, row, ranks);
    let bin = bin(input, &shape, row, at, of_row);
    // The slope of the ranking loss is the logistic function of the distance on the wrong side.
    let share = 1.0f32 / (1.0f32 + bin.tail);
    let sigmoid = select(bin.wrong < 0.0f32, bin.tail * share, share);
    let of_power = 2.0f32 * shape.of_power * grad[(2 * row + 1) as usize] * bin.error * input.peaks[at as usize];
    let of_ranking = shape.ranking * grad[(2 * row) as usize] * sigmoid * bin.slope;
    output[at as usize] = (of_power - of_ranking) / (bin.relative * input.reference_power[row as usize]);
}
