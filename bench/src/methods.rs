//! The methods that compute a tier's peaks, checked against each other and timed side by side.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};
use burn::tensor::{Device, Tensor, TensorData};
use firefly_app::device::DeviceKind;
use firefly_framework::profile::DeviceProfile;
use firefly_models::{AutoWelchPeaks, AutoWelchPeaksConfig, Peaks, Strategy, WelchPeaksConfig};

use crate::harness::progress::Progress;
use crate::suites::peaks::{Output, PeaksProblem, PeaksReadBack, ReadBack};

/// Iterations that every method runs at least, after one that is not counted.
const FEWEST: usize = 3;
/// More than these say nothing new.
const MOST: usize = 200;
/// Most that powers may differ by, relative to the strongest of a row: methods round in another order.
const TOLERANCE: f32 = 1e-4;

/// The methods of a tier that a kind of device has: on a host, frames need not be brought to it.
pub const fn methods_of(kind: DeviceKind) -> &'static [Strategy] {
    if kind.is_host() {
        &[Strategy::Fused, Strategy::Spectrum]
    } else {
        &[Strategy::Host, Strategy::Fused, Strategy::Spectrum]
    }
}

/// Noise that the frames of problems are cut from.
struct Noise(Vec<f32>);

impl Noise {
    /// `samples` samples of uniform noise with slow tones, the same at each run.
    fn new(samples: usize) -> Self {
        let mut state = 0x9e37_79b9_u32;
        let sample = |index: usize| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            // A triangle of 37 samples, so that some bins stand out.
            let tone = (index % 37) as f32 / 18.0 - 1.0;
            state as f32 / u32::MAX as f32 - 0.5 + tone
        };
        Self((0..samples).map(sample).collect())
    }

    fn frames(&self, problem: &PeaksProblem, device: &Device) -> Option<Tensor<2>> {
        let samples = self.0.get(..problem.batch * problem.frame())?.to_vec();
        Some(Tensor::from_data(TensorData::new(samples, [problem.batch, problem.frame()]), device))
    }
}

/// The model of a problem, restricted to one method if one is given.
///
/// # Errors
/// For a problem out of range.
pub fn model(
    problem: &PeaksProblem,
    method: Option<Strategy>,
    profile: &DeviceProfile,
    device: &Device,
) -> anyhow::Result<AutoWelchPeaks> {
    let config = WelchPeaksConfig::new().with_n_fft(problem.options.n_fft).with_k(problem.k).with_tier(problem.tier);
    let auto = AutoWelchPeaksConfig::new().with_peaks(config).with_profile(Some(profile.clone()));
    let auto = method.map_or_else(|| auto.clone(), |strategy| auto.clone().with_strategies(vec![strategy]));
    Ok(auto.try_init(device)?)
}

/// How long methods are timed.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// How often all problems are gone through: a machine that is slow for a minute is so for one round.
    pub rounds: usize,
    /// How long each problem is timed in a round.
    pub time: Duration,
}

/// For every problem the nanoseconds of each method's runs, peaks in host memory at the end, gathered in rounds.
///
/// # Errors
/// For a problem out of range, and methods that don't agree.
pub fn time_in_rounds(
    problems: &[PeaksProblem],
    methods: &[Strategy],
    profile: &DeviceProfile,
    device: &Device,
    effort: Effort,
    quiet: bool,
) -> anyhow::Result<Vec<Vec<Vec<f64>>>> {
    let noise = Noise::new(problems.iter().map(|problem| problem.batch * problem.frame()).max().unwrap_or(0));
    let progress = Progress::new(quiet, effort.rounds * problems.len());
    let mut samples = vec![vec![Vec::new(); methods.len()]; problems.len()];
    for round in 1..=effort.rounds {
        progress.say(format!("round {round} of {}", effort.rounds));
        for (problem, samples) in problems.iter().zip(&mut samples) {
            let times = time_methods(problem, methods, &noise, profile, device, effort.time)?;
            samples.iter_mut().zip(times).for_each(|(samples, times)| samples.extend(times));
            progress.advance(1);
        }
    }
    progress.finish();
    Ok(samples)
}

/// Nanoseconds of each method's runs on `problem`, peaks in host memory at the end; the methods take turns, for `time`
/// together.
///
/// # Errors
/// For a problem out of range, frames that the noise is too short for, and methods that don't agree.
fn time_methods(
    problem: &PeaksProblem,
    methods: &[Strategy],
    noise: &Noise,
    profile: &DeviceProfile,
    device: &Device,
    time: Duration,
) -> anyhow::Result<Vec<Vec<f64>>> {
    let frames = noise.frames(problem, device).context("the noise is too short")?;
    let models: Vec<AutoWelchPeaks> =
        methods.iter().map(|method| model(problem, Some(*method), profile, device)).collect::<Result<_, _>>()?;
    let run = |model: &AutoWelchPeaks| read(model.try_forward(black_box(frames.clone()))?);
    let outputs = models.iter().map(|model| powers(&run(model)?)).collect::<Result<Vec<_>, _>>()?;
    for (method, output) in methods.iter().zip(&outputs) {
        ensure!(agree(&outputs[0], output, problem.k), "{method} gives other peaks than {}", methods[0]);
    }
    let mut samples = vec![Vec::new(); methods.len()];
    let start = Instant::now();
    while samples[0].len() < FEWEST || (start.elapsed() < time && samples[0].len() < MOST) {
        for (model, samples) in models.iter().zip(&mut samples) {
            let start = Instant::now();
            black_box(run(model)?);
            samples.push(start.elapsed().as_nanos() as f64);
        }
    }
    Ok(samples)
}

fn read(peaks: Peaks) -> anyhow::Result<PeaksReadBack> {
    peaks.read().map_err(|error| anyhow!(error))
}

fn powers(peaks: &PeaksReadBack) -> anyhow::Result<Vec<f32>> {
    Ok(peaks.values().map_err(|error| anyhow!(error))?.power)
}

fn agree(left: &[f32], right: &[f32], k: usize) -> bool {
    let close = |(left, right): (&[f32], &[f32])| {
        left.iter().zip(right).all(|(a, b)| (a - b).abs() <= TOLERANCE * left[0].abs())
    };
    left.len() == right.len() && left.chunks(k).zip(right.chunks(k)).all(close)
}

#[cfg(test)]
mod tests {
    use firefly_framework::profile::Preset;
    use firefly_models::Tier;

    use super::*;

    #[test]
    fn every_method_is_timed_and_short_noise_is_refused() {
        let (device, profile) = (Device::flex(), Preset::Cpu.profile());
        let problem = PeaksProblem::new(64, Tier::Fast, 7, 5);
        let methods = [Strategy::Fused, Strategy::Spectrum];
        let times = |noise| time_methods(&problem, &methods, &Noise::new(noise), &profile, &device, Duration::ZERO);
        assert!(times(7 * 96).unwrap().iter().flatten().all(|time| *time > 0.0));
        assert!(times(7 * 96 - 1).is_err());
    }

    #[test]
    fn other_peaks_are_noticed() {
        assert!(agree(&[10.0, 1.0], &[10.0, 1.0005], 2));
        assert!(!agree(&[10.0, 1.0], &[10.0, 1.1], 2));
        assert!(!agree(&[10.0, 1.0], &[10.0], 2));
    }
}
