//! Files read into one recording per channel.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{RecordingError, RecordingProblem};
use crate::formats::{self, Note, ReadOptions, SampleReader};
use crate::memory::SampleMemory;
use crate::samples::{GrowingSamples, SampleFile, Samples};

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
    pub samples: Samples,
}

/// Samples of all channels that are read at a time, if that is at least one per channel.
const BLOCK: usize = 1 << 16;

/// Reads a recording in the format that its extension names. Returns one recording per channel in the order of the
/// channels, all of one length. Samples that would take more than half of the available memory are kept in a temporary
/// file.
///
/// # Errors
/// [`RecordingError::Recording`] with the file and a [`RecordingProblem`].
pub fn read_recording(path: &Path) -> Result<Vec<Recording>, RecordingError> {
    read_recording_within(path, &mut SampleMemory::default())
}

/// Reads a table, a recording per column, into memory, of which it may take a fourth: tasks make copies of it.
///
/// # Errors
/// As [`read_recording`], and [`RecordingProblem::Memory`] if it does not fit.
pub fn read_table(path: &Path) -> Result<Vec<Recording>, RecordingError> {
    recordings(path, read_into_memory(path, &rows_only(), &mut SampleMemory::of_table()))
}

/// Reads the rows of a table: the number of its columns, and its values, row-major. Values that would take more than a
/// fourth of the available memory are kept in a temporary file.
///
/// # Errors
/// As [`read_recording`].
pub fn read_rows(path: &Path) -> Result<(usize, Samples), RecordingError> {
    rows_within(path, SampleMemory::of_table())
}

fn rows_within(path: &Path, memory: SampleMemory) -> Result<(usize, Samples), RecordingError> {
    let read = || {
        let mut reader = formats::open_with(path, &rows_only())?;
        let channels = reader.layout().channels;
        let mut values = GrowingSamples::new(memory);
        let mut finite = 0;
        read_blocks(&mut *reader, |block| {
            if let Some(at) = block.iter().position(|value| !value.is_finite()) {
                let place = finite + at;
                let (channel, index) = (place % channels, place / channels);
                return Err(RecordingProblem::NonFinite { channel, index, value: block[at] });
            }
            finite += block.len();
            values.push(block).map_err(RecordingProblem::TemporaryFile)
        })?;
        let values = values.finish().map_err(RecordingProblem::TemporaryFile)?;
        if values.is_empty() { Err(RecordingProblem::NoSamples) } else { Ok((channels, values)) }
    };
    read().map_err(|problem| RecordingError::Recording { path: path.to_owned(), problem })
}

/// Options for a table whose rows are taken one after the other, whatever their times.
fn rows_only() -> ReadOptions {
    ReadOptions { ignores_times: true, ..ReadOptions::default() }
}

/// Titles of the channels of a recording, from its header; empty if it has none.
///
/// # Errors
/// [`RecordingError::Recording`] with the file and a [`RecordingProblem`].
pub fn channel_titles(path: &Path) -> Result<Vec<String>, RecordingError> {
    let failed = |problem| RecordingError::Recording { path: path.to_owned(), problem };
    Ok(formats::open_with(path, &rows_only()).map_err(failed)?.layout().titles.clone())
}

/// Reads a recording as [`read_recording`] does, after those that `memory` has counted.
pub fn read_recording_within(path: &Path, memory: &mut SampleMemory) -> Result<Vec<Recording>, RecordingError> {
    let before = *memory;
    let read = read_into_memory(path, &ReadOptions::default(), memory).or_else(|problem| match problem {
        RecordingProblem::Memory { .. } => {
            *memory = before;
            read_into_file(path)
        }
        problem => Err(problem),
    });
    recordings(path, read)
}

/// Sample rate and samples of each channel.
type Channels = (Option<f64>, Vec<Samples>);

fn recordings(path: &Path, read: Result<Channels, RecordingProblem>) -> Result<Vec<Recording>, RecordingError> {
    let failed = |problem| RecordingError::Recording { path: path.to_owned(), problem };
    let (rate, channels) = read.and_then(checked).map_err(failed)?;
    let (path, sample_rate): (Arc<Path>, u32) = (path.into(), rate.map_or(1, |rate| rate.round() as u32));
    let recording = |(channel, samples)| Recording { path: path.clone(), channel, sample_rate, samples };
    Ok(channels.into_iter().enumerate().map(recording).collect())
}

fn read_into_memory(
    path: &Path,
    options: &ReadOptions,
    memory: &mut SampleMemory,
) -> Result<Channels, RecordingProblem> {
    let mut reader = formats::open_with(path, options)?;
    let layout = reader.layout().clone();
    // Where the file says its length, before any of it is read; else block by block.
    let (announced, available) = (layout.length.unwrap_or(0), memory.left);
    let mut take = |samples: u64| match memory.take(samples) {
        true => Ok(()),
        false => Err(RecordingProblem::Memory { available }),
    };
    take(announced.saturating_mul(layout.channels as u64))?;
    let length = usize::try_from(announced).unwrap_or(0);
    let mut channels = vec![Vec::new(); layout.channels];
    for samples in &mut channels {
        // A header may announce more than there is: then the vector grows with what is read.
        let _ = Vec::<f32>::try_reserve_exact(samples, length);
    }
    read_blocks(&mut *reader, |block| {
        if layout.length.is_none() {
            take(block.len() as u64)?;
        }
        for (channel, samples) in channels.iter_mut().enumerate() {
            samples.extend(block.iter().skip(channel).step_by(layout.channels));
        }
        Ok(())
    })?;
    Ok((layout.rate, channels.into_iter().map(Samples::from).collect()))
}

fn read_into_file(path: &Path) -> Result<Channels, RecordingProblem> {
    let mut reader = formats::open(path)?;
    let layout = reader.layout().clone();
    let length = match layout.length {
        Some(length) => length,
        None => formats::open(path)?.skip(u64::MAX)?,
    };
    let mut file = SampleFile::new(layout.channels, length).map_err(RecordingProblem::TemporaryFile)?;
    read_blocks(&mut *reader, |block| {
        if !file.has_capacity(block) {
            return Err(RecordingProblem::LongerThanAnnounced { announced: length });
        }
        file.push(block).map_err(RecordingProblem::TemporaryFile)
    })?;
    Ok((layout.rate, file.finish().map_err(RecordingProblem::TemporaryFile)?))
}

/// Calls `take` with every block of interleaved samples.
///
/// # Errors
/// Those of `take`, and if samples are missing.
fn read_blocks(
    reader: &mut dyn SampleReader,
    mut take: impl FnMut(&[f32]) -> Result<(), RecordingProblem>,
) -> Result<(), RecordingProblem> {
    let count = (BLOCK / reader.layout().channels).max(1);
    let mut block = Vec::new();
    while reader.read(&mut block, count)? > 0 {
        take(&block)?;
        block.clear();
    }
    for note in &reader.layout().notes {
        match note {
            Note::Loss(text) => return Err(RecordingProblem::Incomplete(text.clone())),
            Note::Remark(text) => warn_once(text),
        }
    }
    Ok(())
}

/// Warns about a recording, once however many recordings the text holds for.
fn warn_once(text: &str) {
    static SHOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if shown.insert(text.to_owned()) {
        tracing::warn!("of a recording, {text}");
    }
}

/// Checks that there are samples, and that all are finite.
fn checked((rate, channels): Channels) -> Result<Channels, RecordingProblem> {
    if channels.iter().all(|samples| samples.is_empty()) {
        return Err(RecordingProblem::NoSamples);
    }
    for (channel, samples) in channels.iter().enumerate() {
        if let Some(index) = samples.iter().position(|sample| !sample.is_finite()) {
            return Err(RecordingProblem::NonFinite { channel, index, value: samples[index] });
        }
    }
    Ok((rate, channels))
}

#[cfg(test)]
#[path = "recording_tests.rs"]
mod tests;
