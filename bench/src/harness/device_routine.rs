//! Calls of tensor operations on the device; the results stay there.

use std::time::Duration;

use burn::tensor::{Device, Tensor};

use super::calls::{CallRunner, Calls};
use super::routine::{Routine, RoutineError, RoutineOutput, parts_checksum};

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
    /// Copy of a set, where calls get one that nothing else holds.
    copy: Option<fn(&S) -> S>,
    given: Option<S>,
    device: &'a Device,
    call: F,
    calls: CallRunner,
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
        let calls = CallRunner::new(Calls::One, device);
        Self { sets, copy: None, given: None, device, call, calls, output: Vec::new() }
    }

    /// The same with a `copy` of the set for each run, which the call may overwrite.
    pub fn with_input_given_away(self, copy: fn(&S) -> S) -> Self {
        Self { copy: Some(copy), ..self }
    }

    /// The same with another number of calls.
    pub fn with_calls(self, calls: Calls) -> Self {
        Self { calls: CallRunner::new(calls, self.device), ..self }
    }
}

impl<S, T, F> Routine for DeviceRoutine<'_, S, T, F>
where
    S: Clone + Send,
    T: ReadValues,
    F: Fn(S) -> Result<Vec<T>, RoutineError> + Send,
{
    fn restore(&mut self, set: usize) {
        if let Some(copy) = self.copy {
            self.output.clear();
            self.given = Some(copy(&self.sets[set]));
        }
    }

    fn run(&mut self, set: usize) -> Result<(), RoutineError> {
        let Self { sets, given, device, call, calls, output, .. } = self;
        calls.run(|count| {
            for _ in 0..count {
                *output = call(given.take().unwrap_or_else(|| sets[set].clone()))?;
            }
            device.sync().map_err(RoutineError::burn)
        })
    }

    fn calls(&self) -> usize {
        self.calls.count()
    }

    fn device_time(&self) -> Option<Duration> {
        self.calls.device_time()
    }

    fn checksum(&self) -> u64 {
        parts_checksum(&self.output().unwrap_or_default())
    }

    /// An output in the memory of a copy is dropped when the next copy is made: that memory is not the call's.
    fn release(&mut self) {
        if self.copy.is_none() {
            self.output.clear();
        }
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
