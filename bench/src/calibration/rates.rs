//! Times of every method over a grid.

use anyhow::Context;
use burn::tensor::Device;
use firefly_framework::cost::{Axis, DeviceProfile, Growth, Rate};
use firefly_models::Method;

use super::Grid;
use crate::harness::statistics::Spread;
use crate::methods::{Effort, time_in_rounds};
use crate::suites::peaks::PeaksProblem;

/// Times every method over the grid, and says how far predictions are off between its points.
///
/// A shared machine runs at two speeds, as what runs beside comes and goes, and a median is of the one that happened to last longer.
/// So the geometric mean of the fastest and the slowest tenth of the samples is kept: it is off by the same factor for either.
///
/// # Errors
/// For methods that fail or don't agree.
pub fn measure_rates(
    profile: &mut DeviceProfile,
    methods: &[Method],
    grid: &Grid,
    effort: Effort,
    device: &Device,
    quiet: bool,
) -> anyhow::Result<()> {
    let problems = grid.problems();
    let points = || problems.iter().chain(&grid.held_out);
    let timed: Vec<PeaksProblem> = points().filter(|point| grid.is_timed(point)).cloned().collect();
    let mut taken = time_in_rounds(&timed, methods, profile, device, effort, quiet)?.into_iter();
    let samples: Vec<Option<Vec<Vec<f64>>>> =
        points().map(|point| grid.is_timed(point).then(|| taken.next()).flatten()).collect();
    for (place, method) in methods.iter().enumerate() {
        let middle = |samples: &Option<Vec<Vec<f64>>>| {
            let spread = Spread::of(samples.as_ref()?[place].iter().copied())?;
            Some((spread.p10 * spread.p90).sqrt())
        };
        let middles: Vec<Option<f64>> = samples.iter().map(middle).collect();
        let (times, between) = middles.split_at(problems.len());
        let mut rate = Rate::new(grid.axes(), completed(times, &grid.axes(), grid.batches())?)?;
        let off = grid.held_out.iter().zip(between).filter_map(|(problem, time)| {
            let PeaksProblem { options, k, batch, .. } = problem;
            let at = [options.n_fft, options.segments, *k, *batch].map(|size| size as f64);
            let ratio = rate.predict(&at)? / (*time)?;
            Some(ratio.max(1.0 / ratio))
        });
        rate.error = off.fold(1.0, f64::max);
        profile.rates.insert(method.name().into(), rate);
    }
    Ok(())
}

/// The times, those of batches that are too large extrapolated from the batches before.
fn completed(times: &[Option<f64>], axes: &[Axis], batches: usize) -> anyhow::Result<Vec<f64>> {
    let batch = &axes.last().context("there are no axes")?.values;
    let mut all = Vec::with_capacity(times.len());
    for line in times.chunks(batches) {
        let known: Vec<f64> = line.iter().map_while(|time| *time).collect();
        let sizes = batch[..known.len()].to_vec();
        let axis = Axis { name: "batch".into(), growth: Growth::Affine, values: sizes };
        let rate = Rate::new(vec![axis], known)?;
        all.extend(batch.iter().filter_map(|batch| rate.predict(&[*batch])));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_batches_follow_from_the_last_two() {
        let axes = [Axis { name: "batch".into(), growth: Growth::Affine, values: vec![1.0, 2.0, 10.0] }];
        let times = [Some(4.0), Some(5.0), None, Some(1.0), Some(1.0), Some(3.0)];
        let all = completed(&times, &axes, 3).unwrap();
        let expected = [4.0, 5.0, 13.0, 1.0, 1.0, 3.0];
        assert!(all.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-9), "{all:?}");
    }
}
