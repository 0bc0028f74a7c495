//! Mel filters: the weights of bins in bands.

use std::ops::Range;
use std::sync::Arc;

use crate::cache::Cache;
use crate::options::{MelBands, MelNorm};

/// The weights of the bins that a band is the sum of; all others are 0.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MelFilter {
    /// The first bin.
    pub first: usize,
    /// Weights from there on; none of a band between two bins.
    pub weights: Vec<f64>,
}

impl MelFilter {
    /// The bins.
    pub fn bins(&self) -> Range<usize> {
        self.first..self.first + self.weights.len()
    }
}

/// The filter of each band, for the bins of a one-sided spectrum of `n_fft` samples.
///
/// The weight of frequency f in band m is the lesser of (f − e(m)) / (e(m+1) − e(m)) and (e(m+2) − f) / (e(m+2) −
/// e(m+1)), where that is positive, of edges e that are equally spaced on the scale.
fn filters(n_fft: usize, bands: &MelBands) -> Vec<MelFilter> {
    let [low, high] = [bands.f_min, bands.upper_edge()].map(|hertz| bands.scale.mel(hertz));
    let step = (high - low) / (bands.count + 1) as f64;
    let edges: Vec<f64> = (0..bands.count + 2).map(|edge| bands.scale.hertz(low + edge as f64 * step)).collect();
    let bins = n_fft / 2 + 1;
    let frequency = |bin: usize| bin as f64 * bands.sample_rate / n_fft as f64;
    let filter = |edges: &[f64]| {
        let [lower, middle, upper] = [edges[0], edges[1], edges[2]];
        let factor = match bands.norm {
            MelNorm::None => 1.0,
            MelNorm::Slaney => 2.0 / (upper - lower),
        };
        let weight = |bin: usize| {
            let f = frequency(bin);
            ((f - lower) / (middle - lower)).min((upper - f) / (upper - middle))
        };
        let is_inside = |bin: &usize| weight(*bin) > 0.0;
        let first = (0..bins).find(is_inside).unwrap_or(0);
        MelFilter { first, weights: (first..bins).take_while(is_inside).map(|bin| factor * weight(bin)).collect() }
    };
    edges.windows(3).map(filter).collect()
}

/// The filters, computed once per process.
pub(crate) fn cached_filters(n_fft: usize, bands: &MelBands) -> Arc<Vec<MelFilter>> {
    static FILTERS: Cache<FilterKey, Arc<Vec<MelFilter>>> = Cache::new();
    FILTERS.get(key(n_fft, bands), || Arc::new(filters(n_fft, bands)))
}

/// Bits of the numbers that filters depend on.
pub(crate) type FilterKey = [u64; 7];

/// The key of the filters of bands.
pub(crate) fn key(n_fft: usize, bands: &MelBands) -> FilterKey {
    let &MelBands { sample_rate, count, f_min, scale, norm, .. } = bands;
    let hertz = [sample_rate, f_min, bands.upper_edge()].map(f64::to_bits);
    [n_fft as u64, count as u64, hertz[0], hertz[1], hertz[2], scale as u64, norm as u64]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::MelScale;

    #[test]
    fn scales_are_those_of_their_definitions() {
        // 1,000 Hz is 1,000 mel in HTK's formula, and 15 mel in Slaney's.
        assert!((MelScale::Htk.mel(1000.0) - 999.985_537_4).abs() < 1e-6);
        assert!((MelScale::Slaney.mel(1000.0) - 15.0).abs() < 1e-12);
        assert!((MelScale::Slaney.mel(6400.0) - 42.0).abs() < 1e-12);
        for scale in [MelScale::Htk, MelScale::Slaney] {
            for hertz in [0.0, 60.0, 999.0, 1000.0, 1001.0, 22_050.0] {
                assert!((scale.hertz(scale.mel(hertz)) - hertz).abs() < 1e-9 * (1.0 + hertz));
            }
        }
    }

    #[test]
    fn narrow_bands_between_bins_are_empty() {
        let bands = MelBands::new(16_000.0, 128);
        let filters = filters(64, &bands);
        assert_eq!(filters.len(), 128);
        assert!(filters[1].weights.is_empty() && filters.iter().all(|filter| filter.bins().end <= 33));
    }

    #[test]
    fn bands_above_half_the_sample_rate_have_no_bins() {
        let filters = filters(400, &MelBands::new(16_000.0, 10).with_f_max(40_000.0));
        assert!(filters[9].weights.is_empty() && !filters[0].weights.is_empty());
    }
}
