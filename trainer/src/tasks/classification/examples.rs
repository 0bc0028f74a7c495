//! Labelled examples: recordings, or parts of them, and generated signals.

use std::path::Path;
use std::sync::Arc;

use burn::tensor::{Device, Int, Tensor, TensorData};
use sha2::{Digest, Sha256};

use super::ClassificationConfig;
use super::config::{DataSection, LabelPart};
use crate::data::{Corpus, DataError, Family, Part, Recording, Synthetic, SyntheticConfig, normal_rows, uniform};
use crate::task::TaskError;

/// Samples of each example that the fingerprint of the data is taken of.
const FINGERPRINT_SAMPLES: usize = 256;

/// Examples of one part of the data, with labels that are indices of a list of classes. Cloning shares the samples.
#[derive(Debug, Clone, Default)]
pub struct Examples {
    items: Vec<Example>,
}

#[derive(Debug, Clone)]
struct Example {
    recording: Arc<Vec<f32>>,
    /// First sample in the recording.
    start: usize,
    class: usize,
}

/// Signals `[batch, samples]` and their classes `[batch]`.
pub struct Batch {
    /// The signals.
    pub signal: Tensor<2>,
    /// The classes.
    pub classes: Tensor<1, Int>,
}

/// Training, validation and test examples, and the names of the classes.
pub struct ExampleSets {
    /// Names of the classes, sorted.
    pub classes: Vec<String>,
    /// Examples to fit on.
    pub train: Examples,
    /// Examples to choose a model by.
    pub validation: Examples,
    /// Examples to report on; those of the validation if none are set aside.
    pub test: Examples,
    /// Name of the examples that are reported on.
    pub test_name: String,
}

impl ExampleSets {
    /// Reads or generates the examples of a configuration.
    ///
    /// # Errors
    /// If recordings can't be read, or a label of a test file is not one of a training file.
    pub fn open(config: &ClassificationConfig) -> Result<Self, TaskError> {
        let Some(recordings) = &config.data.recordings else { return generated(config) };
        let corpora = recordings.load(1, config.seed)?;
        let mut classes: Vec<String> =
            corpora.train.recordings().iter().map(|recording| label(&config.data, &recording.path)).collect();
        classes.sort_unstable();
        classes.dedup();
        let examples = |corpus: &Corpus| Examples::of(corpus, &config.data, &classes);
        let validation = examples(&corpora.validation)?;
        let (test, part) = match &corpora.test {
            Some(test) => (examples(test)?, "test files"),
            None => (validation.clone(), "validation files"),
        };
        let folder = recordings.test.as_ref().unwrap_or(&recordings.train).display().to_string();
        Ok(Self {
            train: examples(&corpora.train)?,
            validation,
            test,
            test_name: format!("{folder} ({part})"),
            classes,
        })
    }
}

impl ExampleSets {
    /// The class of most training examples.
    pub fn most_frequent(&self) -> usize {
        let count = |class: usize| self.train.items.iter().filter(|example| example.class == class).count();
        (0..self.classes.len()).fold(0, |best, class| if count(class) > count(best) { class } else { best })
    }

    /// Number that changes with the samples and the classes.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = Sha256::new();
        for example in self.train.items.iter().chain(&self.validation.items) {
            hasher.update(example.class.to_le_bytes());
            hasher.update(example.start.to_le_bytes());
            let samples = &example.recording[example.start..];
            samples.iter().take(FINGERPRINT_SAMPLES).for_each(|sample| hasher.update(sample.to_le_bytes()));
        }
        hasher.finalize().iter().take(size_of::<u64>()).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

/// Generated examples, whose classes are the families of signals.
fn generated(config: &ClassificationConfig) -> Result<ExampleSets, TaskError> {
    let (data, samples) = (&config.data, config.data.samples);
    let families: &[Family] = &data.synthetic.families;
    let mut sets = [Examples::default(), Examples::default(), Examples::default()];
    for (class, family) in families.iter().enumerate() {
        let signals = SyntheticConfig { families: vec![*family], ..data.synthetic.clone() };
        let source = Synthetic::new(signals, samples, config.seed)?;
        let counts = [data.synthetic_examples, data.synthetic_examples / 4, data.synthetic_examples / 4];
        for ((set, part), count) in sets.iter_mut().zip([Part::Train, Part::Validation, Part::Test]).zip(counts) {
            let frames = source.for_part(part).frames(count);
            set.items.extend(frames.iter().map(|frame| Example {
                recording: Arc::new(frame.to_vec()),
                start: 0,
                class,
            }));
        }
    }
    let [train, validation, test] = sets;
    let classes = families.iter().map(|family| family.name().to_string()).collect();
    Ok(ExampleSets { classes, train, validation, test, test_name: "synthetic".into() })
}

/// Label in the name of a file.
fn label(data: &DataSection, path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let split = match data.label {
        LabelPart::BeforeFirst => stem.split_once(data.separator.as_str()),
        LabelPart::BeforeLast => stem.rsplit_once(data.separator.as_str()),
    };
    split.map_or(stem.clone(), |(label, _)| label.to_string())
}

impl Examples {
    /// The examples of a corpus.
    ///
    /// # Errors
    /// If a label is none of the classes.
    pub fn of(corpus: &Corpus, data: &DataSection, classes: &[String]) -> Result<Self, TaskError> {
        Self::with_classes(corpus, data, |recording| {
            let label = label(data, &recording.path);
            classes.binary_search(&label).map_err(|_| TaskError::Input {
                path: recording.path.to_path_buf(),
                reason: format!("its label `{label}` is none of the training files', {}", classes.join(", ")),
            })
        })
    }

    /// The examples of a corpus without labels.
    ///
    /// # Errors
    /// If every recording is too short.
    pub fn unlabelled(corpus: &Corpus, data: &DataSection) -> Result<Self, TaskError> {
        Self::with_classes(corpus, data, |_| Ok(0))
    }

    fn with_classes(
        corpus: &Corpus,
        data: &DataSection,
        class: impl Fn(&Recording) -> Result<usize, TaskError>,
    ) -> Result<Self, TaskError> {
        let mut items = Vec::new();
        for recording in corpus.recordings() {
            let class = class(recording)?;
            let count = if data.cut { recording.samples.len() / data.samples } else { 1 };
            let example = |index| Example { recording: recording.samples.clone(), start: index * data.samples, class };
            items.extend((0..count).map(example));
        }
        if items.is_empty() {
            return Err(TaskError::Data(DataError::AllTooShort {
                folder: corpus.folder().to_owned(),
                recordings: corpus.recordings().len(),
                frame: data.samples,
                longest: corpus.recordings().iter().map(|recording| recording.samples.len()).max().unwrap_or(0),
            }));
        }
        Ok(Self { items })
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Class of an example.
    pub fn class(&self, index: usize) -> usize {
        self.items[index].class
    }

    /// The examples as they are, in the middle of their samples where they are shorter, with white noise of a
    /// signal-to-noise ratio.
    pub fn batch(&self, indices: &[usize], samples: usize, snr_db: Option<f64>, device: &Device) -> Batch {
        let mut values = vec![0.0; indices.len() * samples];
        for (row, index) in values.chunks_exact_mut(samples).zip(indices) {
            let Example { recording, start, .. } = &self.items[*index];
            let rest = recording.len() - start;
            place(row, &recording[*start..start + rest.min(samples)], 0.5);
            if let Some(ratio) = snr_db {
                add_noise(row, &normal_rows(0, Part::Test, *index as u64, 1, samples), ratio);
            }
        }
        self.tensors(indices, values, samples, device)
    }

    /// The examples for training, a function of the seed and the draws that begin at `first`: at random places in their
    /// recordings or in their samples, with white noise of a random ratio in `snr_db`.
    pub fn augmented(&self, indices: &[usize], data: &DataSection, seed: u64, first: u64, device: &Device) -> Batch {
        let samples = data.samples;
        let mut values = vec![0.0; indices.len() * samples];
        for ((row, index), draw) in values.chunks_exact_mut(samples).zip(indices).zip(first..) {
            let recording = &self.items[*index].recording;
            let [offset, ratio] = uniform(seed, Part::Train, draw);
            let spare = recording.len().saturating_sub(samples);
            let start = ((spare + 1) as f64 * offset) as usize;
            place(row, &recording[start..start + recording.len().min(samples)], offset);
            if let [least, greatest] = data.noise_snr_db[..] {
                let noise = normal_rows(seed, Part::Validation, draw, 1, samples);
                add_noise(row, &noise, least + (greatest - least) * ratio);
            }
        }
        self.tensors(indices, values, samples, device)
    }

    fn tensors(&self, indices: &[usize], values: Vec<f32>, samples: usize, device: &Device) -> Batch {
        let classes: Vec<i32> = indices.iter().map(|index| self.items[*index].class as i32).collect();
        Batch {
            signal: Tensor::from_data(TensorData::new(values, [indices.len(), samples]), device),
            classes: Tensor::from_data(TensorData::new(classes, [indices.len()]), device),
        }
    }
}

/// Puts samples into a row that may be longer; `share` of what is left of the row is before them.
pub(super) fn place(row: &mut [f32], samples: &[f32], share: f64) {
    let spare = row.len() - samples.len();
    let start = ((spare + 1) as f64 * share) as usize;
    let start = start.min(spare);
    row[start..start + samples.len()].copy_from_slice(samples);
}

/// Adds noise of variance 1, scaled to a signal-to-noise ratio.
fn add_noise(row: &mut [f32], noise: &[f32], snr_db: f64) {
    let power = row.iter().map(|sample| f64::from(*sample).powi(2)).sum::<f64>() / row.len() as f64;
    let factor = (power * 10f64.powf(-snr_db / 10.0)).sqrt() as f32;
    row.iter_mut().zip(noise).for_each(|(sample, noise)| *sample += factor * noise);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_parts_of_the_names() {
        let mut data = DataSection::default();
        assert_eq!(label(&data, Path::new("x/7_theo_12.wav")), "7");
        (data.separator, data.label) = ("-".into(), LabelPart::BeforeLast);
        assert_eq!(label(&data, Path::new("outer-007-load3.wav")), "outer-007");
        assert_eq!(label(&data, Path::new("plain.wav")), "plain");
    }

    #[test]
    fn noise_has_the_power_of_its_ratio() {
        let mut row = vec![1.0f32; 4096];
        let noise = normal_rows(1, Part::Test, 0, 1, 4096);
        add_noise(&mut row, &noise, 20.0);
        let power = row.iter().map(|sample| f64::from(sample - 1.0).powi(2)).sum::<f64>() / 4096.0;
        assert!((power - 0.01).abs() < 0.001, "{power}");
    }

    #[test]
    fn short_recordings_are_padded_where_they_are_placed() {
        let placed = |share| {
            let mut row = [0.0; 5];
            place(&mut row, &[1.0, 2.0], share);
            row
        };
        assert_eq!(placed(0.0), [1.0, 2.0, 0.0, 0.0, 0.0]);
        assert_eq!(placed(0.5), [0.0, 0.0, 1.0, 2.0, 0.0]);
        assert_eq!(placed(0.999), [0.0, 0.0, 0.0, 1.0, 2.0]);
    }
}
