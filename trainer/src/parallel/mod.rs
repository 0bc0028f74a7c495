//! Several devices of one machine: replicas of a model that train on shares of each batch.
//!
//! Model, optimizer and data are on every device. A step computes the gradients of one share of the batch per device,
//! sums them over all devices, and makes the same update on each. Validation and checkpoints use the first device
//! alone, so that checkpoints do not depend on the number of devices. The gradients of a module are summed as one vector,
//! so that one reduction takes them all.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
#[cfg(feature = "cuda")]
use burn::tensor::distributed::{ReduceOperation, all_reduce};
use burn::tensor::{Device, Tensor, TensorData};
#[cfg(feature = "cuda")]
use burn_cubecl::{Cube, CubeBackend};
#[cfg(feature = "cuda")]
use firefly_app::device::{DeviceKind, DeviceName};
use firefly_app::guard::guarded;
#[cfg(feature = "cuda")]
use firefly_app::guard::root_cause;
use firefly_app::remote::explained_failure;

use crate::metrics::StepLoss;
use crate::step::{StepError, StepGradients, Stepper};
use crate::task::Task;

/// Devices of a fit. The first computes on the calling thread, each further one on its own thread.
///
/// No device waits for another that has failed: gradients are summed only once every device has reported its own.
pub struct Replicas<'s, 'a, T: Task> {
    first: &'s mut Stepper<'a, T>,
    others: Vec<Worker>,
    /// Sum over devices; none of a single device, whose gradients are the sum.
    sum: Option<GradientSum>,
    is_intact: bool,
}

/// Channels to the thread of a further device, as the calling thread holds them.
struct Worker {
    steps: Sender<usize>,
    parts: Receiver<Result<ShareGradients, StepError>>,
    totals: Sender<Arc<Vec<f32>>>,
}

/// Loss and gradients of a device's share, as the calling thread needs them.
struct ShareGradients {
    loss: StepLoss,
    values: Vec<f32>,
}

impl<'s, 'a, T: Task> Replicas<'s, 'a, T> {
    /// Starts the threads of all devices but the first; they end when this is dropped.
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        first: &'s mut Stepper<'a, T>,
        others: impl IntoIterator<Item = &'scope mut Stepper<'a, T>>,
    ) -> Self
    where
        'a: 'scope,
    {
        let others: Vec<&'scope mut Stepper<'a, T>> = others.into_iter().collect();
        let devices = std::iter::once(first.device()).chain(others.iter().map(|stepper| stepper.device()));
        let devices: Vec<Device> = devices.cloned().collect();
        let sum = (devices.len() > 1).then(|| GradientSum::of(&devices));
        let start = |stepper: &'scope mut Stepper<'a, T>| {
            let ((steps, of_steps), (of_parts, parts), (totals, of_totals)) = (channel(), channel(), channel());
            let sum = sum.clone();
            scope.spawn(move || {
                if let Err(error) = serve(stepper, sum.as_ref(), &of_steps, &of_parts, &of_totals) {
                    let _ = of_parts.send(Err(error));
                }
            });
            Worker { steps, parts, totals }
        };
        Self { first, others: others.into_iter().map(start).collect(), sum, is_intact: true }
    }

    /// The first device.
    pub fn first(&self) -> &Stepper<'a, T> {
        self.first
    }

    /// Whether the first device is between two steps. It is not if it failed within an update.
    pub fn is_intact(&self) -> bool {
        self.is_intact
    }

    /// Takes the step that follows `step` steps. Returns the loss of each device's share, whose sum is that of the
    /// batch, and the base learning rate. An error if a batch does not fit the model, or a device fails.
    pub fn step(&mut self, step: usize) -> Result<(Vec<StepLoss>, f64), StepError> {
        for worker in &self.others {
            // A thread that has ended has left its error in the other channel.
            let _ = worker.steps.send(step);
        }
        let own = share(self.first, self.sum.as_ref(), step);
        let parts: Vec<_> = self.others.iter().map(Worker::part).collect();
        let (gradients, vector, part) = own?;
        let parts = std::iter::once(Ok(part)).chain(parts).collect::<Result<Vec<ShareGradients>, _>>()?;

        let values = parts.iter().map(|part| part.values.as_slice());
        let total = Arc::new(self.sum.as_ref().map_or_else(Vec::new, |sum| sum.total(values)));
        for worker in &self.others {
            let _ = worker.totals.send(total.clone());
        }
        let losses = parts.into_iter().map(|part| part.loss).collect();
        self.is_intact = false;
        let sum = self.sum.as_ref();
        let rate = on_device(self.first, |first| Ok(first.update(step, summed(sum, gradients, vector, &total))))?;
        self.is_intact = true;
        Ok((losses, rate))
    }
}

impl Worker {
    /// Losses and gradients of the device's share of the current step.
    fn part(&self) -> Result<ShareGradients, StepError> {
        let lost = || StepError::Device { device: "a further device".into(), cause: "its thread has ended".into() };
        self.parts.recv().unwrap_or_else(|_| Err(lost()))
    }
}

/// The steps of a further device, until the fit or the device ends.
fn serve<T: Task>(
    stepper: &mut Stepper<'_, T>,
    sum: Option<&GradientSum>,
    steps: &Receiver<usize>,
    parts: &Sender<Result<ShareGradients, StepError>>,
    totals: &Receiver<Arc<Vec<f32>>>,
) -> Result<(), StepError> {
    while let Ok(step) = steps.recv() {
        let (gradients, vector, part) = share(stepper, sum, step)?;
        let _ = parts.send(Ok(part));
        // Another device has failed, or the fit has ended.
        let Ok(total) = totals.recv() else { break };
        on_device(stepper, |stepper| Ok(stepper.update(step, summed(sum, gradients, vector, &total))))?;
    }
    Ok(())
}

/// Gradients of a device's share of the batch; the same as one vector if they are summed over devices; and the loss and
/// values that the calling thread gets.
fn share<T: Task>(
    stepper: &mut Stepper<'_, T>,
    sum: Option<&GradientSum>,
    step: usize,
) -> Result<(StepGradients<T>, Option<Tensor<1>>, ShareGradients), StepError> {
    on_device(stepper, |stepper| {
        let gradients = stepper.gradients(step)?;
        let vector = sum.and_then(|_| joined(&gradients.model, &gradients.gradients));
        let values = sum.zip(vector.as_ref()).map_or(Ok(Vec::new()), |(sum, vector)| sum.part(vector));
        let values = values.map_err(|cause| StepError::Device { device: stepper.name(), cause })?;
        let part = ShareGradients { loss: gradients.loss.clone(), values };
        Ok((gradients, vector, part))
    })
}

/// The gradients of a share replaced by their sum over all devices; as they are without a vector.
fn summed<T: Task>(
    sum: Option<&GradientSum>,
    mut step: StepGradients<T>,
    vector: Option<Tensor<1>>,
    total: &[f32],
) -> StepGradients<T> {
    if let Some((sum, vector)) = sum.zip(vector) {
        step.gradients = split(&step.model, step.gradients, sum.on_device(vector, total));
    }
    step
}

/// `work` on a device whose failure is an error.
fn on_device<T: Task, R>(
    stepper: &mut Stepper<'_, T>,
    work: impl FnOnce(&mut Stepper<'_, T>) -> Result<R, StepError>,
) -> Result<R, StepError> {
    let (name, device) = (stepper.name(), stepper.device().clone());
    guarded(|| work(stepper))
        .unwrap_or_else(|cause| Err(StepError::Device { device: name, cause: explained_failure(&device, cause) }))
}

/// Way in which vectors are summed over devices.
#[derive(Debug, Clone)]
enum GradientSum {
    /// Each device reads its vector back, and the host adds them in the order of the devices.
    Host,
    /// Burn's `all_reduce` between these devices. Of Burn's backends CUDA has it, by NCCL; on the others it panics.
    #[cfg(feature = "cuda")]
    Collective(Vec<Device>),
}

impl GradientSum {
    /// The way for these devices, several and all of one kind.
    pub fn of(devices: &[Device]) -> Self {
        match devices {
            #[cfg(feature = "cuda")]
            _ if devices.iter().all(|device| DeviceName::of(device).kind() == DeviceKind::Cuda) => {
                Self::Collective(devices.iter().map(|device| device.clone().inner()).collect())
            }
            _ => Self::Host,
        }
    }

    /// The part of the sum that one device contributes on the host: its vector `[values]`, or nothing if devices sum.
    /// An error, the reason, if a device has not computed its vector, before the others wait for it in a collective,
    /// which would have no end; on the host, reading the vector panics instead.
    pub fn part(&self, vector: &Tensor<1>) -> Result<Vec<f32>, String> {
        match self {
            Self::Host => Ok(vector.clone().into_data().iter().collect()),
            #[cfg(feature = "cuda")]
            Self::Collective(_) => check_launches(vector).map(|()| Vec::new()),
        }
    }

    /// The sum of every device's part, of equal lengths, on the host.
    pub fn total<'a>(&self, parts: impl IntoIterator<Item = &'a [f32]>) -> Vec<f32> {
        let mut parts = parts.into_iter();
        let mut total = parts.next().unwrap_or_default().to_vec();
        for part in parts {
            total.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
        }
        total
    }

    /// The sum as a vector on the device of `own`, that device's vector; `total` is that of [`total`](Self::total).
    /// With a collective, every device has to call it.
    pub fn on_device(&self, own: Tensor<1>, total: &[f32]) -> Tensor<1> {
        match self {
            Self::Host => Tensor::from_data(TensorData::new(total.to_vec(), [total.len()]), &own.device()),
            #[cfg(feature = "cuda")]
            Self::Collective(devices) => all_reduce(own, ReduceOperation::Sum, devices.clone()).resolve(),
        }
    }
}

/// Checks that every operation that a vector depends on was launched. Waits for the launches, not for the GPU.
///
/// A launch that fails, as for want of memory, leaves its outputs unwritten, and so do those that take these outputs as
/// inputs; CubeCL says so to whoever asks for the last of them. The error is the message of the launch that failed.
#[cfg(feature = "cuda")]
fn check_launches(vector: &Tensor<1>) -> Result<(), String> {
    let fused = vector.clone().try_into_primitive::<Cube>().map_err(|error| format!("{error:?}"))?;
    let client = fused.client.clone();
    let tensor = client.resolve_tensor_float::<CubeBackend>(fused);
    tensor.client.check([&tensor.handle]).map_err(|error| root_cause(&error.to_string()).to_string())
}

/// Gradients of a module, concatenated in the order of its parameters, `[values]`; `None` if it has none.
fn joined<M: Module>(model: &M, gradients: &GradientsParams) -> Option<Tensor<1>> {
    let mut join = Join { gradients, parts: Vec::new() };
    model.visit(&mut join);
    (!join.parts.is_empty()).then(|| Tensor::cat(join.parts, 0))
}

/// Gradients with values from a vector in the layout of [`joined`].
fn split<M: Module>(model: &M, gradients: GradientsParams, vector: Tensor<1>) -> GradientsParams {
    let mut split = Split { gradients, vector, next: 0 };
    model.visit(&mut split);
    split.gradients
}

struct Join<'a> {
    gradients: &'a GradientsParams,
    parts: Vec<Tensor<1>>,
}

impl ModuleVisitor for Join<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.get::<D>(param.id) {
            let values = gradient.shape().num_elements();
            self.parts.push(gradient.reshape([values]));
        }
    }
}

struct Split {
    gradients: GradientsParams,
    vector: Tensor<1>,
    next: usize,
}

impl ModuleVisitor for Split {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.remove::<D>(param.id) {
            let values = gradient.shape().num_elements();
            let part = self.vector.clone().narrow(0, self.next, values);
            self.next += values;
            self.gradients.register::<D>(param.id, part.reshape(gradient.dims()));
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::nn::{Linear, LinearConfig};

    use super::*;

    #[test]
    fn vectors_are_summed_in_the_order_of_the_devices() {
        let sum = GradientSum::of(&[Device::flex(), Device::flex().autodiff()]);
        assert!(matches!(sum, GradientSum::Host));
        let vectors = [[1.0f32, 2.0], [10.0, -2.0]].map(|values| Tensor::<1>::from_floats(values, &Device::flex()));
        let parts = vectors.each_ref().map(|vector| sum.part(vector).unwrap());
        let total = sum.total(parts.iter().map(Vec::as_slice));
        let [own, _] = vectors;
        assert_eq!(sum.on_device(own, &total).into_data().try_to_vec::<f32>().unwrap(), [11.0, 0.0]);
    }

    #[test]
    fn a_vector_holds_every_gradient_and_gives_it_back() {
        let device = Device::flex().autodiff();
        let layer: Linear = LinearConfig::new(3, 2).init(&device);
        let input = Tensor::<2>::from_floats([[3.0, 0.5, 4.0]], &device);
        let gradients = GradientsParams::from_grads(layer.forward(input).sum().backward(), &layer);
        let vector = joined(&layer, &gradients).unwrap();
        let values: Vec<f32> = vector.clone().into_data().try_to_vec().unwrap();
        assert_eq!(values, [3.0, 3.0, 0.5, 0.5, 4.0, 4.0, 1.0, 1.0]);
        let gradients = split(&layer, gradients, vector * 2.0);
        let weight = gradients.get::<2>(layer.weight.id).unwrap();
        assert_eq!(weight.dims(), [3, 2]);
        assert_eq!(weight.into_data().try_to_vec::<f32>().unwrap(), [6.0, 6.0, 1.0, 1.0, 8.0, 8.0]);
        assert!(joined(&layer, &GradientsParams::new()).is_none());
    }

    #[cfg(feature = "cuda")]
    #[test]
    #[ignore = "needs a CUDA device"]
    fn a_vector_of_values_that_do_not_fit_into_memory_was_not_launched() {
        let device = Device::cuda(0);
        let small = Tensor::<1>::ones([4], &device);
        let large = Tensor::<1>::ones([1_usize << 38], &device);
        let joined = Tensor::cat(vec![large.slice([3..5]), small.clone()], 0);
        let error = check_launches(&(joined * 2.0)).unwrap_err();
        assert!(error.contains(&(4_u64 << 38).to_string()), "{error}");
        assert_eq!(check_launches(&(small * 2.0)), Ok(()));
    }
}
