//! Fields on grids: samples of inputs and outputs, read, checked and put together to batches.

use std::sync::Arc;

use firefly_recordings::{Array, Samples};

use super::config::FieldFiles;
use super::domain::{Closing, DomainSymmetry};
use crate::data::Fingerprint;
use crate::tasks::prelude::*;

/// Samples of a field.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    /// Channels of a sample.
    pub channels: usize,
    /// Points along each dimension.
    pub points: Vec<usize>,
    /// Values of samples, row-major `[samples, channels, points…]`.
    values: Samples,
    /// The samples among those, if not all of them in their order.
    chosen: Option<Arc<[usize]>>,
}

impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        self.shape() == other.shape() && self.values().eq(other.values())
    }
}

/// Inputs and outputs of the same samples.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FieldPairs {
    /// The inputs.
    pub input: Fields,
    /// The outputs, at the same points.
    pub output: Fields,
}

impl Fields {
    /// The samples with these values, row-major `[samples, channels, points…]`.
    pub fn new(channels: usize, points: Vec<usize>, values: impl Into<Samples>) -> Self {
        Self { channels, points, values: values.into(), chosen: None }
    }

    /// The samples in an array `[samples, points…]` or `[samples, channels, points…]` of `dims` dimensions of points.
    /// An error, which names `path` and `name`, if the array has another rank or no value, or a value is not finite.
    pub fn of(array: Array, dims: usize, path: &Path, name: &str) -> Result<Self, TaskError> {
        let refused = |reason: String| TaskError::Input(path.into(), reason);
        let Array { shape, values } = array;
        let (channels, points) = match shape.len().checked_sub(dims) {
            Some(1) => (1, shape[1..].to_vec()),
            Some(2) => (shape[1], shape[2..].to_vec()),
            _ => {
                let n: String = (1..=dims).map(|dim| format!(", n{dim}")).collect();
                return Err(refused(format!(
                    "`{name}` has the shape {shape:?}, but fields in {dims} dimensions are [samples{n}] or \
                     [samples, channels{n}]"
                )));
            }
        };
        if values.is_empty() {
            return Err(refused(format!("`{name}` has the shape {shape:?}: it holds no field")));
        }
        let fields = Self::new(channels, points, values);
        if let Some(place) = fields.values.iter().position(|value| !value.is_finite()) {
            let (value, length) = (fields.values[place], fields.sample_len());
            let (sample, place) = (place / length, place % length);
            return Err(refused(format!("sample {sample} of `{name}` is {value} at its value {place}")));
        }
        Ok(fields)
    }

    /// Shape of all samples, `[samples, channels, points…]`.
    pub fn shape(&self) -> Vec<usize> {
        [self.len(), self.channels].into_iter().chain(self.points.iter().copied()).collect()
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        match &self.chosen {
            Some(chosen) => chosen.len(),
            None => self.values.len() / self.sample_len().max(1),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Values of a sample, `[channels, points…]`.
    pub fn sample(&self, index: usize) -> &[f32] {
        let index = self.chosen.as_ref().map_or(index, |chosen| chosen[index]);
        &self.values[index * self.sample_len()..][..self.sample_len()]
    }

    /// Values of all samples, one after the other.
    pub fn values(&self) -> impl Iterator<Item = f32> {
        (0..self.len()).flat_map(|index| self.sample(index).iter().copied())
    }

    fn sample_len(&self) -> usize {
        self.channels * self.points.iter().product::<usize>()
    }

    /// The samples of these indices, whose values are not copied.
    pub fn selected(&self, indices: &[usize]) -> Self {
        let chosen = indices.iter().map(|&index| self.chosen.as_ref().map_or(index, |chosen| chosen[index]));
        Self { chosen: Some(chosen.collect()), ..self.clone() }
    }

    /// Samples on a device, `[batch, channels · points]` of the closed fields, each changed by its symmetry if there
    /// are any; the points are then as many along each dimension.
    pub fn batch(
        &self,
        indices: &[usize],
        symmetries: &[DomainSymmetry],
        closing: Closing,
        device: &Device,
    ) -> Tensor<2> {
        let points = closing.points(&self.points);
        let length = self.channels * points.iter().product::<usize>();
        let given: Vec<f32> = self.selected(indices).values().collect();
        let mut values = closing.closed(&given, &self.points);
        if !symmetries.is_empty() {
            let mut changed = Vec::with_capacity(values.len());
            for (sample, symmetry) in values.chunks_exact(length).zip(symmetries) {
                symmetry.apply(sample, &points, &mut changed);
            }
            values = changed;
        }
        Tensor::from_data(TensorData::new(values, [indices.len(), length]), device)
    }
}

impl FieldPairs {
    /// Inputs and outputs that belong together. An error, which names `path`, if they differ in samples or points, or
    /// an output is zero everywhere, so that its relative error is undefined.
    pub fn of(input: Fields, output: Fields, path: &Path) -> Result<Self, TaskError> {
        let refused = |reason: String| TaskError::Input(path.into(), reason);
        if (input.len(), &input.points) != (output.len(), &output.points) {
            let (x, y) = (input.shape(), output.shape());
            return Err(refused(format!("inputs are {x:?} and outputs {y:?}: samples and points must be the same")));
        }
        let is_zero = |index: &usize| output.sample(*index).iter().all(|value| *value == 0.0);
        if let Some(index) = (0..output.len()).find(is_zero) {
            return Err(refused(format!("output {index} is zero everywhere: its relative error is undefined")));
        }
        Ok(Self { input, output })
    }

    /// The arrays `x` and `y` of files with fields in `dims` dimensions. An error if a file can't be read, or the
    /// arrays are no fields that belong together.
    pub fn read(files: &FieldFiles, dims: usize) -> Result<Self, TaskError> {
        let fields = |path: &Path, name: &str| Fields::of(Array::read(path, name)?, dims, path, name);
        let outputs = files.outputs();
        if outputs == files.x && outputs.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy")) {
            let reason = "an NPY file holds one array: name that of the outputs by the key y, or end this name in _x";
            return Err(TaskError::Input(outputs, reason.into()));
        }
        Self::of(fields(&files.x, "x")?, fields(&outputs, "y")?, &outputs)
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.input.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.input.is_empty()
    }

    /// The samples of these indices.
    pub fn selected(&self, indices: &[usize]) -> Self {
        Self { input: self.input.selected(indices), output: self.output.selected(indices) }
    }

    /// Points as text, such as `16 × 16`.
    pub fn resolution(&self) -> String {
        let points: Vec<String> = self.input.points.iter().map(ToString::to_string).collect();
        points.join(" × ")
    }

    /// Number that changes with the values.
    pub fn fingerprint(&self) -> u64 {
        let mut fingerprint = Fingerprint::default();
        let fields = [&self.input, &self.output];
        let samples = fields.into_iter().flat_map(|fields| (0..fields.len()).map(|index| fields.sample(index)));
        fingerprint.values(samples.flatten());
        fingerprint.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(shape: &[usize]) -> Array {
        let count: usize = shape.iter().product();
        let values: Vec<f32> = (0..count).map(|value| value as f32 + 1.0).collect();
        Array { shape: shape.to_vec(), values: values.into() }
    }

    #[test]
    fn channels_are_one_unless_the_array_has_them() {
        let path = Path::new("fields.npz");
        let fields = Fields::of(array(&[4, 3, 5]), 2, path, "x").unwrap();
        assert_eq!((fields.len(), fields.channels, fields.points.clone()), (4, 1, vec![3, 5]));
        let fields = Fields::of(array(&[4, 3, 5]), 1, path, "x").unwrap();
        assert_eq!((fields.len(), fields.channels, fields.points.clone()), (4, 3, vec![5]));
        assert_eq!(fields.sample(1), (16..31).map(|value| value as f32).collect::<Vec<_>>());
        let selected = fields.selected(&[3, 1, 0]);
        assert_eq!((selected.len(), selected.sample(1), selected.sample(2)), (3, fields.sample(1), fields.sample(0)));
        assert_eq!(selected.selected(&[2, 0]).sample(1), fields.sample(3));
    }

    #[test]
    fn errors_name_file_and_sample() {
        let path = Path::new("fields.npz");
        let of = |array: Array, dims| Fields::of(array, dims, path, "x").unwrap_err().to_string();
        assert!(of(array(&[4, 3]), 3).contains("[samples, n1, n2, n3]"), "{}", of(array(&[4, 3]), 3));
        assert!(of(array(&[0, 3]), 1).contains("holds no field"));
        let changed = |places: std::ops::Range<usize>, value: f32| {
            let Array { shape, values } = array(&[4, 3]);
            let mut values = values.to_vec();
            values[places].fill(value);
            Array { shape, values: values.into() }
        };
        let damaged = changed(7..8, f32::NAN);
        assert_eq!(of(damaged, 1), "fields.npz: sample 2 of `x` is NaN at its value 1");
        let fields = |shape: &[usize]| Fields::of(array(shape), 1, path, "x").unwrap();
        let error = FieldPairs::of(fields(&[4, 3]), fields(&[4, 6]), path).unwrap_err().to_string();
        assert!(error.contains("[4, 1, 3]") && error.contains("[4, 1, 6]"), "{error}");
        let zero = Fields::of(changed(3..6, 0.0), 1, path, "x").unwrap();
        let error = FieldPairs::of(fields(&[4, 3]), zero, path).unwrap_err().to_string();
        assert!(error.contains("output 1 is zero everywhere"), "{error}");
    }
}
