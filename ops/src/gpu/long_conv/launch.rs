//! Launches of a convolution.

use std::ops::Range;

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::kernel::{self, ElementShapeLaunch, RowsInputLaunch, RowsShapeLaunch};
use super::plan::{FactorKind, LongConvPlan, RowsPlan};
use crate::gpu::complex::{ComplexRows, SamplesArgs};
use crate::gpu::device::{DeviceLimit, DeviceLimitError, GpuDevice, MAX_ELEMENTS, Result, buffer};
use crate::gpu::device::{chunks, elements, empty, floats, from_row, grid, launch};
use crate::gpu::transform::launch_plan::{TransformLaunchPlan, roots_len};
use crate::gpu::transform::plan_cache::{roots_of, table_of};
use crate::gpu::transform::{StridedRows, TransformCall, TransformKind, TransformProblem, transform};

/// Sizes of a convolution, none of them 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConvolutionShape {
    pub batch: usize,
    pub channels: usize,
    /// Samples of a row.
    pub n: usize,
    pub taps: usize,
}

impl ConvolutionShape {
    /// The first taps, which rows of n samples meet.
    pub fn used_taps(&self) -> usize {
        self.taps.min(self.n)
    }

    pub(super) fn rows(&self) -> usize {
        self.batch * self.channels
    }
}

/// Rows as samples of a transform, which are paired where all rows of a launch [are](StridedRows::is_paired).
pub(super) fn samples(rows: &StridedRows, count: usize, is_paired: bool) -> SamplesArgs {
    if is_paired { SamplesArgs::Pairs(rows.pairs(count)) } else { SamplesArgs::Single(rows.floats(count)) }
}

/// Causal convolutions of the rows of `signal`, those of all channels of an element of the batch one after the other, with
/// `kernel` `[channels, taps]`, times a gate → `output` `[rows, n]`.
///
/// # Errors
/// If the rows are too long for the device, or of more elements than a launch counts.
pub fn long_conv(
    device: &GpuDevice,
    shape: &ConvolutionShape,
    signal: &StridedRows,
    kernel: &Handle,
    gate: Option<&StridedRows>,
    output: &Handle,
) -> Result<()> {
    let convolution = Convolution::new(device, shape)?;
    let spectra = convolution.kernel_spectra(kernel)?;
    if let Some(launch) = convolution.plan.in_cube {
        let factors = gate.map_or(RowFactors::None, RowFactors::OfOutput);
        let output = convolution.rows(output);
        convolution.convolve_in_cubes(launch, [signal, &output], &spectra, factors, false, false);
        return Ok(());
    }
    // Rows that no cube holds, a launch for each step.
    for chunk in convolution.chunks(4) {
        let rows = convolution.spectra(&signal.skip_rows(chunk.start), chunk.len())?;
        let gate = gate.map(|gate| gate.skip_rows(chunk.start));
        convolution.convolve_spectra(&rows, &spectra, chunk, false, gate.as_ref(), output)?;
    }
    Ok(())
}

/// Factors of rows, before or after they are convolved.
#[derive(Debug, Clone, Copy)]
pub(super) enum RowFactors<'a> {
    None,
    OfInput(&'a StridedRows),
    OfOutput(&'a StridedRows),
}

/// A convolution planned for a device.
pub(super) struct Convolution<'a> {
    pub device: &'a GpuDevice,
    pub shape: &'a ConvolutionShape,
    pub plan: LongConvPlan,
    /// Pairs of samples of a padded row, N.
    pub points: usize,
}

impl<'a> Convolution<'a> {
    pub fn new(device: &'a GpuDevice, shape: &'a ConvolutionShape) -> Result<Self> {
        let plan = LongConvPlan::of(shape.n, shape.used_taps(), &device.limits)?;
        let largest = (shape.rows() * shape.n).max(shape.channels * 2 * plan.points as usize);
        DeviceLimitError::unless(DeviceLimit::LaunchElements, largest, MAX_ELEMENTS)?;
        Ok(Self { device, shape, plan, points: plan.points as usize })
    }

    /// Spectra of the kernels' pairs of taps, `[channels, N]`.
    pub fn kernel_spectra(&self, kernel: &Handle) -> Result<ComplexRows> {
        let ConvolutionShape { channels, taps, .. } = *self.shape;
        let values = ComplexRows::real(kernel.clone());
        self.spectra(&StridedRows::new(values, taps, self.shape.used_taps()), channels)
    }

    /// Spectra of pairs of samples, `[rows, N]`.
    pub fn spectra(&self, from: &StridedRows, rows: usize) -> Result<ComplexRows> {
        let spectra = ComplexRows::empty(&self.device.client, rows * self.points);
        let into = StridedRows::contiguous(spectra.clone(), self.points);
        let problem = TransformProblem::pairs(self.points, from.len < 2 * self.points);
        transform(self.device, &TransformCall::new(problem, rows), from, &into)?;
        Ok(spectra)
    }

    /// Pairs of samples from their spectra, `[rows, N]` each.
    pub fn pairs(&self, spectra: ComplexRows, rows: usize) -> Result<ComplexRows> {
        let pairs = ComplexRows::empty(&self.device.client, rows * self.points);
        // The inverse transform is the transform of exchanged parts, exchanged.
        let rows_of = |values: ComplexRows| StridedRows::contiguous(values.exchanged(), self.points);
        let problem = TransformProblem::new(self.points, TransformKind::Complex);
        let call = TransformCall { scale: 1.0 / self.points as f32, ..TransformCall::new(problem, rows) };
        transform(self.device, &call, &rows_of(spectra), &rows_of(pairs.clone()))?;
        Ok(pairs)
    }

    /// Contiguous rows of samples.
    pub fn rows(&self, values: &Handle) -> StridedRows {
        StridedRows::contiguous(ComplexRows::real(values.clone()), self.shape.n)
    }

    /// Convolves every row, or with the reversed kernels, in one launch. Stores as many leading samples as rows of the
    /// output have, or adds them to what is there if they are `is_added`.
    pub fn convolve_in_cubes(
        &self,
        launch: TransformLaunchPlan,
        [signal, output]: [&StridedRows; 2],
        spectra: &ComplexRows,
        factors: RowFactors<'_>,
        is_reversed: bool,
        is_added: bool,
    ) {
        let Self { device, shape, points, .. } = *self;
        let ConvolutionShape { channels, n, .. } = *shape;
        let (rows, written) = (shape.rows(), output.len);
        let (factors, form) = match factors {
            // A buffer that is not read: the signal will do.
            RowFactors::None => (signal, FactorKind::None),
            RowFactors::OfInput(factors) => (factors, FactorKind::OfInput),
            RowFactors::OfOutput(factors) => (factors, FactorKind::OfOutput),
        };
        let plan = RowsPlan { launch, n: n as u32, written: written as u32, factors: form, is_reversed, is_added };
        // Factors of the output are read as far as it is written.
        debug_assert!(form != FactorKind::OfOutput || written == n, "a gate has a factor for every sample");
        let is_paired = [signal, factors, output].iter().all(|rows| rows.is_paired());
        // SAFETY: rows, channels, samples and bins that are accessed are those of the buffers, whose lengths were
        // checked as the arguments were made: units past the last sequence or short transform take those of the last
        // one, and store nothing. A sample of the output is written by one unit, which reads it first where results are
        // added. Loops have constant bounds.
        unsafe {
            launch!(kernel::convolve_rows(
                device,
                grid(device, rows.div_ceil(launch.layout.sequences as usize), launch.layout.cube_units()),
                RowsInputLaunch::new(
                    samples(signal, rows, is_paired),
                    samples(factors, rows, is_paired),
                    spectra.buffers(channels * points),
                    buffer::<[f32; 2]>(&table_of(device, &launch), launch.table_len() as usize),
                ),
                samples(output, rows, is_paired),
                RowsShapeLaunch::new(
                    shape.batch as u32,
                    channels as u32,
                    signal.stride as u32,
                    factors.stride as u32,
                    output.stride as u32,
                    1.0 / points as f32,
                ),
                plan,
            ));
        }
    }

    /// Convolutions of the rows `chunk` from their spectra, times the factors of these rows.
    pub fn convolve_spectra(
        &self,
        rows: &ComplexRows,
        kernels: &ComplexRows,
        chunk: Range<usize>,
        is_reversed: bool,
        factors: Option<&StridedRows>,
        output: &Handle,
    ) -> Result<()> {
        let n = self.shape.n;
        let product = self.product(rows, kernels, chunk.clone(), is_reversed);
        let pairs = self.pairs(product, chunk.len())?;
        self.store(&pairs, factors, &from_row(output, chunk.start, n), [chunk.len(), n, n]);
        Ok(())
    }

    /// Rows of a launch where each step is one: as many as scratch memory holds, in `buffers` padded rows each.
    pub fn chunks(&self, buffers: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        chunks(self.device, self.shape.rows(), buffers * 2 * self.points, 2 * self.points)
    }

    /// Rows times factors.
    pub fn multiplied(&self, rows: &StridedRows, factors: &StridedRows, count: usize) -> StridedRows {
        let (device, n) = (self.device, self.shape.n);
        let product = empty(&device.client, count * n);
        let shape = self.element_shape(count, 0, [rows.stride, factors.stride], [n, n]);
        // SAFETY: units past the last value end at once; the others access a value of the rows.
        unsafe {
            launch!(kernel::multiply_rows(
                device,
                elements(device, count * n),
                rows.floats(count),
                factors.floats(count),
                floats(&product, count * n),
                shape,
            ));
        }
        self.rows(&product)
    }

    /// Spectra of convolutions of the rows `chunk`.
    fn product(
        &self,
        rows: &ComplexRows,
        kernels: &ComplexRows,
        chunk: Range<usize>,
        is_reversed: bool,
    ) -> ComplexRows {
        let (device, values) = (self.device, chunk.len() * self.points);
        let product = ComplexRows::empty(&device.client, values);
        // SAFETY: units past the last bin end at once; the others access a bin, its mirror image and those of a kernel.
        unsafe {
            launch!(kernel::convolve_spectra(
                device,
                elements(device, values),
                rows.buffers(values),
                kernels.buffers(self.shape.channels * self.points),
                self.roots(),
                product.buffers(values),
                self.element_shape(chunk.len(), chunk.start, [0, 0], [0, 0]),
                self.plan.points,
                is_reversed,
            ));
        }
        product
    }

    /// Stores the first `samples` samples of pairs, times factors, as rows of `len`; the rest is 0.
    pub fn store(
        &self,
        pairs: &ComplexRows,
        factors: Option<&StridedRows>,
        output: &Handle,
        [rows, samples, len]: [usize; 3],
    ) {
        let device = self.device;
        let stride = factors.map_or(0, |factors| factors.stride);
        // Without factors, the argument is not read: the pairs will do.
        let read = factors.map_or_else(|| floats(&pairs.re, rows * self.points), |factors| factors.floats(rows));
        // SAFETY: units past the last sample end at once; the others access a sample of the rows.
        unsafe {
            launch!(kernel::store_samples(
                device,
                elements(device, rows * len),
                pairs.buffers(rows * self.points),
                read,
                floats(output, rows * len),
                self.element_shape(rows, 0, [0, stride], [len, samples]),
                self.plan.points,
                factors.is_some(),
            ));
        }
    }

    pub fn element_shape(
        &self,
        rows: usize,
        before: usize,
        [stride, factor_stride]: [usize; 2],
        [len, samples]: [usize; 2],
    ) -> ElementShapeLaunch {
        ElementShapeLaunch::new(
            rows as u32,
            before as u32,
            self.shape.channels as u32,
            stride as u32,
            factor_stride as u32,
            len as u32,
            samples as u32,
        )
    }

    /// The table of roots of unity exp(−2πi·k/N).
    pub fn roots(&self) -> BufferArg {
        let points = self.plan.points;
        buffer::<[f32; 2]>(&roots_of(self.device, points), roots_len(points) as usize)
    }
}
