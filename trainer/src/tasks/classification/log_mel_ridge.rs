//! A linear classifier that trained ones are compared with: ridge regression from mean and deviation of log-mel bands to
//! the classes, each a number that is 1 for its examples and 0 for others. The class of the greatest number is found.

use burn::tensor::{Device, Tensor, TensorData};
use firefly_models::{LogMel, LogMelConfig};

use super::examples::{ExampleSets, Examples};
use crate::task::TaskError;
use crate::tasks::ridge::{Pairs, RidgeRegression};

/// Name of its row in evaluations.
pub const NAME: &str = "linear, log-mel bands";
/// Bands of a spectrum.
const BANDS: usize = 40;
/// Seconds of a segment of a spectrum, about.
const SEGMENT_SECONDS: f64 = 0.025;
/// Examples per batch.
const BATCH: usize = 64;

/// The classifier.
pub struct LogMelRidge {
    spectrum: LogMel,
    map: RidgeRegression,
}

impl LogMelRidge {
    /// The classifier that fits the training examples, with the penalty of the lowest error on those of the validation;
    /// `None` if there are too many classes. An error if examples are too short for a spectrum.
    pub fn fit(sets: &ExampleSets, sample_rate: f64, device: &Device) -> Result<Option<Self>, TaskError> {
        let samples = sets.train.samples();
        let n_fft = ((SEGMENT_SECONDS * sample_rate) as usize).next_power_of_two().clamp(2, samples.max(2));
        let config = LogMelConfig::new().with_sample_rate(sample_rate).with_samples(samples).with_bands(BANDS);
        let spectrum = config.with_n_fft(n_fft).with_hop((n_fft / 2).max(1)).try_init(device)?;
        let pairs = |examples: &Examples| -> Result<Pairs, TaskError> {
            let indices: Vec<usize> = (0..examples.len()).collect();
            let mut rows = Vec::with_capacity(examples.len());
            for indices in indices.chunks(BATCH) {
                rows.extend(features(&spectrum, examples.batch(indices, None, device).signal)?);
            }
            let is_class = |class: usize, index: usize| f64::from(u8::from(examples.class(index) == class));
            let outputs = |index: &usize| (0..sets.classes.len()).map(|class| is_class(class, *index)).collect();
            Ok((rows, indices.iter().map(outputs).collect()))
        };
        let map = RidgeRegression::fit(&pairs(&sets.train)?, &pairs(&sets.validation)?);
        Ok(map.map(|map| Self { spectrum, map }))
    }

    /// Numbers of the classes `[batch, classes]` of recordings `[batch, samples]`.
    pub fn scores(&self, signal: Tensor<2>) -> Result<Tensor<2>, TaskError> {
        let device = signal.device();
        let scores: Vec<Vec<f64>> = features(&self.spectrum, signal)?.iter().map(|row| self.map.predict(row)).collect();
        let shape = [scores.len(), scores.first().map_or(0, Vec::len)];
        let values: Vec<f32> = scores.concat().into_iter().map(|score| score as f32).collect();
        Ok(Tensor::from_data(TensorData::new(values, shape), &device))
    }
}

/// Mean and deviation over the frames of each band of a batch `[batch, samples]`.
fn features(spectrum: &LogMel, signal: Tensor<2>) -> Result<Vec<Vec<f64>>, TaskError> {
    let bands: Tensor<3> = spectrum.try_forward(signal)?;
    let mean = bands.clone().mean_dim(2);
    let deviation = (bands - mean.clone()).square().mean_dim(2).sqrt();
    let features = Tensor::cat(vec![mean, deviation], 1);
    let [_, count, _] = features.dims();
    let values: Vec<f32> = features.into_data().iter().collect();
    Ok(values.chunks(count).map(|row| row.iter().copied().map(f64::from).collect()).collect())
}
