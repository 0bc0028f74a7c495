//! Time per frame that follows from the number of open segments, which a price can be on.

use burn::tensor::{Tensor, TensorData};
use firefly_app::device::DeviceName;

use super::loss::PRICED_SEGMENTS;
use super::{LossSection, ModelSection, predicted_times};
use crate::config::ConfigError;

/// Gives a loss that is priced by the time on a device the times of its calibrated profile, unless it has times.
///
/// # Errors
/// [`ConfigError::Value`] if the device was not calibrated, or its profile can't be read.
pub(super) fn complete(loss: &mut LossSection, model: &ModelSection) -> Result<(), ConfigError> {
    if let (Some(device), true) = (&loss.price_device, loss.segment_times.is_empty()) {
        let failed =
            |expected: String| ConfigError::Value { key: "loss.price_device".into(), got: device.clone(), expected };
        let name: DeviceName = device.parse().map_err(|error| failed(format!("the name of a device: {error}")))?;
        let profile =
            predicted_times::profile(name.id()).map_err(|error| failed(format!("a calibrated device: {error}")))?;
        let learned = model.learned();
        let (options, products) = (learned.options(), learned.product_weight.is_some());
        let time = |segments| predicted_times::learned(options, segments, products, model.k, profile.as_ref()?);
        let times: Option<_> = (1..=model.segments).map(time).collect();
        let hint = || failed("a calibrated device: run `firefly-bench calibrate` with `--device` first".into());
        loss.segment_times = times.ok_or_else(hint)?;
    }
    Ok(())
}

/// The time of an expected number of open segments `[1]`, between the times of whole numbers; differentiable.
pub(super) fn time_of(segments: Tensor<1>, times: &[f64]) -> Tensor<1> {
    let device = segments.device();
    let steps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let count = steps.len();
    if count == 0 {
        return segments * times[0];
    }
    let whole: Vec<f64> = (1..=count).map(|number| number as f64).collect();
    let [steps, whole] = [steps, whole].map(|values| Tensor::<1>::from_data(TensorData::new(values, [count]), &device));
    ((segments.expand([count]) - whole).clamp(0.0, 1.0) * steps).sum() + times[0]
}

/// The time of [`PRICED_SEGMENTS`] open segments, or of all where there are fewer.
pub(super) fn priced_time(times: &[f64]) -> f64 {
    times[PRICED_SEGMENTS.min(times.len()) - 1]
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn times_between_whole_numbers_of_segments_are_interpolated_with_their_slope() {
        let device = Device::flex().autodiff();
        for (segments, expected, slope) in
            [(1.0, 50.0, 0.0), (1.5, 75.0, 50.0), (2.25, 106.25, 25.0), (3.75, 181.25, 75.0), (4.0, 200.0, 0.0)]
        {
            let number = Tensor::<1>::from_floats([segments], &device).require_grad();
            let time = time_of(number.clone(), &[50.0, 100.0, 125.0, 200.0]);
            let gradient = number.grad(&time.clone().backward());
            assert!((time.into_scalar::<f32>() - expected).abs() < 1e-4, "{segments} segments");
            // At a whole number the slope may be that of either side.
            if slope > 0.0 {
                assert!((gradient.unwrap().into_scalar::<f32>() - slope).abs() < 1e-4, "{segments} segments");
            }
        }
        let one = time_of(Tensor::from_floats([1.0], &device), &[70.0]);
        assert_eq!((one.into_scalar::<f32>(), priced_time(&[70.0]), priced_time(&[50.0, 100.0])), (70.0, 70.0, 100.0));
    }

    #[test]
    fn devices_that_were_not_calibrated_are_named() {
        let mut loss = LossSection { price_device: Some("cpux".into()), ..LossSection::default() };
        let error = complete(&mut loss, &ModelSection::default()).unwrap_err().to_string();
        assert!(error.starts_with("loss.price_device is cpux, but must be the name of a device"), "{error}");
        let mut loss = LossSection { segment_times: vec![1.0; 8], ..loss };
        complete(&mut loss, &ModelSection::default()).unwrap();
        assert_eq!(loss.segment_times, [1.0; 8]);
    }
}
