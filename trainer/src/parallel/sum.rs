//! Sum of gradients over devices.

#[cfg(feature = "cuda")]
use burn::tensor::distributed::{ReduceOperation, all_reduce};
use burn::tensor::{Device, Tensor, TensorData};
#[cfg(feature = "cuda")]
use firefly_app::device::{DeviceKind, DeviceName};

/// Way in which vectors are summed over devices.
#[derive(Debug, Clone)]
pub(super) enum GradientSum {
    /// A single device's gradients are the sum.
    Own,
    /// Each device reads its vector back, and the host adds them in the order of the devices.
    Host,
    /// Burn's `all_reduce` between these devices. Of Burn's backends CUDA has it, by NCCL; on the others it panics.
    #[cfg(feature = "cuda")]
    Collective(Vec<Device>),
}

impl GradientSum {
    /// The way for these devices, all of one kind.
    pub fn of(devices: &[Device]) -> Self {
        if devices.len() == 1 {
            return Self::Own;
        }
        #[cfg(feature = "cuda")]
        if devices.iter().all(|device| DeviceName::of(device).kind() == DeviceKind::Cuda) {
            return Self::Collective(devices.iter().map(|device| device.clone().inner()).collect());
        }
        Self::Host
    }

    /// Whether there is nothing to sum.
    pub fn is_own(&self) -> bool {
        matches!(self, Self::Own)
    }

    /// The part of the sum that one device contributes on the host: its vector `[values]`, or nothing if devices sum.
    ///
    /// # Errors
    /// The reason why a device has not computed its vector, before the others wait for it in a collective, which would
    /// have no end. On the host, reading the vector panics instead.
    pub fn part(&self, vector: &Tensor<1>) -> Result<Vec<f32>, String> {
        match self {
            Self::Own => Ok(Vec::new()),
            Self::Host => Ok(vector.clone().into_data().iter().collect()),
            #[cfg(feature = "cuda")]
            Self::Collective(_) => super::launched::check_launches(vector).map(|()| Vec::new()),
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
            #[cfg(feature = "cuda")]
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
