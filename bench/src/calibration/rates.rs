//! Times of every method over a grid.

use std::time::Duration;

use anyhow::Context;
use burn::tensor::Device;
use firefly_framework::cost::{Axis, DeviceProfile, Growth, Rate};
use firefly_models::Method;

use super::Grid;
use crate::methods::{Noise, time_methods};
use crate::peaks::PeaksProblem;
use crate::progress::Progress;
use crate::statistics::Spread;

/// How long methods are timed.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// How often the whole grid is gone through: a machine that is slow for a minute is so for one round.
    pub rounds: usize,
    /// How long each point is timed in a round.
    pub time: Duration,
}

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
    let points: Vec<&PeaksProblem> = problems.iter().chain(&grid.held_out).collect();
    let timed: Vec<bool> = points.iter().map(|problem| grid.is_timed(problem)).collect();
    let timed_points = points.iter().zip(&timed).filter(|(_, timed)| **timed);
    let noise = Noise::new(timed_points.map(|(problem, _)| problem.batch * problem.frame()).max().unwrap_or(0));
    let progress = Progress::new(quiet, effort.rounds * points.len());
    let mut samples = vec![vec![Vec::new(); methods.len()]; points.len()];
    for round in 1..=effort.rounds {
        progress.say(format!("round {round} of {}", effort.rounds));
        for ((problem, samples), timed) in points.iter().zip(&mut samples).zip(&timed) {
            if *timed {
                let times = time_methods(problem, methods, &noise, profile, device, effort.time)?;
                samples.iter_mut().zip(times).for_each(|(samples, times)| samples.extend(times));
            }
            progress.advance(1);
        }
    }
    progress.finish();
    for (place, method) in methods.iter().enumerate() {
        let middle = |spread: Spread| (spread.p10 * spread.p90).sqrt();
        let middles = samples.iter().map(|samples| Spread::of(samples[place].iter().copied()).map(middle));
        let middles: Vec<Option<f64>> = middles.collect();
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
