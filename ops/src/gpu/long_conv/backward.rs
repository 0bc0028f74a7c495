//! Launches of a convolution's gradients.

use std::ops::Range;

use cubecl::server::Handle;

use super::kernel::{self, ProductInputLaunch, ProductShapeLaunch};
use super::launch::{Convolution, ConvolutionShape, RowFactors, samples};
use super::plan::blocks;
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{ALIGNMENT, GpuDevice, Result, buffer, elements, grid, launch};
use crate::gpu::long_conv::kernel::SampleForm;
use crate::gpu::reduce::sum_rows;
use crate::gpu::transform::StridedRows;
use crate::gpu::transform::launch_plan::TransformLaunchPlan;
use crate::gpu::transform::plan_cache::table_of;

#[derive(Debug, Clone)]
pub struct ConvolutionGradients {
    /// `[batch, channels, n]`.
    pub signal: Option<Handle>,
    /// `[channels, taps]`.
    pub kernel: Option<Handle>,
    /// `[batch, channels, n]`.
    pub gate: Option<Handle>,
}

/// Inputs of a convolution, and the gradient of its output.
#[derive(Debug, Clone)]
pub struct ConvolutionInputs {
    pub signal: StridedRows,
    /// `[channels, taps]`.
    pub kernel: Handle,
    pub gate: Option<StridedRows>,
    /// The gradient of the output.
    pub grad: StridedRows,
}

/// Gradients of [`long_conv`](super::long_conv()).
pub fn long_conv_backward(
    device: &GpuDevice,
    shape: &ConvolutionShape,
    inputs: &ConvolutionInputs,
    into: &ConvolutionGradients,
) -> Result<()> {
    Convolution::new(device, shape)?.gradients(inputs, into)
}

impl Convolution<'_> {
    /// [`long_conv_backward`] by the plan: in cubes as far as they hold what a row needs, and the rest by steps.
    pub fn gradients(&self, inputs: &ConvolutionInputs, into: &ConvolutionGradients) -> Result<()> {
        let has_row_gradients = into.signal.is_some() || into.gate.is_some();
        let kernels = has_row_gradients.then(|| self.kernel_spectra(&inputs.kernel)).transpose()?;
        let mut by_steps = into.clone();
        if let (Some(launch), Some(kernels)) = (self.plan.in_cube, &kernels) {
            self.row_gradients_in_cubes(launch, inputs, kernels, into);
            (by_steps.signal, by_steps.gate) = (None, None);
        }
        if let (Some(launch), Some(of_kernel)) = (self.plan.in_cube, &into.kernel) {
            if self.plan.sums_in_cube {
                self.correlate(&self.products_in_cubes(launch, inputs), of_kernel)?;
                by_steps.kernel = None;
            } else if self.is_busy_with_an_element(launch) && self.can_correlate_rows(inputs) {
                self.correlate_rows(launch, inputs, of_kernel)?;
                by_steps.kernel = None;
            }
        }
        self.gradients_by_steps(inputs, kernels.as_ref(), &by_steps)
    }

    /// Gradients of the signal and the gate, as far as `into` has them.
    fn row_gradients_in_cubes(
        &self,
        launch: TransformLaunchPlan,
        inputs: &ConvolutionInputs,
        kernels: &ComplexRows,
        into: &ConvolutionGradients,
    ) {
        let ConvolutionInputs { signal, gate, grad, .. } = inputs;
        if let Some(of_signal) = &into.signal {
            let factors = gate.as_ref().map_or(RowFactors::None, RowFactors::OfInput);
            self.convolve_in_cubes(launch, [grad, &self.rows(of_signal)], kernels, factors, true, false);
        }
        if let Some(of_gate) = &into.gate {
            let factors = RowFactors::OfOutput(grad);
            self.convolve_in_cubes(launch, [signal, &self.rows(of_gate)], kernels, factors, false, false);
        }
    }

    /// Whether the rows of one element of the batch keep a device busy, or are all that there is.
    fn is_busy_with_an_element(&self, launch: TransformLaunchPlan) -> bool {
        blocks(self.shape.batch, self.shape.channels, launch.layout.units) == 1
    }

    /// Whether every element of the batch starts where devices bind memory, and no tap is past the end of the rows.
    pub fn can_correlate_rows(&self, inputs: &ConvolutionInputs) -> bool {
        let rows = [&inputs.signal, &inputs.grad].into_iter().chain(&inputs.gate);
        let is_aligned = |rows: &StridedRows| (self.shape.channels * rows.stride).is_multiple_of(ALIGNMENT);
        (self.shape.batch == 1 || rows.into_iter().all(is_aligned)) && self.shape.taps == self.shape.used_taps()
    }

    /// Gradients of kernels, an element of the batch after the other: its gradients are convolved with the reversed rows
    /// of its signal, in cubes.
    pub fn correlate_rows(
        &self,
        launch: TransformLaunchPlan,
        inputs: &ConvolutionInputs,
        of_kernel: &Handle,
    ) -> Result<()> {
        let ConvolutionShape { batch, channels, taps, .. } = *self.shape;
        let shape = ConvolutionShape { batch: 1, ..*self.shape };
        let element = Convolution { shape: &shape, ..*self };
        for start in (0..batch).map(|element| element * channels) {
            let spectra = element.spectra(&inputs.signal.skip_rows(start), channels)?;
            let gate = inputs.gate.as_ref().map(|gate| gate.skip_rows(start));
            let factors = gate.as_ref().map_or(RowFactors::None, RowFactors::OfInput);
            let output = StridedRows::contiguous(ComplexRows::real(of_kernel.clone()), taps);
            let grad = inputs.grad.skip_rows(start);
            element.convolve_in_cubes(launch, [&grad, &output], &spectra, factors, true, start > 0);
        }
        Ok(())
    }

    /// Sums over the batch of the products of spectra, `[channels, 2, N]`: partial sums of blocks, then their sum.
    fn products_in_cubes(&self, launch: TransformLaunchPlan, inputs: &ConvolutionInputs) -> ComplexRows {
        let Self { device, shape, points, .. } = *self;
        let ConvolutionShape { batch, channels, n, .. } = *shape;
        let rows = shape.rows();
        let elements = batch.div_ceil(blocks(batch, channels, launch.layout.units));
        let blocks = batch.div_ceil(elements);
        let width = channels * 2 * points;
        let partial = ComplexRows::empty(&device.client, blocks * width);
        let ConvolutionInputs { signal, gate, grad, .. } = inputs;
        // Factors that are not read: the gradients will do.
        let factors = gate.as_ref().unwrap_or(grad);
        let is_paired = [signal, grad, factors].iter().all(|rows| rows.is_paired());
        let form = SampleForm { launch, n: n as u32, has_factors: gate.is_some() };
        let sequences = (blocks * channels).div_ceil(launch.layout.sequences as usize);
        // SAFETY: as in `convolve_in_cubes`; elements past the batch take the last one, and add nothing.
        unsafe {
            launch!(kernel::add_products(
                device,
                grid(device, sequences, launch.layout.cube_units()),
                ProductInputLaunch::new(
                    samples(signal, rows, is_paired),
                    samples(grad, rows, is_paired),
                    samples(factors, rows, is_paired),
                    buffer::<[f32; 2]>(&table_of(device, &launch), launch.table_len() as usize),
                ),
                partial.buffers(blocks * width),
                ProductShapeLaunch::new(
                    batch as u32,
                    channels as u32,
                    signal.stride as u32,
                    grad.stride as u32,
                    factors.stride as u32,
                    blocks as u32,
                    elements as u32,
                ),
                form,
            ));
        }
        if blocks == 1 {
            return partial;
        }
        let sums = ComplexRows::empty(&device.client, width);
        for (partial, sum) in [(&partial.re, &sums.re), (partial.imaginary(), sums.imaginary())] {
            sum_rows(device, partial.clone(), blocks, width, sum, false);
        }
        sums
    }

    /// The gradients that `into` has, a launch for each step. Signal and gradients are transformed once for all of them.
    fn gradients_by_steps(
        &self,
        inputs: &ConvolutionInputs,
        kernels: Option<&ComplexRows>,
        into: &ConvolutionGradients,
    ) -> Result<()> {
        let channels = self.shape.channels;
        let needs = |gradient: &Option<Handle>| gradient.is_some() || into.kernel.is_some();
        let empty_sums = || ComplexRows::empty(&self.device.client, channels * 2 * self.points);
        let sums = into.kernel.is_some().then(empty_sums);
        for chunk in self.chunks(5) {
            let (start, rows) = (chunk.start, chunk.len());
            let output_grad = inputs.grad.skip_rows(start);
            let of_grad = if needs(&into.signal) {
                let grad = match &inputs.gate {
                    Some(gate) => self.multiplied(&output_grad, &gate.skip_rows(start), rows),
                    None => output_grad.clone(),
                };
                Some(self.spectra(&grad, rows)?)
            } else {
                None
            };
            let signal = inputs.signal.skip_rows(start);
            let of_signal = needs(&into.gate).then(|| self.spectra(&signal, rows)).transpose()?;
            if let (Some(into), Some(grad), Some(kernels)) = (&into.signal, &of_grad, kernels) {
                self.convolve_spectra(grad, kernels, chunk.clone(), true, None, into)?;
            }
            if let (Some(into), Some(signal), Some(kernels)) = (&into.gate, &of_signal, kernels) {
                self.convolve_spectra(signal, kernels, chunk.clone(), false, Some(&output_grad), into)?;
            }
            if let (Some(sums), Some(signal), Some(grad)) = (&sums, &of_signal, &of_grad) {
                self.add_products(signal, grad, sums, chunk);
            }
        }
        match (&sums, &into.kernel) {
            (Some(sums), Some(of_kernel)) => self.correlate(sums, of_kernel),
            _ => Ok(()),
        }
    }

    /// Adds the products of the spectra of the rows `chunk` to the sums of their channels.
    fn add_products(&self, signal: &ComplexRows, grad: &ComplexRows, sums: &ComplexRows, chunk: Range<usize>) {
        let (device, rows, bins) = (self.device, chunk.len(), self.shape.channels * self.points);
        // SAFETY: units past the last bin end at once; the others access bins of the rows, and of the sums of a channel.
        unsafe {
            launch!(kernel::add_element_products(
                device,
                elements(device, rows.min(self.shape.channels) * self.points),
                signal.buffers(rows * self.points),
                grad.buffers(rows * self.points),
                sums.buffers(2 * bins),
                self.element_shape(rows, chunk.start, [0, 0], [0, 0]),
                self.plan.points,
            ));
        }
    }

    /// The lags of correlations as gradients of kernels, `[channels, taps]`; of taps that no row meets they are 0.
    fn correlate(&self, sums: &ComplexRows, of_kernel: &Handle) -> Result<()> {
        let (device, channels, points) = (self.device, self.shape.channels, self.points);
        let spectra = ComplexRows::empty(&device.client, channels * points);
        // SAFETY: units past the last bin end at once; the others access a bin of the sums and its mirror image.
        unsafe {
            launch!(kernel::correlated_spectra(
                device,
                elements(device, channels * points),
                sums.buffers(channels * 2 * points),
                self.roots(),
                spectra.buffers(channels * points),
                channels as u32,
                self.plan.points,
            ));
        }
        let pairs = self.pairs(spectra, channels)?;
        self.store(&pairs, None, of_kernel, [channels, self.shape.used_taps(), self.shape.taps]);
        Ok(())
    }
}
