//! One problem, several strategies: each verified, then all that passed timed side by side.

use rayon::ThreadPool;

use crate::expected::{ExpectedRow, expected};
use crate::input::Inputs;
use crate::json::{Measured, Outcome, SpeedRatio};
use crate::measure::{Contender, Schedule, interleave};
use crate::problem::Problem;
use crate::progress::Progress;
use crate::statistics::Spread;
use crate::strategy::{Refusal, Strategy};
use crate::verify::{Verification, Verifier};

/// What is compared, and how.
pub struct Comparison<'a> {
    /// The strategies.
    pub strategies: Vec<&'a dyn Strategy>,
    /// The strategy, by its place among them, that the others' speed is related to.
    pub baseline: Option<usize>,
    /// How often each runs.
    pub schedule: Schedule,
    /// Which rows are verified.
    pub seed: u64,
    /// The threads that strategies may use.
    pub pool: ThreadPool,
}

impl Comparison<'_> {
    /// The outcome of each strategy on `problem`, in their order. Progress advances by [`steps`](Self::steps).
    pub fn run(&self, problem: &Problem, inputs: &Inputs, progress: &Progress) -> Vec<Outcome> {
        let expected = match expected(problem, inputs, self.seed) {
            Ok(expected) => expected,
            Err(error) => {
                progress.advance(self.steps());
                return self.strategies.iter().map(|_| Outcome::Failed { error: error.clone() }).collect();
            }
        };
        let mut outcomes: Vec<Option<Outcome>> = Vec::new();
        let mut contenders = Vec::new();
        let mut verified = Vec::new();
        for (index, strategy) in self.strategies.iter().enumerate() {
            match self.pool.install(|| verify(*strategy, problem, inputs, &expected)) {
                Ok((contender, verification)) => {
                    contenders.push(contender);
                    verified.push((index, verification));
                    outcomes.push(None);
                }
                Err(Refusal::Unsupported(reason)) => outcomes.push(Some(Outcome::Unsupported { reason })),
                Err(Refusal::Failed(error)) => outcomes.push(Some(failed(error))),
            }
            progress.advance(1);
        }
        let mut left = self.steps() - self.strategies.len();
        let timed = self.pool.install(|| {
            interleave(&mut contenders, self.schedule, || {
                left -= 1;
                progress.advance(1);
            })
        });
        progress.advance(left);

        let samples_of = |which: usize| {
            let place = verified.iter().position(|(index, _)| *index == which)?;
            timed[place].as_ref().ok()
        };
        for ((index, verification), timed) in verified.iter().zip(&timed) {
            outcomes[*index] = Some(match timed {
                Ok(samples) => {
                    let baseline = self.baseline.and_then(|baseline| Some((baseline, samples_of(baseline)?)));
                    let speed_ratio = baseline.and_then(|(baseline, times)| {
                        let ratio = Spread::of_speed_ratio(times, samples)?;
                        Some(SpeedRatio { baseline: self.strategies[baseline].name().into(), ratio })
                    });
                    Measured::new(problem, *verification, inputs.count(), samples.clone(), speed_ratio)
                        .map_or_else(|| failed("there was no iteration to time"), Outcome::Measured)
                }
                Err(error) => failed(error),
            });
        }
        outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|| failed("it was not timed"))).collect()
    }

    /// Steps of progress a problem takes.
    pub fn steps(&self) -> usize {
        self.strategies.len() + self.schedule.warmup + self.schedule.iterations
    }
}

fn failed(error: impl Into<String>) -> Outcome {
    Outcome::Failed { error: error.into() }
}

/// Runs every input set once and checks the rows that are expected of it.
fn verify<'a>(
    strategy: &dyn Strategy,
    problem: &Problem,
    inputs: &'a Inputs,
    expected: &[ExpectedRow],
) -> Result<(Contender<'a>, Verification), Refusal> {
    let mut workload = strategy.prepare(problem, inputs)?;
    let mut verifier = Verifier::new(problem, strategy.orders_ties());
    let mut checksums = Vec::with_capacity(inputs.count());
    for set in 0..inputs.count() {
        checksums.push(workload.run(set).map_err(Refusal::Failed)?);
        let peaks = workload.peaks().map_err(Refusal::Failed)?;
        verifier.check(&peaks, expected.iter().filter(|row| row.set == set)).map_err(Refusal::Failed)?;
    }
    Ok((Contender { workload, checksums }, verifier.finish()))
}
