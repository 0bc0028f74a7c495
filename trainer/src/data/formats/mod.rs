//! Recordings in files of every supported format, read block by block: one format per file.
//!
//! [`open`] returns a [`SampleReader`], whose memory does not grow with the length of the recording.

mod array;
mod compressed;
mod csv;
mod edf;
mod npy;
mod npz;
mod number;
mod parquet;
mod raw;
#[cfg(test)]
mod tests;
mod wav;

use std::path::Path;
use std::{fmt, fs};

pub use array::Array;
pub use number::{NumberFormat, UnknownNumberFormat};
pub use raw::RawReader;

use super::error::RecordingProblem;

/// Samples per channel that are skipped at a time where a format has to decode what it skips.
const SKIP_BLOCK: usize = 1 << 14;

/// File format of recordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// RIFF/WAVE, and its 64-bit forms RF64 and BW64.
    Wav,
    /// Free Lossless Audio Codec.
    Flac,
    /// Vorbis in an Ogg container.
    Ogg,
    /// European Data Format.
    Edf,
    /// BioSemi's 24-bit form of EDF.
    Bdf,
    /// NumPy array.
    Npy,
    /// Zip archive of NumPy arrays.
    Npz,
    /// Text with a row per sample and a column per channel.
    Csv,
    /// Apache Parquet, with a column per channel.
    Parquet,
}

impl Format {
    /// Formats that hold nothing but recordings.
    pub const SIGNALS: [Self; 5] = [Self::Wav, Self::Flac, Self::Ogg, Self::Edf, Self::Bdf];
    /// Formats that hold tables and arrays of any kind.
    pub const TABLES: [Self; 4] = [Self::Npy, Self::Npz, Self::Csv, Self::Parquet];
    /// Extensions of every format, for messages.
    pub const EXTENSIONS: &'static str = "wav, flac, ogg, edf, bdf, npy, npz, csv, tsv and parquet";

    /// The format of a file by its extension, in upper or lower case.
    pub fn of(path: &Path) -> Option<Self> {
        Some(match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "wav" | "wave" | "rf64" | "bw64" => Self::Wav,
            "flac" => Self::Flac,
            "ogg" | "oga" => Self::Ogg,
            "edf" => Self::Edf,
            "bdf" => Self::Bdf,
            "npy" => Self::Npy,
            "npz" => Self::Npz,
            "csv" | "tsv" => Self::Csv,
            "parquet" => Self::Parquet,
            _ => return None,
        })
    }

    /// Name of the format.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wav => "WAV",
            Self::Flac => "FLAC",
            Self::Ogg => "Ogg Vorbis",
            Self::Edf => "EDF",
            Self::Bdf => "BDF",
            Self::Npy => "NPY",
            Self::Npz => "NPZ",
            Self::Csv => "CSV",
            Self::Parquet => "Parquet",
        }
    }

    /// Error of a file of this format, with the reason.
    fn problem(self, reason: impl Into<String>) -> RecordingProblem {
        RecordingProblem::Content { format: self, reason: reason.into() }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Layout of a recording, known before its samples are read.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// Number of channels, at least 1.
    pub channels: usize,
    /// Samples per second, if the file says.
    pub rate: Option<f64>,
    /// Samples per channel, if the file says.
    pub length: Option<u64>,
}

/// Recording opened for reading from its start to its end.
pub trait SampleReader: Send {
    /// Channels, rate and length.
    fn layout(&self) -> &Layout;

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

/// Opens a recording, in the format that its extension names.
///
/// ```no_run
/// use firefly_trainer::data::formats::open;
///
/// let mut recording = open("machine.flac".as_ref())?;
/// let mut block = Vec::new();
/// while recording.read(&mut block, 65_536)? > 0 {
///     println!("{} samples", block.len()); // of all channels, interleaved
///     block.clear();
/// }
/// # Ok::<(), firefly_trainer::data::RecordingProblem>(())
/// ```
///
/// # Errors
/// [`RecordingProblem`] for a file that can't be opened, is damaged, or is not of a supported format.
pub fn open(path: &Path) -> Result<Box<dyn SampleReader>, RecordingProblem> {
    let format = Format::of(path).ok_or(RecordingProblem::UnknownFormat)?;
    // Opening a pipe would wait for a writer, and a device has no end.
    if !fs::metadata(path)?.is_file() {
        return Err(RecordingProblem::NotAFile);
    }
    Ok(match format {
        Format::Wav => Box::new(wav::WavSamples::open(path)?),
        Format::Flac | Format::Ogg => Box::new(compressed::CompressedReader::open(path, format)?),
        Format::Edf | Format::Bdf => Box::new(edf::EdfReader::open(path, format)?),
        Format::Npy => Box::new(npy::open(path)?),
        Format::Npz => Box::new(npz::open(path)?),
        Format::Csv => Box::new(csv::CsvReader::open(path)?),
        Format::Parquet => Box::new(parquet::ParquetReader::open(path)?),
    })
}
