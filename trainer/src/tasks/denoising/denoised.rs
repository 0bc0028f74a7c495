//! Recordings without noise, as WAV files.

use std::collections::HashSet;
use std::io::Cursor;

use firefly_recordings::{Recording, read_recording, stem};
use hound::{SampleFormat, WavSpec, WavWriter};

use super::{DenoisingConfig, denoised};
use crate::tasks::prelude::*;

/// Samples of a part of a recording that is denoised at once.
const PART: usize = 1 << 18;
/// Samples that neighbouring parts share, and over which the one fades into the other.
const OVERLAP: usize = 1 << 13;

/// A WAV file of 32-bit floats for each file of recordings, with all its channels, under the name of its stem. A
/// recording shorter than a frame of the model is denoised in the middle of zeros, as short ones are in training.
pub(super) fn files(
    config: &DenoisingConfig,
    placed: &mut [Placed<ZooModel>],
    inputs: &[PathBuf],
) -> Result<Vec<PredictionFile>> {
    let file = |Placed { model, device }: &Placed<ZooModel>, path: &PathBuf| {
        let frame = model.settings().get("n_fft").and_then(|samples| samples.as_u64()).unwrap_or(1) as usize;
        let refused = |reason: String| TaskError::Input(path.clone(), reason);
        let recordings = read_recording(path)?;
        check_rate(&recordings, config.data.sample_rate)?;
        let mut channels = Vec::with_capacity(recordings.len());
        for Recording { samples, .. } in &recordings {
            let whole = in_parts(samples, PART, OVERLAP, |part| {
                let (row, place) = padded(part, frame);
                let shape = [1, row.len()];
                let row = Tensor::from_data(TensorData::new(row, shape), device);
                let found: Vec<f32> = denoised(model, row)?.into_data().iter().collect();
                Ok(found[place..place + part.len()].to_vec())
            });
            channels.push(whole.map_err(|error: TaskError| refused(error.to_string()))?);
        }
        let rate = recordings.first().and_then(|recording| recording.sample_rate).unwrap_or(config.data.sample_rate);
        wav(&channels, rate.round() as u32).map_err(|error| refused(error.to_string()))
    };
    let mut names = HashSet::new();
    let files = inputs.iter().zip(over_devices(placed, inputs, file)?);
    Ok(files.map(|(path, bytes)| PredictionFile { name: unused_name(path, &mut names), bytes }).collect())
}

/// A signal of at least `least` samples with `samples` in its middle and zeros around them, and the place where they
/// begin.
fn padded(samples: &[f32], least: usize) -> (Vec<f32>, usize) {
    let place = least.saturating_sub(samples.len()) / 2;
    let mut row = vec![0.0; samples.len().max(least)];
    row[place..place + samples.len()].copy_from_slice(samples);
    (row, place)
}

/// Name of the file for an input: its stem, with a number where another file has it already.
fn unused_name(input: &Path, names: &mut HashSet<String>) -> String {
    let stem = stem(input);
    let numbered = (2..).map(|number| format!("{stem}-{number}.wav"));
    let mut candidates = std::iter::once(format!("{stem}.wav")).chain(numbered);
    candidates.find(|name| names.insert(name.clone())).unwrap_or_default()
}

/// `apply` of a long signal, in parts of `part` samples that fade into each other over `overlap` samples; the last part
/// has less than twice as many.
fn in_parts<E>(
    samples: &[f32],
    part: usize,
    overlap: usize,
    apply: impl Fn(&[f32]) -> Result<Vec<f32>, E>,
) -> Result<Vec<f32>, E> {
    let mut whole: Vec<f32> = Vec::with_capacity(samples.len());
    let mut start = 0;
    loop {
        // A rest that is shorter than a part goes with the part before it.
        let end = if samples.len() - start < 2 * part { samples.len() } else { start + part };
        let found = apply(&samples[start..end])?;
        let common = whole.len() - start;
        for (index, (sample, next)) in whole[start..].iter_mut().zip(&found).enumerate() {
            let share = (index + 1) as f32 / (common + 1) as f32;
            *sample += share * (next - *sample);
        }
        whole.extend_from_slice(&found[common..]);
        if end == samples.len() {
            return Ok(whole);
        }
        start = end - overlap;
    }
}

/// Channels of one length as a WAV file of 32-bit floats.
fn wav(channels: &[Vec<f32>], sample_rate: u32) -> Result<Vec<u8>, hound::Error> {
    const MAX_BYTES: usize = u32::MAX as usize - (1 << 10);
    let samples: usize = channels.iter().map(Vec::len).sum();
    let count =
        u16::try_from(channels.len()).map_err(|_| hound::Error::FormatError("it has more than 65,535 channels"))?;
    if samples * size_of::<f32>() > MAX_BYTES {
        return Err(hound::Error::FormatError("a WAV file holds less than 4 GiB: cut the recording"));
    }
    let spec = WavSpec { channels: count, sample_rate, bits_per_sample: 32, sample_format: SampleFormat::Float };
    let mut bytes = Cursor::new(Vec::new());
    let mut writer = WavWriter::new(&mut bytes, spec)?;
    for index in 0..channels.first().map_or(0, Vec::len) {
        channels.iter().try_for_each(|channel| writer.write_sample(channel[index]))?;
    }
    writer.finalize()?;
    Ok(bytes.into_inner())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn overlapping_parts_are_cross_faded() {
        let signal: Vec<f32> = (0..107).map(|index| index as f32).collect();
        let same = in_parts(&signal, 20, 5, |part| Ok::<_, Infallible>(part.to_vec())).unwrap();
        let error = same.iter().zip(&signal).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(same.len() == 107 && error < 1e-4, "{error}");
        // Parts of different levels meet gradually.
        let level = in_parts(&signal, 20, 5, |part| Ok::<_, Infallible>(vec![part[0] / 15.0; part.len()])).unwrap();
        assert!(level.windows(2).all(|pair| (0.0..0.2).contains(&(pair[1] - pair[0]))), "{level:?}");
        assert_eq!(in_parts(&signal[..39], 20, 5, |part| Ok::<_, Infallible>(part.to_vec())).unwrap(), signal[..39]);
    }

    #[test]
    fn short_signals_are_centred_in_zeros() {
        assert_eq!(padded(&[1.0, 2.0], 5), (vec![0.0, 1.0, 2.0, 0.0, 0.0], 1));
        assert_eq!(padded(&[1.0, 2.0], 2), (vec![1.0, 2.0], 0));
    }

    #[test]
    fn files_of_one_stem_get_numbers() {
        let mut names = HashSet::new();
        let found = ["a/x.wav", "b/x.flac", "y.wav"].map(|path| unused_name(Path::new(path), &mut names));
        assert_eq!(found, ["x.wav", "x-2.wav", "y.wav"]);
    }

    #[test]
    fn wav_files_hold_the_samples_of_every_channel() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stereo.wav");
        let channels = [vec![0.25, -1.5, 3.0], vec![1.0, 0.0, -1.0]];
        std::fs::write(&path, wav(&channels, 8_000).unwrap()).unwrap();
        let found = read_recording(&path).unwrap();
        assert_eq!(found[0].sample_rate, Some(8_000.0));
        assert_eq!([found[0].samples.to_vec(), found[1].samples.to_vec()], channels);
    }
}
