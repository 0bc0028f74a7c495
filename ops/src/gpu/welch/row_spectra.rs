//! Spectra of the segments of rows in device memory: power and products of neighbours from them, and their gradients.

use cubecl::server::Handle;

use super::kernel::{SpectraShapeLaunch, SumGradientBuffersLaunch, spectrum_gradients, sum_products, sum_squares};
use super::launch::DeviceEstimate;
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{DeviceLimitError, GpuDevice, elements, empty, floats};
use crate::gpu::segments::{DeviceFrames, RowPadding, SegmentSpectra, Segments};
use crate::options::Detrend;

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
    ///
    /// # Errors
    /// If the device can't transform `n_fft` samples.
    pub fn new(
        device: &'a GpuDevice,
        frames: DeviceFrames,
        estimate: &DeviceEstimate<'a>,
        factor: &'a Handle,
    ) -> Result<Self, DeviceLimitError> {
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

    /// Values of all spectra.
    fn values(&self) -> usize {
        self.segments.count() * self.bins
    }

    /// Power of each row, `[rows, bins]`: the mean over segments of the one-sided squares, scaled.
    pub fn power(&self, into: &Handle) {
        let (cubes, units) = elements(self.device, self.rows * self.bins);
        sum_squares::launch(
            &self.device.client,
            cubes,
            units,
            self.spectra.values.buffers(self.values()),
            floats(self.factor, 1),
            floats(into, self.rows * self.bins),
            self.shape(),
        );
    }

    /// Products of the bins of each row with the bins above, `[rows, bins − 1]`, scaled.
    pub fn products(&self) -> Handle {
        let len = self.rows * (self.bins - 1);
        let into = empty(&self.device.client, len);
        let (cubes, units) = elements(self.device, len);
        sum_products::launch(
            &self.device.client,
            cubes,
            units,
            self.spectra.values.buffers(self.values()),
            floats(self.factor, 1),
            floats(&into, len),
            self.shape(),
        );
        into
    }

    /// Gradients of the windowed segments `[rows · segments, n]` from those of power and products.
    ///
    /// # Errors
    /// If the device can't transform `n_fft` samples.
    pub fn sample_gradients(&self, grad: &SumGradients) -> Result<Handle, DeviceLimitError> {
        let (rows, bins) = (self.rows, self.bins);
        let gradients = ComplexRows::empty(&self.device.client, self.values());
        let products = grad.products.as_ref().map(|products| floats(products, rows * (bins - 1)));
        let (cubes, units) = elements(self.device, self.values());
        spectrum_gradients::launch(
            &self.device.client,
            cubes,
            units,
            self.spectra.values.buffers(self.values()),
            floats(self.factor, 1),
            SumGradientBuffersLaunch::new(
                floats(&grad.power, rows * bins),
                products.unwrap_or_else(|| floats(&grad.power, 1)),
            ),
            gradients.buffers(self.values()),
            self.shape(),
            grad.products.is_some(),
        );
        self.segments.adjoint(self.device, gradients, self.segments.count(), 2.0)
    }
}
