//! Transforms of rows on the device; the result stays there.

use burn::signal::cfft;
use burn::tensor::{Device, Tensor};
use firefly_ops::{InstructionSet, butterfly};

use crate::harness::routine::{Routine, RoutineError, RoutineOutput, checksum};
use crate::harness::strategy::BenchStrategy;
use crate::suites::butterfly::coefficients::Coefficients;
use crate::suites::butterfly::inputs::ButterflyInputs;
use crate::suites::butterfly::problem::ButterflyProblem;
use crate::suites::butterfly::verify::{Spectrum, check};

/// [`butterfly`] with the given twiddles and gates.
pub fn forward(coefficients: Coefficients) -> BenchStrategy<ButterflyProblem> {
    let (name, summary) = match coefficients {
        Coefficients::Exact => ("firefly", "Firefly's butterfly on the device, exact twiddles, no gates"),
        Coefficients::Open => ("firefly-open", "Firefly's butterfly on the device, learned twiddles, every gate open"),
        Coefficients::Soft => {
            ("firefly-soft", "Firefly's butterfly on the device, learned twiddles, gates between closed and open")
        }
        Coefficients::Hard => (
            "firefly-hard",
            "Firefly's butterfly on the device, learned twiddles, only the share --open of the gates open",
        ),
    };
    let strategy = BenchStrategy::new(name, summary, move |_, inputs: &ButterflyInputs, expected| {
        let (twiddles, gates) = inputs.coefficients().tensors(coefficients, inputs.device());
        let transform = move |[re, im]: [Tensor<2>; 2]| Ok(butterfly(re, im, twiddles.clone(), gates.clone())?);
        check(coefficients, TransformRoutine::new(inputs, transform), inputs, expected)
    })
    .with_forced_sets(|_| Some(InstructionSet::current().name()));
    if coefficients == Coefficients::Exact { strategy } else { strategy.without_competing() }
}

/// Burn's own `cfft`.
pub fn burn_stock() -> BenchStrategy<ButterflyProblem> {
    BenchStrategy::new("burn-stock", "Burn's own cfft on the device", |_, inputs, expected| {
        let routine = TransformRoutine::new(inputs, |[re, im]| Ok(cfft(re, im, 1, None)));
        check(Coefficients::Exact, routine, inputs, expected)
    })
}

/// Transform by tensor operations.
struct TransformRoutine<'a, F> {
    inputs: &'a [[Tensor<2>; 2]],
    device: &'a Device,
    transform: F,
    output: Option<(Tensor<2>, Tensor<2>)>,
}

impl<'a, F> TransformRoutine<'a, F>
where
    F: Fn([Tensor<2>; 2]) -> Result<(Tensor<2>, Tensor<2>), RoutineError> + Send,
{
    fn new(inputs: &'a ButterflyInputs, transform: F) -> Self {
        Self { inputs: inputs.tensors(), device: inputs.device(), transform, output: None }
    }
}

impl<F> Routine for TransformRoutine<'_, F>
where
    F: Fn([Tensor<2>; 2]) -> Result<(Tensor<2>, Tensor<2>), RoutineError> + Send,
{
    fn run(&mut self, set: usize) -> Result<(), RoutineError> {
        self.output = Some((self.transform)(self.inputs[set].clone())?);
        self.device.sync().map_err(RoutineError::burn)
    }

    fn checksum(&self) -> u64 {
        self.output().map_or(0, |spectrum| {
            checksum(bytemuck::cast_slice(&spectrum.re)).wrapping_mul(3) ^ checksum(bytemuck::cast_slice(&spectrum.im))
        })
    }

    fn release(&mut self) {
        self.output = None;
    }
}

impl<F> RoutineOutput<Spectrum> for TransformRoutine<'_, F>
where
    F: Fn([Tensor<2>; 2]) -> Result<(Tensor<2>, Tensor<2>), RoutineError> + Send,
{
    fn output(&self) -> Result<Spectrum, RoutineError> {
        let (re, im) = self.output.clone().ok_or(RoutineError::NotRun)?;
        Ok(Spectrum { re: values(re)?, im: values(im)? })
    }
}

/// A tensor's values in host memory.
pub(super) fn values<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>, RoutineError> {
    let data = tensor.try_into_data().map_err(RoutineError::burn)?;
    data.try_to_vec::<f32>().map_err(RoutineError::burn)
}
