//! Files read into one recording per channel.

use std::path::Path;
use std::sync::Arc;

use super::error::{DataError, RecordingProblem};
use super::formats;
use super::memory::MemoryCheck;

/// One channel of one file. Cloning shares the samples.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The file it came from.
    pub path: Arc<Path>,
    /// Channel within the file, counted from 0.
    pub channel: usize,
    /// Samples per second, rounded; 1 where the file does not say.
    pub sample_rate: u32,
    /// The samples. Those of audio files are within [-1, 1): integers divided by full scale; floats are unchanged.
    pub samples: Arc<Vec<f32>>,
}

/// Samples per channel that are read at a time.
const BLOCK: usize = 1 << 14;

/// Reads a recording in the format that its extension names. Returns one recording per channel in the order of the
/// channels, all of one length.
///
/// # Errors
/// [`DataError::Recording`] with the file and a [`RecordingProblem`].
pub fn read_recording(path: &Path) -> Result<Vec<Recording>, DataError> {
    read_within(path, &mut MemoryCheck::default())
}

/// Reads a recording as [`read_recording`] does, after those that `memory` has counted.
pub(super) fn read_within(path: &Path, memory: &mut MemoryCheck) -> Result<Vec<Recording>, DataError> {
    let failed = |problem| DataError::Recording { path: path.to_owned(), problem };
    let (rate, channels) = read_channels(path, memory).map_err(failed)?;
    let (path, sample_rate): (Arc<Path>, u32) = (path.into(), rate.map_or(1, |rate| rate.round() as u32));
    let recording =
        |(channel, samples)| Recording { path: path.clone(), channel, sample_rate, samples: Arc::new(samples) };
    Ok(channels.into_iter().enumerate().map(recording).collect())
}

/// Sample rate and samples of each channel of a file of any format.
fn read_channels(path: &Path, memory: &mut MemoryCheck) -> Result<(Option<f64>, Vec<Vec<f32>>), RecordingProblem> {
    let mut reader = formats::open(path)?;
    let layout = reader.layout().clone();
    // Where the file says its length, before any of it is read; else block by block.
    let announced = layout.length.unwrap_or(0);
    memory.take(announced.saturating_mul(layout.channels as u64))?;
    let length = usize::try_from(announced).unwrap_or(0);
    let mut channels = vec![Vec::new(); layout.channels];
    for samples in &mut channels {
        // A header may announce more than there is: then the vector grows with what is read.
        let _ = Vec::<f32>::try_reserve_exact(samples, length);
    }
    let mut block = Vec::new();
    while reader.read(&mut block, BLOCK)? > 0 {
        if layout.length.is_none() {
            memory.take(block.len() as u64)?;
        }
        for (channel, samples) in channels.iter_mut().enumerate() {
            samples.extend(block.iter().skip(channel).step_by(layout.channels));
        }
        block.clear();
    }
    if channels.iter().all(Vec::is_empty) {
        return Err(RecordingProblem::NoSamples);
    }
    check_finite(&channels)?;
    Ok((layout.rate, channels))
}

fn check_finite(channels: &[Vec<f32>]) -> Result<(), RecordingProblem> {
    for (channel, samples) in channels.iter().enumerate() {
        if let Some(index) = samples.iter().position(|sample| !sample.is_finite()) {
            return Err(RecordingProblem::NonFinite { channel, index, value: samples[index] });
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "recording_tests.rs"]
mod tests;
