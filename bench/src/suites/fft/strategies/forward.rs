//! Firefly's transforms.

use burn::tensor::{Device, Tensor};
use firefly_ops::butterfly;

use crate::harness::routine::{Produces, Workload, checksum};
use crate::harness::strategy::Strategy;
use crate::harness::verification::{Refusal, Verified};
use crate::suites::fft::coefficients::Network;
use crate::suites::fft::expected::Expected;
use crate::suites::fft::inputs::Inputs;
use crate::suites::fft::problem::TransformProblem;
use crate::suites::fft::verify::Spectrum;
use crate::suites::fft::verify::check;

/// [`butterfly`] on tensors that are on the device already; what it computes stays there.
pub struct Forward(pub Network);

impl Strategy<TransformProblem> for Forward {
    fn name(&self) -> &'static str {
        match self.0 {
            Network::Exact => "firefly",
            Network::Open => "firefly-open",
            Network::Soft => "firefly-soft",
            Network::Hard => "firefly-hard",
        }
    }

    fn summary(&self) -> &'static str {
        match self.0 {
            Network::Exact => "Firefly's butterfly on the device, exact twiddles, no gates",
            Network::Open => "Firefly's butterfly on the device, learned twiddles, every gate open",
            Network::Soft => "Firefly's butterfly on the device, learned twiddles, gates between closed and open",
            Network::Hard => {
                "Firefly's butterfly on the device, learned twiddles, only the share --open of the gates open"
            }
        }
    }

    fn takes_instruction_sets(&self) -> bool {
        true
    }

    fn instruction_set(&self, _problem: &TransformProblem) -> Option<&'static str> {
        Some(firefly_ops::InstructionSet::current().name())
    }

    fn competes(&self) -> bool {
        self.0 == Network::Exact
    }

    fn verify<'a>(
        &self,
        _problem: &TransformProblem,
        inputs: &'a Inputs,
        expected: &Expected,
    ) -> Result<Verified<'a>, Refusal> {
        let (twiddles, gates) = inputs.networks().tensors(self.0, inputs.device());
        let transform = move |[re, im]: [Tensor<2>; 2]| {
            butterfly(re, im, twiddles.clone(), gates.clone()).map_err(|error| error.to_string())
        };
        check(self.0, Run::new(inputs, transform), inputs, expected)
    }
}

/// A transform by tensor operations.
pub(super) struct Run<'a, F> {
    inputs: &'a [[Tensor<2>; 2]],
    device: &'a Device,
    transform: F,
    output: Option<(Tensor<2>, Tensor<2>)>,
}

impl<'a, F> Run<'a, F>
where
    F: Fn([Tensor<2>; 2]) -> Result<(Tensor<2>, Tensor<2>), String> + Send,
{
    pub fn new(inputs: &'a Inputs, transform: F) -> Self {
        Self { inputs: inputs.tensors(), device: inputs.device(), transform, output: None }
    }
}

impl<F> Workload for Run<'_, F>
where
    F: Fn([Tensor<2>; 2]) -> Result<(Tensor<2>, Tensor<2>), String> + Send,
{
    fn run(&mut self, set: usize) -> Result<(), String> {
        self.output = Some((self.transform)(self.inputs[set].clone())?);
        self.device.sync().map_err(|error| error.to_string())
    }

    fn checksum(&self) -> u64 {
        self.output().map_or(0, |spectrum| {
            checksum(bytemuck::cast_slice(&spectrum.re)).wrapping_mul(3) ^ checksum(bytemuck::cast_slice(&spectrum.im))
        })
    }
}

impl<F> Produces<Spectrum> for Run<'_, F>
where
    F: Fn([Tensor<2>; 2]) -> Result<(Tensor<2>, Tensor<2>), String> + Send,
{
    fn output(&self) -> Result<Spectrum, String> {
        let (re, im) = self.output.clone().ok_or("nothing was computed")?;
        Ok(Spectrum { re: values(re)?, im: values(im)? })
    }
}

/// A tensor's numbers, in host memory.
pub(super) fn values<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>, String> {
    let data = tensor.try_into_data().map_err(|error| error.to_string())?;
    data.try_to_vec::<f32>().map_err(|error| error.to_string())
}
