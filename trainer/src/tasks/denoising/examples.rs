//! Clean signals and their mixtures with noise.

use firefly_recordings::{Recording, Samples};

use super::DenoisingConfig;
use super::config::DataSection;
use crate::data::{AddedNoise, Corpus, Excerpts, NoiseKind, Part, Synthetic, add_noise, uniform};
use crate::tasks::prelude::*;

/// Seed of the noise of validation and test examples, whatever the run's: their rows are the same in every run.
const FIXED_SEED: u64 = 0;

/// Clean examples of a part of the data, and the noise for them. Cloning shares the samples.
#[derive(Debug, Clone)]
pub struct Examples {
    excerpts: Excerpts,
    noise: AddedNoise,
}

/// Noise of an example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Condition {
    /// Kind of the noise.
    pub kind: NoiseKind,
    /// Signal-to-noise ratio in decibels.
    pub snr_db: f64,
}

/// Clean signals and the same with noise, `[batch, samples]` each.
#[derive(Debug, Clone)]
pub struct NoisyBatch {
    /// The signals.
    pub clean: Tensor<2>,
    /// The signals with noise.
    pub noisy: Tensor<2>,
}

/// Training, validation and test examples.
pub struct ExampleSets {
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
    /// Reads or generates the examples of a configuration. An error if recordings can't be read, are silent, or have
    /// another sample rate, or if there is no noise of a kind.
    pub fn open(config: &DenoisingConfig) -> Result<Self> {
        let noise = noise_corpus(&config.data)?;
        let noise = noise.as_ref();
        let Some(recordings) = &config.data.recordings else { return generated(config, noise) };
        let corpora = recordings.load(1, config.seed)?;
        let examples = |corpus: &Corpus, part| Examples::of(corpus, config, part, noise);
        let validation = examples(&corpora.validation, Part::Validation)?;
        let of_test = |test: &Corpus| examples(test, Part::Test);
        let test = corpora.test.as_ref().map_or_else(|| Ok(validation.clone()), of_test)?;
        let train = examples(&corpora.train, Part::Train)?;
        Ok(Self { train, validation, test, test_name: recordings.test_name(&corpora) })
    }
}

impl HostSets for ExampleSets {
    fn training_examples(&self) -> usize {
        self.train.len()
    }

    /// Number that changes with the samples, and with the recordings of noise.
    fn fingerprint(&self) -> u64 {
        let [train, validation] = [&self.train, &self.validation].map(|examples| examples.excerpts.fingerprint());
        train ^ validation.rotate_left(1) ^ self.train.noise.fingerprint().rotate_left(2)
    }
}

fn noise_corpus(data: &DataSection) -> Result<Option<Corpus>> {
    let Some(folder) = &data.noise_folder else { return Ok(None) };
    let corpus = Corpus::load(folder, 1)?;
    check(corpus.recordings(), data.sample_rate)?;
    Ok(Some(corpus))
}

/// Checks that recordings have power and the sample rate of the configuration.
fn check(recordings: &[Recording], sample_rate: f64) -> Result<()> {
    check_rate(recordings, sample_rate)?;
    let is_silent = |recording: &&Recording| recording.samples.iter().all(|sample| *sample == 0.0);
    recordings.iter().find(is_silent).map_or(Ok(()), |Recording { path, channel, .. }| {
        Err(TaskError::Input(path.to_path_buf(), format!("channel {channel} is silent")))
    })
}

fn generated(config: &DenoisingConfig, noise: Option<&Corpus>) -> Result<ExampleSets> {
    let DataSection { samples, synthetic_examples, ref synthetic, .. } = config.data;
    let source = Synthetic::new(synthetic.clone(), samples, config.seed)?.for_examples();
    let set = |part: Part, count: usize| {
        let frames = source.for_part(part).frames(count);
        let signals: Vec<Samples> = frames.iter().map(|frame| frame.to_vec().into()).collect();
        let excerpts = Excerpts::of_signals(samples, signals.iter().cloned());
        let signals: Vec<_> = signals.into_iter().enumerate().collect();
        Examples::with_noise(excerpts, &signals, config, part, noise)
    };
    let quarter = synthetic_examples / 4;
    Ok(ExampleSets {
        train: set(Part::Train, synthetic_examples)?,
        validation: set(Part::Validation, quarter)?,
        test: set(Part::Test, quarter)?,
        test_name: "synthetic".into(),
    })
}

impl Examples {
    fn of(corpus: &Corpus, config: &DenoisingConfig, part: Part, noise: Option<&Corpus>) -> Result<Self> {
        check(corpus.recordings(), config.data.sample_rate)?;
        let excerpts = Excerpts::of(corpus, config.data.samples, config.data.cut)?;
        let samples = corpus.recordings().iter().map(|recording| recording.samples.clone());
        let signals: Vec<_> = corpus.file_numbers().into_iter().zip(samples).collect();
        Self::with_noise(excerpts, &signals, config, part, noise)
    }

    /// The examples of a folder, as test examples. Errors as of [`ExampleSets::open`].
    pub fn of_folder(folder: &Path, config: &DenoisingConfig) -> Result<Self> {
        Self::of(&Corpus::load(folder, 1)?, config, Part::Test, noise_corpus(&config.data)?.as_ref())
    }

    fn with_noise(
        excerpts: Excerpts,
        signals: &[(usize, Samples)],
        config: &DenoisingConfig,
        part: Part,
        recorded: Option<&Corpus>,
    ) -> Result<Self> {
        let data = &config.data;
        let seed = if part == Part::Train { config.seed } else { FIXED_SEED };
        let noise = AddedNoise::new(data.samples, seed, part).with_babble(data.voices, signals);
        let noise = recorded.map_or(noise.clone(), |corpus| noise.with_recorded(corpus));
        match data.noises.iter().find(|kind| !noise.has(**kind)) {
            None => Ok(Self { excerpts, noise }),
            Some(kind) => Err(TaskError::NoNoise(kind.as_str())),
        }
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.excerpts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.excerpts.is_empty()
    }

    /// Examples at their places, each with noise of its condition.
    pub fn mixed(&self, indices: &[usize], condition: impl Fn(usize) -> Condition, device: &Device) -> NoisyBatch {
        let rows = indices.iter().map(|index| {
            let noise = self.noise.row(condition(*index).kind, *index as u64, self.excerpts.source(*index));
            (self.excerpts.row(*index), noise, condition(*index).snr_db)
        });
        batch(rows, device)
    }

    /// Examples for training, a function of the seed and the draws that begin at `first`: at a random place in their
    /// recordings or in their samples, at a random speed, with random noise of a random ratio.
    pub fn augmented(&self, indices: &[usize], config: &DenoisingConfig, first: u64, device: &Device) -> NoisyBatch {
        let DenoisingConfig { data, seed, .. } = config;
        let rows = indices.iter().zip(first..).map(|(index, draw)| {
            let [place, ratio] = uniform(*seed, Part::Train, 2 * draw);
            let [kind, speed] = uniform(*seed, Part::Train, 2 * draw + 1);
            let kind = data.noises[(kind * data.noises.len() as f64) as usize];
            let noise = self.noise.row(kind, draw, self.excerpts.source(*index));
            let between = |[least, greatest]: [f64; 2], share: f64| least + (greatest - least) * share;
            let row = self.excerpts.moved_row(*index, place);
            (resampled(row, between(data.speed, speed)), noise, between(data.snr_db, ratio))
        });
        batch(rows, device)
    }
}

/// Rows of clean signals with noise of mean square 1, scaled to a ratio.
fn batch(rows: impl Iterator<Item = (Vec<f32>, Vec<f32>, f64)>, device: &Device) -> NoisyBatch {
    let (mut clean, mut noisy, mut count) = (Vec::new(), Vec::new(), 0);
    for (mut row, noise, snr_db) in rows {
        clean.extend_from_slice(&row);
        add_noise(&mut row, &noise, snr_db);
        noisy.extend(row);
        count += 1;
    }
    let tensor = |values: Vec<f32>| {
        let shape = [count, values.len() / count];
        Tensor::from_data(TensorData::new(values, shape), device)
    };
    NoisyBatch { clean: tensor(clean), noisy: tensor(noisy) }
}

/// A row played faster by a factor around its middle, by linear interpolation; zeros beyond its ends.
fn resampled(row: Vec<f32>, speed: f64) -> Vec<f32> {
    if speed == 1.0 {
        return row;
    }
    let middle = (row.len() - 1) as f64 / 2.0;
    let at = |place: isize| usize::try_from(place).ok().and_then(|place| row.get(place)).copied().unwrap_or(0.0);
    let sample = |index: usize| {
        let place = middle + (index as f64 - middle) * speed;
        let share = (place - place.floor()) as f32;
        at(place.floor() as isize) * (1.0 - share) + at(place.floor() as isize + 1) * share
    };
    (0..row.len()).map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::RecordingsConfig;

    #[test]
    fn a_faster_row_is_shorter_and_keeps_its_middle() {
        let row = vec![0.0, 1.0, 2.0, 3.0, 4.0];
        assert_eq!(resampled(row.clone(), 1.0), row);
        assert_eq!(resampled(row.clone(), 2.0), [0.0, 0.0, 2.0, 4.0, 0.0]);
        assert_eq!(resampled(row, 0.5), [1.0, 1.5, 2.0, 2.5, 3.0]);
    }

    /// Writes a recording of 100 samples.
    fn record(path: &Path, sample_rate: u32, sample: impl Fn(usize) -> i16) {
        let spec =
            hound::WavSpec { channels: 1, sample_rate, bits_per_sample: 16, sample_format: hound::SampleFormat::Int };
        let mut writer = hound::WavWriter::create(path, spec).unwrap();
        (0..100).for_each(|index| writer.write_sample(sample(index)).unwrap());
        writer.finalize().unwrap();
    }

    #[test]
    fn recordings_that_are_silent_or_of_another_rate_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let tone = |index: usize| if index.is_multiple_of(3) { 900 } else { -300 };
        ["a", "b", "c"].iter().for_each(|name| record(&folder.path().join(format!("{name}.wav")), 8_000, tone));
        let mut config = DenoisingConfig::default();
        config.data.recordings = Some(RecordingsConfig::new(folder.path()));
        config.data.noises = vec![NoiseKind::Recorded];
        config.data.noise_folder = Some(folder.path().into());
        assert_eq!(ExampleSets::open(&config).unwrap().train.len(), 2);
        let refused = |config: &DenoisingConfig| ExampleSets::open(config).err().unwrap().to_string();
        record(&folder.path().join("c.wav"), 16_000, tone);
        let message = refused(&config);
        assert!(message.contains("c.wav") && message.contains("16000 samples per second"), "{message}");
        record(&folder.path().join("c.wav"), 8_000, |_| 0);
        let message = refused(&config);
        assert!(message.contains("c.wav: channel 0 is silent"), "{message}");
        // The only validation file has no other whose voice could be babble.
        record(&folder.path().join("c.wav"), 8_000, tone);
        (config.data.noises, config.data.noise_folder) = (vec![NoiseKind::Babble], None);
        assert!(refused(&config).contains("data.noises has babble"), "{}", refused(&config));
    }

    #[test]
    fn mixtures_have_the_ratio_of_their_condition() {
        let config = DenoisingConfig::default();
        let sets = ExampleSets::open(&config).unwrap();
        let condition = Condition { kind: NoiseKind::Pink, snr_db: 5.0 };
        let NoisyBatch { clean, noisy } = sets.test.mixed(&[0, 3], |_| condition, &Device::flex());
        assert_eq!(clean.dims(), [2, 8_000]);
        let energy = |signal: Tensor<2>| signal.square().sum_dim(1).into_data().iter::<f32>().collect::<Vec<_>>();
        for (signal, noise) in energy(clean.clone()).into_iter().zip(energy(noisy - clean)) {
            assert!((10.0 * (signal / noise).log10() - 5.0).abs() < 1e-3);
        }
        let other = ExampleSets::open(&DenoisingConfig { seed: 8, ..config }).unwrap();
        assert_ne!(sets.fingerprint(), other.fingerprint());
    }
}
