//! Gradients of mel spectra: spectra are computed anew, turned into their gradients, and transformed back.

use cubecl::server::Handle;

use super::filters::filters;
use super::kernel;
use super::launch::MelCall;
use crate::gpu::device::{DeviceLimitError, GpuDevice, elements, empty, floats, from_row};
use crate::gpu::reduce::{MAX_ROW_BLOCKS, RowBlockShapeLaunch, RowBlocks, sum_rows};

/// Gradients that the backward pass writes; those that are not required are `None`.
#[derive(Debug, Clone)]
pub struct MelGradients {
    /// `[rows, samples]`, zeros.
    pub signal: Option<Handle>,
    /// `[n_fft]`.
    pub window: Option<Handle>,
}

/// Writes the gradients from `grad`, that of the bands `[rows, bands, frames]`.
///
/// # Errors
/// If the device can't transform a frame.
pub fn mel_backward(
    device: &GpuDevice,
    call: &MelCall<'_>,
    grad: &Handle,
    into: &MelGradients,
) -> Result<(), DeviceLimitError> {
    let per_row = call.options.bands.count * call.frames();
    let step = call.rows_per_launch();
    let mut is_first = true;
    for start in (0..call.rows.rows).step_by(step) {
        let rows = call.rows.slice(start..call.rows.rows.min(start + step));
        let part = MelCall { rows, ..call.clone() };
        let grad = from_row(grad, start, per_row);
        let signal = into.signal.as_ref().map(|signal| from_row(signal, start, call.rows.len));
        for (first, count) in part.chunks() {
            let samples = part.frame_gradients(device, &grad, first, count)?;
            if let Some(signal) = &signal {
                part.add_frames(device, &samples, signal, first, count);
            }
            if let Some(window) = &into.window {
                part.add_window(device, &samples, window, first, count, !is_first);
            }
            is_first = false;
        }
    }
    Ok(())
}

impl MelCall<'_> {
    /// Gradients of windowed frames, `[count, n]`.
    fn frame_gradients(
        &self,
        device: &GpuDevice,
        grad: &Handle,
        first: usize,
        count: usize,
    ) -> Result<Handle, DeviceLimitError> {
        let (bins, bands) = (self.options.stft.bins(), self.options.bands.count);
        let (client, filters) = (&device.client, filters(device, self.options));
        let spectra = self.spectra(device, first, count)?;
        let slopes = empty(client, count * bands);
        let (cubes, units) = elements(device, count * bands);
        kernel::band_slopes::launch(
            client,
            cubes,
            units,
            spectra.buffers(count * bins),
            filters.of_bands.argument(),
            floats(grad, self.rows.rows * self.frames() * bands),
            floats(&slopes, count * bands),
            self.frame_shape(first, count),
            self.band_shape(),
            self.plan(),
        );
        let (cubes, units) = elements(device, count * bins);
        kernel::bin_gradients::launch(
            client,
            cubes,
            units,
            spectra.buffers(count * bins),
            filters.of_bins.argument(),
            floats(&slopes, count * bands),
            count as u32,
            bands as u32,
            self.plan(),
        );
        self.adjoint(device, spectra, count)
    }

    /// Adds frames to the signal's gradient.
    fn add_frames(&self, device: &GpuDevice, samples: &Handle, into: &Handle, first: usize, count: usize) {
        let (n, len) = (self.options.stft.n_fft, self.rows.len);
        let row = first / self.frames();
        let rows = (first + count).div_ceil(self.frames()) - row;
        let (cubes, units) = elements(device, rows * len);
        kernel::add_frames::launch(
            &device.client,
            cubes,
            units,
            floats(samples, count * n),
            floats(self.window, n),
            floats(into, self.rows.rows * len),
            self.frame_shape(first, count),
            row as u32,
            rows as u32,
            self.plan(),
        );
    }

    /// Adds frames to the window's gradient, or begins it with them.
    fn add_window(
        &self,
        device: &GpuDevice,
        samples: &Handle,
        into: &Handle,
        first: usize,
        count: usize,
        accumulate: bool,
    ) {
        let n = self.options.stft.n_fft;
        let blocks = RowBlocks::of(count, n, MAX_ROW_BLOCKS);
        let partial = empty(&device.client, blocks.count * n);
        let (cubes, units) = elements(device, blocks.count * n);
        kernel::window_sums::launch(
            &device.client,
            cubes,
            units,
            self.rows.buffer(),
            floats(samples, count * n),
            floats(&partial, blocks.count * n),
            self.frame_shape(first, count),
            RowBlockShapeLaunch::new(blocks.count as u32, blocks.length as u32),
            self.plan(),
        );
        sum_rows(device, partial, blocks.count, n, into, accumulate);
    }
}
