//! Transforms of tensors on the device; the results stay there.

use burn::tensor::{Device, Tensor};

use crate::harness::routine::{Routine, RoutineError, RoutineOutput, checksum};
use crate::suites::fft::inputs::FftInputs;
use crate::suites::fft::problem::FftProblem;

/// Parts of a set: one tensor of real values, two of complex ones.
pub type Parts<const D: usize> = Vec<Tensor<D>>;

/// Calls of a function of tensors, one synchronisation after them.
pub struct TensorRoutine<'a, const D: usize, F> {
    sets: Vec<Parts<D>>,
    device: &'a Device,
    call: F,
    calls: usize,
    output: Parts<D>,
}

impl<'a, const D: usize, F> TensorRoutine<'a, D, F>
where
    F: Fn(Parts<D>) -> Result<Parts<D>, RoutineError> + Send,
{
    /// `calls` calls per run on input sets of the problem's shape, `[batch, …]`.
    pub fn new(problem: &FftProblem, inputs: &'a FftInputs, calls: usize, call: F) -> Self {
        let shape: [usize; D] = std::array::from_fn(|dim| problem.input_dims()[dim]);
        let shaped = |tensor: &Tensor<2>| tensor.clone().reshape(shape);
        let sets = inputs.tensors().iter().map(|parts| parts.iter().map(shaped).collect()).collect();
        Self { sets, device: inputs.device(), call, calls, output: Vec::new() }
    }
}

impl<const D: usize, F> Routine for TensorRoutine<'_, D, F>
where
    F: Fn(Parts<D>) -> Result<Parts<D>, RoutineError> + Send,
{
    fn run(&mut self, set: usize) -> Result<(), RoutineError> {
        for _ in 0..self.calls {
            self.output = (self.call)(self.sets[set].clone())?;
        }
        self.device.sync().map_err(RoutineError::burn)
    }

    fn calls(&self) -> usize {
        self.calls
    }

    fn checksum(&self) -> u64 {
        let parts = self.output().unwrap_or_default();
        parts.iter().fold(0, |sum, part| sum.wrapping_mul(3) ^ checksum(bytemuck::cast_slice(part)))
    }

    fn release(&mut self) {
        self.output.clear();
    }
}

impl<const D: usize, F> RoutineOutput<Vec<Vec<f32>>> for TensorRoutine<'_, D, F>
where
    F: Fn(Parts<D>) -> Result<Parts<D>, RoutineError> + Send,
{
    fn output(&self) -> Result<Vec<Vec<f32>>, RoutineError> {
        if self.output.is_empty() {
            return Err(RoutineError::NotRun);
        }
        let values = |tensor: &Tensor<D>| {
            let data = tensor.clone().try_into_data().map_err(RoutineError::burn)?;
            data.try_to_vec::<f32>().map_err(RoutineError::burn)
        };
        self.output.iter().map(values).collect()
    }
}
