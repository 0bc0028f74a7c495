//! A step of Adam.

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use super::check;
use crate::error::ArgumentError;
use crate::ops::{AdamTensors, SpectralOps};
use crate::options::AdamOptions;

/// A parameter and the moments of its gradients, all of one shape.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct AdamState<const D: usize> {
    /// The parameter.
    pub parameter: Tensor<D>,
    /// Decaying mean of the gradients.
    pub moment_1: Tensor<D>,
    /// Decaying mean of their squares.
    pub moment_2: Tensor<D>,
}

impl<const D: usize> AdamState<D> {
    /// A parameter with these moments.
    pub fn new(parameter: Tensor<D>, moment_1: Tensor<D>, moment_2: Tensor<D>) -> Self {
        Self { parameter, moment_1, moment_2 }
    }

    /// A parameter before its first step: its moments are zero.
    pub fn zeros(parameter: Tensor<D>) -> Self {
        let zeros = parameter.zeros_like();
        Self::new(parameter, zeros.clone(), zeros)
    }
}

/// A step of Adam (Kingma and Ba, 2015), or of AdamW with decoupled weight decay (Loshchilov and Hutter, 2019): the
/// parameter and its moments after a gradient, in one pass over memory. Tensors that nothing else holds are updated
/// where they are.
///
/// - `state`: tensors of any rank on a device without autodiff (the `inner` ones of a model in training).
/// - `gradient`: of the same shape.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::{AdamOptions, AdamState, adam_step};
///
/// // Towards the minimum of x² from 1: the first step is as long as the learning rate.
/// let mut state = AdamState::zeros(Tensor::<1>::ones([1], &Device::flex()));
/// state = adam_step(state.clone(), 2.0 * state.parameter, &AdamOptions::new(0.1, 1))?;
/// assert!((state.parameter.clone().into_scalar::<f32>() - 0.9).abs() < 1e-6);
/// state = adam_step(state.clone(), 2.0 * state.parameter, &AdamOptions::new(0.1, 2))?;
/// assert!(state.parameter.into_scalar::<f32>() < 0.9);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`] for options out of range, tensors of another shape or device, and tensors on a device with
/// autodiff.
pub fn adam_step<const D: usize>(
    state: AdamState<D>,
    gradient: Tensor<D>,
    options: &AdamOptions,
) -> Result<AdamState<D>, ArgumentError> {
    const NAME: &str = "adam_step";
    options.validate(NAME)?;
    let (shape, dtype) = (state.parameter.dims(), state.parameter.dtype());
    let mut inputs = check::InputCheck::of(NAME, "parameter", &state.parameter)?;
    let moment_1 = inputs.next("moment_1", state.moment_1, shape)?;
    let moment_2 = inputs.next("moment_2", state.moment_2, shape)?;
    let gradient = inputs.next("gradient", gradient, shape)?;
    inputs.untracked("state")?;
    let tensors = AdamTensors {
        parameter: inputs.first(state.parameter).into_dispatch(),
        moment_1: moment_1.into_dispatch(),
        moment_2: moment_2.into_dispatch(),
    };
    let AdamTensors { parameter, moment_1, moment_2 } =
        Dispatch::adam_step(tensors, gradient.into_dispatch(), *options);
    let [moment_1, moment_2] = [moment_1, moment_2].map(Tensor::from_dispatch);
    Ok(AdamState { parameter: Tensor::<D>::from_dispatch(parameter).cast(dtype), moment_1, moment_2 })
}
