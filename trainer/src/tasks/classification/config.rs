//! Sections of a configuration that are the task's own.

use super::model::{InputForm, image_spectrum};
use super::{Classification, ClassificationConfig};
use crate::data::{RecordingsConfig, SyntheticConfig};
use crate::tasks::prelude::*;

choice! {
    /// Part of a file's name that is its label.
    pub enum LabelPart {
        BeforeFirst = "before_first",
        BeforeLast = "before_last",
    }
}

section! {
    /// Section `[data]`.
    pub struct DataSection {
        pub recordings: Option<RecordingsConfig> = None,
        pub separator: String = "_".into(),
        pub label: LabelPart = LabelPart::BeforeFirst,
        pub samples: usize = 8_000,
        pub cut: bool = false,
        pub patch: usize = 1,
        pub sample_rate: f64 = 8_000.0,
        pub n_fft: usize = 256,
        pub noise_snr_db: Vec<f64> = Vec::new(),
        pub test_snr_db: Vec<f64> = Vec::new(),
        pub synthetic: SyntheticConfig = SyntheticConfig::default(),
        pub synthetic_examples: usize = 64,
    }
}

section! {
    /// Section `[loss]`: cross entropy.
    pub struct LossSection {
        pub smoothing: f64 = 0.0,
    }
}

impl ZooTask for Classification {
    const DEFAULT_MODEL: &'static str = "mel_classifier";
    const FAMILIES: &'static [&'static str] =
        &["mel_classifier", "log_mel", "mfcc", "long_conv", "s4d", "hyena", "fnet", "gfnet"];
    const BATCH_STATISTICS: &'static [(&'static str, &'static str)] = &[
        ("mel_classifier", "mel_classifier normalises by statistics of the whole batch"),
        ("log_mel", "its output layer normalises by statistics of the whole batch"),
        ("mfcc", "its output layer normalises by statistics of the whole batch"),
        ("fnet", "its output layer normalises by statistics of the whole batch"),
    ];
    const DERIVED: &'static [(&'static str, &'static str)] = &[
        ("samples", "it is data.samples"),
        ("length", "it follows from data.samples"),
        ("classes", "they are the labels of the data"),
        ("outputs", "there is one for each label of the data"),
        ("in_channels", "it is data.patch, or 1 for images"),
    ];
}

impl Sections for Classification {
    const NAME: TaskName = TaskName::Classification;

    type ModelSection = ZooSection<Self>;
    type DataSection = DataSection;
    type TrainingSection = TrainingSection;
    type LossSection = LossSection;

    fn validate(config: &ClassificationConfig) -> Result<(), ConfigError> {
        let data = &config.data;
        ensure((1..=4_194_304).contains(&data.samples), "data.samples", data.samples, "from 1 to 4,194,304")?;
        ensure(!data.separator.is_empty(), "data.separator", "empty", "at least one character")?;
        let divides = data.patch >= 1 && data.samples.is_multiple_of(data.patch);
        ensure(divides, "data.patch", data.patch, "a divisor of data.samples")?;
        // Whether the model's input follows from them or not.
        let rate = data.sample_rate;
        ensure((1e-6..=1e9).contains(&rate), "data.sample_rate", rate, "from 0.000001 to 1,000,000,000")?;
        ensure((2..=4_194_304).contains(&data.n_fft), "data.n_fft", data.n_fft, "from 2 to 4,194,304")?;
        data.synthetic.validate().map_err(|error| in_section("data.synthetic", error))?;
        validate_input(config)?;
        let families = &data.synthetic.families;
        let are_distinct = (1..families.len()).all(|place| !families[..place].contains(&families[place]));
        let got = format!("{families:?}");
        ensure(are_distinct, "data.synthetic.families", got, "families that are there once: each is a class")?;
        let range = &data.noise_snr_db;
        let is_range = matches!(range[..], [] | [_, _]) && range.is_sorted();
        let accepted = "empty, or the least and the greatest ratio";
        ensure_within(is_range, "data.noise_snr_db", range, RATIOS_DB, accepted)?;
        ensure_within(true, "data.test_snr_db", &data.test_snr_db, RATIOS_DB, "a list of ratios")?;
        let examples = data.synthetic_examples;
        ensure((4..=MAX_FRAMES).contains(&examples), "data.synthetic_examples", examples, "from 4 to 1,048,576")?;
        let smoothing = config.loss.smoothing;
        ensure((0.0..1.0).contains(&smoothing), "loss.smoothing", smoothing, "from 0 to below 1")
    }

    fn held_values(config: &ClassificationConfig) -> Vec<HeldValues> {
        let (data, samples) = (&config.data, config.data.samples);
        let batch = HeldValues::new("training.batch", config.training.batch, samples);
        // Training examples, and half as many to validate and test on.
        let of_families = data.synthetic.families.len() * samples * 3 / 2;
        let generated = HeldValues::new("data.synthetic_examples", data.synthetic_examples, of_families);
        if data.recordings.is_none() { vec![batch, generated] } else { vec![batch] }
    }

    fn locate_data(config: &mut ClassificationConfig, root: DataRoot<'_>) -> Result<(), ConfigError> {
        locate_recordings(&mut config.data.recordings, root)
    }
}

/// Checks what the form of the model's input follows from.
fn validate_input(config: &ClassificationConfig) -> Result<(), ConfigError> {
    match InputForm::of(config) {
        InputForm::Tokens { vocabulary } => {
            ensure(vocabulary >= 2, "model.settings.vocabulary", vocabulary, "at least 2 levels of samples")
        }
        InputForm::Image { side } => {
            let spectrum = image_spectrum(config, side).validate();
            spectrum.map_err(|error| ConfigError::Value {
                key: "model.settings.image".into(),
                got: side.to_string(),
                expected: format!(
                    "bands and frames that data.samples, data.sample_rate and data.n_fft allow ({error})"
                ),
            })
        }
        InputForm::Samples | InputForm::Steps { .. } => Ok(()),
    }
}
