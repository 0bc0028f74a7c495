//! Models of the zoo on inputs of their own.

use burn::tensor::{Device, TensorData};
use firefly_framework::graph::{AnyTensor, Input};
use firefly_models::zoo::{self, Settings, ZooError, ZooModel};

/// Names of the variants that are called as their family: one per family.
pub fn family_models() -> Vec<&'static str> {
    zoo::list("").into_iter().filter(|name| zoo::family(name).is_ok_and(|family| family == *name)).collect()
}

/// The untrained model `name` on the host; none if it can't be recorded as a graph.
///
/// # Errors
/// [`ZooError`] for an unknown name.
pub fn recordable(name: &str) -> Result<Option<ZooModel>, ZooError> {
    let is_recordable = zoo::card(name)?.capture_unsupported.is_none();
    is_recordable.then(|| zoo::create(name, &Settings::new(), &Device::flex())).transpose()
}

/// Inputs of a batch on `device`: floats spread over −1 to 1, integers from 0 to 2.
pub fn inputs(model: &ZooModel, batch: usize, device: &Device) -> Vec<AnyTensor> {
    model.inputs(batch).iter().map(|input| AnyTensor::from_data(data(input), device)).collect()
}

fn data(input: &Input) -> TensorData {
    let spread = |index: usize| (index as u32).wrapping_mul(2_654_435_761) as f32 / (u32::MAX / 2) as f32 - 1.0;
    let is_float = input.dtype.is_float();
    let value = |index: usize| if is_float { spread(index) } else { (index % 3) as f32 };
    let values: Vec<f32> = (0..input.shape.iter().product()).map(value).collect();
    TensorData::new(values, input.shape.clone()).convert_dtype(input.dtype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_has_a_model_and_inputs_that_it_takes() {
        let names = family_models();
        assert!(names.len() >= 20 && names.contains(&"fno2d"), "{names:?}");
        assert!(recordable("timesnet").unwrap().is_none());
        for name in ["fnet_tiny", "welch_peaks_tiny"] {
            let model = recordable(name).unwrap().unwrap();
            let outputs = model.try_forward(inputs(&model, 3, &Device::flex())).unwrap();
            assert!(outputs.iter().all(|output| output.dims()[0] == 3), "{name}");
        }
    }
}
