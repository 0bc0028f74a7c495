//! Launches of the butterfly transform: as many as a row takes, batches split to the device's memory.

use std::f64::consts::TAU;

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::kernel::ButterflyKind;
use super::kernel::backward::{self, BlockedRowsLaunch, ButterflyBuffersLaunch};
use super::kernel::forward::{self, ForwardTablesLaunch};
use super::kernel::packed::{PACK_UNITS, pack};
use super::kernel::twiddle_period::{PERIOD_UNITS, find_periods};
use super::plan::{ButterflyLaunchPlan, Propagation, launches, recomputed_launch};
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{DeviceLimitError, GpuDevice, buffer, cached, chunks, cubes, empty, floats, launch};
use crate::gpu::reduce::{RowBlocks, sum_rows};

/// Number of values at which a transform's blocks occupy every processor of a large device.
const FILLING_VALUES: usize = 512 * 256;
/// Rows of a block of larger transforms. A block's sums take as much memory as two rows.
const BLOCK_ROWS: usize = 16;
/// Largest number of blocks of a transform. It gives several waves of cubes, so that idle processors in the last wave
/// matter little.
const MAX_TRANSFORM_BLOCKS: usize = 4096;

/// The butterflies of a transform of length `n`.
#[derive(Debug, Clone)]
pub struct ButterflyTransform {
    n: usize,
    /// `[log2 n, n/2, 2]`, or `[n/2, 2]` for the roots of the exact transform.
    twiddles: Handle,
    /// `[log2 n, n/2]`.
    gates: Option<Handle>,
    roots: bool,
}

/// The gradients of a transform's butterflies.
#[derive(Debug, Clone)]
pub struct ButterflyGradients {
    /// `[log2 n, n/2, 2]`.
    pub twiddles: Handle,
    /// `[log2 n, n/2]`; written for a transform with gates.
    pub gates: Handle,
}

impl ButterflyGradients {
    fn buffers(&self, butterflies: usize) -> ButterflyBuffersLaunch {
        ButterflyBuffersLaunch::new(buffer::<[f32; 2]>(&self.twiddles, butterflies), floats(&self.gates, butterflies))
    }
}

/// The rows of a backward pass.
#[derive(Debug, Clone)]
pub struct BackwardRows {
    /// The input of the forward pass.
    pub input: ComplexRows,
    /// The gradient of its output.
    pub grad: ComplexRows,
    /// The gradient of its input, to be written.
    pub input_grad: ComplexRows,
    /// Number of rows.
    pub rows: usize,
}

impl ButterflyTransform {
    /// A transform with a twiddle and a gate per butterfly: twiddles `[log2 n, n/2, 2]`, gates `[log2 n, n/2]`.
    pub fn new(n: usize, twiddles: Handle, gates: Option<Handle>) -> Self {
        Self { n, twiddles, gates, roots: false }
    }

    /// The exact transform, whose stages share the n/2 roots of unity exp(-2πi·j/n).
    pub fn exact(device: &GpuDevice, n: usize) -> Self {
        let twiddles = cached(device, "roots of unity", [n as u32, 1], || {
            let angle = |j: usize| -TAU * j as f64 / n as f64;
            (0..n / 2).flat_map(|j| [angle(j).cos() as f32, angle(j).sin() as f32]).collect()
        });
        Self { n, twiddles, gates: None, roots: true }
    }

    fn log2_n(&self) -> u32 {
        self.n.ilog2()
    }

    /// Butterflies of all stages.
    fn butterflies(&self) -> usize {
        self.log2_n() as usize * self.n / 2
    }

    fn kind(&self, input: &ComplexRows) -> ButterflyKind {
        ButterflyKind { gated: self.gates.is_some(), roots: self.roots, real: input.im.is_none() }
    }

    fn launches(
        &self,
        device: &GpuDevice,
        propagation: Propagation,
    ) -> Result<Vec<ButterflyLaunchPlan>, DeviceLimitError> {
        launches(self.log2_n(), self.gates.is_some(), &device.limits, propagation)
    }

    /// Transforms `rows` rows of `input` into `output`.
    ///
    /// # Errors
    /// If the device's shared memory does not hold the tiles of even the shortest launches.
    pub fn forward(
        &self,
        device: &GpuDevice,
        input: &ComplexRows,
        output: &ComplexRows,
        rows: usize,
    ) -> Result<(), DeviceLimitError> {
        let launches = self.launches(device, Propagation::Forward)?;
        let tables = self.tables(device, &launches);
        let scratch = if launches.len() > 1 { 2 * self.n } else { 0 };
        for chunk in chunks(device, rows, scratch, self.n) {
            let (input, output) = (input.skip_rows(chunk.start, self.n), output.skip_rows(chunk.start, self.n));
            // Passes go to and fro between scratch memory and the output, so that the last one ends in the output.
            let middle = (launches.len() > 1).then(|| ComplexRows::empty(&device.client, chunk.len() * self.n));
            let mut from = &input;
            for (i, (&plan, table)) in launches.iter().zip(&tables).enumerate() {
                let into = match &middle {
                    Some(middle) if (launches.len() - i) % 2 == 0 => middle,
                    _ => &output,
                };
                self.launch_forward(device, plan, table, [from, into], chunk.len());
                from = into;
            }
        }
        Ok(())
    }

    /// One launch, from the first rows to the second.
    fn launch_forward(
        &self,
        device: &GpuDevice,
        plan: ButterflyLaunchPlan,
        table: &Handle,
        [from, into]: [&ComplexRows; 2],
        rows: usize,
    ) {
        let groups = rows.div_ceil(plan.rows_per_unit as usize) << plan.log2_tiles();
        let values = rows * self.n;
        let packed_len = (plan.row_units() * plan.unit_butterflies()) as usize;
        // A kernel reads at most one of the tables; any buffer will do for the other argument.
        let (periods, packed) = match (&self.gates, self.roots) {
            (Some(_), _) => (buffer::<u32>(table, 1), buffer::<[f32; 4]>(table, packed_len)),
            (None, true) => (buffer::<u32>(table, 1), buffer::<[f32; 4]>(table, 1)),
            (None, false) => (buffer::<u32>(table, self.log2_n() as usize), buffer::<[f32; 4]>(&self.twiddles, 1)),
        };
        let twiddles = buffer::<[f32; 2]>(&self.twiddles, if self.roots { self.n / 2 } else { self.butterflies() });
        // SAFETY: a unit reads values of its own tile, or past the last row of the same tile of that row, and writes its
        // own only. Tiles are of the rows that the buffers hold as `buffers` checked, and stages and butterflies are
        // those of the transform. Loops have constant bounds.
        unsafe {
            launch!(
                device,
                forward::forward(
                    &device.client,
                    cubes(device, groups.div_ceil(plan.groups() as usize)),
                    CubeDim::new_1d(plan.cube_units()),
                    from.buffers(values),
                    ForwardTablesLaunch::new(twiddles, periods, packed),
                    into.buffers(values),
                    rows as u32,
                    plan,
                    self.kind(from),
                )
            );
        }
    }

    /// Writes the gradient of the input, and that of the butterflies into `sums`, on top of its contents if
    /// `accumulate`. A row whose gradient is 0 throughout gives 0.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn backward(
        &self,
        device: &GpuDevice,
        batch: &BackwardRows,
        sums: &ButterflyGradients,
        accumulate: bool,
    ) -> Result<(), DeviceLimitError> {
        let client = &device.client;
        let launches = self.launches(device, Propagation::Backward)?;
        // All launches but the last are computed forward again, for the inputs of the later ones.
        let recomputed: Vec<ButterflyLaunchPlan> = launches[..launches.len() - 1]
            .iter()
            .map(|&plan| recomputed_launch(plan, self.gates.is_some(), &device.limits))
            .collect::<Result<_, _>>()?;
        let tables = self.tables(device, &recomputed);
        // The inputs of the later launches, and their gradients.
        let scratch = 4 * recomputed.len() * self.n;
        for chunk in chunks(device, batch.rows, scratch, self.n) {
            let rows = chunk.len();
            let [input, mut grad, input_grad] =
                [&batch.input, &batch.grad, &batch.input_grad].map(|rows| rows.skip_rows(chunk.start, self.n));
            let mut inputs = vec![input];
            for (&plan, table) in recomputed.iter().zip(&tables) {
                let next = ComplexRows::empty(client, rows * self.n);
                self.launch_forward(device, plan, table, [&inputs[inputs.len() - 1], &next], rows);
                inputs.push(next);
            }
            let most = (rows / BLOCK_ROWS).max(FILLING_VALUES.div_ceil(self.n)).min(MAX_TRANSFORM_BLOCKS);
            let blocks = RowBlocks::of(rows, 3 * self.butterflies(), most);
            let partial = ButterflyGradients {
                twiddles: empty(client, blocks.count * 2 * self.butterflies()),
                gates: empty(client, blocks.count * self.butterflies()),
            };
            // The last launch first: each writes the gradient that the one before it reads.
            for (i, (plan, input)) in launches.iter().zip(inputs).enumerate().rev() {
                let next = if i == 0 { input_grad.clone() } else { ComplexRows::empty(client, rows * self.n) };
                let rows = BackwardRows { input, grad, input_grad: next.clone(), rows };
                self.launch_backward(device, *plan, &rows, &partial, blocks);
                grad = next;
            }
            let accumulate = accumulate || chunk.start > 0;
            sum_rows(device, partial.twiddles, blocks.count, 2 * self.butterflies(), &sums.twiddles, accumulate);
            if self.gates.is_some() {
                sum_rows(device, partial.gates, blocks.count, self.butterflies(), &sums.gates, accumulate);
            }
        }
        Ok(())
    }

    fn launch_backward(
        &self,
        device: &GpuDevice,
        plan: ButterflyLaunchPlan,
        batch: &BackwardRows,
        sums: &ButterflyGradients,
        blocks: RowBlocks,
    ) {
        let count = blocks.count << plan.log2_tiles();
        let values = batch.rows * self.n;
        let gates = match &self.gates {
            Some(gates) => floats(gates, self.butterflies()),
            None => floats(&self.twiddles, 1),
        };
        // SAFETY: as in `launch_forward`; there are partial sums for every block.
        unsafe {
            launch!(
                device,
                backward::backward(
                    &device.client,
                    cubes(device, count.div_ceil(plan.tiles as usize)),
                    CubeDim::new_1d(plan.cube_units()),
                    batch.input.buffers(values),
                    ButterflyBuffersLaunch::new(buffer::<[f32; 2]>(&self.twiddles, self.butterflies()), gates),
                    batch.grad.buffers(values),
                    batch.input_grad.buffers(values),
                    sums.buffers(blocks.count * self.butterflies()),
                    BlockedRowsLaunch::new(batch.rows as u32, blocks.length as u32),
                    plan,
                    self.kind(&batch.input),
                )
            );
        }
    }

    /// The table that each forward launch reads besides twiddles: packed butterflies where there are gates, or else the
    /// periods of the twiddles. Roots of unity need neither, so any buffer will do.
    fn tables(&self, device: &GpuDevice, launches: &[ButterflyLaunchPlan]) -> Vec<Handle> {
        match &self.gates {
            Some(gates) => launches.iter().map(|&plan| self.packed(device, gates, plan)).collect(),
            None if self.roots || launches.is_empty() => vec![self.twiddles.clone(); launches.len()],
            None => vec![self.periods(device); launches.len()],
        }
    }

    /// The butterflies of a launch, those of the units of a row side by side: `[butterflies of a unit, units, 4]`.
    fn packed(&self, device: &GpuDevice, gates: &Handle, plan: ButterflyLaunchPlan) -> Handle {
        let (count, units) = (plan.unit_butterflies() as usize, plan.row_units());
        let packed = empty(&device.client, 4 * count * units as usize);
        // SAFETY: every unit writes its own butterflies, as many as there is room for, and reads those of the
        // transform.
        unsafe {
            launch!(
                device,
                pack(
                    &device.client,
                    CubeCount::new_1d(units.div_ceil(PACK_UNITS)),
                    CubeDim::new_1d(PACK_UNITS),
                    buffer::<[f32; 2]>(&self.twiddles, self.butterflies()),
                    floats(gates, self.butterflies()),
                    buffer::<[f32; 4]>(&packed, count * units as usize),
                    plan,
                )
            );
        }
        packed
    }

    /// Per stage, the bits of a butterfly's number that its twiddle depends on: `[log2 n]` u32.
    fn periods(&self, device: &GpuDevice) -> Handle {
        let stages = self.log2_n();
        let periods = device.client.empty(stages as usize * size_of::<u32>());
        find_periods::launch(
            &device.client,
            CubeCount::Static(stages, 1, 1),
            CubeDim::new_1d(PERIOD_UNITS),
            buffer::<[f32; 2]>(&self.twiddles, self.butterflies()),
            buffer::<u32>(&periods, stages as usize),
            (self.n / 2) as u32,
        );
        periods
    }
}
