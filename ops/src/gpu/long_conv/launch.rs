//! Launches of a convolution.

use std::ops::Range;

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::kernel::{self, ElementShapeLaunch, RowsInputLaunch, RowsShapeLaunch, SamplesArgs};
use super::plan::{FactorKind, LongConvPlan, RowsPlan};
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{DeviceLimit, DeviceLimitError, GpuDevice, MAX_ELEMENTS, buffer};
use crate::gpu::device::{cached, chunks, cubes, elements, empty, floats, from_row, launch};
use crate::gpu::transform::launch_plan::{TransformLaunchPlan, roots_len};
use crate::gpu::transform::plan_cache::table_of;
use crate::gpu::transform::tables::roots_table;
use crate::gpu::transform::{StridedRows, TransformCall, TransformProblem, transform};

/// Sizes of a convolution, none of them 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConvolutionShape {
    /// Elements of the batch.
    pub batch: usize,
    /// Channels of an element.
    pub channels: usize,
    /// Samples of a row.
    pub n: usize,
    /// Taps of a kernel.
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

/// Rows of samples in device memory, those of all channels of an element of the batch one after the other.
#[derive(Debug, Clone)]
pub struct ConvolutionRows {
    /// The samples.
    pub values: Handle,
    /// Samples from one row to the next.
    pub stride: usize,
}

impl ConvolutionRows {
    /// `rows` rows of `n` samples as a kernel argument.
    pub(super) fn floats(&self, rows: usize, n: usize) -> BufferArg {
        floats(&self.values, (rows - 1) * self.stride + n)
    }

    /// The same as samples of a transform, which are paired where all rows of a launch [are](Self::is_paired).
    pub(super) fn samples(&self, rows: usize, n: usize, is_paired: bool) -> SamplesArgs {
        let span = (rows - 1) * self.stride + n;
        match is_paired {
            true => SamplesArgs::Pairs(buffer::<[f32; 2]>(&self.values, span / 2)),
            false => SamplesArgs::Single(floats(&self.values, span)),
        }
    }

    /// Whether rows of `n` samples are whole pairs, at the alignment of pairs.
    pub(super) fn is_paired(&self, n: usize) -> bool {
        let offset = self.values.offset_start.unwrap_or(0);
        n.is_multiple_of(2) && self.stride.is_multiple_of(2) && offset.is_multiple_of(size_of::<[f32; 2]>() as u64)
    }

    /// The rows from `row` on.
    pub(super) fn skip(&self, row: usize) -> Self {
        Self { values: from_row(&self.values, row, self.stride), stride: self.stride }
    }

    pub(super) fn strided(&self, len: usize) -> StridedRows {
        StridedRows { values: ComplexRows { re: self.values.clone(), im: None }, stride: self.stride, len }
    }
}

/// Causal convolutions of the rows of `signal` with `kernel` `[channels, taps]`, times a gate → `output` `[rows, n]`.
///
/// # Errors
/// If the rows are too long for the device, or of more elements than a launch counts.
pub fn long_conv(
    device: &GpuDevice,
    shape: &ConvolutionShape,
    signal: &ConvolutionRows,
    kernel: &Handle,
    gate: Option<&ConvolutionRows>,
    output: &Handle,
) -> Result<(), DeviceLimitError> {
    let convolution = Convolution::new(device, shape)?;
    let spectra = convolution.kernel_spectra(kernel)?;
    let factors = gate.map_or(RowFactors::None, RowFactors::OfOutput);
    convolution.convolve(signal, &spectra, factors, false, output)
}

/// Factors of rows, before or after they are convolved.
#[derive(Debug, Clone, Copy)]
pub(super) enum RowFactors<'a> {
    None,
    OfInput(&'a ConvolutionRows),
    OfOutput(&'a ConvolutionRows),
}

/// Where a launch leaves convolutions of rows.
pub(super) struct ConvolvedRows {
    pub rows: ConvolutionRows,
    /// Leading samples of each convolution, which are stored.
    pub samples: usize,
    /// Whether they are added to what is there.
    pub is_added: bool,
}

impl ConvolvedRows {
    /// Rows of `n` samples one after the other.
    pub fn new(values: &Handle, n: usize) -> Self {
        Self { rows: ConvolutionRows { values: values.clone(), stride: n }, samples: n, is_added: false }
    }
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
    pub fn new(device: &'a GpuDevice, shape: &'a ConvolutionShape) -> Result<Self, DeviceLimitError> {
        let plan = LongConvPlan::of(shape.n, shape.used_taps(), &device.limits)?;
        let largest = (shape.rows() * shape.n).max(shape.channels * 2 * plan.points as usize);
        DeviceLimitError::unless(DeviceLimit::LaunchElements, largest, MAX_ELEMENTS)?;
        Ok(Self { device, shape, plan, points: plan.points as usize })
    }

    /// Spectra of the kernels' pairs of taps, `[channels, N]`.
    pub fn kernel_spectra(&self, kernel: &Handle) -> Result<ComplexRows, DeviceLimitError> {
        let ConvolutionShape { channels, taps, .. } = *self.shape;
        let kernels = ConvolutionRows { values: kernel.clone(), stride: taps };
        self.spectra(&kernels.strided(self.shape.used_taps()), channels)
    }

    /// Spectra of pairs of samples, `[rows, N]`.
    pub fn spectra(&self, from: &StridedRows, rows: usize) -> Result<ComplexRows, DeviceLimitError> {
        let spectra = ComplexRows::empty(&self.device.client, rows * self.points);
        let into = StridedRows { values: spectra.clone(), stride: self.points, len: self.points };
        let problem = TransformProblem::pairs(self.points, from.len < 2 * self.points);
        let call = TransformCall { problem, rows, scale: 1.0, interior: 1.0 };
        transform(self.device, &call, from, &into)?;
        Ok(spectra)
    }

    /// Pairs of samples from their spectra, `[rows, N]` each.
    pub fn pairs(&self, spectra: ComplexRows, rows: usize) -> Result<ComplexRows, DeviceLimitError> {
        let pairs = ComplexRows::empty(&self.device.client, rows * self.points);
        // The inverse transform is the transform of exchanged parts, exchanged.
        let rows_of =
            |values: ComplexRows| StridedRows { values: values.exchanged(), stride: self.points, len: self.points };
        let problem = TransformProblem::complex(self.points);
        let call = TransformCall { problem, rows, scale: 1.0 / self.points as f32, interior: 1.0 };
        transform(self.device, &call, &rows_of(spectra), &rows_of(pairs.clone()))?;
        Ok(pairs)
    }

    /// Convolves every row with the kernel of its channel, or with the reversed one.
    fn convolve(
        &self,
        signal: &ConvolutionRows,
        spectra: &ComplexRows,
        factors: RowFactors<'_>,
        is_reversed: bool,
        output: &Handle,
    ) -> Result<(), DeviceLimitError> {
        match self.plan.in_cube {
            Some(launch) => {
                let output = ConvolvedRows::new(output, self.shape.n);
                self.convolve_in_cubes(launch, signal, spectra, factors, is_reversed, &output);
                Ok(())
            }
            None => self.convolve_by_steps(signal, spectra, factors, is_reversed, output),
        }
    }

    /// Convolves every row, or with the reversed kernels, in one launch.
    pub fn convolve_in_cubes(
        &self,
        launch: TransformLaunchPlan,
        signal: &ConvolutionRows,
        spectra: &ComplexRows,
        factors: RowFactors<'_>,
        is_reversed: bool,
        output: &ConvolvedRows,
    ) {
        let Self { device, shape, points, .. } = *self;
        let ConvolutionShape { channels, n, .. } = *shape;
        let rows = shape.rows();
        let &ConvolvedRows { rows: ref output, samples: written, is_added } = output;
        let (factors, form) = match factors {
            // A buffer that is not read: the signal will do.
            RowFactors::None => (signal, FactorKind::None),
            RowFactors::OfInput(factors) => (factors, FactorKind::OfInput),
            RowFactors::OfOutput(factors) => (factors, FactorKind::OfOutput),
        };
        let plan = RowsPlan { launch, n: n as u32, written: written as u32, factors: form, is_reversed, is_added };
        // Factors of the output are read as far as it is written.
        debug_assert!(form != FactorKind::OfOutput || written == n, "a gate has a factor for every sample");
        let is_paired = [signal, factors].iter().all(|rows| rows.is_paired(n)) && output.is_paired(written);
        // SAFETY: rows, channels, samples and bins that are accessed are those of the buffers, whose lengths were
        // checked as the arguments were made: units past the last sequence or short transform take those of the last
        // one, and store nothing. A sample of the output is written by one unit, which reads it first where results are
        // added. Loops have constant bounds.
        unsafe {
            launch!(
                device,
                kernel::convolve_rows(
                    &device.client,
                    cubes(device, rows.div_ceil(launch.layout.sequences as usize)),
                    CubeDim::new_1d(launch.layout.cube_units()),
                    RowsInputLaunch::new(
                        signal.samples(rows, n, is_paired),
                        factors.samples(rows, n, is_paired),
                        spectra.buffers(channels * points),
                        buffer::<[f32; 2]>(&table_of(device, &launch), launch.table_len() as usize),
                    ),
                    output.samples(rows, written, is_paired),
                    RowsShapeLaunch::new(
                        shape.batch as u32,
                        channels as u32,
                        signal.stride as u32,
                        factors.stride as u32,
                        output.stride as u32,
                        1.0 / points as f32,
                    ),
                    plan,
                )
            );
        }
    }

    /// Convolves rows that no cube holds, a launch for each step.
    fn convolve_by_steps(
        &self,
        signal: &ConvolutionRows,
        spectra: &ComplexRows,
        factors: RowFactors<'_>,
        is_reversed: bool,
        output: &Handle,
    ) -> Result<(), DeviceLimitError> {
        let n = self.shape.n;
        for chunk in self.chunks(4) {
            let (start, rows) = (chunk.start, chunk.len());
            let signal = signal.skip(start);
            let signal = match factors {
                RowFactors::OfInput(factors) => self.multiplied(&signal, &factors.skip(start), rows),
                RowFactors::None | RowFactors::OfOutput(_) => signal,
            };
            let rows_spectra = self.spectra(&signal.strided(n), rows)?;
            let factors = match factors {
                RowFactors::OfOutput(factors) => Some(factors.skip(start)),
                RowFactors::None | RowFactors::OfInput(_) => None,
            };
            self.convolve_spectra(&rows_spectra, spectra, chunk, is_reversed, factors.as_ref(), output)?;
        }
        Ok(())
    }

    /// Convolutions of the rows `chunk` from their spectra, times the factors of these rows.
    pub fn convolve_spectra(
        &self,
        rows: &ComplexRows,
        kernels: &ComplexRows,
        chunk: Range<usize>,
        is_reversed: bool,
        factors: Option<&ConvolutionRows>,
        output: &Handle,
    ) -> Result<(), DeviceLimitError> {
        let n = self.shape.n;
        let product = self.product(rows, kernels, chunk.clone(), is_reversed);
        let pairs = self.pairs(product, chunk.len())?;
        self.store(&pairs, factors, &from_row(output, chunk.start, n), [chunk.len(), n, n]);
        Ok(())
    }

    /// Rows of a launch where each step is one: as many as scratch memory has room for, `buffers` times as long as a
    /// padded row.
    pub fn chunks(&self, buffers: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        chunks(self.device, self.shape.rows(), buffers * 2 * self.points, 2 * self.points)
    }

    /// Rows times factors.
    pub fn multiplied(&self, rows: &ConvolutionRows, factors: &ConvolutionRows, count: usize) -> ConvolutionRows {
        let (device, n) = (self.device, self.shape.n);
        let product = empty(&device.client, count * n);
        let (cubes, units) = elements(device, count * n);
        let shape = self.element_shape(count, 0, [rows.stride, factors.stride], [n, n]);
        // SAFETY: units past the last value end at once; the others access a value of the rows.
        unsafe {
            launch!(
                device,
                kernel::multiply_rows(
                    &device.client,
                    cubes,
                    units,
                    rows.floats(count, n),
                    factors.floats(count, n),
                    floats(&product, count * n),
                    shape,
                )
            );
        }
        ConvolutionRows { values: product, stride: n }
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
        let (cubes, units) = elements(device, values);
        // SAFETY: units past the last bin end at once; the others access a bin, its mirror image and those of a kernel.
        unsafe {
            launch!(
                device,
                kernel::convolve_spectra(
                    &device.client,
                    cubes,
                    units,
                    rows.buffers(values),
                    kernels.buffers(self.shape.channels * self.points),
                    self.roots(),
                    product.buffers(values),
                    self.element_shape(chunk.len(), chunk.start, [0, 0], [0, 0]),
                    self.plan.points,
                    is_reversed,
                )
            );
        }
        product
    }

    /// Stores the first `samples` samples of pairs, times factors, as rows of `len`; the rest is 0.
    pub fn store(
        &self,
        pairs: &ComplexRows,
        factors: Option<&ConvolutionRows>,
        output: &Handle,
        [rows, samples, len]: [usize; 3],
    ) {
        let device = self.device;
        let (cubes, units) = elements(device, rows * len);
        let stride = factors.map_or(0, |factors| factors.stride);
        // Without factors, the argument is not read: the pairs will do.
        let read =
            factors.map_or_else(|| floats(&pairs.re, rows * self.points), |factors| factors.floats(rows, samples));
        // SAFETY: units past the last sample end at once; the others access a sample of the rows.
        unsafe {
            launch!(
                device,
                kernel::store_samples(
                    &device.client,
                    cubes,
                    units,
                    pairs.buffers(rows * self.points),
                    read,
                    floats(output, rows * len),
                    self.element_shape(rows, 0, [0, stride], [len, samples]),
                    self.plan.points,
                    factors.is_some(),
                )
            );
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
        let table = cached(self.device, "roots of a convolution", [points, 0], || roots_table(points));
        buffer::<[f32; 2]>(&table, roots_len(points) as usize)
    }
}
