//! Suite of layers: each as one of Firefly's fused operations and from separate operations, forward and backward.

mod definition;
mod formulations;
mod problem;

use burn::tensor::{Device, FloatDType};
use firefly_app::device::DeviceName;

use self::formulations::Formulation;
pub use self::problem::{LayerKind, LayerProblem, MAX_MELS};
use crate::baselines::copy;
use crate::harness::{
    BY_DEVICE_CLOCK, BenchStrategy, Calls, CaseError, Expectation, Inputs, QUEUED, References, RoutineError, gradients,
    read_wide, tolerance, whole_tensors, with_values,
};
use crate::suites::operation::{Function, Operation, Pass, TensorKind, calls};

/// Results are sums of transforms, and gradients sums over the batch: they may be off by this many times the tolerance
/// of a transform, relative to the largest value of their tensor.
const TOLERANCES: f64 = 8.0;

/// Error allowed of separate operations on an accelerator: matrix products of Burn may round their factors to TF32,
/// which has ten bits of fraction.
const TF32_TOLERANCE: f64 = 1e-3;

/// Memory of separate operations and of their reference in float64, in input sets with their results.
const SEPARATE: usize = 48;

/// Every strategy, in the order of the table's rows.
pub fn catalogue() -> Vec<BenchStrategy<LayerProblem>> {
    use Formulation::{Fused, Separate};
    use Pass::{Backward, Forward};
    let separate = "the same from Firefly's transforms and Burn's operations";
    let backward = "as firefly, then the gradients in all inputs of a weighted sum";
    let separate_backward = "the same gradients of separate operations";
    let of = |name, summary, form, pass, kind| calls(name, summary, form, pass, kind).with_temporaries(SEPARATE);
    vec![
        of("firefly", "one operation on the device", Fused, Forward, Calls::One),
        of("firefly-queued", QUEUED, Fused, Forward, Calls::InFlight),
        of("firefly-kernels", BY_DEVICE_CLOCK, Fused, Forward, Calls::ByDeviceClock),
        of("separate", separate, Separate, Forward, Calls::One),
        of("firefly-backward", backward, Fused, Backward, Calls::One),
        of("backward-queued", QUEUED, Fused, Backward, Calls::InFlight),
        of("backward-kernels", BY_DEVICE_CLOCK, Fused, Backward, Calls::ByDeviceClock),
        of("separate-backward", separate_backward, Separate, Backward, Calls::One),
        copy::strategy(),
    ]
}

impl Operation for LayerProblem {
    type Form = Formulation;

    fn function(&self, form: Formulation, kind: &TensorKind) -> Function {
        match self.kind {
            LayerKind::SpectralConv => match self.shape.dims().len() {
                1 => self.spectral_conv::<3>(form),
                2 => self.spectral_conv::<4>(form),
                _ => self.spectral_conv::<5>(form),
            },
            LayerKind::LongConv => self.long_conv(form),
            LayerKind::LogMel => self.log_mel(form, kind),
            LayerKind::PowerSpectrum => self.power_spectrum(form, kind),
            LayerKind::WelchPsd => self.welch_psd(form, kind),
            LayerKind::TopK => self.top_k(form),
        }
    }

    fn expected(&self, form: Formulation, inputs: &Inputs, references: &References) -> Result<Expectation, CaseError> {
        let function = self.separate(false);
        let whole = || {
            let of_set = |set| match self.defined(inputs, set) {
                Some(values) => Ok(whole_tensors(set, vec![values])),
                None => Ok(whole_tensors(set, read_wide(function(inputs.wide_operands(set))?)?)),
            };
            let sets = (0..inputs.count()).map(of_set).collect::<Result<Vec<_>, RoutineError>>()?;
            Ok::<_, RoutineError>(sets.into_iter().flatten().collect())
        };
        Ok(Expectation::of_tensors(references.whole("result", whole)?, self.batch, self.allowed(form, inputs)))
    }

    fn expected_gradients(
        &self,
        form: Formulation,
        weights: &[Vec<f32>],
        inputs: &Inputs,
        references: &References,
    ) -> Result<Expectation, CaseError> {
        let whole = || {
            let operands = inputs.wide_operands(0);
            let results = self.separate(false)(operands.clone())?;
            self.check_separate(&read_wide(results.clone())?.concat(), inputs)?;
            let weights = results.iter().zip(weights).map(|(result, weights)| with_values(result, weights));
            let weights = weights.collect::<Result<Vec<_>, _>>()?;
            let gradients = gradients(operands, &weights, self.separate(true))?;
            Ok::<_, RoutineError>(whole_tensors(0, read_wide(gradients)?).collect())
        };
        Ok(Expectation::of_tensors(references.whole("gradients", whole)?, self.batch, self.allowed(form, inputs)))
    }
}

impl LayerProblem {
    /// The layer from separate operations on the host in float64, which are checked against its definition: they have
    /// gradients, and take less time than long sums.
    fn separate(&self, is_tracked: bool) -> Function {
        self.function(Formulation::Separate, &TensorKind { device: Device::flex(), dtype: FloatDType::F64, is_tracked })
    }

    fn allowed(&self, form: Formulation, inputs: &Inputs) -> f64 {
        let is_on_host = DeviceName::of(inputs.device()).kind().is_host();
        if form == Formulation::Separate && !is_on_host {
            TF32_TOLERANCE
        } else {
            TOLERANCES * tolerance(self.points())
        }
    }
}
