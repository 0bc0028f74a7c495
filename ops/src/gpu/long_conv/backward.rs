//! Launches of a convolution's gradients.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::kernel::{self, ProductInputLaunch, ProductShapeLaunch};
use super::launch::{Convolution, ConvolutionRows, ConvolutionShape, RowFactors};
use super::plan::blocks;
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{DeviceLimitError, GpuDevice, buffer, cubes, elements, launch};
use crate::gpu::long_conv::kernel::SampleForm;
use crate::gpu::reduce::sum_rows;
use crate::gpu::transform::launch_plan::TransformLaunchPlan;
use crate::gpu::transform::plan_cache::table_of;

/// Buffers of gradients, for the inputs that have one.
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
    /// The signal.
    pub signal: ConvolutionRows,
    /// `[channels, taps]`.
    pub kernel: Handle,
    /// The gate, if there is one.
    pub gate: Option<ConvolutionRows>,
    /// The gradient of the output.
    pub grad: ConvolutionRows,
}

/// Gradients of [`long_conv`](super::long_conv()).
///
/// # Errors
/// As [`long_conv`](super::long_conv()).
pub fn long_conv_backward(
    device: &GpuDevice,
    shape: &ConvolutionShape,
    inputs: &ConvolutionInputs,
    into: &ConvolutionGradients,
) -> Result<(), DeviceLimitError> {
    let convolution = Convolution::new(device, shape)?;
    let ConvolutionInputs { signal, kernel, gate, grad } = inputs;
    if into.signal.is_some() || into.gate.is_some() {
        let spectra = convolution.kernel_spectra(kernel)?;
        if let Some(of_signal) = &into.signal {
            let factors = gate.as_ref().map_or(RowFactors::None, RowFactors::OfInput);
            convolution.convolve(grad, &spectra, factors, true, of_signal)?;
        }
        if let Some(of_gate) = &into.gate {
            convolution.convolve(signal, &spectra, RowFactors::OfOutput(grad), false, of_gate)?;
        }
    }
    if let Some(of_kernel) = &into.kernel {
        let sums = match convolution.plan.in_cube {
            Some(launch) => convolution.products_in_cubes(launch, inputs),
            None => convolution.products_by_steps(inputs)?,
        };
        convolution.correlate(&sums, of_kernel)?;
    }
    Ok(())
}

impl Convolution<'_> {
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
        let is_paired = [signal, grad, factors].iter().all(|rows| rows.is_paired(n));
        let form = SampleForm { launch, n: n as u32, has_factors: gate.is_some() };
        let sequences = (blocks * channels).div_ceil(launch.layout.sequences as usize);
        // SAFETY: as in `convolve_in_cubes`; elements past the batch take the last one, and add nothing.
        unsafe {
            launch!(
                device,
                kernel::add_products(
                    &device.client,
                    cubes(device, sequences),
                    CubeDim::new_1d(launch.layout.cube_units()),
                    ProductInputLaunch::new(
                        signal.samples(rows, n, is_paired),
                        grad.samples(rows, n, is_paired),
                        factors.samples(rows, n, is_paired),
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
                )
            );
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

    /// The same sums for rows that no cube holds.
    fn products_by_steps(&self, inputs: &ConvolutionInputs) -> Result<ComplexRows, DeviceLimitError> {
        let (device, points) = (self.device, self.points);
        let ConvolutionShape { channels, n, .. } = *self.shape;
        let sums = ComplexRows::empty(&device.client, channels * 2 * points);
        for chunk in self.chunks() {
            let (start, rows) = (chunk.start, chunk.len());
            let grad = inputs.grad.skip(start);
            let grad = match &inputs.gate {
                Some(gate) => self.multiplied(&grad, &gate.skip(start), rows),
                None => grad,
            };
            let of_signal = self.spectra(&inputs.signal.skip(start).strided(n), rows)?;
            let of_grad = self.spectra(&grad.strided(n), rows)?;
            let (cubes, units) = elements(device, channels * points);
            // SAFETY: units past the last bin end at once; the others access bins of the rows, and of the sums of a
            // channel.
            unsafe {
                launch!(
                    device,
                    kernel::add_element_products(
                        &device.client,
                        cubes,
                        units,
                        of_signal.buffers(rows * points),
                        of_grad.buffers(rows * points),
                        sums.buffers(channels * 2 * points),
                        self.element_shape(rows, start, [0, 0], [0, 0]),
                        self.plan.points,
                    )
                );
            }
        }
        Ok(sums)
    }

    /// The lags of correlations as gradients of kernels, `[channels, taps]`; of taps that no row meets they are 0.
    fn correlate(&self, sums: &ComplexRows, of_kernel: &Handle) -> Result<(), DeviceLimitError> {
        let (device, channels, points) = (self.device, self.shape.channels, self.points);
        let spectra = ComplexRows::empty(&device.client, channels * points);
        let (cubes, units) = elements(device, channels * points);
        // SAFETY: units past the last bin end at once; the others access a bin of the sums and its mirror image.
        unsafe {
            launch!(
                device,
                kernel::correlated_spectra(
                    &device.client,
                    cubes,
                    units,
                    sums.buffers(channels * 2 * points),
                    self.roots(),
                    spectra.buffers(channels * points),
                    channels as u32,
                    self.plan.points,
                )
            );
        }
        let pairs = self.pairs(spectra, channels)?;
        self.store(&pairs, None, of_kernel, [channels, self.shape.used_taps(), self.shape.taps]);
        Ok(())
    }
}
