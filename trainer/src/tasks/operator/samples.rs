//! Samples of a run: those to train, to validate and to test on.

use super::OperatorConfig;
use super::config::{DataSection, FieldFiles, dims, stem};
use super::domain::Domain;
use super::fields::{FieldPairs, Fields};
use super::model::{ChannelScales, FieldDescription};
use super::solvers::Solved;
use crate::data::EpochOrder;
use crate::task::TaskError;

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

    /// The samples in files.
    ///
    /// # Errors
    /// If a file can't be read.
    pub fn read(files: &FieldFiles, dims: usize) -> Result<Self, TaskError> {
        Ok(Self::new(&stem(&files.x), FieldPairs::read(files, dims)?))
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
    /// Number that changes with the values; 0 for generated samples.
    pub fingerprint: u64,
}

impl SampleSets {
    /// Reads or solves the samples of a configuration.
    ///
    /// # Errors
    /// If a file can't be read, or samples do not fit each other.
    pub fn open(config: &OperatorConfig) -> Result<Self, TaskError> {
        let (section, dims) = (&config.data, dims(config));
        let (all, mut tests, fingerprint) = match &section.files {
            Some(files) => {
                let all = FieldPairs::read(files, dims)?;
                let read = |files| TestSet::read(files, dims);
                let tests = section.tests.iter().map(read).collect::<Result<Vec<_>, TaskError>>()?;
                let fingerprint = all.fingerprint();
                (all, tests, fingerprint)
            }
            None => {
                let solved = Solved::open(&section.generated, config.seed)?;
                let name = format!("generated {}", section.generated.equation.as_str());
                let tests = solved.tests.into_iter().map(|pairs| TestSet::new(&name, pairs)).collect();
                (solved.train, tests, 0)
            }
        };
        let origin = section.files.as_ref().map(|files| files.x.clone()).unwrap_or_default();
        let refused = |reason: String| TaskError::Table { path: origin.clone(), reason };
        if all.len() < 2 {
            return Err(refused("it has 1 sample, but one to train and one to validate on are needed".into()));
        }
        let domain = Domain::of(section, dims);
        let (train, validation) = split(&all, section.validation_share, config.seed);
        if tests.is_empty() {
            tests.push(TestSet::new("validation samples", validation.clone()));
        }
        let sets = Self { train, validation, tests, domain, fingerprint };
        sets.check("training samples", &sets.train).map_err(&refused)?;
        sets.tests.iter().try_for_each(|test| sets.check(&test.name, &test.pairs)).map_err(refused)?;
        Ok(sets)
    }

    /// Checks that a model of the training samples can be evaluated on `pairs`, called `name`: channels, and points where
    /// fields have symmetries.
    ///
    /// # Errors
    /// The reason why it can't.
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
        let values = sums.into_iter().map(|sum| (sum / outputs.len() as f64) as f32).collect();
        Fields { channels: outputs.channels, points: outputs.points.clone(), values }
    }
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

    fn pairs(samples: usize) -> FieldPairs {
        let values: Vec<f32> = (0..samples * 4).map(|value| value as f32 + 1.0).collect();
        let fields = Fields { channels: 1, points: vec![4], values };
        FieldPairs { input: fields.clone(), output: fields }
    }

    #[test]
    fn every_sample_trains_or_validates() {
        for (samples, share, expected) in [(10, 0.2, 2), (2, 0.01, 1), (2, 0.99, 1), (3, 0.5, 2)] {
            let (train, validation) = split(&pairs(samples), share, 5);
            assert_eq!((train.len(), validation.len()), (samples - expected, expected));
            let mut all = [train.input.values, validation.input.values].concat();
            all.sort_by(f32::total_cmp);
            assert_eq!(all, pairs(samples).input.values);
        }
        assert_ne!(split(&pairs(50), 0.2, 1), split(&pairs(50), 0.2, 2));
    }
}
