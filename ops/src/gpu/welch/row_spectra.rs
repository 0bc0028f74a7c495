//! Spectra of the segments of rows in device memory: power and products of neighbours from them, the gain of power, and
//! their gradients.

use cubecl::server::Handle;

use super::kernel::{
    GainInputLaunch, SpectraShapeLaunch, SumGradientBuffersLaunch, apply_row_gain, gain_adjoint, gain_sums,
    spectrum_gradients, sum_products, sum_squares,
};
use super::launch::DeviceEstimate;
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{GpuDevice, Result, elements, empty, floats, launch_checked};
use crate::gpu::reduce::{MAX_ROW_BLOCKS, RowBlocks, sum_rows};
use crate::gpu::segments::{DeviceFrames, RowPadding, SegmentSpectra, Segments};
use crate::options::{Detrend, PRODUCT_TAPS};

/// Gradients of power and of products.
#[derive(Debug, Clone)]
pub struct SumGradients {
    /// `[rows, bins]`.
    pub power: Handle,
    /// `[rows, bins − 1]`, where there are products.
    pub products: Option<Handle>,
}

/// The spectra of all segments of rows.
pub struct RowSpectra<'a> {
    device: &'a GpuDevice,
    pub segments: Segments<'a>,
    pub spectra: SegmentSpectra,
    /// The factor of the scaling, one f32.
    factor: &'a Handle,
    pub rows: usize,
    pub bins: usize,
}

impl<'a> RowSpectra<'a> {
    /// The spectra of the segments that an estimate names, which start with the frame.
    pub fn new(
        device: &'a GpuDevice,
        frames: DeviceFrames,
        estimate: &DeviceEstimate<'a>,
        factor: &'a Handle,
    ) -> Result<Self> {
        let &DeviceEstimate { window, first, options, .. } = estimate;
        debug_assert_eq!(first, 0, "segments start with the frame");
        let (rows, bins) = (frames.rows, options.bins());
        let segments = Segments {
            rows: frames,
            window,
            n: options.n_fft,
            hop: options.hop,
            per_row: options.segments,
            before: 0,
            padding: RowPadding::None,
            constant: 0.0,
            detrend: options.detrend == Detrend::Constant,
        };
        let spectra = segments.spectra(device, &(0..segments.count()))?;
        Ok(Self { device, segments, spectra, factor, rows, bins })
    }

    fn shape(&self) -> SpectraShapeLaunch {
        let lengths = [self.rows, self.segments.per_row, self.bins, self.segments.n.div_ceil(2)];
        let [rows, segments, bins, interior] = lengths.map(|length| length as u32);
        SpectraShapeLaunch::new(rows, segments, bins, interior)
    }

    fn values(&self) -> usize {
        self.segments.count() * self.bins
    }

    /// Power of each row, `[rows, bins]`: the mean over segments of the one-sided squares, scaled.
    pub fn power(&self, into: &Handle) {
        launch_checked!(sum_squares(
            self.device,
            elements(self.device, self.rows * self.bins),
            self.spectra.values.buffers(self.values()),
            floats(self.factor, 1),
            floats(into, self.rows * self.bins),
            self.shape(),
        ));
    }

    /// Products of the bins of each row with the bins above, `[rows, bins − 1]`, scaled.
    pub fn products(&self) -> Handle {
        let len = self.rows * (self.bins - 1);
        let into = empty(&self.device.client, len);
        launch_checked!(sum_products(
            self.device,
            elements(self.device, len),
            self.spectra.values.buffers(self.values()),
            floats(self.factor, 1),
            floats(&into, len),
            self.shape(),
        ));
        into
    }

    /// Gradients of the windowed segments `[rows · segments, n]` from those of power and products.
    pub fn sample_gradients(&self, grad: &SumGradients) -> Result<Handle> {
        let (rows, bins) = (self.rows, self.bins);
        let gradients = ComplexRows::empty(&self.device.client, self.values());
        let products = grad.products.as_ref().map(|products| floats(products, rows * (bins - 1)));
        launch_checked!(spectrum_gradients(
            self.device,
            elements(self.device, self.values()),
            self.spectra.values.buffers(self.values()),
            floats(self.factor, 1),
            SumGradientBuffersLaunch::new(
                floats(&grad.power, rows * bins),
                products.unwrap_or_else(|| floats(&grad.power, 1)),
            ),
            gradients.buffers(self.values()),
            self.shape(),
            grad.products.is_some(),
        ));
        self.segments.adjoint(self.device, gradients, self.segments.count(), 2.0)
    }
}

/// Gain of bins in device memory, or its gradient.
#[derive(Debug, Clone)]
pub struct RowGain {
    /// `[bins, taps]`.
    pub factors: Handle,
    /// Factors per bin.
    pub taps: usize,
}

impl RowGain {
    const fn has_products(&self) -> bool {
        self.taps == PRODUCT_TAPS
    }

    /// Gradients of the power and of the products before the gain, from `grad`, that of the power after it.
    pub(super) fn adjoint(&self, device: &GpuDevice, grad: &Handle, [rows, bins]: [usize; 2]) -> SumGradients {
        let power = empty(&device.client, rows * bins);
        let products = self.has_products().then(|| empty(&device.client, rows * (bins - 1)));
        launch_checked!(gain_adjoint(
            device,
            elements(device, rows * bins),
            floats(grad, rows * bins),
            floats(&self.factors, self.taps * bins),
            gain_input(&power, products.as_ref(), [rows, bins]),
            rows as u32,
            bins as u32,
            self.taps,
        ));
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
        launch_checked!(apply_row_gain(
            self.device,
            elements(self.device, rows * bins),
            self.argument(),
            floats(&gain.factors, gain.taps * bins),
            floats(into, rows * bins),
            rows as u32,
            bins as u32,
            gain.taps,
        ));
    }

    /// The gain's gradient from `grad`, that of the power after it, on top of the contents of `into` if it `is_added`.
    pub fn gain_gradient(&self, grad: &Handle, into: &RowGain, is_added: bool) {
        let ([rows, bins], device) = (self.size, self.device);
        let values = into.taps * bins;
        let blocks = RowBlocks::of(rows, values, MAX_ROW_BLOCKS);
        let partial = empty(&device.client, blocks.count * values);
        launch_checked!(gain_sums(
            device,
            elements(device, blocks.count * bins),
            floats(grad, rows * bins),
            self.argument(),
            floats(&partial, blocks.count * values),
            rows as u32,
            bins as u32,
            blocks.argument(),
            into.taps,
        ));
        sum_rows(device, partial, blocks.count, values, &into.factors, is_added);
    }
}
