//! Latency tables fitted to measured times.

use super::{CalibrationError, CalibrationSizes};
use crate::cost::{MeasuredEstimate, PeaksSize};
use crate::profile::{AxisInterpolation, DeviceProfile, LatencyAxis, LatencyTable};

/// Spread of the times that an estimate takes at a size, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencySpread {
    /// 10th percentile.
    pub p10: f64,
    /// 90th percentile.
    pub p90: f64,
}

impl LatencySpread {
    /// Geometric mean of the two percentiles.
    ///
    /// A shared machine alternates between two speeds, with and without other load. A median is that of whichever speed
    /// lasted longer; the geometric mean differs from either by the same factor.
    fn middle(&self) -> f64 {
        (self.p10 * self.p90).sqrt()
    }
}

/// Measures the latencies of `estimates` at `sizes` and puts a fitted table per estimate into `profile`, with its
/// worst error at the held-out sizes.
///
/// `time` gets the sizes to time, and returns for each of them the spread per estimate.
///
/// # Errors
/// The errors of `time`, and [`CalibrationError`] for times that make no table.
pub fn measure_latencies<E: From<CalibrationError>>(
    profile: &mut DeviceProfile,
    estimates: &[MeasuredEstimate],
    sizes: &CalibrationSizes,
    time: impl FnOnce(&[PeaksSize]) -> Result<Vec<Vec<LatencySpread>>, E>,
) -> Result<(), E> {
    let points = sizes.points();
    let all = || points.iter().chain(&sizes.held_out);
    let timed: Vec<PeaksSize> = all().filter(|size| sizes.is_timed(size)).copied().collect();
    let spreads = time(&timed)?;
    check_count("sizes", spreads.len(), timed.len())?;
    for spreads in &spreads {
        check_count("estimates", spreads.len(), estimates.len())?;
    }
    for (index, estimate) in estimates.iter().enumerate() {
        let mut spreads = spreads.iter();
        let times: Vec<Option<f64>> = all()
            .map(|size| sizes.is_timed(size).then(|| spreads.next()).flatten().map(|spreads| spreads[index].middle()))
            .collect();
        let (at_points, held_out) = times.split_at(points.len());
        let table = fit(sizes.axes(), at_points).map_err(CalibrationError::from)?;
        let error = sizes.held_out.iter().zip(held_out).filter_map(|(size, time)| {
            let ratio = table.predict(&size.coordinates())? / (*time)?;
            Some(ratio.max(1.0 / ratio))
        });
        let error = error.fold(1.0, f64::max);
        profile.latencies.insert(estimate.name().into(), LatencyTable { error, ..table });
    }
    Ok(())
}

fn check_count(what: &'static str, got: usize, expected: usize) -> Result<(), CalibrationError> {
    if got == expected { Ok(()) } else { Err(CalibrationError::Count { what, got, expected }) }
}

/// The table of `times`, in which the batch is the last axis. Times of batches that are too large to measure are
/// extrapolated from the batches before.
fn fit(axes: Vec<LatencyAxis>, times: &[Option<f64>]) -> Result<LatencyTable, crate::profile::LatencyTableError> {
    let batches = axes.last().map_or(&[][..], |axis| &axis.values);
    let mut all = Vec::with_capacity(times.len());
    for line in times.chunks(batches.len().max(1)) {
        let known: Vec<f64> = line.iter().map_while(|time| *time).collect();
        let values = batches[..known.len()].to_vec();
        let axis = LatencyAxis { name: "batch".into(), interpolation: AxisInterpolation::Linear, values };
        let along_batch = LatencyTable::new(vec![axis], known)?;
        all.extend(batches.iter().filter_map(|batch| along_batch.predict(&[*batch])));
    }
    LatencyTable::new(axes, all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Preset;

    #[test]
    fn large_batches_are_extrapolated_from_the_last_two() {
        let axis = |name: &str, values: &[f64]| LatencyAxis {
            name: name.into(),
            interpolation: AxisInterpolation::Linear,
            values: values.to_vec(),
        };
        let axes = vec![axis("k", &[1.0, 2.0]), axis("batch", &[1.0, 2.0, 10.0])];
        let times = [Some(4.0), Some(5.0), None, Some(1.0), Some(1.0), Some(3.0)];
        let all = fit(axes, &times).unwrap().nanoseconds;
        let expected = [4.0, 5.0, 13.0, 1.0, 1.0, 3.0];
        assert!(all.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-9), "{all:?}");
    }

    #[test]
    fn a_wrong_number_of_times_is_an_error() {
        let (mut profile, sizes) = (Preset::Cpu.profile(), CalibrationSizes::rough());
        let result = measure_latencies(&mut profile, &[MeasuredEstimate::FewestBlocks], &sizes, |_| {
            Ok::<_, CalibrationError>(vec![])
        });
        assert!(matches!(result, Err(CalibrationError::Count { what: "sizes", got: 0, expected: 9 })), "{result:?}");
    }
}
