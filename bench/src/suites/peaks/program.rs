//! Tensor programs on frames, on the device or from host memory to host memory.

use burn::tensor::{Tensor, TensorData, Transaction};
use firefly_models::Peaks;
use firefly_ops::HostPeaks;

use super::inputs::Inputs;
use crate::harness::routine::{Produces, Workload, checksum};

/// Where a program's frames and results are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// On the device: a run ends when the device is done.
    Device,
    /// In host memory: bringing frames to the device and results back is part of a run.
    Host,
}

/// What a program leaves, on the device unless it says otherwise.
pub trait Output: Clone + Send {
    /// The same in host memory.
    type Read: ReadBack;

    /// Waits for it and brings it to host memory.
    ///
    /// # Errors
    /// If it could not be computed.
    fn read(self) -> Result<Self::Read, String>;
}

/// Results in host memory.
pub trait ReadBack: Send {
    /// The same as plain values.
    type Values;

    /// The [`checksum`] of every byte.
    fn checksum(&self) -> u64;

    /// The values.
    ///
    /// # Errors
    /// If they are not of a known type.
    fn values(&self) -> Result<Self::Values, String>;
}

/// A program from frames `[batch, frame]` to an output, both on the device.
pub struct Program<'a, F, O: Output> {
    inputs: &'a Inputs,
    memory: Memory,
    program: F,
    result: Option<Finished<O>>,
}

/// The result of a run, where the program's memory is.
enum Finished<O: Output> {
    Left(O),
    Read(O::Read),
}

impl<'a, F, O> Program<'a, F, O>
where
    F: Fn(Tensor<2>) -> Result<O, String> + Send,
    O: Output,
{
    /// `program` on each of the input sets.
    pub fn new(inputs: &'a Inputs, memory: Memory, program: F) -> Box<Self> {
        if memory == Memory::Device {
            inputs.tensors();
        }
        Box::new(Self { inputs, memory, program, result: None })
    }
}

impl<F, O: Output> Program<'_, F, O> {
    fn with_result<T>(&self, look: impl FnOnce(&O::Read) -> Result<T, String>) -> Result<T, String> {
        match self.result.as_ref().ok_or("nothing was computed")? {
            Finished::Left(output) => look(&output.clone().read()?),
            Finished::Read(read) => look(read),
        }
    }
}

impl<F, O> Workload for Program<'_, F, O>
where
    F: Fn(Tensor<2>) -> Result<O, String> + Send,
    O: Output,
{
    fn run(&mut self, set: usize) -> Result<(), String> {
        self.result = Some(match self.memory {
            Memory::Device => {
                let output = (self.program)(self.inputs.tensors()[set].clone())?;
                self.inputs.device().sync().map_err(|error| error.to_string())?;
                Finished::Left(output)
            }
            Memory::Host => Finished::Read((self.program)(self.inputs.to_device(set))?.read()?),
        });
        Ok(())
    }

    fn checksum(&self) -> u64 {
        self.with_result(|read| Ok(read.checksum())).unwrap_or(0)
    }
}

impl<F, O> Produces<<O::Read as ReadBack>::Values> for Program<'_, F, O>
where
    F: Fn(Tensor<2>) -> Result<O, String> + Send,
    O: Output,
{
    fn output(&self) -> Result<<O::Read as ReadBack>::Values, String> {
        self.with_result(ReadBack::values)
    }
}

/// Peaks in host memory, `[batch, k]`.
#[derive(Clone)]
pub struct PeaksReadBack {
    bins: TensorData,
    power: TensorData,
}

impl Output for Peaks {
    type Read = PeaksReadBack;

    /// In one transaction: tensors read one by one are copied when they are looked at, after the run.
    fn read(self) -> Result<PeaksReadBack, String> {
        let read = Transaction::default().register(self.bins).register(self.power).try_execute();
        let [bins, power] = read
            .map_err(|error| error.to_string())?
            .try_into()
            .map_err(|_| "other than two tensors came back".to_string())?;
        Ok(PeaksReadBack { bins, power })
    }
}

/// A program that brings its peaks to host memory itself.
impl Output for PeaksReadBack {
    type Read = Self;

    fn read(self) -> Result<Self, String> {
        Ok(self)
    }
}

impl PeaksReadBack {
    /// Bytes in host memory.
    pub fn bytes(&self) -> u64 {
        (self.bins.as_bytes().len() + self.power.as_bytes().len()) as u64
    }
}

/// Bins and powers, `[batch, k]`, that are in host memory already.
impl From<(TensorData, TensorData)> for PeaksReadBack {
    fn from((bins, power): (TensorData, TensorData)) -> Self {
        Self { bins, power }
    }
}

impl ReadBack for PeaksReadBack {
    type Values = HostPeaks;

    fn checksum(&self) -> u64 {
        checksum(self.bins.as_bytes()).wrapping_add(checksum(self.power.as_bytes()))
    }

    fn values(&self) -> Result<HostPeaks, String> {
        let bins = match self.bins.as_slice::<i32>() {
            Ok(bins) => bins.iter().map(|&bin| bin.into()).collect(),
            Err(_) => self.bins.as_slice::<i64>().map_err(|error| error.to_string())?.to_vec(),
        };
        Ok(HostPeaks { bins, power: self.power.as_slice::<f32>().map_err(|error| error.to_string())?.to_vec() })
    }
}

/// Real values in host memory, `[batch, width]`.
pub struct ValuesReadBack(TensorData);

impl Output for Tensor<2> {
    type Read = ValuesReadBack;

    fn read(self) -> Result<ValuesReadBack, String> {
        let mut read = Transaction::default().register(self).try_execute().map_err(|error| error.to_string())?;
        read.pop().map(ValuesReadBack).ok_or("no tensor came back".into())
    }
}

impl ReadBack for ValuesReadBack {
    type Values = Vec<f32>;

    fn checksum(&self) -> u64 {
        checksum(self.0.as_bytes())
    }

    fn values(&self) -> Result<Vec<f32>, String> {
        Ok(self.0.as_slice::<f32>().map_err(|error| error.to_string())?.to_vec())
    }
}
