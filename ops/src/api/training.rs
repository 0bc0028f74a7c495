//! What a training step computes in one launch each: a loss of power against target peaks, and a step of Adam.

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use super::check;
use super::peaks::top_k;
use super::rows::Leading;
use crate::error::{Result, ensure};
use crate::op::inputs;
use crate::options::{AdamOptions, MAX_TOP_K_LENGTH, PeakLossOptions};

/// Target peaks that the power of rows is compared with, of the same rank as the power.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct PeakTargets<const D: usize> {
    /// 1 at the bins of the target peaks and 0 at all others, `[.., bins]`.
    pub peaks: Tensor<D>,
    /// Power of the targets, `[.., bins]`; only its values at the target peaks are used.
    pub power: Tensor<D>,
    /// Unit of relative power, `[.., 1]`, above 0: both powers are divided by it.
    pub reference_power: Tensor<D>,
}

impl<const D: usize> PeakTargets<D> {
    /// Targets of the shapes that the fields state; checked when [`peak_loss`] takes them.
    pub fn new(peaks: Tensor<D>, power: Tensor<D>, reference_power: Tensor<D>) -> Self {
        Self { peaks, power, reference_power }
    }
}

/// Losses of the power of each row against target peaks: of their ranks, and of their power.
///
/// The relative log power of a bin is `l = ln(power / reference_power + offset)`. The boundary is halfway between the
/// relative log powers of the row's own ranks k and k + 1; in a row of k bins it is that of rank k. A row has two
/// losses, each times its weight:
///
/// - ranking: the sum over all bins of `ln(1 + exp(±(boundary − l) / temperature))`, with plus at the target
///   peaks, which should be above the boundary, and minus at all other bins;
/// - power: the sum over the target peaks of `(l − l_target)²`.
///
/// The boundary counts as a constant: it has no gradient.
///
/// - `power`: `[.., bins]`, of any rank from 1, not negative.
/// - returns `[.., 2]`: the ranking loss and the power loss of each row. Differentiable in the power.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::options::PeakLossOptions;
/// use firefly_ops::training::{PeakTargets, peak_loss};
///
/// // The target peak is bin 0, of power 4; the second row ranks bin 1 first.
/// let device = Device::flex().autodiff();
/// let power = Tensor::<2>::from_floats([[4.0, 1.0, 1.0], [1.0, 4.0, 1.0]], &device).require_grad();
/// let peaks = Tensor::from_floats([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], &device);
/// let targets = PeakTargets::new(peaks.clone(), 4.0 * peaks, Tensor::ones([2, 1], &device));
///
/// let losses = peak_loss(power.clone(), targets, &PeakLossOptions::new(1))?;
/// let values: Vec<f32> = losses.clone().into_data().iter().collect();
/// assert!(values[0] < values[2] && values[1] < 1e-6 && values[3] > 1.0, "{values:?}");
/// let gradients = losses.sum().backward();
/// // Less loss with more power at bin 0 of the second row.
/// let gradient: Vec<f32> = power.grad(&gradients).unwrap().into_data().iter().collect();
/// assert!(gradient[3] < 0.0);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`](crate::ArgumentError) for options out of range, rows of more than [`MAX_TOP_K_LENGTH`] bins, or
/// targets of another shape or device.
pub fn peak_loss<const D: usize>(
    power: Tensor<D>,
    targets: PeakTargets<D>,
    options: &PeakLossOptions,
) -> Result<Tensor<D>> {
    const NAME: &str = "peak_loss";
    let (leading, bins) = Leading::of(&power);
    options.validate(NAME, bins)?;
    ensure(bins <= MAX_TOP_K_LENGTH, NAME, "power", bins, format_args!("rows of at most {MAX_TOP_K_LENGTH} bins"))?;
    let dims = power.dims();
    let mut inputs = check::InputCheck::of(NAME, "power", &power)?;
    let row_dims = std::array::from_fn(|dim| if dim + 1 == D { 1 } else { dims[dim] });
    let peaks = inputs.next("targets.peaks", targets.peaks, dims)?;
    let target_power = inputs.next("targets.power", targets.power, dims)?;
    let reference_power = inputs.next("targets.reference_power", targets.reference_power, row_dims)?;

    // Ranks k and k + 1, whose powers make the boundary. What is detached from a leaf is a leaf again.
    let ranked = (options.k + 1).min(bins);
    let constant = power.clone().detach().set_require_grad(false);
    let strongest = top_k(constant, ranked)?.power.narrow(D - 1, options.k - 1, ranked - options.k + 1);
    let inputs = inputs::PeakLoss {
        power: leading.flatten(inputs.first(power)),
        strongest: leading.flatten(strongest),
        reference_power: leading.flatten(reference_power),
        peaks: leading.flatten(peaks),
        target_power: leading.flatten(target_power),
    };
    let [losses] = inputs.apply::<Dispatch>(*options);
    Ok(leading.unflatten(losses, 2))
}

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
/// use firefly_ops::options::AdamOptions;
/// use firefly_ops::training::{AdamState, adam_step};
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
/// [`ArgumentError`](crate::ArgumentError) for options out of range, tensors of another shape or device, and tensors on
/// a device with autodiff.
pub fn adam_step<const D: usize>(
    state: AdamState<D>,
    gradient: Tensor<D>,
    options: &AdamOptions,
) -> Result<AdamState<D>> {
    const NAME: &str = "adam_step";
    options.validate(NAME)?;
    let (shape, dtype) = (state.parameter.dims(), state.parameter.dtype());
    let mut inputs = check::InputCheck::of(NAME, "parameter", &state.parameter)?;
    let moment_1 = inputs.next("moment_1", state.moment_1, shape)?;
    let moment_2 = inputs.next("moment_2", state.moment_2, shape)?;
    let gradient = inputs.next("gradient", gradient, shape)?;
    inputs.untracked("state")?;
    let inputs = inputs::AdamStep {
        parameter: inputs.first(state.parameter).into_dispatch(),
        moment_1: moment_1.into_dispatch(),
        moment_2: moment_2.into_dispatch(),
        gradient: gradient.into_dispatch(),
    };
    let [parameter, moment_1, moment_2] = inputs.apply::<Dispatch>(*options);
    let [moment_1, moment_2] = [moment_1, moment_2].map(Tensor::from_dispatch);
    Ok(AdamState { parameter: Tensor::<D>::from_dispatch(parameter).cast(dtype), moment_1, moment_2 })
}
