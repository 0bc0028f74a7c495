//! Launches of the butterfly transform: as many as a row takes, batches split to the device's memory.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::kernel::GradientKind;
use super::kernel::backward::{self, BlockedRowsLaunch, ButterflyBuffersLaunch};
use super::kernel::forward::{self, ForwardTablesLaunch, PACK_UNITS, pack};
use super::plan::{ButterflyLaunchPlan, Propagation, launches, recomputed_launch};
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{GpuDevice, Result, buffer, chunks, empty, floats, grid, launch};
use crate::gpu::reduce::{RowBlocks, sum_rows};

/// Number of values at which a transform's blocks occupy every processor of a large device.
const FILLING_VALUES: usize = 512 * 256;
/// Rows of a block of larger transforms. A block's sums take as much memory as two rows.
const BLOCK_ROWS: usize = 16;
/// Largest number of blocks of a transform: several waves of cubes, of which the last may leave processors idle.
const MAX_TRANSFORM_BLOCKS: usize = 4096;

/// The butterflies of a transform of length `n`.
#[derive(Debug, Clone)]
pub struct ButterflyTransform {
    n: usize,
    /// `[log2 n, n/2, 2]`.
    twiddles: Handle,
    /// `[log2 n, n/2]`.
    gates: Option<Handle>,
}

/// The gradients of a transform's butterflies that are needed.
#[derive(Debug, Clone, Default)]
pub struct ButterflyGradients {
    /// `[log2 n, n/2, 2]`.
    pub twiddles: Option<Handle>,
    /// `[log2 n, n/2]`; `None` for a transform without gates.
    pub gates: Option<Handle>,
}

impl ButterflyGradients {
    /// The handles, with the number of values per butterfly of each.
    fn parts(&self) -> impl Iterator<Item = (&Handle, usize)> {
        let [twiddles, gates] =
            [(&self.twiddles, 2), (&self.gates, 1)].map(|(part, width)| part.as_ref().zip(Some(width)));
        twiddles.into_iter().chain(gates)
    }
}

/// The rows of a backward pass.
#[derive(Debug, Clone)]
pub struct BackwardRows {
    /// The input of the forward pass.
    pub input: ComplexRows,
    /// The gradient of its output.
    pub grad: ComplexRows,
    /// The gradient of its input, to be written if it is needed.
    pub input_grad: Option<ComplexRows>,
    pub rows: usize,
}

impl ButterflyTransform {
    /// A transform with a twiddle and a gate per butterfly: twiddles `[log2 n, n/2, 2]`, gates `[log2 n, n/2]`.
    pub fn new(n: usize, twiddles: Handle, gates: Option<Handle>) -> Self {
        Self { n, twiddles, gates }
    }

    fn log2_n(&self) -> u32 {
        self.n.ilog2()
    }

    fn butterflies(&self) -> usize {
        self.log2_n() as usize * self.n / 2
    }

    fn launches(&self, device: &GpuDevice, propagation: Propagation) -> Result<Vec<ButterflyLaunchPlan>> {
        launches(self.log2_n(), self.gates.is_some(), &device.limits, propagation)
    }

    /// Transforms `rows` rows of `input` into `output`.
    ///
    /// # Errors
    /// If the device's shared memory does not hold the tiles of even the shortest launches.
    pub fn forward(&self, device: &GpuDevice, input: &ComplexRows, output: &ComplexRows, rows: usize) -> Result<()> {
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
        // Read where there are gates; any buffer will do otherwise.
        let packed = buffer::<[f32; 4]>(table, if self.gates.is_some() { packed_len } else { 1 });
        let twiddles = buffer::<[f32; 2]>(&self.twiddles, self.butterflies());
        // SAFETY: a unit reads values of its own tile, or past the last row of the same tile of that row, and writes its
        // own only. Tiles are of the rows that the buffers hold as `buffers` checked, and stages and butterflies are
        // those of the transform. Loops have constant bounds.
        unsafe {
            launch!(forward::forward(
                device,
                grid(device, groups.div_ceil(plan.groups() as usize), plan.cube_units()),
                from.buffers(values),
                ForwardTablesLaunch::new(twiddles, packed),
                into.buffers(values),
                rows as u32,
                plan,
                self.gates.is_some(),
            ));
        }
    }

    /// Writes the gradient of the input, and those of the butterflies into `sums`, on top of their contents if
    /// `accumulate`. A row whose gradient is 0 throughout gives 0.
    pub fn backward(
        &self,
        device: &GpuDevice,
        batch: &BackwardRows,
        sums: &ButterflyGradients,
        accumulate: bool,
    ) -> Result<()> {
        let client = &device.client;
        let launches = self.launches(device, Propagation::Backward)?;
        let of_butterflies = sums.parts().next().is_some();
        // All launches but the last are computed forward again, for the inputs of the later ones.
        let again = if of_butterflies { launches.len() - 1 } else { 0 };
        let recomputed: Vec<ButterflyLaunchPlan> = launches[..again]
            .iter()
            .map(|&plan| recomputed_launch(plan, self.gates.is_some(), &device.limits))
            .collect::<Result<_>>()?;
        let tables = self.tables(device, &recomputed);
        // The inputs of the later launches, and their gradients.
        let scratch = 2 * (again + launches.len() - 1) * self.n;
        for chunk in chunks(device, batch.rows, scratch, self.n) {
            let rows = chunk.len();
            let [input, mut grad] = [&batch.input, &batch.grad].map(|rows| rows.skip_rows(chunk.start, self.n));
            let input_grad = batch.input_grad.as_ref().map(|rows| rows.skip_rows(chunk.start, self.n));
            let mut inputs = vec![input];
            for (&plan, table) in recomputed.iter().zip(&tables) {
                let next = ComplexRows::empty(client, rows * self.n);
                self.launch_forward(device, plan, table, [&inputs[inputs.len() - 1], &next], rows);
                inputs.push(next);
            }
            let most = (rows / BLOCK_ROWS).max(FILLING_VALUES.div_ceil(self.n)).min(MAX_TRANSFORM_BLOCKS);
            let blocks = RowBlocks::of(rows, 3 * self.butterflies(), most);
            let partial = |width: usize| empty(client, blocks.count * width * self.butterflies());
            let partial = ButterflyGradients {
                twiddles: sums.twiddles.as_ref().map(|_| partial(2)),
                gates: sums.gates.as_ref().map(|_| partial(1)),
            };
            // The last launch first: each writes the gradient that the one before it reads.
            for (i, plan) in launches.iter().enumerate().rev() {
                let input_grad = match i {
                    0 => input_grad.clone(),
                    _ => Some(ComplexRows::empty(client, rows * self.n)),
                };
                // Without gradients of butterflies, the input is not read.
                let input = inputs.get(i).unwrap_or(&inputs[0]).clone();
                let batch = BackwardRows { input, grad, input_grad, rows };
                self.launch_backward(device, *plan, &batch, &partial, blocks);
                match batch.input_grad {
                    Some(next) => grad = next,
                    None => break,
                }
            }
            let accumulate = accumulate || chunk.start > 0;
            for ((partial, width), (sums, _)) in partial.parts().zip(sums.parts()) {
                sum_rows(device, partial.clone(), blocks.count, width * self.butterflies(), sums, accumulate);
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
        let (values, butterflies) = (batch.rows * self.n, self.butterflies());
        let kind = GradientKind {
            gated: self.gates.is_some(),
            of_input: batch.input_grad.is_some(),
            of_twiddles: sums.twiddles.is_some(),
            of_gates: sums.gates.is_some(),
        };
        // Where gates are not read, or a gradient is not written, any buffer will do.
        let gates = self.gates.as_ref().map_or_else(|| floats(&self.twiddles, 1), |gates| floats(gates, butterflies));
        let unwritten = empty(&device.client, 2);
        let sums = ButterflyBuffersLaunch::new(
            match &sums.twiddles {
                Some(twiddles) => buffer::<[f32; 2]>(twiddles, blocks.count * butterflies),
                None => buffer::<[f32; 2]>(&unwritten, 1),
            },
            sums.gates
                .as_ref()
                .map_or_else(|| floats(&unwritten, 1), |gates| floats(gates, blocks.count * butterflies)),
        );
        let input_grad = match &batch.input_grad {
            Some(rows) => rows.buffers(values),
            None => ComplexRows::new(unwritten.clone(), unwritten.clone()).buffers(1),
        };
        // SAFETY: as in `launch_forward`; there are partial sums for every block.
        unsafe {
            launch!(backward::backward(
                device,
                grid(device, count.div_ceil(plan.tiles as usize), plan.cube_units()),
                batch.input.buffers(values),
                ButterflyBuffersLaunch::new(buffer::<[f32; 2]>(&self.twiddles, butterflies), gates),
                batch.grad.buffers(values),
                input_grad,
                sums,
                BlockedRowsLaunch::new(batch.rows as u32, blocks.length as u32),
                plan,
                kind,
            ));
        }
    }

    /// The packed butterflies that each forward launch reads where there are gates, or else any buffer.
    fn tables(&self, device: &GpuDevice, launches: &[ButterflyLaunchPlan]) -> Vec<Handle> {
        match &self.gates {
            Some(gates) => launches.iter().map(|&plan| self.packed(device, gates, plan)).collect(),
            None => vec![self.twiddles.clone(); launches.len()],
        }
    }

    /// The butterflies of a launch, those of the units of a row side by side: `[butterflies of a unit, units, 4]`.
    fn packed(&self, device: &GpuDevice, gates: &Handle, plan: ButterflyLaunchPlan) -> Handle {
        let (count, units) = (plan.unit_butterflies() as usize, plan.row_units());
        let packed = empty(&device.client, 4 * count * units as usize);
        // SAFETY: every unit writes its own butterflies, as many as there is room for, and reads those of the
        // transform.
        unsafe {
            launch!(pack(
                device,
                (CubeCount::new_1d(units.div_ceil(PACK_UNITS)), CubeDim::new_1d(PACK_UNITS)),
                buffer::<[f32; 2]>(&self.twiddles, self.butterflies()),
                floats(gates, self.butterflies()),
                buffer::<[f32; 4]>(&packed, count * units as usize),
                plan,
            ));
        }
        packed
    }
}
