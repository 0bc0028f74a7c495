//! Crossovers of the strategies of Welch peaks, from measured times.

use firefly_ops::WelchOptions;

use crate::picker::{Crossover, Crossovers, PeaksSize, Strategy};
use crate::profile::InvalidMeasurement;

/// Problem sizes at which strategies are timed: every combination of lengths, numbers of segments and of peaks, and
/// batches.
#[derive(Debug, Clone)]
pub struct CrossoverGrid {
    /// Length and numbers of segments and of peaks of every crossover.
    rows: Vec<[usize; 3]>,
    batches: Vec<usize>,
}

impl CrossoverGrid {
    fn new(lengths: &[usize], segments: &[usize], k: &[usize], batches: &[usize]) -> Self {
        let pairs = lengths.iter().flat_map(|n| segments.iter().map(move |segments| (*n, *segments)));
        let rows = pairs.flat_map(|(n, segments)| k.iter().map(move |k| [n, segments, *k]));
        Self { rows: rows.collect(), batches: batches.to_vec() }
    }

    /// The sizes of a calibrated profile. Up to 16 peaks, the search is faster.
    pub fn full() -> Self {
        Self::new(&[64, 256, 1024, 4096], &[1, 2, 8], &[16, 64], &[1, 4, 16, 64, 256, 1024])
    }

    /// A few sizes, for tests.
    pub fn rough() -> Self {
        Self::new(&[64, 256], &[2], &[16], &[1, 64])
    }

    /// Every problem, the batch changing fastest.
    pub fn sizes(&self) -> Vec<PeaksSize> {
        let batches = |&[n_fft, segments, k]: &[usize; 3]| {
            let options = WelchOptions::new(n_fft, segments);
            // A short segment has fewer bins than the largest K: all of them is the nearest valid value.
            self.batches.iter().map(move |&batch| PeaksSize { options, batch, k: k.min(options.bins()) })
        };
        self.rows.iter().flat_map(batches).collect()
    }

    /// Crossovers between the fused operation and other strategies: from the nanoseconds of each of `strategies` at each
    /// of the [sizes](Self::sizes). The strategies include `Fused`, and `Learned` for a model that runs as an exact
    /// estimate.
    ///
    /// # Errors
    /// [`InvalidMeasurement`] for times of another number of sizes or strategies, and times that make no crossover.
    pub fn crossovers(&self, strategies: &[Strategy], times: &[Vec<f64>]) -> Result<Crossovers, InvalidMeasurement> {
        let batches: Vec<f64> = self.batches.iter().map(|batch| *batch as f64).collect();
        let sizes = self.rows.len() * batches.len();
        if times.len() != sizes || times.iter().any(|times| times.len() != strategies.len()) {
            let expected = format!("times of {sizes} sizes and {} strategies are needed", strategies.len());
            return Err(InvalidMeasurement(expected));
        }
        let row = |(&size, times): (&[usize; 3], &[Vec<f64>])| {
            let mut others = Vec::new();
            let [mut fused, mut learned] = [vec![f64::NAN; batches.len()], vec![f64::NAN; batches.len()]];
            for (place, &strategy) in strategies.iter().enumerate() {
                let times = times.iter().map(|times| times[place]).collect();
                match strategy {
                    Strategy::Fused => fused = times,
                    Strategy::Learned => learned = times,
                    other => others.push((other, times)),
                }
            }
            Crossover::fit(size, &batches, &fused, learned[batches.len() - 1], &others)
        };
        Crossovers::new(self.rows.iter().zip(times.chunks(batches.len())).map(row).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Strategy; 4] = [Strategy::Fused, Strategy::Host, Strategy::Spectrum, Strategy::Learned];

    /// A device that takes 50 µs per call, and a host that takes 1 ns per sample and 1 µs per peak search.
    fn time(size: &PeaksSize, strategy: &Strategy) -> f64 {
        match strategy {
            Strategy::Host => (size.batch * (1000 + size.options.n_fft * size.options.segments)) as f64,
            Strategy::Spectrum => 60e3,
            Strategy::Fused | Strategy::Learned => 50e3,
        }
    }

    #[test]
    fn every_length_has_a_crossover_with_the_fastest_strategy() {
        let grid = CrossoverGrid::full();
        let sizes = grid.sizes();
        let times = sizes.iter().map(|size| ALL.iter().map(|strategy| time(size, strategy)).collect());
        let crossovers = grid.crossovers(&ALL, &times.collect::<Vec<_>>()).unwrap();
        assert_eq!(crossovers.rows().len(), 4 * 3 * 2);
        for row in crossovers.rows() {
            let expected = 50e3 / (1000 + row.n_fft * row.segments) as f64;
            assert_eq!(row.few, Strategy::Host);
            assert!((row.frames / expected - 1.0).abs() < 1e-9, "{row:?}");
            assert!((row.fused * 1024.0 - 50e3).abs() < 1e-6);
        }
    }

    #[test]
    fn a_wrong_number_of_times_is_an_error() {
        for times in [vec![], vec![vec![1.0]; 4]] {
            let error = CrossoverGrid::rough().crossovers(&ALL, &times).unwrap_err().to_string();
            assert_eq!(error, "times of 4 sizes and 4 strategies are needed");
        }
        // Without the fused operation, there is no time to compare with.
        let times = vec![vec![1.0]; 4];
        assert!(CrossoverGrid::rough().crossovers(&[Strategy::Host], &times).is_err());
    }

    #[test]
    fn sizes_are_valid() {
        let valid = |size: &PeaksSize| size.options.validate("test").is_ok() && size.k <= size.options.bins();
        assert!(CrossoverGrid::full().sizes().iter().chain(&CrossoverGrid::rough().sizes()).all(valid));
    }
}
