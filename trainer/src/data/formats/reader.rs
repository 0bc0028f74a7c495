//! Recordings as streams of samples, whatever their format.

use std::fs::{self, File};
use std::path::Path;

use crate::data::error::RecordingProblem;

/// Opens a file. Opening a pipe would wait for a writer, and a device has no end.
pub(super) fn open_file(path: &Path) -> Result<File, RecordingProblem> {
    if !fs::metadata(path)?.is_file() {
        return Err(RecordingProblem::NotAFile);
    }
    Ok(File::open(path)?)
}

/// Names of a column of times in seconds, in lower case.
pub(super) const TIMES: [&str; 6] = ["time", "t", "time_s", "time (s)", "seconds", "s"];
/// Samples per channel that are skipped at a time where a format has to decode what it skips.
const SKIP_BLOCK: usize = 1 << 14;

/// Layout of a recording, known before its samples are read.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordingLayout {
    /// Number of channels, at least 1.
    pub channels: usize,
    /// Samples per second, if the file says.
    pub rate: Option<f64>,
    /// Samples per channel, if the file says.
    pub length: Option<u64>,
    /// Titles of the channels, if the file is a table that has them; else empty.
    pub titles: Vec<String>,
}

/// Recording opened for reading from its start to its end.
pub trait SampleReader: Send {
    /// Channels, rate and length.
    fn layout(&self) -> &RecordingLayout;

    /// Appends up to `count` samples of each channel to `block`, interleaved `[count, channels]`, and returns their
    /// number per channel: fewer than `count` at the end of the recording only, 0 after it.
    ///
    /// # Errors
    /// If the file can't be read or is damaged.
    fn read(&mut self, block: &mut Vec<f32>, count: usize) -> Result<usize, RecordingProblem>;

    /// Skips up to `count` samples of each channel and returns their number per channel.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn skip(&mut self, count: u64) -> Result<u64, RecordingProblem> {
        let mut block = Vec::new();
        let mut skipped = 0;
        while skipped < count {
            block.clear();
            let most = usize::try_from(count - skipped).unwrap_or(usize::MAX).min(SKIP_BLOCK);
            match self.read(&mut block, most)? {
                0 => break,
                read => skipped += read as u64,
            }
        }
        Ok(skipped)
    }
}
