//! Fields on grids: samples of inputs and outputs, read, checked and put together to batches; and those of a run to train,
//! to validate and to test on.

use std::sync::Arc;

use firefly_recordings::{Array, Samples, distinct_names};

use super::OperatorConfig;
use super::config::{DataSection, FieldFiles, dims};
use super::domain::{Closing, Domain, DomainSymmetry};
use super::model::{ChannelScales, FieldDescription};
use super::solvers::Solved;
use crate::data::{EpochOrder, Fingerprint};
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
    pub fn of(array: Array, dims: usize, path: &Path, name: &str) -> Result<Self> {
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
    pub fn of(input: Fields, output: Fields, path: &Path) -> Result<Self> {
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
    pub fn read(files: &FieldFiles, dims: usize) -> Result<Self> {
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

/// Least and greatest magnitude of an output relative to the root mean square of all: squares of f32 hold both, and
/// sums of them.
const MAGNITUDES: [f64; 2] = [1e-15, 1e15];
/// Exponents of two of the units of outputs: far enough from the ends of f32.
const UNIT_EXPONENTS: [i32; 2] = [-110, 110];

/// Samples that are reported on.
#[derive(Debug, Clone, PartialEq)]
pub struct TestSet {
    /// Name, with the number of points.
    pub name: String,
    /// The samples.
    pub pairs: FieldPairs,
}

impl TestSet {
    fn new(name: &str, pairs: FieldPairs) -> Self {
        Self { name: format!("{name}, {} points", pairs.resolution()), pairs }
    }

    /// The samples in files, under the shortest names that tell the files apart. An error if a file can't be read.
    pub fn read(files: &[FieldFiles], dims: usize) -> Result<Vec<Self>> {
        let names = distinct_names(&files.iter().map(|files| files.x.as_path()).collect::<Vec<_>>());
        files.iter().zip(names).map(|(files, name)| Ok(Self::new(&name, FieldPairs::read(files, dims)?))).collect()
    }
}

/// Samples of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleSets {
    /// Samples to fit on.
    pub train: FieldPairs,
    /// Samples to choose a model by.
    pub validation: FieldPairs,
    /// Samples to report on: the validation's if no others are given.
    pub tests: Vec<TestSet>,
    /// Domain of the problem.
    pub domain: Domain,
    /// Unit in which the loss squares outputs: a power of two near the root mean square of the training outputs.
    pub output_unit: f64,
    /// Number that changes with the values; 0 for generated samples.
    pub fingerprint: u64,
}

impl SampleSets {
    /// Reads or solves the samples of a configuration. An error if a file can't be read, samples do not fit each other,
    /// or `monitor` says to stop.
    pub fn open(config: &OperatorConfig, monitor: &Monitor<'_>) -> Result<Self> {
        let (section, dims) = (&config.data, dims(config));
        let (all, mut tests, fingerprint) = match &section.files {
            Some(files) => {
                let all = FieldPairs::read(files, dims)?;
                let fingerprint = all.fingerprint();
                (all, TestSet::read(&section.tests, dims)?, fingerprint)
            }
            None => {
                let solved = Solved::open(&section.generated, config.seed, monitor)?;
                let name = format!("generated {}", section.generated.equation.as_str());
                let tests = solved.tests.into_iter().map(|pairs| TestSet::new(&name, pairs)).collect();
                (solved.train, tests, 0)
            }
        };
        let generated = || PathBuf::from(section.generated.equation.as_str());
        let files = section.files.as_ref();
        let refused = |reason: String| TaskError::Input(files.map_or_else(generated, |files| files.x.clone()), reason);
        if all.len() < 2 {
            return Err(refused("it has 1 sample, but one to train and one to validate on are needed".into()));
        }
        let output_unit = output_unit(&all.output)
            .map_err(|reason| TaskError::Input(files.map_or_else(generated, FieldFiles::outputs), reason))?;
        let domain = Domain::of(section, dims);
        let (train, validation) = split(&all, section.validation_share, config.seed);
        if tests.is_empty() {
            tests.push(TestSet::new("validation samples", validation.clone()));
        }
        let sets = Self { train, validation, tests, domain, output_unit, fingerprint };
        sets.check("training samples", &sets.train).map_err(refused)?;
        for (index, test) in sets.tests.iter().enumerate() {
            let refused = |reason| match section.tests.get(index) {
                Some(files) => TaskError::Input(files.x.clone(), reason),
                None => refused(reason),
            };
            sets.check(&test.name, &test.pairs).map_err(refused)?;
        }
        Ok(sets)
    }

    /// Checks that a model of the training samples can be evaluated on `pairs`, called `name`: channels, and points
    /// where fields have symmetries. The error is the reason why it can't.
    pub fn check(&self, name: &str, pairs: &FieldPairs) -> Result<(), String> {
        let channels = |pairs: &FieldPairs| (pairs.input.channels, pairs.output.channels);
        let (found, expected) = (channels(pairs), channels(&self.train));
        if found != expected {
            return Err(format!("{name}: channels of x and y are {found:?}, the training's {expected:?}"));
        }
        self.domain.check(&pairs.input.points).map_err(|reason| format!("{name}: {reason}"))
    }

    /// Channels, points and scales of the training samples.
    pub fn description(&self, section: &DataSection) -> FieldDescription {
        let scales = |is_used: bool, fields: &Fields| match is_used {
            true => ChannelScales::of(fields),
            false => ChannelScales::identity(fields.channels),
        };
        FieldDescription {
            points: self.domain.points(&self.train.input.points),
            input: scales(section.standardise_inputs, &self.train.input),
            output: scales(section.standardise_outputs, &self.train.output),
        }
    }

    /// The mean of the training outputs, as a sample.
    pub fn mean_output(&self) -> Fields {
        let outputs = &self.train.output;
        let mut sums = vec![0.0; outputs.sample(0).len()];
        for index in 0..outputs.len() {
            sums.iter_mut().zip(outputs.sample(index)).for_each(|(sum, value)| *sum += f64::from(*value));
        }
        let values: Vec<f32> = sums.into_iter().map(|sum| (sum / outputs.len() as f64) as f32).collect();
        Fields::new(outputs.channels, outputs.points.clone(), values)
    }
}

impl HostSets for SampleSets {
    fn training_examples(&self) -> usize {
        self.train.len()
    }

    fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}

/// A power of two near the root mean square of outputs. An error if an output is so small or large beside the others
/// that its squares in this unit are no numbers of f32.
fn output_unit(outputs: &Fields) -> Result<f64, String> {
    let count = outputs.shape().iter().product::<usize>();
    let mean_square = outputs.values().map(|value| f64::from(value).powi(2)).sum::<f64>() / count as f64;
    let [least, greatest] = UNIT_EXPONENTS;
    let unit = 2f64.powi((mean_square.log2() / 2.0).round().clamp(f64::from(least), f64::from(greatest)) as i32);
    let largest = |index: usize| outputs.sample(index).iter().fold(0.0, |most: f32, value| most.max(value.abs()));
    for index in 0..outputs.len() {
        let largest = largest(index);
        let [least, greatest] = MAGNITUDES.map(|share| share * unit);
        if !(least..=greatest).contains(&f64::from(largest)) {
            return Err(format!(
                "output {index} is at most {largest:e}, where the root mean square of all is {:e}: relative errors of \
                 outputs below {least:.1e} and above {greatest:.1e} are no numbers in f32",
                mean_square.sqrt()
            ));
        }
    }
    Ok(unit)
}

/// Samples split into (training, validation) at random, by a share of at least one sample and not all.
fn split(all: &FieldPairs, validation_share: f64, seed: u64) -> (FieldPairs, FieldPairs) {
    let mut order = EpochOrder::new(seed, all.len(), all.len()).batch(0);
    let count = (validation_share * all.len() as f64).round() as usize;
    let mut validation = order.split_off(all.len() - count.clamp(1, all.len() - 1));
    order.sort_unstable();
    validation.sort_unstable();
    (all.selected(&order), all.selected(&validation))
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

    fn pairs(samples: usize) -> FieldPairs {
        let values: Vec<f32> = (0..samples * 4).map(|value| value as f32 + 1.0).collect();
        let fields = Fields::new(1, vec![4], values);
        FieldPairs { input: fields.clone(), output: fields }
    }

    #[test]
    fn every_sample_trains_or_validates() {
        for (samples, share, expected) in [(10, 0.2, 2), (2, 0.01, 1), (2, 0.99, 1), (3, 0.5, 2)] {
            let (train, validation) = split(&pairs(samples), share, 5);
            assert_eq!((train.len(), validation.len()), (samples - expected, expected));
            let mut all: Vec<f32> = train.input.values().chain(validation.input.values()).collect();
            all.sort_by(f32::total_cmp);
            assert!(all.into_iter().eq(pairs(samples).input.values()));
        }
        assert_ne!(split(&pairs(50), 0.2, 1), split(&pairs(50), 0.2, 2));
    }

    #[test]
    fn the_unit_of_outputs_is_a_power_of_two_and_outputs_far_from_it_are_refused() {
        let fields = |values: &[f32]| Fields::new(1, vec![2], values.to_vec());
        assert_eq!(output_unit(&fields(&[3.0, 4.0, -5.0, 4.0])), Ok(4.0));
        assert_eq!(output_unit(&fields(&[1e20, -1e20])), Ok(2f64.powi(66)));
        assert_eq!(output_unit(&fields(&[1e-25, 0.0])), Ok(2f64.powi(-84)));
        let message = output_unit(&fields(&[1.0, 1.0, 1e-20, 0.0])).unwrap_err();
        assert!(message.starts_with("output 1 is at most 1e-20, where the root mean square of all is 7."), "{message}");
        assert!(output_unit(&fields(&[1e30, 1.0, 1.0, 0.0])).unwrap_err().starts_with("output 1 is at most 1e0"));
    }
}
