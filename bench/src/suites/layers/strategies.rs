//! Strategies of the suite of layers.

use firefly_app::device::DeviceName;
use firefly_ops::InstructionSet;
use thiserror::Error;

use super::expected::ExpectedOutputs;
use super::inputs::LayerInputs;
use super::layer::Layer;
use super::log_mel::LogMelLayer;
use super::long_conv::LongConvLayer;
use super::power::{PowerSpectrumLayer, WelchPsdLayer};
use super::problem::LayerProblem;
use super::routine::{LayerFormulation, Pass, routine};
use super::spectral_conv::SpectralConvLayer;
use super::top_k::TopKLayer;
use crate::baselines::copy;
use crate::harness::calls::{BY_DEVICE_CLOCK, Calls, QUEUED};
use crate::harness::routine::RoutineError;
use crate::harness::strategy::BenchStrategy;
use crate::harness::verification::{CaseError, Verification, Verified, relative_error, run_and_check, tolerance};

/// Results are sums of transforms, and gradients sums over the batch: they may be off by this many times the tolerance
/// of a transform, relative to the largest value of their tensor.
const TOLERANCES: f64 = 8.0;

/// Error allowed of separate operations on an accelerator: matrix products of Burn may round their factors to TF32,
/// which has ten bits of fraction.
const TF32_TOLERANCE: f64 = 1e-3;

/// Every strategy, in the order of the table's rows.
pub fn catalogue() -> Vec<BenchStrategy<LayerProblem>> {
    use LayerFormulation::{Fused, Separate};
    use Pass::{Backward, Forward};
    vec![
        strategy("firefly", "one operation on the device", Fused, Forward, Calls::One),
        strategy("firefly-queued", QUEUED, Fused, Forward, Calls::InFlight).in_flight(),
        strategy("firefly-kernels", BY_DEVICE_CLOCK, Fused, Forward, Calls::ByDeviceClock).in_flight(),
        strategy("separate", "the same from Firefly's transforms and Burn's operations", Separate, Forward, Calls::One),
        strategy(
            "firefly-backward",
            "as firefly, then the gradients in all inputs of a weighted sum",
            Fused,
            Backward,
            Calls::One,
        )
        .without_competing(),
        strategy("backward-queued", QUEUED, Fused, Backward, Calls::InFlight).in_flight(),
        strategy("backward-kernels", BY_DEVICE_CLOCK, Fused, Backward, Calls::ByDeviceClock).in_flight(),
        strategy("separate-backward", "the same gradients of separate operations", Separate, Backward, Calls::One)
            .without_competing(),
        copy::strategy(),
    ]
}

fn strategy(
    name: &'static str,
    summary: &'static str,
    formulation: LayerFormulation,
    pass: Pass,
    calls: Calls,
) -> BenchStrategy<LayerProblem> {
    BenchStrategy::new(name, summary, move |problem: &LayerProblem, inputs, expected| {
        let plan = StrategyPlan { formulation, pass, calls, points: problem.points() };
        match problem {
            LayerProblem::SpectralConv(_, shape) => match shape.shape.dims().len() {
                1 => plan.verified(SpectralConvLayer::<3>(shape.clone()), inputs, expected),
                2 => plan.verified(SpectralConvLayer::<4>(shape.clone()), inputs, expected),
                _ => plan.verified(SpectralConvLayer::<5>(shape.clone()), inputs, expected),
            },
            LayerProblem::LongConv(..) => plan.verified(LongConvLayer, inputs, expected),
            LayerProblem::LogMel(_, shape) => plan.verified(LogMelLayer(*shape), inputs, expected),
            LayerProblem::PowerSpectrum(..) => plan.verified(PowerSpectrumLayer, inputs, expected),
            LayerProblem::WelchPsd(_, shape) => plan.verified(WelchPsdLayer(*shape), inputs, expected),
            LayerProblem::TopK(_, shape) => plan.verified(TopKLayer { k: shape.k }, inputs, expected),
        }
    })
    .with_forced_sets(|_| Some(InstructionSet::current().name()))
}

/// Plan of a strategy: its formulation, what it computes, and its calls.
struct StrategyPlan {
    formulation: LayerFormulation,
    pass: Pass,
    calls: Calls,
    /// Points of the layer's transforms.
    points: usize,
}

impl StrategyPlan {
    /// The routine, its whole output compared: results of every set, gradients of the first.
    fn verified<'a, L: Layer>(
        &self,
        layer: L,
        inputs: &'a LayerInputs,
        expected: &ExpectedOutputs,
    ) -> Result<Verified<'a>, CaseError> {
        let weights = (self.pass == Pass::Backward).then(|| expected.weights());
        let mut routine = routine(layer.clone(), self.formulation, inputs, weights, self.calls)?;
        let is_on_host = DeviceName::of(inputs.device()).kind().is_host();
        let allowed = match self.formulation {
            LayerFormulation::Separate if !is_on_host => TF32_TOLERANCE,
            _ => TOLERANCES * tolerance(self.points),
        };
        let mut found = Verification { rows: 0, tolerance: allowed, error: 0.0, ranking: None };
        let checksums = run_and_check(&mut routine, inputs.count(), |set, output: &Vec<Vec<f32>>| {
            if self.pass == Pass::Backward && set > 0 {
                return Ok(());
            }
            let expected = expected.values(&layer, self.pass, inputs, set).map_err(OutputMismatch::Reference)?;
            for (tensor, (output, expected)) in output.iter().zip(expected).enumerate() {
                let error = relative_error(output, expected);
                if error.is_nan() || error > allowed {
                    return Err(OutputMismatch::Value { set, tensor, error, allowed });
                }
                found.error = found.error.max(error);
            }
            found.rows += output.len();
            Ok(())
        })?;
        Ok(Verified::exact(Box::new(routine), checksums, found))
    }
}

/// Difference between a computed and an expected output.
#[derive(Debug, Error)]
enum OutputMismatch {
    /// The reference could not be computed.
    #[error("the reference: {0}")]
    Reference(RoutineError),
    /// A value is out of tolerance.
    #[error("set {set}, tensor {tensor}: off by {error:.1e} of its maximum, {allowed:.1e} is allowed")]
    Value { set: usize, tensor: usize, error: f64, allowed: f64 },
}
