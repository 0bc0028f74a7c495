//! Sections of a configuration that are the task's own.

use super::{Transform, TransformConfig, TransformTask};
use crate::config::{self as common, NoKeys, Training};
use crate::tasks::prelude::*;

choice! {
    /// Data that the model learns from.
    pub enum LearningData {
        Matrix = "matrix",
        Examples = "examples",
    }
}

choice! {
    /// Part of the model's output that is the transform of real rows.
    pub enum OutputPart {
        Complex = "complex",
        Real = "real",
    }
}

section! {
    /// Section `[data]`.
    pub struct DataSection {
        pub transform: Transform = Transform::Dft,
        pub size: usize = 8,
        pub from: LearningData = LearningData::Matrix,
        pub output: OutputPart = OutputPart::Complex,
    }
}

section! {
    /// Section `[training]`.
    pub struct TrainingSection {
        pub steps: Option<usize> = None,
        pub epochs: Option<usize> = None,
        pub batch: usize = common::TrainingSection::default().batch,
        pub learning_rate: f64 = common::TrainingSection::default().learning_rate,
        pub round_after: f64 = 1.0,
        pub starts: usize = 1,
        pub choose_after: f64 = 0.5,
    }
}

impl Training for TrainingSection {
    fn common(&self) -> common::TrainingSection {
        let Self { steps, epochs, batch, learning_rate, .. } = *self;
        common::TrainingSection { steps, epochs, batch, learning_rate }
    }
}

impl TrainingSection {
    /// Starts that are left from `step` of `steps` steps on.
    pub fn starts_left(&self, step: usize, steps: usize) -> usize {
        // As many halvings as leave one of them.
        let halvings = self.starts.next_power_of_two().ilog2();
        let end = self.choose_after * steps as f64;
        let due = |halving: &u32| step as f64 >= end * f64::from(*halving) / f64::from(halvings);
        let done = (1..=halvings).rev().find(due).unwrap_or(0);
        self.starts.div_ceil(1 << done)
    }
}

impl ZooTask for TransformTask {
    const DEFAULT_MODEL: &'static str = "butterfly";
    const FAMILIES: &'static [&'static str] = &["butterfly"];
    const DERIVED: &'static [(&'static str, &'static str)] = &[("n", "it is data.size")];
}

impl Sections for TransformTask {
    const NAME: TaskName = TaskName::Transform;

    type ModelSection = ZooSection<Self>;
    type DataSection = DataSection;
    type TrainingSection = TrainingSection;
    // The loss is the mean squared error.
    type LossSection = NoKeys;

    fn validate(config: &TransformConfig) -> Result<(), ConfigError> {
        let data = &config.data;
        let is_size = data.size.is_power_of_two() && (4..=4096).contains(&data.size);
        ensure(is_size, "data.size", data.size, "a power of two from 4 to 4,096")?;
        let holds_output = data.output == OutputPart::Complex || data.transform != Transform::Dft;
        ensure(holds_output, "data.output", "real", "complex: a Fourier transform has an imaginary part")?;
        let training = &config.training;
        for (key, share) in
            [("training.round_after", training.round_after), ("training.choose_after", training.choose_after)]
        {
            ensure((0.0..=1.0).contains(&share), key, share, "from 0 to 1")?;
        }
        ensure((1..=1024).contains(&training.starts), "training.starts", training.starts, "from 1 to 1,024")
    }

    fn held_values(config: &TransformConfig) -> Vec<HeldValues> {
        let (size, rows) = (config.data.size, config.training.batch);
        // Real and imaginary parts.
        let matrix = HeldValues::new("data.size", size, 2 * size);
        match config.data.from {
            LearningData::Matrix => vec![matrix],
            LearningData::Examples => vec![matrix, HeldValues::new("training.batch", rows, size)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_halved_at_equal_distances_until_one_is_left() {
        let section = TrainingSection { starts: 6, choose_after: 0.6, ..TrainingSection::default() };
        let left = |step| section.starts_left(step, 100);
        assert_eq!([0, 19, 20, 39, 40, 59, 60, 99].map(left), [6, 6, 3, 3, 2, 2, 1, 1]);
        let at_once = TrainingSection { starts: 6, choose_after: 0.0, ..TrainingSection::default() };
        assert_eq!(at_once.starts_left(0, 100), 1);
        assert_eq!(TrainingSection::default().starts_left(0, 100), 1);
    }
}
