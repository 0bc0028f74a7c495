//! Frames as tensors, and powers of two that they are scaled by, so that their power is within the range of f32.

use anyhow::Result;
use burn::tensor::{DType, Device, Tensor, TensorData};
use firefly_recordings::FrameSamples;

/// Exponents of the largest magnitude of a frame between which it is not scaled.
const EXPONENTS: std::ops::RangeInclusive<i32> = -30..=30;

/// Factors of rows of power: powers of two, so that scaling loses no digits.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RowScales {
    /// Exponent of each row's amplitude; empty where no row is scaled.
    exponents: Vec<i32>,
}

impl RowScales {
    /// Scales frames of so many samples whose power would leave the range of f32.
    pub fn of(samples: &mut [f32], frame: usize) -> Self {
        let exponents: Vec<i32> = samples.chunks(frame).map(exponent).collect();
        if exponents.iter().all(|exponent| *exponent == 0) {
            return Self::default();
        }
        for (row, exponent) in samples.chunks_mut(frame).zip(&exponents).filter(|(_, exponent)| **exponent != 0) {
            let factor = 2f64.powi(-exponent);
            row.iter_mut().for_each(|sample| *sample = (f64::from(*sample) * factor) as f32);
        }
        Self { exponents }
    }

    /// Whether no row is scaled.
    pub fn is_empty(&self) -> bool {
        self.exponents.is_empty()
    }

    /// Power of rows of equal length, with their factors.
    pub fn applied(&self, power: &[f32]) -> Vec<f64> {
        if self.is_empty() {
            return power.iter().map(|power| f64::from(*power)).collect();
        }
        let length = (power.len() / self.exponents.len()).max(1);
        let row = |(power, exponent): (&[f32], &i32)| {
            let factor = 4f64.powi(*exponent);
            power.iter().map(|power| f64::from(*power) * factor).collect::<Vec<_>>()
        };
        power.chunks(length).zip(&self.exponents).flat_map(row).collect()
    }
}

/// Values that rows of frames have.
pub trait RowValues {
    /// Puts the values of other frames at these rows.
    fn replace_rows(&mut self, rows: &[usize], others: &Self);
}

/// Values by `estimate`, which takes frames `[rows, parts, frame]` and the scales of their rows: of all frames in f32 on
/// the device, and again in f64 on the CPU of those that have more digits.
pub fn of_frames<T: RowValues>(
    device: &Device,
    [parts, frame]: [usize; 2],
    samples: FrameSamples,
    mut estimate: impl FnMut(Tensor<3>, &RowScales) -> Result<T>,
) -> Result<T> {
    let FrameSamples { mut rounded, wide_rows, wide } = samples;
    let scales = RowScales::of(&mut rounded, parts * frame);
    let shape = [rounded.len() / (parts * frame), parts, frame];
    let mut values = estimate(Tensor::from_data(TensorData::new(rounded, shape), device), &scales)?;
    if !wide_rows.is_empty() {
        let wide = TensorData::new(wide, [wide_rows.len(), parts, frame]);
        let wide = estimate(Tensor::from_data(wide, (&Device::flex(), DType::F64)), &RowScales::default())?;
        values.replace_rows(&wide_rows, &wide);
    }
    Ok(values)
}

/// Exponent that a frame is scaled by; 0 for one whose power is within range.
fn exponent(frame: &[f32]) -> i32 {
    let finite = frame.iter().map(|sample| sample.abs()).filter(|sample| sample.is_finite());
    let largest = finite.fold(0.0, f32::max);
    if largest == 0.0 {
        return 0;
    }
    let exponent = f64::from(largest).log2().floor() as i32;
    if EXPONENTS.contains(&exponent) { 0 } else { exponent }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_within_range_are_as_they_are_and_others_come_back() {
        let mut samples = vec![1.0, -0.5, 1e9, 1e-7];
        assert_eq!(RowScales::of(&mut samples, 2), RowScales::default());
        assert_eq!(samples, [1.0, -0.5, 1e9, 1e-7]);
        let mut samples = vec![1e-23, -3e-23, 0.0, 0.0, 1e20, 5.0, f32::NAN, 1e-40, 2.0, 1.0];
        let original = samples.clone();
        let scales = RowScales::of(&mut samples, 2);
        for row in [0, 2] {
            assert!((1.0..2.0).contains(&samples[2 * row].abs().max(samples[2 * row + 1].abs())));
        }
        assert!(samples[6].is_nan() && samples[4..6].iter().all(|sample| sample.is_finite()));
        assert_eq!((samples[2], samples[8]), (0.0, 2.0));
        let power: Vec<f32> = samples.iter().map(|sample| sample * sample).collect();
        for (place, (found, right)) in scales.applied(&power).iter().zip(&original).enumerate() {
            let right = f64::from(*right) * f64::from(*right);
            assert!(right.is_nan() || (found - right).abs() <= 1e-6 * right, "{place}: {found} {right}");
        }
    }
}
