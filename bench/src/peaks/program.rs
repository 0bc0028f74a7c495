//! Tensor programs on frames, their results read back from the device.

use burn::tensor::{Int, Tensor, TensorData};

use super::input::Inputs;
use super::strategy::HostPeaks;
use crate::workload::{Produces, Workload, checksum};

/// Where a program finds its frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// On the device already.
    Device,
    /// In host memory: bringing them to the device is part of the run.
    Host,
}

/// What a program leaves in host memory.
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

/// A program from frames `[batch, frame]` on the device to what is read back.
pub struct Program<'a, F, R> {
    inputs: &'a Inputs,
    source: Source,
    program: F,
    read_back: Option<R>,
}

impl<'a, F, R> Program<'a, F, R>
where
    F: Fn(Tensor<2>) -> Result<R, String> + Send,
    R: ReadBack,
{
    /// `program` on each of the input sets.
    pub fn new(inputs: &'a Inputs, source: Source, program: F) -> Box<Self> {
        if source == Source::Device {
            inputs.tensors();
        }
        Box::new(Self { inputs, source, program, read_back: None })
    }
}

impl<F, R> Workload for Program<'_, F, R>
where
    F: Fn(Tensor<2>) -> Result<R, String> + Send,
    R: ReadBack,
{
    fn run(&mut self, set: usize) -> Result<(), String> {
        let signal = match self.source {
            Source::Device => self.inputs.tensors()[set].clone(),
            Source::Host => self.inputs.to_device(set),
        };
        self.read_back = Some((self.program)(signal)?);
        Ok(())
    }

    fn checksum(&self) -> u64 {
        self.read_back.as_ref().map_or(0, ReadBack::checksum)
    }
}

impl<F, R> Produces<R::Values> for Program<'_, F, R>
where
    F: Fn(Tensor<2>) -> Result<R, String> + Send,
    R: ReadBack,
{
    fn output(&self) -> Result<R::Values, String> {
        self.read_back.as_ref().ok_or("nothing was computed")?.values()
    }
}

/// Peaks, `[batch, k]`.
pub struct PeaksReadBack {
    bins: TensorData,
    power: TensorData,
}

impl PeaksReadBack {
    /// Waits for the peaks and brings them to host memory.
    ///
    /// # Errors
    /// If they could not be computed.
    pub fn read(bins: Tensor<2, Int>, power: Tensor<2>) -> Result<Self, String> {
        let bins = bins.try_into_data().map_err(|error| error.to_string())?;
        let power = power.try_into_data().map_err(|error| error.to_string())?;
        Ok(Self { bins, power })
    }

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

/// Real values, `[batch, width]`.
pub struct ValuesReadBack(TensorData);

impl ValuesReadBack {
    /// Waits for the values and brings them to host memory.
    ///
    /// # Errors
    /// If they could not be computed.
    pub fn read(values: Tensor<2>) -> Result<Self, String> {
        values.try_into_data().map(Self).map_err(|error| error.to_string())
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
