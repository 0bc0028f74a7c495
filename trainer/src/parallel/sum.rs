//! Sum of gradients over devices.

use burn::tensor::distributed::{ReduceOperation, all_reduce};
use burn::tensor::{Device, Tensor, TensorData};
use firefly_app::device::{DeviceKind, DeviceName};

/// Way in which vectors are summed over devices.
#[derive(Debug, Clone)]
pub(super) enum GradientSum {
    /// A single device's gradients are the sum.
    Own,
    /// Each device reads its vector back, and the host adds them in the order of the devices.
    Host,
    /// Burn's `all_reduce` between these devices. Of Burn's backends CUDA has it, by NCCL; on the others it panics.
    Collective(Vec<Device>),
}

impl GradientSum {
    /// The way for these devices, all of one kind.
    pub fn of(devices: &[Device]) -> Self {
        if devices.len() == 1 {
            return Self::Own;
        }
        let devices: Vec<Device> = devices.iter().map(|device| device.clone().inner()).collect();
        let has_collective = |device: &Device| DeviceName::of(device).kind() == DeviceKind::Cuda;
        if devices.iter().all(has_collective) { Self::Collective(devices) } else { Self::Host }
    }

    /// Whether there is nothing to sum.
    pub fn is_own(&self) -> bool {
        matches!(self, Self::Own)
    }

    /// The part of the sum that one device contributes on the host: its vector `[values]`, or nothing if devices sum.
    /// It waits until the device has computed the vector: a device that fails fails here, before another one waits for it
    /// in a collective, which would have no end.
    ///
    /// # Errors
    /// With the message of a device that has failed.
    pub fn part(&self, vector: &Tensor<1>) -> Result<Vec<f32>, String> {
        match self {
            Self::Own => Ok(Vec::new()),
            Self::Host => Ok(vector.clone().into_data().iter().collect()),
            Self::Collective(_) => {
                vector.device().sync().map_err(|error| error.to_string())?;
                Ok(Vec::new())
            }
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
            Self::Own => own,
            Self::Host => Tensor::from_data(TensorData::new(total.to_vec(), [total.len()]), &own.device()),
            Self::Collective(devices) => all_reduce(own, ReduceOperation::Sum, devices.clone()).resolve(),
        }
    }
}

#[cfg(test)]
mod tests {
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
}
