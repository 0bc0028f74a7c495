//! Calls of tensor operations on the device; the results stay there.

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use burn::tensor::{Device, Tensor};

use super::routine::{Routine, RoutineError, RoutineOutput, parts_checksum};

/// Time of the calls before a synchronisation, about: waking up from one that waited for long takes up to half a
/// millisecond.
const IN_FLIGHT: Duration = Duration::from_millis(40);
/// How many calls that may be.
const CALLS_IN_FLIGHT: RangeInclusive<usize> = 16..=512;

/// Calls of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// One, which is waited for.
    One,
    /// As many as take 40 ms, at least 16 and at most 512, before a synchronisation.
    InFlight,
}

/// A tensor whose values can be read.
pub trait ReadValues: Send {
    /// The values in host memory.
    ///
    /// # Errors
    /// [`RoutineError`] if they can't be read.
    fn values(&self) -> Result<Vec<f32>, RoutineError>;
}

impl<const D: usize> ReadValues for Tensor<D> {
    fn values(&self) -> Result<Vec<f32>, RoutineError> {
        let data = self.clone().try_into_data().map_err(RoutineError::burn)?;
        data.try_to_vec::<f32>().map_err(RoutineError::burn)
    }
}

/// Calls of a function of an input set, one synchronisation after them.
pub struct DeviceRoutine<'a, S, T, F> {
    sets: Vec<S>,
    device: &'a Device,
    call: F,
    /// Calls of a run, once they are known.
    calls: Option<usize>,
    output: Vec<T>,
}

impl<'a, S, T, F> DeviceRoutine<'a, S, T, F>
where
    S: Clone + Send,
    T: ReadValues,
    F: Fn(S) -> Result<Vec<T>, RoutineError> + Send,
{
    /// One call per run on one of the `sets`, which are on `device`.
    pub fn new(sets: Vec<S>, device: &'a Device, call: F) -> Self {
        Self { sets, device, call, calls: Some(1), output: Vec::new() }
    }

    /// The same with another number of calls.
    pub fn with_calls(self, calls: Calls) -> Self {
        Self { calls: (calls == Calls::One).then_some(1), ..self }
    }

    /// Calls on a set until the device is done.
    fn call(&mut self, set: usize, calls: usize) -> Result<(), RoutineError> {
        for _ in 0..calls {
            self.output = (self.call)(self.sets[set].clone())?;
        }
        self.device.sync().map_err(RoutineError::burn)
    }

    /// As many calls as are in flight at a time, from the time of the fewest of them.
    fn count_calls(&mut self, set: usize) -> Result<usize, RoutineError> {
        self.call(set, 1)?;
        let fewest = *CALLS_IN_FLIGHT.start();
        let start = Instant::now();
        self.call(set, fewest)?;
        let calls = IN_FLIGHT.as_nanos() * fewest as u128 / start.elapsed().as_nanos().max(1);
        Ok((calls as usize).clamp(fewest, *CALLS_IN_FLIGHT.end()))
    }
}

impl<S, T, F> Routine for DeviceRoutine<'_, S, T, F>
where
    S: Clone + Send,
    T: ReadValues,
    F: Fn(S) -> Result<Vec<T>, RoutineError> + Send,
{
    fn run(&mut self, set: usize) -> Result<(), RoutineError> {
        let calls = match self.calls {
            Some(calls) => calls,
            None => {
                let counted = self.count_calls(set)?;
                *self.calls.insert(counted)
            }
        };
        self.call(set, calls)
    }

    fn calls(&self) -> usize {
        self.calls.unwrap_or(1)
    }

    fn checksum(&self) -> u64 {
        parts_checksum(&self.output().unwrap_or_default())
    }

    fn release(&mut self) {
        self.output.clear();
    }
}

impl<S, T, F> RoutineOutput<Vec<Vec<f32>>> for DeviceRoutine<'_, S, T, F>
where
    S: Clone + Send,
    T: ReadValues,
    F: Fn(S) -> Result<Vec<T>, RoutineError> + Send,
{
    fn output(&self) -> Result<Vec<Vec<f32>>, RoutineError> {
        if self.output.is_empty() {
            return Err(RoutineError::NotRun);
        }
        self.output.iter().map(ReadValues::values).collect()
    }
}
