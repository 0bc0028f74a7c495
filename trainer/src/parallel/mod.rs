//! Several devices of one machine: replicas of a model that train on shares of each batch.
//!
//! Model, optimizer and data are on every device. A step computes the gradients of one share of the batch per device,
//! sums them over all devices, and makes the same update on each. Validation and checkpoints use the first device
//! alone, so that checkpoints do not depend on the number of devices.

mod sum;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

use burn::tensor::{Device, Tensor};
use firefly_app::guard::guarded;
use firefly_app::remote::explained_failure;

use self::sum::{GradientSum, joined, split};
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
