//! Recordings in files of every supported format, read block by block: one format per file.
//!
//! A format is a row of `formats!`, a line of [`open_with`], and a file with its
//! [`SampleReader`], whose memory does not grow with the length of the recording.

mod array;
mod arrow;
mod brainvision;
mod chosen;
mod compressed;
mod csv;
mod edf;
mod gaps;
mod hdf5;
mod mat;
mod miniseed;
mod named_arrays;
mod npy;
mod npz;
mod parts;
mod raw;
mod safetensors;
mod sigmf;
mod table;
mod tdms;
#[cfg(test)]
mod tests;
mod times;
mod wav;
mod wfdb;

use std::fmt;
use std::fs::{self, File};
use std::path::Path;

use serde::Serialize;

pub use array::Array;
pub(crate) use chosen::choose;
use gaps::with_gaps;
pub use npy::npy_header;
pub use raw::{NumberFormat, RawReader};
pub use times::unit_of;

use crate::error::{RecordingProblem, Result};

/// Samples per channel that are skipped at a time where a format has to decode what it skips.
const SKIP_BLOCK: usize = 1 << 14;
/// Remark on a text that is not UTF-8.
const LATIN: &str = "its text is not UTF-8 and is taken for Latin-1";

/// Layout of a recording, known before its samples are read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordingLayout {
    /// Number of channels, at least 1. A complex channel counts twice: its in-phase and its quadrature part.
    pub channels: usize,
    /// Samples per second, if the file says.
    pub rate: Option<f64>,
    /// Samples per channel, if the file says.
    pub length: Option<u64>,
    /// Numbers of the channels among those that are read unless some are chosen; empty if none are. Channels that only a
    /// choice reads have greater numbers than those. A complex channel has one.
    pub numbers: Vec<usize>,
    /// Labels of the channels, if the file has them; else empty.
    pub titles: Vec<String>,
    /// Units of the channels, if the file has them; else empty.
    pub units: Vec<String>,
    /// Whether samples have more digits than f32 holds: see [`SampleReader::read_wide`].
    pub is_wide: bool,
    /// Whether channels are pairs of an in-phase and a quadrature part.
    pub is_complex: bool,
    /// Frequency in hertz that frequency 0 of a complex recording stands for.
    pub centre: f64,
    /// Deviations from what the file says, so far: some are known at its end only.
    pub notes: Vec<Note>,
}

impl RecordingLayout {
    /// A layout of so many channels, of which nothing else is known.
    pub fn of(channels: usize) -> Self {
        Self { channels, ..Self::default() }
    }

    fn remark(&mut self, text: impl Into<String>) {
        self.notes.push(Note::Remark(text.into()));
    }

    /// Adds a remark that what has these names is left out, unless there are none.
    fn left_out<S: AsRef<str>>(&mut self, what: impl fmt::Display, names: impl IntoIterator<Item = S>) {
        let names: Vec<String> = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
        if !names.is_empty() {
            self.remark(format!("{what} left out: {}", names.join(", ")));
        }
    }

    /// Adds a note that samples are lost.
    fn lost(&mut self, text: impl Into<String>) {
        self.notes.push(Note::Loss(text.into()));
    }

    /// Adds a note that a file holds fewer samples per channel than its header announces.
    fn truncated(&mut self, announced: u64, held: u64) {
        self.lost(format!("truncated: the header announces {announced} samples per channel, the file holds {held}"));
    }
}

/// Note about a recording that is not read exactly as its file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Something was left out, guessed or repaired; the samples are all there.
    Remark(String),
    /// Samples are missing or damaged.
    Loss(String),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Remark(text) | Self::Loss(text)) = self;
        f.write_str(text)
    }
}

/// Choices of the caller where a file does not decide, or decides wrongly.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ReadOptions {
    /// Samples per second, instead of what the file says.
    pub rate: Option<f64>,
    /// Channels to read, by label, or by number from 0; all of them if empty.
    pub channels: Vec<String>,
    /// Data set of an HDF5 file to read, by its path in the file; the longest ones if none is named.
    pub dataset: Option<String>,
    /// Column of times of a table, by title, or by number from 0.
    pub time_column: Option<String>,
    /// Seconds of the unit of a table's column of times, instead of what its title says.
    pub units: Option<f64>,
    /// Whether rows of a table follow each other whatever their times, which give no rate.
    pub ignores_times: bool,
    /// Lines at the start of a table of text that are not read.
    pub skip_rows: usize,
    /// Whether damaged lines of a table of text and damaged records of miniSEED are NaN; else reading ends there.
    pub repair: bool,
    /// Capture of a SigMF recording to read, by number from 0; all of them if none is named.
    pub capture: Option<usize>,
    /// Whether pairs of channels are the parts of complex samples.
    pub is_complex: bool,
    /// Frequency in hertz that frequency 0 of a complex recording stands for, instead of what the file says.
    pub centre: Option<f64>,
}

/// Recording opened for reading from its start to its end.
pub trait SampleReader: Send {
    /// Channels, rate and length.
    fn layout(&self) -> &RecordingLayout;

    /// Appends up to `count` samples of each channel to `block`, interleaved `[count, channels]`, and returns their
    /// number per channel: fewer than `count` at the end, before a damaged place or beside a gap only, 0 after the end.
    ///
    /// # Errors
    /// If the file can't be read or is damaged.
    fn read(&mut self, block: &mut Vec<f32>, count: usize) -> Result<usize, RecordingProblem>;

    /// Reads as [`read`](Self::read) does, with all digits of samples that f32 does not hold.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn read_wide(&mut self, block: &mut Vec<f64>, count: usize) -> Result<usize, RecordingProblem> {
        let mut narrow = Vec::new();
        let read = self.read(&mut narrow, count)?;
        block.extend(narrow.into_iter().map(f64::from));
        Ok(read)
    }

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
/// use firefly_recordings::open;
///
/// let mut recording = open("machine.flac".as_ref())?;
/// let mut block = Vec::new();
/// while recording.read(&mut block, 65_536)? > 0 {
///     println!("{} samples", block.len()); // of all channels, interleaved
///     block.clear();
/// }
/// # Ok::<(), firefly_recordings::RecordingProblem>(())
/// ```
///
/// # Errors
/// [`RecordingProblem`] for a file that can't be opened, is damaged, or is not of a supported format.
pub fn open(path: &Path) -> Result<Box<dyn SampleReader>, RecordingProblem> {
    open_with(path, &ReadOptions::default())
}

/// Opens a recording as [`open`] does, with choices of the caller.
///
/// # Errors
/// As [`open`], and for a choice that the recording does not have.
pub fn open_with(path: &Path, options: &ReadOptions) -> Result<Box<dyn SampleReader>, RecordingProblem> {
    let format = Format::of(path).ok_or(RecordingProblem::UnknownFormat)?;
    open_file(path)?;
    let is_hdf5 = format == Format::Hdf5 || format == Format::Mat && mat::is_hdf5(path)?;
    ensure_options(Some(format), is_hdf5, options)?;
    let reader: Box<dyn SampleReader> = match format {
        Format::Hdf5 | Format::Mat if is_hdf5 => Box::new(hdf5::open(path, format, options)?),
        Format::Wav => wav::WavSamples::open(path)?,
        Format::Edf | Format::Bdf => Box::new(edf::EdfReader::open(path, format, &options.channels)?),
        Format::Npy => Box::new(npy::open(path)?),
        Format::Npz => Box::new(npz::open(path)?),
        Format::Safetensors => Box::new(safetensors::open(path)?),
        Format::Csv => with_gaps(csv::CsvReader::open(path, options)?, Vec::new(), "", |table| table.times.as_mut())?,
        Format::Parquet | Format::Arrow => {
            with_gaps(arrow::TableReader::open(path, format, options)?, Vec::new(), "", |table| table.times.as_mut())?
        }
        Format::Mat => Box::new(mat::open(path)?),
        Format::BrainVision => brainvision::open(path)?,
        Format::Wfdb => Box::new(wfdb::open(path)?),
        Format::MiniSeed => Box::new(miniseed::open(path, options)?),
        Format::Tdms => Box::new(tdms::open(path)?),
        Format::SigMf => sigmf::open(path, options)?,
        _ => Box::new(compressed::CompressedReader::open(path, format)?),
    };
    // These formats have other channels where some are named.
    let by_name =
        matches!(format, Format::Edf | Format::Bdf | Format::MiniSeed | Format::Csv | Format::Parquet | Format::Arrow);
    let titles = &reader.layout().titles;
    let is_named = options.channels.iter().any(|name| titles.contains(name));
    let all = ReadOptions { channels: Vec::new(), ..options.clone() };
    let listed = match (by_name || is_hdf5) && is_named {
        true => open_with(path, &all).map_or_else(|_| titles.clone(), |reader| reader.layout().titles.clone()),
        false => titles.clone(),
    };
    choose(reader, options, &listed)
}

/// Checks that a format, or samples without a header, are those that the options are for.
pub(crate) fn ensure_options(format: Option<Format>, is_hdf5: bool, options: &ReadOptions) -> Result<()> {
    if options.dataset.is_some() && !is_hdf5 {
        let kind = "HDF5 files and MATLAB files of version 7.3";
        return Err(RecordingProblem::Option { option: "--dataset", kind });
    }
    let is_table = matches!(format, Some(Format::Csv | Format::Parquet | Format::Arrow));
    // Damaged packets of FLAC and Ogg are NaN in any case.
    let is_repaired = matches!(format, Some(Format::Csv | Format::MiniSeed | Format::Flac | Format::Ogg));
    for (is_refused, option, kind) in [
        (options.time_column.is_some() && !is_table, "--time-column", "tables"),
        (options.units.is_some() && !is_table, "--units", "tables"),
        (options.skip_rows > 0 && format != Some(Format::Csv), "--skip-rows", "tables of text"),
        (options.repair && !is_repaired, "--repair", "tables of text, miniSEED, FLAC and Ogg"),
        (options.capture.is_some() && format != Some(Format::SigMf), "--capture", "SigMF recordings"),
    ] {
        if is_refused {
            return Err(RecordingProblem::Option { option, kind });
        }
    }
    Ok(())
}

/// Opens a file. Opening a pipe would wait for a writer, and a device has no end.
fn open_file(path: &Path) -> Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(RecordingProblem::NotAFile);
    }
    Ok(File::open(path)?)
}

/// Text that is UTF-8, or else in the code page of Western Europe, whose characters have the numbers of Unicode, and
/// whether it is the latter.
pub(crate) fn utf8(bytes: Vec<u8>) -> (String, bool) {
    match String::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => (error.as_bytes().iter().copied().map(char::from).collect(), true),
    }
}

/// Bytes of a header in a file of its own, which is no longer than `most`.
fn read_header(path: &Path, most: u64, format: Format) -> Result<Vec<u8>> {
    if open_file(path)?.metadata()?.len() > most {
        return Err(format.problem("its header is too long for one"));
    }
    Ok(fs::read(path)?)
}

/// Opens the file of samples that a header names. It is a name, not a path: it can't lead out of the header's folder.
fn open_data(header: &Path, name: impl AsRef<Path>, format: Format) -> Result<File> {
    let data = header.with_file_name(name.as_ref().file_name().unwrap_or_default());
    open_file(&data).map_err(|error| format.problem(format!("{}: {error}", data.display())))
}

/// Declares [`Format`], and of each format its name, its extensions, and whether it holds nothing but recordings.
macro_rules! formats {
    ($($format:ident $name:literal $extensions:tt $is_signal:literal,)*) => {
        /// File format of recordings.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Format {
            $(#[doc = $name] $format,)*
        }

        const FORMATS: &[(Format, &str, &[&str], bool)] = &[$((Format::$format, $name, &$extensions, $is_signal)),*];
    };
}

formats! {
    Wav "WAV" ["wav", "wave", "rf64", "bw64"] true,
    Flac "FLAC" ["flac"] true,
    Ogg "Ogg" ["ogg", "oga", "opus"] true,
    Mp3 "MP3" ["mp3"] true,
    Aac "AAC" ["aac"] true,
    Mp4 "MPEG-4" ["m4a", "mp4"] true,
    Aiff "AIFF" ["aiff", "aif", "aifc"] true,
    Caf "CAF" ["caf"] true,
    Matroska "Matroska" ["mka", "mkv", "webm"] true,
    Edf "EDF" ["edf"] true,
    Bdf "BDF" ["bdf"] true,
    BrainVision "BrainVision" ["vhdr"] true,
    Wfdb "WFDB" ["hea"] true,
    MiniSeed "miniSEED" ["mseed", "miniseed", "msd"] true,
    Tdms "TDMS" ["tdms"] true,
    SigMf "SigMF" ["sigmf-meta"] true,
    Npy "NPY" ["npy"] false,
    Npz "NPZ" ["npz"] false,
    Mat "MATLAB" ["mat"] false,
    Hdf5 "HDF5" ["h5", "hdf5"] false,
    Safetensors "safetensors" ["safetensors"] false,
    Csv "CSV" ["csv", "tsv"] false,
    Parquet "Parquet" ["parquet"] false,
    Arrow "Arrow" ["arrow", "feather"] false,
}

impl Format {
    /// Extensions of every format, for messages.
    pub const EXTENSIONS: &'static str = "wav, flac, ogg, mp3, aac, m4a, aiff, caf, mka, webm, edf, bdf, vhdr, hea, mseed, \
                                          tdms, sigmf-meta, npy, npz, mat, h5, safetensors, csv, tsv, parquet, arrow and \
                                          feather";

    /// The format of a file by its extension, in upper or lower case.
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        let found = FORMATS.iter().find(|(_, _, extensions, _)| extensions.contains(&extension.as_str()));
        found.map(|(format, ..)| *format)
    }

    /// Name of the format.
    pub fn name(self) -> &'static str {
        FORMATS[self as usize].1
    }

    /// Whether the format holds nothing but recordings; others hold tables and arrays of any kind.
    pub fn is_signal(self) -> bool {
        FORMATS[self as usize].3
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
