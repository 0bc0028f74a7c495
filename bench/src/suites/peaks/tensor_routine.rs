//! Routines made of tensor operations on frames, from the memory of the device or of the host to either.

use std::borrow::Borrow;
use std::time::Duration;

use burn::tensor::{Tensor, TensorData, Transaction};
use firefly_models::Peaks;
use firefly_ops::HostPeaks;

use super::inputs::FrameInputs;
use crate::harness::calls::{CallRunner, Calls};
use crate::harness::routine::{Routine, RoutineError, RoutineOutput, checksum};

/// Memory that a routine takes its frames from and leaves its result in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemorySpace {
    /// Device memory: a run ends when the device is done.
    Device,
    /// From device memory to host memory: reading the result back is part of a run, and ends it.
    DeviceToHost,
    /// Host memory: transfers to the device and back are part of a run.
    Host,
}

/// Result of tensor operations.
pub trait DeviceOutput: Clone + Send {
    /// The result in host memory.
    type Host: HostOutput;

    /// Waits for the result and reads it back.
    ///
    /// # Errors
    /// [`RoutineError`] if it could not be computed.
    fn read(self) -> Result<Self::Host, RoutineError>;
}

/// Result in host memory.
pub trait HostOutput: Send {
    /// Type of the plain values.
    type Values;

    /// The [`checksum`] of every byte.
    fn checksum(&self) -> u64;

    /// The values.
    ///
    /// # Errors
    /// [`RoutineError`] if they are not of a known type.
    fn values(&self) -> Result<Self::Values, RoutineError>;
}

/// Routine that computes a result from frames `[batch, frame]` by tensor operations.
pub struct TensorRoutine<I, F, O: DeviceOutput> {
    inputs: I,
    memory: MemorySpace,
    operations: F,
    calls: CallRunner,
    result: Option<RunResult<O>>,
}

/// Result of the last run, in the memory that the routine leaves it in.
enum RunResult<O: DeviceOutput> {
    OnDevice(O),
    InHostMemory(O::Host),
}

impl<I, F, O> TensorRoutine<I, F, O>
where
    I: Borrow<FrameInputs> + Send,
    F: Fn(Tensor<2>) -> Result<O, RoutineError> + Send,
    O: DeviceOutput,
{
    /// A routine that runs `operations` on any of the input sets.
    pub fn new(inputs: I, memory: MemorySpace, operations: F) -> Box<Self> {
        if memory != MemorySpace::Host {
            inputs.borrow().tensors();
        }
        let calls = CallRunner::new(Calls::One, inputs.borrow().device());
        Box::new(Self { inputs, memory, operations, calls, result: None })
    }

    /// The same with another number of calls, of which the last one's result is kept.
    pub fn with_calls(mut self: Box<Self>, calls: Calls) -> Box<Self> {
        self.calls = CallRunner::new(calls, self.inputs.borrow().device());
        self
    }
}

impl<I, F, O: DeviceOutput> TensorRoutine<I, F, O> {
    fn with_result<T>(&self, look: impl FnOnce(&O::Host) -> Result<T, RoutineError>) -> Result<T, RoutineError> {
        match self.result.as_ref().ok_or(RoutineError::NotRun)? {
            RunResult::OnDevice(output) => look(&output.clone().read()?),
            RunResult::InHostMemory(read) => look(read),
        }
    }
}

impl<I, F, O> Routine for TensorRoutine<I, F, O>
where
    I: Borrow<FrameInputs> + Send,
    F: Fn(Tensor<2>) -> Result<O, RoutineError> + Send,
    O: DeviceOutput,
{
    fn run(&mut self, set: usize) -> Result<(), RoutineError> {
        let Self { inputs, memory, operations, calls, result } = self;
        let inputs: &FrameInputs = (*inputs).borrow();
        let on_device = || inputs.tensors()[set].clone();
        calls.run(|count| {
            for _ in 0..count {
                *result = Some(match memory {
                    MemorySpace::Device => RunResult::OnDevice(operations(on_device())?),
                    MemorySpace::DeviceToHost => RunResult::InHostMemory(operations(on_device())?.read()?),
                    MemorySpace::Host => RunResult::InHostMemory(operations(inputs.to_device(set))?.read()?),
                });
            }
            match memory {
                MemorySpace::Device => inputs.device().sync().map_err(RoutineError::burn),
                MemorySpace::DeviceToHost | MemorySpace::Host => Ok(()),
            }
        })
    }

    fn calls(&self) -> usize {
        self.calls.count()
    }

    fn device_time(&self) -> Option<Duration> {
        self.calls.device_time()
    }

    fn checksum(&self) -> u64 {
        self.with_result(|read| Ok(read.checksum())).unwrap_or(0)
    }

    fn release(&mut self) {
        self.result = None;
    }
}

impl<I, F, O> RoutineOutput<<O::Host as HostOutput>::Values> for TensorRoutine<I, F, O>
where
    I: Borrow<FrameInputs> + Send,
    F: Fn(Tensor<2>) -> Result<O, RoutineError> + Send,
    O: DeviceOutput,
{
    fn output(&self) -> Result<<O::Host as HostOutput>::Values, RoutineError> {
        self.with_result(HostOutput::values)
    }
}

/// Peaks `[batch, k]` in host memory.
#[derive(Clone)]
pub struct HostPeaksOutput {
    bins: TensorData,
    power: TensorData,
}

impl DeviceOutput for Peaks<2> {
    type Host = HostPeaksOutput;

    /// Reads in one transaction: tensors read one by one are copied on first access, after the run.
    fn read(self) -> Result<HostPeaksOutput, RoutineError> {
        let read = Transaction::default().register(self.bins).register(self.power).try_execute();
        let [bins, power] = read
            .map_err(RoutineError::burn)?
            .try_into()
            .map_err(|read: Vec<_>| RoutineError::OutputCount { got: read.len(), expected: 2 })?;
        Ok(HostPeaksOutput { bins, power })
    }
}

/// Result of operations that read their peaks back themselves.
impl DeviceOutput for HostPeaksOutput {
    type Host = Self;

    fn read(self) -> Result<Self, RoutineError> {
        Ok(self)
    }
}

impl HostPeaksOutput {
    /// Bytes in host memory.
    pub fn bytes(&self) -> u64 {
        (self.bins.as_bytes().len() + self.power.as_bytes().len()) as u64
    }
}

/// Bins and powers `[batch, k]` in host memory.
impl From<(TensorData, TensorData)> for HostPeaksOutput {
    fn from((bins, power): (TensorData, TensorData)) -> Self {
        Self { bins, power }
    }
}

impl HostOutput for HostPeaksOutput {
    type Values = HostPeaks;

    fn checksum(&self) -> u64 {
        checksum(self.bins.as_bytes()).wrapping_add(checksum(self.power.as_bytes()))
    }

    fn values(&self) -> Result<HostPeaks, RoutineError> {
        let bins = match self.bins.as_slice::<i32>() {
            Ok(bins) => bins.iter().map(|&bin| bin.into()).collect(),
            Err(_) => self.bins.as_slice::<i64>().map_err(RoutineError::burn)?.to_vec(),
        };
        Ok(HostPeaks { bins, power: self.power.as_slice::<f32>().map_err(RoutineError::burn)?.to_vec() })
    }
}

/// Real values `[batch, width]` in host memory.
pub struct HostValuesOutput(TensorData);

impl DeviceOutput for Tensor<2> {
    type Host = HostValuesOutput;

    fn read(self) -> Result<HostValuesOutput, RoutineError> {
        let mut read = Transaction::default().register(self).try_execute().map_err(RoutineError::burn)?;
        read.pop().map(HostValuesOutput).ok_or(RoutineError::OutputCount { got: 0, expected: 1 })
    }
}

impl HostOutput for HostValuesOutput {
    type Values = Vec<f32>;

    fn checksum(&self) -> u64 {
        checksum(self.0.as_bytes())
    }

    fn values(&self) -> Result<Vec<f32>, RoutineError> {
        Ok(self.0.as_slice::<f32>().map_err(RoutineError::burn)?.to_vec())
    }
}
