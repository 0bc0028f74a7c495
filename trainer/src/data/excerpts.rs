//! Excerpts of recordings, parts of one length, cut or padded with zeros; and noise to be added to them: white, pink,
//! babble of other signals, and recordings of noise.

use firefly_recordings::Samples;

use super::corpus::Corpus;
use super::draw::{Draw, Part, Purpose};
use super::synthetic::ColouredNoise;
use super::{DataError, Fingerprint, mean_square};
use crate::config::choice;

/// Samples of each excerpt that a fingerprint is taken of.
const FINGERPRINT_SAMPLES: usize = 256;

/// Excerpts of `samples` samples. Cloning shares the recordings.
#[derive(Debug, Clone)]
pub struct Excerpts {
    /// Samples of an excerpt.
    pub samples: usize,
    items: Vec<Excerpt>,
}

#[derive(Debug, Clone)]
struct Excerpt {
    recording: Samples,
    /// First sample in the recording.
    start: usize,
    /// Number of the recording in the corpus.
    source: usize,
}

impl Excerpts {
    /// Of the recordings of a corpus: with `cut` their parts without overlap, or else one excerpt each. An error if
    /// every recording is too short to be cut.
    pub fn of(corpus: &Corpus, samples: usize, cut: bool) -> Result<Self, DataError> {
        let mut items = Vec::new();
        for (source, recording) in corpus.recordings().iter().enumerate() {
            let count = if cut { recording.samples.len() / samples } else { 1 };
            let excerpt = |index| Excerpt { recording: recording.samples.clone(), start: index * samples, source };
            items.extend((0..count).map(excerpt));
        }
        if items.is_empty() {
            return Err(corpus.too_short(samples));
        }
        Ok(Self { samples, items })
    }

    /// Signals in memory, one excerpt each.
    pub fn of_signals(samples: usize, signals: impl IntoIterator<Item = Samples>) -> Self {
        let excerpt = |(source, recording)| Excerpt { recording, start: 0, source };
        Self { samples, items: signals.into_iter().enumerate().map(excerpt).collect() }
    }

    /// Number of excerpts.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Number of the recording that an excerpt is of.
    pub fn source(&self, index: usize) -> usize {
        self.items[index].source
    }

    /// The excerpt at its place in the recording; a short one is in the middle of the row.
    pub fn row(&self, index: usize) -> Vec<f32> {
        let Excerpt { recording, start, .. } = &self.items[index];
        let rest = recording.len() - start;
        self.placed(&recording[*start..start + rest.min(self.samples)], 0.5)
    }

    /// An excerpt of the same recording at another place, or at another place in the row if it is short: `place` is
    /// from 0 to below 1.
    pub fn moved_row(&self, index: usize, place: f64) -> Vec<f32> {
        let recording = &self.items[index].recording;
        let spare = recording.len().saturating_sub(self.samples);
        let start = ((spare + 1) as f64 * place) as usize;
        self.placed(&recording[start..start + recording.len().min(self.samples)], place)
    }

    /// Number that changes with the first samples of the excerpts and their places.
    pub fn fingerprint(&self) -> u64 {
        let mut fingerprint = Fingerprint::default();
        for Excerpt { recording, start, source } in &self.items {
            fingerprint.number(*source);
            fingerprint.number(*start);
            fingerprint.values(recording[*start..].iter().take(FINGERPRINT_SAMPLES));
        }
        fingerprint.finish()
    }

    /// A row with `samples` in it and zeros elsewhere; the share `place` of the zeros precedes them.
    fn placed(&self, samples: &[f32], place: f64) -> Vec<f32> {
        let mut row = vec![0.0; self.samples];
        let start = ((self.samples - samples.len() + 1) as f64 * place) as usize;
        row[start..start + samples.len()].copy_from_slice(samples);
        row
    }
}

/// Adds noise of mean square 1 to a row, scaled to a signal-to-noise ratio.
pub fn add_noise(row: &mut [f32], noise: &[f32], snr_db: f64) {
    let factor = (mean_square(row) * 10f64.powf(-snr_db / 10.0)).sqrt() as f32;
    row.iter_mut().zip(noise).for_each(|(sample, noise)| *sample += factor * noise);
}

/// Shares of a recording of noise after which its validation and its test part begin.
const PARTS: [f64; 2] = [0.7, 0.85];

choice! {
    /// Kind of noise.
    pub enum NoiseKind {
        /// Constant power density.
        White = "white",
        /// Power density proportional to 1/frequency.
        Pink = "pink",
        /// Sum of several voices: signals of the same part, one after the other.
        Babble = "babble",
        /// Excerpts of recordings of noise.
        Recorded = "recorded",
    }
}

/// Generator of rows of noise of mean square 1, each a function of seed, part and index.
#[derive(Debug, Clone)]
pub struct AddedNoise {
    samples: usize,
    seed: u64,
    part: Part,
    pink: ColouredNoise,
    /// Signals that babble is made of.
    signals: Vec<NormalisedSignal>,
    /// Number of the file of each signal, silent ones included.
    files: Vec<usize>,
    /// Voices of babble.
    voices: usize,
    /// Recordings of noise.
    recorded: Vec<NormalisedSignal>,
}

/// Signal with power, and the factor that normalises it.
#[derive(Debug, Clone)]
struct NormalisedSignal {
    samples: Samples,
    /// Number of its file.
    file: usize,
    /// Factor that makes its mean square 1.
    factor: f32,
}

impl NormalisedSignal {
    /// The signals with power, each with the number of its file.
    fn all<'a>(signals: impl IntoIterator<Item = (usize, &'a Samples)>) -> Vec<Self> {
        let signal = |(file, samples): (usize, &Samples)| {
            let power = mean_square(samples);
            let factor = power.sqrt().recip() as f32;
            (power > 0.0).then(|| Self { samples: samples.clone(), file, factor })
        };
        signals.into_iter().filter_map(signal).collect()
    }
}

impl AddedNoise {
    /// White and pink noise in rows of `samples` samples, at least 1.
    pub fn new(samples: usize, seed: u64, part: Part) -> Self {
        let pink = ColouredNoise::new(samples);
        let (signals, files, recorded) = (Vec::new(), Vec::new(), Vec::new());
        Self { samples, seed, part, pink, signals, files, voices: 0, recorded }
    }

    /// The same generator with babble of `voices` voices from these signals, each with the number of its file. Silent
    /// ones are left out.
    #[must_use]
    pub fn with_babble(self, voices: usize, signals: &[(usize, Samples)]) -> Self {
        let files = signals.iter().map(|(file, _)| *file).collect();
        let signals = NormalisedSignal::all(signals.iter().map(|(file, samples)| (*file, samples)));
        Self { voices, signals, files, ..self }
    }

    /// The same generator with excerpts of recordings of noise: of their first 70 % to train on, of the next 15 % to
    /// validate on, of the last 15 % to test on. Silent ones are left out.
    #[must_use]
    pub fn with_recorded(self, corpus: &Corpus) -> Self {
        let samples = corpus.recordings().iter().map(|recording| &recording.samples);
        Self { recorded: NormalisedSignal::all(corpus.file_numbers().into_iter().zip(samples)), ..self }
    }

    /// Whether there is noise of this kind: babble needs signals of two files, recorded noise a recording.
    pub fn has(&self, kind: NoiseKind) -> bool {
        match kind {
            NoiseKind::White | NoiseKind::Pink => true,
            NoiseKind::Babble => self.signals.iter().any(|signal| signal.file != self.signals[0].file),
            NoiseKind::Recorded => !self.recorded.is_empty(),
        }
    }

    /// Number that changes with the recordings of noise; 0 without any.
    pub fn fingerprint(&self) -> u64 {
        if self.recorded.is_empty() {
            return 0;
        }
        let mut fingerprint = Fingerprint::default();
        for NormalisedSignal { samples, .. } in &self.recorded {
            fingerprint.number(samples.len());
            fingerprint.values(samples.iter());
        }
        fingerprint.finish()
    }

    /// The row of this index for the signal number `target`, whose file babble does not contain.
    pub fn row(&self, kind: NoiseKind, index: u64, target: usize) -> Vec<f32> {
        let mut draw = Draw::at(self.seed, self.part, Purpose::Noise, index);
        let mut row = vec![0.0; self.samples];
        match kind {
            NoiseKind::White => draw.fill_normal(&mut row),
            NoiseKind::Pink => self.pink.fill(1.0, &mut draw, &mut row),
            NoiseKind::Babble => (0..self.voices).for_each(|_| self.add_voice(target, &mut draw, &mut row)),
            NoiseKind::Recorded => self.fill_recorded(&mut draw, &mut row),
        }
        let power = mean_square(&row);
        if power > 0.0 {
            let factor = power.sqrt().recip() as f32;
            row.iter_mut().for_each(|sample| *sample *= factor);
        }
        row
    }

    /// Adds a voice: random signals of one level, one after the other, the first from a random sample on.
    fn add_voice(&self, target: usize, draw: &mut Draw, row: &mut [f32]) {
        let file = self.files.get(target);
        let others: Vec<&NormalisedSignal> = self.signals.iter().filter(|signal| Some(&signal.file) != file).collect();
        if others.is_empty() {
            return;
        }
        let mut done = 0;
        while done < row.len() {
            let NormalisedSignal { samples, factor, .. } = others[draw.below(others.len() as u64) as usize];
            let first = if done == 0 { draw.below(samples.len() as u64) as usize } else { 0 };
            let rest = row[done..].iter_mut().zip(&samples[first..]);
            done += rest.len();
            rest.for_each(|(sample, voice)| *sample += factor * voice);
        }
    }

    /// Fills a row with an excerpt of a recording of noise, within what belongs to the part, repeated where that is
    /// short.
    fn fill_recorded(&self, draw: &mut Draw, row: &mut [f32]) {
        if self.recorded.is_empty() {
            return;
        }
        let samples = &self.recorded[draw.below(self.recorded.len() as u64) as usize].samples;
        let [validation, test] = PARTS.map(|share| (share * samples.len() as f64) as usize);
        let span = match self.part {
            Part::Train => &samples[..validation],
            Part::Validation => &samples[validation..test],
            Part::Test => &samples[test..],
        };
        let span = if span.is_empty() { &samples[..] } else { span };
        let first = draw.below((span.len().saturating_sub(row.len()) + 1) as u64) as usize;
        row.iter_mut().zip(span.iter().cycle().skip(first)).for_each(|(sample, noise)| *sample = *noise);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Part, normal_rows};
    use super::*;

    #[test]
    fn noise_has_the_power_of_its_ratio() {
        let mut row = vec![1.0f32; 4096];
        add_noise(&mut row, &normal_rows(1, Part::Test, 0, 1, 4096), 20.0);
        let power = row.iter().map(|sample| f64::from(sample - 1.0).powi(2)).sum::<f64>() / 4096.0;
        assert!((power - 0.01).abs() < 0.001, "{power}");
    }

    #[test]
    fn short_recordings_are_padded_where_they_are_placed() {
        let excerpts = Excerpts::of_signals(5, [vec![1.0, 2.0].into()]);
        assert_eq!(excerpts.moved_row(0, 0.0), [1.0, 2.0, 0.0, 0.0, 0.0]);
        assert_eq!(excerpts.row(0), [0.0, 0.0, 1.0, 2.0, 0.0]);
        assert_eq!(excerpts.moved_row(0, 0.999), [0.0, 0.0, 0.0, 1.0, 2.0]);
    }

    #[test]
    fn long_recordings_are_cut_where_they_are_placed() {
        let excerpts = Excerpts::of_signals(2, [vec![1.0, 2.0, 3.0, 4.0].into()]);
        assert_eq!(excerpts.row(0), [1.0, 2.0]);
        assert_eq!(excerpts.moved_row(0, 0.999), [3.0, 4.0]);
    }

    fn noise(part: Part) -> AddedNoise {
        // Two channels of one file, a silent file, and a third one.
        let square = |samples: usize| (0..samples).map(|index| if index % 7 < 3 { 1.0 } else { -1.0 }).collect();
        let signals = [(0, square(30)), (0, square(20)), (1, vec![0.0; 9]), (2, vec![-2.0; 50])];
        let signals = signals.map(|(file, samples): (usize, Vec<f32>)| (file, samples.into()));
        let ramp: Vec<f32> = (1..=1000).map(|index| index as f32).collect();
        let recording = firefly_recordings::Recording {
            path: std::path::Path::new("hum.wav").into(),
            channel: 0,
            sample_rate: None,
            samples: ramp.into(),
        };
        let corpus = Corpus::from_recordings(vec![recording], 1).unwrap();
        AddedNoise::new(64, 3, part).with_babble(2, &signals).with_recorded(&corpus)
    }

    #[test]
    fn rows_have_mean_square_1_and_follow_from_seed_part_and_index() {
        let train = noise(Part::Train);
        for kind in [NoiseKind::White, NoiseKind::Pink, NoiseKind::Babble, NoiseKind::Recorded] {
            // Babble for the last signal is made of both channels of the first file.
            let row = train.row(kind, 5, 3);
            assert!((mean_square(&row) - 1.0).abs() < 1e-5, "{kind:?}");
            assert_eq!(row, train.row(kind, 5, 3));
            assert_ne!(row, train.row(kind, 6, 3), "{kind:?}");
            assert_ne!(row, noise(Part::Test).row(kind, 5, 3), "{kind:?}");
        }
    }

    #[test]
    fn babble_leaves_out_the_file_of_its_target_and_silence() {
        let babble = noise(Part::Train);
        // Only the constant −2 is left, for either channel: both voices are −1 throughout.
        for target in [0, 1] {
            let row = babble.row(NoiseKind::Babble, 0, target);
            assert!(row.iter().all(|sample| (sample + 1.0).abs() < 1e-6), "{target}");
        }
        assert!(babble.has(NoiseKind::Babble));
        let channels = [1.0, 2.0].map(|value| (4, vec![value; 30].into()));
        let of_one_file = AddedNoise::new(64, 3, Part::Train).with_babble(2, &channels);
        assert!(!of_one_file.has(NoiseKind::Babble), "both channels are of one file");
    }

    #[test]
    fn the_fingerprint_is_that_of_the_recorded_noise() {
        assert_eq!(noise(Part::Train).fingerprint(), noise(Part::Test).fingerprint());
        assert_ne!(noise(Part::Train).fingerprint(), 0);
        assert_eq!(AddedNoise::new(64, 3, Part::Train).fingerprint(), 0);
    }

    #[test]
    fn recorded_noise_of_a_part_comes_from_its_share_of_the_recording() {
        // A ramp: the ratio of the last value to the first tells where it was cut.
        let of = |part: Part| {
            let row = noise(part).row(NoiseKind::Recorded, 1, 0);
            63.0 / f64::from(row[63] / row[0] - 1.0)
        };
        assert!(of(Part::Train) <= 700.5 - 63.0);
        assert!((699.0..=788.0).contains(&of(Part::Validation)));
        assert!(of(Part::Test) >= 849.0);
    }
}
