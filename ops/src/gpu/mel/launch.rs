//! Mel spectra: in one launch, or by spectra of frames and bands in turn. For gradients, spectra are computed anew, turned
//! into their gradients, and transformed back.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;

use cubecl::server::Handle;

use super::BandPlan;
use super::kernel::{self, BandShapeLaunch, SparseRowsLaunch};
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{
    DeviceCache, GpuDevice, Result, buffer, chunks, elements, empty, floats, from_row, grid, launch, launch_checked,
    upload,
};
use crate::gpu::segments::{DeviceFrames, FusedFramePlan, Segments, frame_input};
use crate::gpu::transform::plan_cache::prepared;
use crate::gpu::transform::{TransformKind, TransformProblem};
use crate::mel_filters::{FilterKey, MelFilter, cached_filters, key};
use crate::options::{LogGuard, Logarithm, MelOptions};

#[derive(Debug, Clone)]
pub struct MelCall<'a> {
    /// The rows; longer than a frame.
    pub rows: DeviceFrames,
    /// `[n_fft]`.
    pub window: &'a Handle,
    pub options: &'a MelOptions,
    pub logarithm: Option<&'a Logarithm>,
}

/// Bands of every frame, `[rows, bands, frames]`, or their logarithms.
pub fn mel(device: &GpuDevice, call: &MelCall<'_>, into: &Handle) -> Result<()> {
    for (start, part) in call.parts(device) {
        let into = from_row(into, start, call.options.bands.count * call.frames());
        // One launch reads samples of any type, from the start of a word on.
        let part = if part.rows.skipped == 0 { part } else { part.widened(device) };
        if !part.launch_fused(device, &into)? {
            part.widened(device).launch_separately(device, &into)?;
        }
    }
    Ok(())
}

impl<'a> MelCall<'a> {
    /// The call on samples of f32.
    fn widened(self, device: &GpuDevice) -> Self {
        Self { rows: self.rows.widened(device), ..self }
    }

    pub(super) fn frames(&self) -> usize {
        self.options.stft.frames(self.rows.len)
    }

    /// The rows of each launch, whose samples and bands it counts, and the number of the first of them.
    pub(super) fn parts<'b>(
        &'b self,
        device: &'b GpuDevice,
    ) -> impl Iterator<Item = (usize, MelCall<'a>)> + use<'a, 'b> {
        let largest = self.rows.row_values().max(self.options.bands.count.max(1) * self.frames());
        let part = |rows: Range<usize>| (rows.start, MelCall { rows: self.rows.slice(rows), ..self.clone() });
        chunks(device, self.rows.rows, 0, largest).map(part)
    }

    pub(super) fn plan(&self) -> BandPlan {
        BandPlan::new(self.options, self.logarithm)
    }

    pub(super) fn segments(&self) -> Segments<'_> {
        let stft = &self.options.stft;
        Segments {
            rows: self.rows.clone(),
            window: self.window,
            n: stft.n_fft,
            hop: stft.hop,
            per_row: self.frames(),
            before: stft.padding(),
            padding: self.plan().frame.padding,
            constant: stft.pad.constant(),
            detrend: false,
        }
    }

    pub(super) fn band_shape(&self) -> BandShapeLaunch {
        let is_power = self.options.is_power();
        let (guard, factor) = self.logarithm.map_or((0.0, 1.0), |logarithm| {
            let (LogGuard::Offset(guard) | LogGuard::Floor(guard)) = logarithm.guard;
            (guard, logarithm.factor(is_power))
        });
        BandShapeLaunch::new(self.options.bands.count as u32, guard as f32, factor as f32)
    }

    /// Computes bands in one launch, if the transform of a frame takes one.
    fn launch_fused(&self, device: &GpuDevice, into: &Handle) -> Result<bool> {
        let prepared = prepared(device, TransformProblem::new(self.options.stft.n_fft, TransformKind::RealForward))?;
        let BandPlan { frame, form } = self.plan();
        let Some(plan) = FusedFramePlan::of(&prepared.plan.launches, frame, self.rows.samples, device.limits.shared)
        else {
            return Ok(false);
        };
        let (frames, bands) = (self.rows.rows * self.frames(), self.options.bands.count);
        let filters = filters(device, self.options);
        let starts = [self.options.stft.hop, self.options.stft.padding()];
        let sequences = plan.launch.layout.sequences as usize;
        // SAFETY: frames past the last one read what the last one reads, and store nothing; samples that are read are
        // within the rows, whose extent was checked as the argument was made. Loops are bounded by the filters.
        unsafe {
            launch!(kernel::mel_frames(
                device,
                grid(device, frames.div_ceil(sequences), plan.launch.layout.cube_units()),
                frame_input(device, &self.rows, self.window, &starts, &prepared.tables[0], plan),
                filters.of_bands.argument(),
                floats(into, frames * bands),
                self.segments().shape(&(0..frames)),
                self.band_shape(),
                plan,
                form,
            ));
        }
        Ok(true)
    }

    /// Computes bands in a launch per step, for any length.
    fn launch_separately(&self, device: &GpuDevice, into: &Handle) -> Result<()> {
        let filters = filters(device, self.options);
        let (segments, bands) = (self.segments(), self.options.bands.count);
        for taken in self.chunks(device) {
            let spectra = segments.spectra(device, &taken)?.values;
            let count = taken.len();
            launch_checked!(kernel::frame_bands(
                device,
                elements(device, count * bands),
                spectra.buffers(count * self.options.stft.bins()),
                filters.of_bands.argument(),
                floats(into, self.rows.rows * self.frames() * bands),
                segments.shape(&taken),
                self.band_shape(),
                self.plan(),
            ));
        }
        Ok(())
    }

    /// Frames of the launches that take all frames.
    pub(super) fn chunks(&self, device: &GpuDevice) -> impl Iterator<Item = Range<usize>> + use<> {
        let n = self.options.stft.n_fft;
        chunks(device, self.rows.rows * self.frames(), 2 * n + 2, n)
    }
}

/// Gradients for `grad`, that of the bands `[rows, bands, frames]`: adds to those of the signal `[rows, samples]`, which
/// are 0, and writes those of the window `[n_fft]`, each if given.
pub fn mel_backward(
    device: &GpuDevice,
    call: &MelCall<'_>,
    grad: &Handle,
    [of_signal, of_window]: [Option<Handle>; 2],
) -> Result<()> {
    let mut is_first = true;
    for (start, part) in call.parts(device) {
        let grad = from_row(grad, start, call.options.bands.count * call.frames());
        let signal = of_signal.as_ref().map(|signal| from_row(signal, start, call.rows.len));
        let segments = part.segments();
        for taken in part.chunks(device) {
            let spectra = segments.spectra(device, &taken)?;
            part.bin_gradients(device, &grad, &spectra.values, &taken);
            let samples = segments.adjoint(device, spectra.values.clone(), taken.len(), 1.0)?;
            if let Some(signal) = &signal {
                segments.signal_gradient(device, &samples, &taken, signal, true);
            }
            if let Some(window) = &of_window {
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
        launch_checked!(kernel::band_slopes(
            device,
            elements(device, count * bands),
            spectra.buffers(count * bins),
            filters.of_bands.argument(),
            floats(grad, self.rows.rows * self.frames() * bands),
            floats(&slopes, count * bands),
            self.segments().shape(taken),
            self.band_shape(),
            self.plan(),
        ));
        launch_checked!(kernel::bin_gradients(
            device,
            elements(device, count * bins),
            spectra.buffers(count * bins),
            filters.of_bins.argument(),
            floats(&slopes, count * bands),
            count as u32,
            bands as u32,
            self.plan(),
        ));
    }
}

/// A sparse matrix, each of whose rows has its weights side by side.
#[derive(Debug)]
pub struct SparseMatrix {
    /// First column of each row and offset of its weights; then both of a row past the last one: u32.
    rows: Handle,
    weights: Handle,
    rows_len: usize,
    weights_len: usize,
}

impl SparseMatrix {
    pub fn argument(&self) -> SparseRowsLaunch {
        SparseRowsLaunch::new(buffer::<u32>(&self.rows, self.rows_len), floats(&self.weights, self.weights_len))
    }

    fn new(device: &GpuDevice, rows: &[(usize, Vec<f32>)]) -> Self {
        let mut starts = Vec::with_capacity(2 * rows.len() + 2);
        let mut weights = Vec::new();
        for (first, own) in rows {
            starts.extend([*first as u32, weights.len() as u32]);
            weights.extend(own);
        }
        starts.extend([0, weights.len() as u32]);
        // A buffer is never empty.
        weights.push(0.0);
        Self {
            rows: upload(device, &starts),
            weights: upload(device, &weights),
            rows_len: starts.len(),
            weights_len: weights.len(),
        }
    }
}

/// The filters of bands on a device.
#[derive(Debug)]
pub struct DeviceFilters {
    pub of_bands: SparseMatrix,
    pub of_bins: SparseMatrix,
}

/// The filters of a call, with the factor of its transform, uploaded on the first call.
pub fn filters(device: &GpuDevice, options: &MelOptions) -> Arc<DeviceFilters> {
    static FILTERS: DeviceCache<(FilterKey, u64), Arc<DeviceFilters>> = DeviceCache::new();
    let (n_fft, factor) = (options.stft.n_fft, options.factor());
    let make = || {
        let filters = cached_filters(n_fft, &options.bands);
        Ok::<_, Infallible>(Arc::new(DeviceFilters {
            of_bands: SparseMatrix::new(device, &bands(&filters, factor)),
            of_bins: SparseMatrix::new(device, &bins(&filters, n_fft / 2 + 1, factor)),
        }))
    };
    let Ok(filters) = FILTERS.get(device, (key(n_fft, &options.bands), factor.to_bits()), make);
    filters
}

fn bands(filters: &[MelFilter], factor: f64) -> Vec<(usize, Vec<f32>)> {
    let weights = |filter: &MelFilter| filter.weights.iter().map(|weight| (factor * weight) as f32).collect();
    filters.iter().map(|filter| (filter.first, weights(filter))).collect()
}

/// The bands that hold each bin, from the first to the last of them.
fn bins(filters: &[MelFilter], bins: usize, factor: f64) -> Vec<(usize, Vec<f32>)> {
    let of_bin = |bin: usize| {
        let holds = |band: &usize| filters[*band].bins().contains(&bin);
        let (first, last) = ((0..filters.len()).find(holds), (0..filters.len()).rfind(holds));
        let weight = |band: usize| {
            let MelFilter { first, weights } = &filters[band];
            bin.checked_sub(*first).and_then(|index| weights.get(index)).map_or(0.0, |weight| factor * weight) as f32
        };
        first.zip(last).map_or((0, Vec::new()), |(first, last)| (first, (first..=last).map(weight).collect()))
    };
    (0..bins).map(of_bin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_the_transpose_of_bands() {
        let filter = |first: usize, weights: &[f64]| MelFilter { first, weights: weights.to_vec() };
        let filters = [filter(1, &[1.0, 2.0]), filter(0, &[]), filter(2, &[3.0])];
        let expected = [(0, vec![]), (0, vec![2.0]), (0, vec![4.0, 0.0, 6.0]), (0, vec![])];
        assert_eq!(bins(&filters, 4, 2.0), expected);
    }
}
