//! Order statistics of samples.

use serde::{Deserialize, Serialize};

/// Percentiles of samples, with the extremes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Half of the samples are at most this.
    pub median: f64,
    /// A tenth of the samples are at most this.
    pub p10: f64,
    /// Nine tenths of the samples are at most this.
    pub p90: f64,
    /// The least sample.
    pub min: f64,
    /// The greatest sample.
    pub max: f64,
}

impl Percentiles {
    /// Percentiles of `samples`; none without samples.
    pub fn of(samples: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = samples.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            median: quantile(&sorted, 0.5)?,
            p10: quantile(&sorted, 0.1)?,
            p90: quantile(&sorted, 0.9)?,
            min: *sorted.first()?,
            max: *sorted.last()?,
        })
    }

    /// Whether this can be percentiles of nanoseconds: finite, not negative, at most the age of the universe, in order.
    pub fn is_time(&self) -> bool {
        let Self { median, p10, p90, min, max } = *self;
        let ordered = [0.0, min, p10, median, p90, max, 1e27];
        ordered.windows(2).all(|pair| pair[0] <= pair[1])
    }

    /// Speed relative to `baseline`: percentiles of the quotients, iteration by iteration, of two runs that took turns.
    /// Times in nanoseconds.
    pub fn of_speed_ratio(baseline: &[u64], own: &[u64]) -> Option<Self> {
        Self::of(baseline.iter().zip(own).map(|(&baseline, &own)| baseline as f64 / own.max(1) as f64))
    }
}

/// Quantile of sorted samples, interpolated linearly between neighbours (definition 7 of Hyndman and Fan, "Sample
/// quantiles in statistical packages", The American Statistician 50, 1996).
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let position = share * sorted.len().checked_sub(1)? as f64;
    let below = position.floor();
    let upper = sorted[position.ceil() as usize];
    let lower = sorted[below as usize];
    Some(lower + (position - below) * (upper - lower))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate() {
        let odd = Percentiles::of((0..=10).rev().map(f64::from)).unwrap();
        assert_eq!(odd, Percentiles { median: 5.0, p10: 1.0, p90: 9.0, min: 0.0, max: 10.0 });
        let even = Percentiles::of([4.0, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!(even.median, 2.5);
        assert!((even.p10 - 1.3).abs() < 1e-12 && (even.p90 - 3.7).abs() < 1e-12);
    }

    #[test]
    fn one_sample_is_its_own_spread_and_none_has_none() {
        assert_eq!(Percentiles::of([7.0]), Some(Percentiles { median: 7.0, p10: 7.0, p90: 7.0, min: 7.0, max: 7.0 }));
        assert_eq!(Percentiles::of([]), None);
    }

    #[test]
    fn a_ratio_is_taken_iteration_by_iteration() {
        // A disturbance that hits both in one iteration leaves their ratio alone.
        let ratio = Percentiles::of_speed_ratio(&[10, 1000, 10], &[5, 500, 5]).unwrap();
        assert_eq!((ratio.min, ratio.median, ratio.max), (2.0, 2.0, 2.0));
        assert_eq!(Percentiles::of_speed_ratio(&[3], &[0]).unwrap().median, 3.0);
    }
}
