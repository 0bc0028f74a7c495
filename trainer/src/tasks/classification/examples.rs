//! Labelled examples: recordings, or parts of them, and generated signals.

use burn::tensor::Int;
use firefly_recordings::{Samples, stem};

use super::ClassificationConfig;
use super::config::{DataSection, LabelPart};
use crate::data::{
    AddedNoise, Corpus, Excerpts, NoiseKind, Part, SignalFamily, Synthetic, SyntheticConfig, add_noise, uniform,
};
use crate::tasks::prelude::*;

/// Seed of the noise of test examples, whatever the run's: their rows are the same in every run.
const FIXED_SEED: u64 = 0;

/// Examples of one part of the data, with labels that are indices of a list of classes. Cloning shares the samples.
#[derive(Debug, Clone)]
pub struct Examples {
    excerpts: Excerpts,
    /// Class of each excerpt.
    classes: Vec<usize>,
    noise: AddedNoise,
}

/// Signals `[batch, samples]` and their classes `[batch]`.
pub struct LabelledBatch {
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
    /// Reads or generates the examples of a configuration. An error if recordings can't be read or have another rate,
    /// or a label of a test file is not one of a training file.
    pub fn open(config: &ClassificationConfig) -> Result<Self> {
        let Some(recordings) = &config.data.recordings else { return generated(config) };
        let corpora = recordings.load(1, config.seed)?;
        let mut classes: Vec<String> =
            corpora.train.recordings().iter().map(|recording| label(&config.data, &recording.path)).collect();
        classes.sort_unstable();
        classes.dedup();
        let (folder, separator) = (recordings.train.display(), &config.data.separator);
        if !corpora.train.recordings().iter().any(|recording| stem(&recording.path).contains(separator)) {
            tracing::warn!("{folder}: no file's name has data.separator, `{separator}`: whole names are the labels");
        }
        let examples = |corpus: &Corpus| Examples::of(corpus, &config.data, &classes);
        let train = examples(&corpora.train)?.for_training(config);
        let validation = examples(&corpora.validation)?;
        let test = corpora.test.as_ref().map_or_else(|| Ok(validation.clone()), examples)?;
        let test_name = recordings.test_name(&corpora);
        Ok(Self { train, validation, test, test_name, classes })
    }

    /// The class of most training examples.
    pub fn most_frequent(&self) -> usize {
        let count = |class: usize| self.train.classes.iter().filter(|of| **of == class).count();
        (0..self.classes.len()).fold(0, |best, class| if count(class) > count(best) { class } else { best })
    }
}

impl HostSets for ExampleSets {
    fn training_examples(&self) -> usize {
        self.train.len()
    }

    fn fingerprint(&self) -> u64 {
        self.train.excerpts.fingerprint() ^ self.validation.excerpts.fingerprint().rotate_left(1)
    }
}

/// Generated examples, whose classes are the families of signals.
fn generated(config: &ClassificationConfig) -> Result<ExampleSets> {
    let (data, samples) = (&config.data, config.data.samples);
    let families: &[SignalFamily] = &data.synthetic.families;
    let quarter = data.synthetic_examples / 4;
    let set = |part: Part, count: usize| -> Result<Examples> {
        let (mut signals, mut classes) = (Vec::new(), Vec::new());
        for (class, family) in families.iter().enumerate() {
            let of_family = SyntheticConfig { families: vec![*family], ..data.synthetic.clone() };
            let source = Synthetic::new(of_family, samples, config.seed)?.for_examples().for_part(part);
            signals.extend(source.frames(count).iter().map(|frame| Samples::from(frame.to_vec())));
            classes.extend(std::iter::repeat_n(class, count));
        }
        Ok(Examples::new(Excerpts::of_signals(samples, signals), classes, data))
    };
    Ok(ExampleSets {
        classes: families.iter().map(|family| family.as_str().to_string()).collect(),
        train: set(Part::Train, data.synthetic_examples)?.for_training(config),
        validation: set(Part::Validation, quarter)?,
        test: set(Part::Test, quarter)?,
        test_name: "synthetic".into(),
    })
}

fn label(data: &DataSection, path: &Path) -> String {
    let stem = stem(path);
    let split = match data.label {
        LabelPart::BeforeFirst => stem.split_once(data.separator.as_str()),
        LabelPart::BeforeLast => stem.rsplit_once(data.separator.as_str()),
    };
    split.map_or(stem.clone(), |(label, _)| label.to_string())
}

impl Examples {
    fn new(excerpts: Excerpts, classes: Vec<usize>, data: &DataSection) -> Self {
        Self { excerpts, classes, noise: AddedNoise::new(data.samples, FIXED_SEED, Part::Test) }
    }

    /// The same examples with the noise of a run's training.
    fn for_training(self, config: &ClassificationConfig) -> Self {
        Self { noise: AddedNoise::new(config.data.samples, config.seed, Part::Train), ..self }
    }

    /// The examples of a corpus. An error if a recording has another rate, a label is empty or none of the classes, or
    /// every recording is too short.
    pub fn of(corpus: &Corpus, data: &DataSection, classes: &[String]) -> Result<Self> {
        check_rate(corpus.recordings(), data.sample_rate)?;
        let mut of_recordings = Vec::with_capacity(corpus.recordings().len());
        for recording in corpus.recordings() {
            let label = label(data, &recording.path);
            let refused = |reason: String| TaskError::Input(recording.path.to_path_buf(), reason);
            if label.is_empty() {
                return Err(refused(format!("its name has no label before data.separator, `{}`", data.separator)));
            }
            of_recordings.push(classes.binary_search(&label).map_err(|_| {
                refused(format!(
                    "its label `{label}` is none of the training files', {}: the only file of a label validates or \
                     tests, or data.separator and data.label do not find the labels",
                    classes.join(", ")
                ))
            })?);
        }
        let excerpts = Excerpts::of(corpus, data.samples, data.cut)?;
        let classes = (0..excerpts.len()).map(|index| of_recordings[excerpts.source(index)]).collect();
        Ok(Self::new(excerpts, classes, data))
    }

    /// The examples of a corpus without labels. An error if a recording has another rate, or every one is too short.
    pub fn unlabelled(corpus: &Corpus, data: &DataSection) -> Result<Self> {
        check_rate(corpus.recordings(), data.sample_rate)?;
        let excerpts = Excerpts::of(corpus, data.samples, data.cut)?;
        let classes = vec![0; excerpts.len()];
        Ok(Self::new(excerpts, classes, data))
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// Samples of an example.
    pub fn samples(&self) -> usize {
        self.excerpts.samples
    }

    /// Class of an example.
    pub fn class(&self, index: usize) -> usize {
        self.classes[index]
    }

    /// The examples as they are, with white noise of a signal-to-noise ratio.
    pub fn batch(&self, indices: &[usize], snr_db: Option<f64>, device: &Device) -> LabelledBatch {
        let row = |index: &usize| {
            let mut row = self.excerpts.row(*index);
            if let Some(ratio) = snr_db {
                add_noise(&mut row, &self.noise.row(NoiseKind::White, *index as u64, *index), ratio);
            }
            row
        };
        self.tensors(indices, indices.iter().flat_map(row).collect(), device)
    }

    /// The examples for training, a function of the seed and the draws that begin at `first`: at random places in their
    /// recordings or in their samples, with white noise of a random ratio in `noise_snr_db`.
    pub fn augmented(
        &self,
        indices: &[usize],
        config: &ClassificationConfig,
        first: u64,
        device: &Device,
    ) -> LabelledBatch {
        let row = |(index, draw): (&usize, u64)| {
            let [place, ratio] = uniform(config.seed, Part::Train, draw);
            let mut row = self.excerpts.moved_row(*index, place);
            if let [least, greatest] = config.data.noise_snr_db[..] {
                let noise = self.noise.row(NoiseKind::White, draw, *index);
                add_noise(&mut row, &noise, least + (greatest - least) * ratio);
            }
            row
        };
        self.tensors(indices, indices.iter().zip(first..).flat_map(row).collect(), device)
    }

    fn tensors(&self, indices: &[usize], values: Vec<f32>, device: &Device) -> LabelledBatch {
        let classes: Vec<i32> = indices.iter().map(|index| self.classes[*index] as i32).collect();
        let shape = [indices.len(), values.len() / indices.len()];
        LabelledBatch {
            signal: Tensor::from_data(TensorData::new(values, shape), device),
            classes: Tensor::from_data(TensorData::new(classes, [indices.len()]), device),
        }
    }
}

#[cfg(test)]
mod tests {
    use firefly_recordings::Recording;

    use super::*;

    #[test]
    fn labels_are_read_from_file_names() {
        let mut data = DataSection::default();
        assert_eq!(label(&data, Path::new("x/7_theo_12.wav")), "7");
        (data.separator, data.label) = ("-".into(), LabelPart::BeforeLast);
        assert_eq!(label(&data, Path::new("outer-007-load3.wav")), "outer-007");
        assert_eq!(label(&data, Path::new("plain.wav")), "plain");
    }

    /// A recording of 64 samples.
    fn corpus(name: &str, sample_rate: Option<f64>) -> Corpus {
        let (path, samples) = (Path::new(name).into(), vec![0.5; 64].into());
        Corpus::from_recordings(vec![Recording { path, channel: 0, sample_rate, samples }], 1).unwrap()
    }

    #[test]
    fn recordings_of_another_rate_than_that_of_the_configuration_are_refused() {
        let data = DataSection { sample_rate: 12_000.0, ..DataSection::default() };
        let labelled = |rate: Option<f64>| Examples::of(&corpus("a_1.wav", rate), &data, &["a".into()]).err();
        let unlabelled = |rate: Option<f64>| Examples::unlabelled(&corpus("a_1.wav", rate), &data).err();
        for of_rate in [&labelled as &dyn Fn(Option<f64>) -> Option<TaskError>, &unlabelled] {
            assert!(of_rate(Some(12_000.0)).is_none());
            assert!(of_rate(None).is_none(), "a file that does not say its rate");
            let message = of_rate(Some(8_000.0)).unwrap().to_string();
            assert_eq!(message, "a_1.wav: it has 8000 samples per second, but data.sample_rate is 12000");
        }
    }

    #[test]
    fn labels_that_are_empty_or_not_among_the_classes_are_refused() {
        let error = |name: &str| {
            let corpus = corpus(name, Some(8_000.0));
            Examples::of(&corpus, &DataSection::default(), &["a".into(), "b".into()])
                .err()
                .map(|error| error.to_string())
        };
        assert_eq!(error("a_1.wav"), None);
        assert_eq!(error("_1.wav").unwrap(), "_1.wav: its name has no label before data.separator, `_`");
        let message = error("c_1.wav").unwrap();
        assert!(
            message.starts_with("c_1.wav: its label `c` is none of the training files', a, b: the only"),
            "{message}"
        );
    }
}
