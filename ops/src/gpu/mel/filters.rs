//! Sparse filters in device memory.

use std::convert::Infallible;
use std::sync::Arc;

use cubecl::server::Handle;

use super::kernel::SparseRowsLaunch;
use crate::gpu::device::{DeviceCache, GpuDevice, buffer, floats, upload};
use crate::mel_filters::{FilterKey, MelFilter, cached_filters, key};
use crate::options::MelOptions;

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
    /// The matrix as a kernel argument.
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
    /// The bins of each band.
    pub of_bands: SparseMatrix,
    /// The bands of each bin.
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
