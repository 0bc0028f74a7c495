//! Gradients of mel spectra: spectra are computed anew, turned into their gradients, and transformed back.

use std::ops::Range;

use cubecl::server::Handle;

use super::filters::filters;
use super::kernel;
use super::launch::MelCall;
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{DeviceLimitError, GpuDevice, elements, empty, floats, from_row};

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
    let mut is_first = true;
    for (start, part) in call.parts(device) {
        let grad = from_row(grad, start, call.options.bands.count * call.frames());
        let signal = into.signal.as_ref().map(|signal| from_row(signal, start, call.rows.len));
        let segments = part.segments();
        for taken in part.chunks(device) {
            let spectra = segments.spectra(device, &taken)?;
            part.bin_gradients(device, &grad, &spectra.values, &taken);
            let samples = segments.adjoint(device, spectra.values.clone(), taken.len(), 1.0)?;
            if let Some(signal) = &signal {
                segments.signal_gradient(device, &samples, &taken, signal, true);
            }
            if let Some(window) = &into.window {
                segments.window_gradient(device, &samples, &spectra, &taken, window, !is_first);
            }
            is_first = false;
        }
    }
    Ok(())
}

impl MelCall<'_> {
    /// Turns the spectra of the frames `taken` into their gradients.
    fn bin_gradients(&self, device: &GpuDevice, grad: &Handle, spectra: &ComplexRows, taken: &Range<usize>) {
        let (bins, bands, count) = (self.options.stft.bins(), self.options.bands.count, taken.len());
        let (client, filters) = (&device.client, filters(device, self.options));
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
            self.segments().shape(taken),
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
    }
}
