//! Gain of the bins of power in device memory, in launches of its own, and its gradients.

use cubecl::server::Handle;

use super::kernel::{GainInputLaunch, apply_row_gain, gain_adjoint, gain_sums};
use super::row_spectra::{RowSpectra, SumGradients};
use crate::gpu::device::{GpuDevice, elements, empty, floats};
use crate::gpu::reduce::{MAX_ROW_BLOCKS, RowBlockShapeLaunch, RowBlocks, sum_rows};
use crate::options::PRODUCT_TAPS;

/// Gain of bins in device memory, or its gradient.
#[derive(Debug, Clone)]
pub struct RowGain {
    /// `[bins, taps]`.
    pub factors: Handle,
    /// Factors per bin.
    pub taps: usize,
}

impl RowGain {
    /// Whether the gain takes products of neighbours.
    const fn has_products(&self) -> bool {
        self.taps == PRODUCT_TAPS
    }

    /// Gradients of the power and of the products before the gain, from `grad`, that of the power after it.
    pub(super) fn adjoint(&self, device: &GpuDevice, grad: &Handle, [rows, bins]: [usize; 2]) -> SumGradients {
        let power = empty(&device.client, rows * bins);
        let products = self.has_products().then(|| empty(&device.client, rows * (bins - 1)));
        let (cubes, units) = elements(device, rows * bins);
        gain_adjoint::launch(
            &device.client,
            cubes,
            units,
            floats(grad, rows * bins),
            floats(&self.factors, self.taps * bins),
            gain_input(&power, products.as_ref(), [rows, bins]),
            rows as u32,
            bins as u32,
            self.taps,
        );
        SumGradients { power, products }
    }
}

/// Power and products, or their gradients, as a kernel argument. Where there are no products, none are accessed.
fn gain_input(power: &Handle, products: Option<&Handle>, [rows, bins]: [usize; 2]) -> GainInputLaunch {
    let products = products.map_or_else(|| floats(power, 1), |products| floats(products, rows * (bins - 1)));
    GainInputLaunch::new(floats(power, rows * bins), products)
}

/// Power of rows before its gain.
pub(super) struct UngainedPower<'a> {
    device: &'a GpuDevice,
    size: [usize; 2],
    /// `[rows, bins]`.
    power: Handle,
    /// Products of bins with the bins above, `[rows, bins − 1]`, if the gain takes them.
    products: Option<Handle>,
}

impl<'a> UngainedPower<'a> {
    /// Power, and products if the gain takes them, of rows.
    pub fn new(device: &'a GpuDevice, spectra: &RowSpectra<'_>, gain: &RowGain) -> Self {
        let power = empty(&device.client, spectra.rows * spectra.bins);
        spectra.power(&power);
        let products = gain.has_products().then(|| spectra.products());
        Self { device, size: [spectra.rows, spectra.bins], power, products }
    }

    fn argument(&self) -> GainInputLaunch {
        gain_input(&self.power, self.products.as_ref(), self.size)
    }

    /// Power after the gain → `into` `[rows, bins]`.
    pub fn apply(&self, gain: &RowGain, into: &Handle) {
        let [rows, bins] = self.size;
        let (cubes, units) = elements(self.device, rows * bins);
        apply_row_gain::launch(
            &self.device.client,
            cubes,
            units,
            self.argument(),
            floats(&gain.factors, gain.taps * bins),
            floats(into, rows * bins),
            rows as u32,
            bins as u32,
            gain.taps,
        );
    }

    /// The gain's gradient from `grad`, that of the power after it, on top of the contents of `into` if it `is_added`.
    pub fn gain_gradient(&self, grad: &Handle, into: &RowGain, is_added: bool) {
        let ([rows, bins], device) = (self.size, self.device);
        let values = into.taps * bins;
        let blocks = RowBlocks::of(rows, values, MAX_ROW_BLOCKS);
        let partial = empty(&device.client, blocks.count * values);
        let (cubes, units) = elements(device, blocks.count * bins);
        gain_sums::launch(
            &device.client,
            cubes,
            units,
            floats(grad, rows * bins),
            self.argument(),
            floats(&partial, blocks.count * values),
            rows as u32,
            bins as u32,
            RowBlockShapeLaunch::new(blocks.count as u32, blocks.length as u32),
            into.taps,
        );
        sum_rows(device, partial, blocks.count, values, &into.factors, is_added);
    }
}
