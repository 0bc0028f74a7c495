//! Calls of a run on a device: one that is waited for, or many in flight.

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// Approximate time of the calls before a synchronisation. It is long because waking up after a long wait takes up to
/// half a millisecond.
const IN_FLIGHT: Duration = Duration::from_millis(40);
/// Number of calls that may be in flight.
const CALLS_IN_FLIGHT: RangeInclusive<usize> = 16..=512;

/// Summary of a strategy whose calls are in flight, after that of one whose calls are waited for.
pub const QUEUED: &str = "the same, calls of 40 ms before a synchronisation: the time of one of them";

/// Calls of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// One call, followed by a synchronisation.
    One,
    /// The number of calls that take 40 ms, from 16 to 512, followed by one synchronisation.
    InFlight,
}

/// Number of calls of a run, counted at the first one.
#[derive(Debug, Clone, Copy)]
pub struct CallCount(Option<usize>);

impl CallCount {
    /// One, or a number still to be counted.
    pub fn of(calls: Calls) -> Self {
        Self((calls == Calls::One).then_some(1))
    }

    /// The number; 1 before it is counted.
    pub fn get(self) -> usize {
        self.0.unwrap_or(1)
    }

    /// Runs `calls` with the number of calls, counting them first if that was not done: `calls` makes that many and
    /// waits for them.
    ///
    /// # Errors
    /// Those of `calls`.
    pub fn run<E>(&mut self, mut calls: impl FnMut(usize) -> Result<(), E>) -> Result<(), E> {
        let count = match self.0 {
            Some(count) => count,
            None => *self.0.insert(counted(&mut calls)?),
        };
        calls(count)
    }
}

/// As many calls as are in flight at a time, from the time of the fewest of them.
fn counted<E>(calls: &mut impl FnMut(usize) -> Result<(), E>) -> Result<usize, E> {
    calls(1)?;
    let fewest = *CALLS_IN_FLIGHT.start();
    let start = Instant::now();
    calls(fewest)?;
    let count = IN_FLIGHT.as_nanos() * fewest as u128 / start.elapsed().as_nanos().max(1);
    Ok((count as usize).clamp(fewest, *CALLS_IN_FLIGHT.end()))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn numbers(calls: Calls, time: Duration) -> Vec<usize> {
        let mut count = CallCount::of(calls);
        let mut numbers = Vec::new();
        for _ in 0..2 {
            let run: Result<(), Infallible> = count.run(|calls| {
                numbers.push(calls);
                std::thread::sleep(time * calls as u32);
                Ok(())
            });
            run.unwrap();
        }
        assert_eq!(count.get(), *numbers.last().unwrap());
        numbers
    }

    #[test]
    fn calls_in_flight_are_counted_once() {
        assert_eq!(numbers(Calls::One, Duration::ZERO), [1, 1]);
        assert_eq!(numbers(Calls::InFlight, Duration::ZERO), [1, 16, 512, 512]);
        assert_eq!(numbers(Calls::InFlight, Duration::from_millis(3)), [1, 16, 16, 16]);
    }
}
