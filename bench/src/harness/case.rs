//! Entrants on one problem: each verified, then all that passed timed side by side.

use crate::harness::execution::Lane;
use crate::harness::outcome::{Measured, Outcome, Speed};
use crate::harness::problem::Size;
use crate::harness::progress::Progress;
use crate::harness::statistics::Spread;
use crate::harness::timing::{Contender, Schedule, interleave};
use crate::harness::verification::{Refusal, Verified};

/// Somebody who takes part.
pub struct Entrant<'a> {
    /// What it runs on.
    pub lane: &'a Lane,
    /// Makes it ready and verifies it, on its lane.
    pub verify: Box<dyn FnOnce() -> Result<Verified<'a>, Refusal> + Send + 'a>,
    /// Whom its speed is related to: a name, and the place among the entrants.
    pub relations: Vec<(String, usize)>,
}

/// The outcome of each entrant, in their order. Progress advances by [`steps`].
pub fn race(entrants: Vec<Entrant<'_>>, size: Size, schedule: Schedule, progress: &Progress) -> Vec<Outcome> {
    let count = entrants.len();
    let mut outcomes: Vec<Option<Outcome>> = Vec::with_capacity(count);
    let mut contenders = Vec::new();
    let mut passed = Vec::new();
    for (index, entrant) in entrants.into_iter().enumerate() {
        match entrant.lane.run(entrant.verify) {
            Ok(Verified { workload, checksums, verification, accuracy, movement }) => {
                contenders.push(Contender { lane: entrant.lane, workload, checksums });
                passed.push((index, entrant.relations, verification, accuracy, movement));
                outcomes.push(None);
            }
            Err(Refusal::Unsupported(reason)) => outcomes.push(Some(Outcome::Unsupported { reason })),
            Err(Refusal::Failed(error)) => outcomes.push(Some(Outcome::failed(error))),
        }
        progress.advance(1);
    }
    let mut left = steps(count, schedule) - count;
    let timed = interleave(&mut contenders, schedule, || {
        left -= 1;
        progress.advance(1);
    });
    progress.advance(left);

    let samples_of = |which: usize| {
        let place = passed.iter().position(|(index, ..)| *index == which)?;
        timed[place].as_ref().ok()
    };
    for ((index, relations, verification, accuracy, movement), (timed, contender)) in
        passed.iter().zip(timed.iter().zip(&contenders))
    {
        outcomes[*index] = Some(match timed {
            Ok(samples) => {
                let speed = |(name, other): &(String, usize)| {
                    let ratio = Spread::of_speed_ratio(samples_of(*other)?, samples)?;
                    Some(Speed { than: name.clone(), ratio })
                };
                match Measured::new(size, *verification, contender.checksums.len(), samples.clone()) {
                    Some(measured) => Outcome::Measured(Box::new(Measured {
                        accuracy: *accuracy,
                        movement: movement.clone(),
                        speed: relations.iter().filter_map(speed).collect(),
                        ..measured
                    })),
                    None => Outcome::failed("there was no iteration to time"),
                }
            }
            Err(error) => Outcome::failed(error),
        });
    }
    outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|| Outcome::failed("it was not timed"))).collect()
}

/// Steps of progress that so many entrants take.
pub fn steps(entrants: usize, schedule: Schedule) -> usize {
    entrants + schedule.warmup + schedule.iterations
}
