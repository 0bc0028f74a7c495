//! Excerpts of recordings: parts of one length, cut or padded with zeros.

use firefly_recordings::Samples;

use super::corpus::Corpus;
use super::{DataError, Fingerprint, mean_square};

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
}
