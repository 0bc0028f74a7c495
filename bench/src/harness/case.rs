//! Cases of one problem: each verified, then all that passed timed side by side.
use firefly_app::progress::StepProgress;

use super::execution::ExecutionConfig;
use super::outcome::{CaseOutcome, Measured, SpeedRatio};
use super::phase_traffic::PhaseTraffic;
use super::problem::WorkSize;
use super::statistics::Percentiles;
use super::timing::{Iterations, VerifiedCase, interleave};
use super::verification::{Accuracy, CaseError, Selected, Verification, Verified};

/// Strategy on an execution configuration.
pub struct Case<'a> {
    /// Threads and instruction set.
    pub execution: &'a ExecutionConfig,
    /// Prepares and verifies the routine, on the case's own threads.
    pub verify: Box<dyn FnOnce() -> Result<Verified<'a>, CaseError> + Send + 'a>,
    /// Cases that its speed is given relative to: a name, and the position among the cases.
    pub comparisons: Vec<(String, usize)>,
}

/// Result of a verification, without the routine.
struct Found {
    verification: Verification,
    accuracy: Option<Accuracy>,
    traffic: Option<Box<PhaseTraffic>>,
    selected: Option<Selected>,
}

/// Outcomes of the cases, in their order; `seed` draws the order of their turns. Progress advances by [`steps`].
pub fn run_cases(
    cases: Vec<Case<'_>>,
    size: WorkSize,
    iterations: Iterations,
    seed: u64,
    progress: &StepProgress,
) -> Vec<CaseOutcome> {
    let count = cases.len();
    let mut outcomes: Vec<Option<CaseOutcome>> = Vec::with_capacity(count);
    let mut routines = Vec::new();
    let mut passed = Vec::new();
    // Verify each case; what fails has its outcome, what passes will be timed.
    for (index, case) in cases.into_iter().enumerate() {
        match case.execution.run(case.verify) {
            Ok(Verified { routine, checksums, verification, accuracy, traffic, selected }) => {
                routines.push(VerifiedCase { execution: case.execution, routine, checksums });
                let found = Found { verification, accuracy, traffic, selected };
                passed.push((index, case.comparisons, found));
                outcomes.push(None);
            }
            Err(error) => outcomes.push(Some(error.into())),
        }
        progress.advance(1);
    }
    // Time all that passed in one loop.
    let mut left = steps(count, iterations) - count;
    let timed = interleave(&mut routines, iterations, seed, || {
        left -= 1;
        progress.advance(1);
    });
    progress.advance(left);

    // Relate the times to those of other cases.
    let samples_of = |which: usize| {
        let position = passed.iter().position(|(index, ..)| *index == which)?;
        timed[position].as_ref().ok()
    };
    for ((index, comparisons, found), (timed, routine)) in passed.iter().zip(timed.iter().zip(&routines)) {
        outcomes[*index] = Some(match timed {
            Ok(samples) => {
                let speed = |(name, other): &(String, usize)| {
                    let ratio = Percentiles::of_speed_ratio(samples_of(*other)?, samples)?;
                    Some(SpeedRatio { baseline: name.clone(), ratio })
                };
                match Measured::new(size, found.verification, routine.checksums.len(), samples.clone()) {
                    Some(measured) => CaseOutcome::Measured(Box::new(Measured {
                        accuracy: found.accuracy,
                        traffic: found.traffic.clone(),
                        selected: found.selected.clone(),
                        speed: comparisons.iter().filter_map(speed).collect(),
                        ..measured
                    })),
                    None => CaseOutcome::failed("there was no iteration to time"),
                }
            }
            Err(error) => CaseOutcome::failed(error.to_string()),
        });
    }
    outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|| CaseOutcome::failed("it was not timed"))).collect()
}

/// Steps of progress of `cases` cases.
pub fn steps(cases: usize, iterations: Iterations) -> usize {
    cases + iterations.warmup + iterations.timed
}
