//! Picker suite: the strategies of a tier, checked against each other and timed side by side.

use std::hint::black_box;
use std::time::{Duration, Instant};

use burn::tensor::{Device, Tensor, TensorData};
use firefly_app::device::DeviceKind;
use firefly_app::progress::StepProgress;
use firefly_framework::cost::MeasuredEstimate;
use firefly_framework::profile::DeviceProfile;
use firefly_models::{AutoWelchPeaks, AutoWelchPeaksConfig, LearnedWelchPeaksConfig, Strategy, WelchPeaksConfig};
use firefly_ops::ArgumentError;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

use super::peaks::{DeviceOutput, HostOutput, HostPeaksOutput, PeaksProblem};
use crate::harness::load::{LoadProbe, LoadRecord, in_quiet_rounds};
use crate::harness::routine::RoutineError;
use crate::harness::statistics::Percentiles;
use crate::harness::timing::TurnOrder;

/// Least time of the untimed runs that precede a timed one.
const CONDITIONING: Duration = Duration::from_micros(200);
/// Problems after which the load of the machine is probed again.
const PROBED: usize = 16;
/// Least number of timed iterations, after one that is not timed.
const MIN_ITERATIONS: usize = 3;
/// Greatest number of timed iterations.
const MAX_ITERATIONS: usize = 200;
/// Greatest difference allowed between powers, relative to the strongest of a row: strategies round in another order.
const TOLERANCE: f32 = 1e-4;

/// The exact strategies of a tier on a kind of device: on a host, there is no transfer to avoid.
pub const fn strategies_of(kind: DeviceKind) -> &'static [Strategy] {
    if kind.is_host() {
        &[Strategy::Fused, Strategy::Spectrum]
    } else {
        &[Strategy::Host, Strategy::Fused, Strategy::Spectrum]
    }
}

/// The estimates that are calibrated on a kind of device: the exact strategies, and learned models.
pub fn calibrated_estimates(kind: DeviceKind) -> Vec<MeasuredEstimate> {
    let strategies = strategies_of(kind).iter().copied().chain([Strategy::Learned]).map(MeasuredEstimate::Strategy);
    strategies.chain([MeasuredEstimate::FewestBlocks, MeasuredEstimate::Halved]).collect()
}

/// Noise that the frames of problems are cut from.
struct Noise(Vec<f32>);

impl Noise {
    /// `samples` samples of uniform noise with a periodic triangle, the same in each run.
    fn new(samples: usize) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let sample = |index: usize| {
            // A triangle of 37 samples, so that some bins stand out.
            let tone = (index % 37) as f32 / 18.0 - 1.0;
            random.random::<f32>() - 0.5 + tone
        };
        Self((0..samples).map(sample).collect())
    }

    /// Frames `[batch, frame]` of `problem`; none if it has more samples.
    fn frames(&self, problem: &PeaksProblem, device: &Device) -> Option<Tensor<2>> {
        let samples = self.0.get(..problem.batch * problem.frame())?.to_vec();
        Some(Tensor::from_data(TensorData::new(samples, [problem.batch, problem.frame()]), device))
    }
}

/// The model of a problem, restricted to one strategy if the time of one is measured; a learned one is untrained.
///
/// # Errors
/// [`ArgumentError`] for a problem out of range.
pub fn model(
    problem: &PeaksProblem,
    estimate: Option<MeasuredEstimate>,
    profile: &DeviceProfile,
    device: &Device,
) -> Result<AutoWelchPeaks, ArgumentError> {
    let config = WelchPeaksConfig::new().with_n_fft(problem.options.n_fft).with_k(problem.k).with_tier(problem.tier);
    let auto = AutoWelchPeaksConfig::new().with_peaks(config).with_profile(Some(profile.clone()));
    let strategy = estimate.map(|estimate| match estimate {
        MeasuredEstimate::Strategy(strategy) => strategy,
        MeasuredEstimate::FewestBlocks | MeasuredEstimate::Halved => Strategy::Learned,
    });
    let auto = strategy.map_or_else(|| auto.clone(), |strategy| auto.clone().with_strategies(vec![strategy]));
    let auto = auto.try_init(device)?;
    let Some(estimate) = estimate.filter(|estimate| estimate.is_learned()) else { return Ok(auto) };
    let learned = LearnedWelchPeaksConfig::new()
        .with_n_fft(problem.options.n_fft)
        .with_k(problem.k)
        .with_segments(problem.tier.segments());
    let (blocks, fewest) = (problem.options.blocks(), problem.k.div_ceil(problem.options.block_len()));
    let learned = match estimate {
        MeasuredEstimate::FewestBlocks if fewest < blocks => {
            learned.with_closed_blocks(Some((fewest..blocks).collect()))
        }
        // A halved transform may have fewer bins than there are peaks.
        MeasuredEstimate::Halved => learned.with_k(problem.k.min(problem.options.n_fft / 4 + 1)).with_halvings(Some(1)),
        MeasuredEstimate::FewestBlocks | MeasuredEstimate::Strategy(_) => learned,
    };
    Ok(auto.with_learned(learned.try_init(device)?))
}

/// Time spent on measuring.
#[derive(Debug, Clone, Copy)]
pub struct TimingBudget {
    /// Rounds over all problems: a machine that is slow for a minute is slow in one round only.
    pub rounds: usize,
    /// Time per problem and round.
    pub time: Duration,
}

/// Times of strategies, and the load that other processes put on the machine meanwhile.
pub struct Timings {
    /// For every problem the nanoseconds of each strategy's runs.
    pub samples: Vec<Vec<Vec<f64>>>,
    /// Slowdown of each round.
    pub load: LoadRecord,
}

/// For every problem the nanoseconds of each estimate's runs, including the transfer of the peaks to host memory,
/// gathered in rounds; rounds on a busy machine are repeated.
///
/// # Errors
/// [`TimingError`] for a problem out of range, and strategies that fail or disagree.
pub fn time_in_rounds(
    problems: &[PeaksProblem],
    estimates: &[MeasuredEstimate],
    profile: &DeviceProfile,
    device: &Device,
    budget: TimingBudget,
    probe: &mut LoadProbe,
    quiet: bool,
) -> Result<Timings, TimingError> {
    let noise = Noise::new(problems.iter().map(|problem| problem.batch * problem.frame()).max().unwrap_or(0));
    let progress = StepProgress::new(quiet, budget.rounds * problems.len());
    let (rounds, load) = in_quiet_rounds(budget.rounds, |round| {
        let purpose =
            if round < budget.rounds { format!(" of {}", budget.rounds) } else { ", in place of a busy one".into() };
        progress.set_message(format!("round {}{purpose}", round + 1));
        let (mut times, mut slowdowns) = (Vec::with_capacity(problems.len()), vec![probe.slowdown()]);
        for (place, problem) in problems.iter().enumerate() {
            times.push(time_estimates(problem, estimates, &noise, profile, device, budget.time)?);
            if place % PROBED == PROBED - 1 {
                slowdowns.push(probe.slowdown());
            }
            progress.advance(1);
        }
        let slowdown = Percentiles::of(slowdowns).map_or(1.0, |slowdown| slowdown.median);
        if LoadRecord::is_busy(slowdown) {
            progress.note(&format!(
                "round {}: the machine is busy: other load makes the slowest core take {slowdown:.2} times as long",
                round + 1
            ));
        }
        Ok::<_, TimingError>((times, slowdown))
    })?;
    progress.finish();
    let mut samples = vec![vec![Vec::new(); estimates.len()]; problems.len()];
    for times in rounds {
        for (samples, times) in samples.iter_mut().zip(times) {
            samples.iter_mut().zip(times).for_each(|(samples, times)| samples.extend(times));
        }
    }
    Ok(Timings { samples, load })
}

/// Reason why strategies could not be timed.
#[derive(Debug, Error)]
pub enum TimingError {
    /// The problem is out of range.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// A strategy failed.
    #[error(transparent)]
    Routine(#[from] RoutineError),
    /// The problem has more samples than the noise.
    #[error("the noise is too short")]
    ShortNoise,
    /// Two strategies gave different peaks.
    #[error("{estimate} gives other peaks than {first}")]
    Disagreement {
        /// An estimate.
        estimate: MeasuredEstimate,
        /// The first one.
        first: MeasuredEstimate,
    },
}

/// Nanoseconds of each estimate's runs on `problem`; the estimates take turns in an order drawn anew in each
/// iteration, for `time` together.
fn time_estimates(
    problem: &PeaksProblem,
    estimates: &[MeasuredEstimate],
    noise: &Noise,
    profile: &DeviceProfile,
    device: &Device,
    time: Duration,
) -> Result<Vec<Vec<f64>>, TimingError> {
    let frames = noise.frames(problem, device).ok_or(TimingError::ShortNoise)?;
    let models: Vec<AutoWelchPeaks> =
        estimates.iter().map(|estimate| model(problem, Some(*estimate), profile, device)).collect::<Result<_, _>>()?;
    let run = |model: &AutoWelchPeaks| -> Result<HostPeaksOutput, TimingError> {
        Ok(model.try_forward(black_box(frames.clone()))?.read()?)
    };
    // One run of each that is not timed gives the powers that have to agree; a learned model finds its own.
    let outputs =
        models.iter().map(|model| Ok(run(model)?.values()?.power)).collect::<Result<Vec<_>, TimingError>>()?;
    for (&estimate, output) in estimates.iter().zip(&outputs) {
        if !estimate.is_learned() && !agree(&outputs[0], output, problem.k) {
            return Err(TimingError::Disagreement { estimate, first: estimates[0] });
        }
    }
    let mut samples = vec![Vec::new(); estimates.len()];
    let mut order = TurnOrder::new(estimates.len(), problem.batch as u64);
    let start = Instant::now();
    while samples[0].len() < MIN_ITERATIONS || (start.elapsed() < time && samples[0].len() < MAX_ITERATIONS) {
        for &which in order.draw() {
            // Untimed runs first: a sample follows its own strategy, as in a loop over nothing else.
            let begin = Instant::now();
            loop {
                black_box(run(&models[which])?);
                if begin.elapsed() >= CONDITIONING {
                    break;
                }
            }
            let start = Instant::now();
            black_box(run(&models[which])?);
            samples[which].push(start.elapsed().as_nanos() as f64);
        }
    }
    Ok(samples)
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
    fn every_strategy_is_timed_and_short_noise_is_refused() {
        let (device, profile) = (Device::flex(), Preset::Cpu.profile());
        let problem = PeaksProblem::new(64, Tier::Fast, 7, 5);
        let estimates = calibrated_estimates(DeviceKind::Cpu);
        let times =
            |samples| time_estimates(&problem, &estimates, &Noise::new(samples), &profile, &device, Duration::ZERO);
        assert!(matches!(times(7 * 96 - 1), Err(TimingError::ShortNoise)));
        let times = times(7 * 96).unwrap();
        assert!(times.iter().flatten().all(|time| *time > 0.0));
        assert!(times.iter().all(|times| times.len() == MIN_ITERATIONS));
    }

    #[test]
    fn different_powers_disagree() {
        assert!(agree(&[10.0, 1.0], &[10.0, 1.0005], 2));
        assert!(!agree(&[10.0, 1.0], &[10.0, 1.1], 2));
        assert!(!agree(&[10.0, 1.0], &[10.0], 2));
    }
}
