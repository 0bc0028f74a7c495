//! Sources of recordings: a file, the files of a folder, or standard input, and shards of them.

use std::fmt;
use std::fs;
use std::io::stdin;
use std::iter;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::UNIX_EPOCH;

use serde::{Serialize, Serializer};

use crate::error::{RecordingError, RecordingProblem};
use crate::folder::{find_recordings, stem};
use crate::formats::{self, Format, NumberFormat, RawReader, ReadOptions, SampleReader};

/// Least and greatest sample rate, in hertz.
pub const RATES: [f64; 2] = [1e-6, 1e12];

/// Recordings in their order.
///
/// ```no_run
/// use firefly_recordings::{FrameReader, Framing, Sources};
///
/// let sources = Sources::find("recordings".as_ref())?;
/// for source in &sources.list {
///     let (reader, rate) = sources.open(source)?;
///     let mut frames = FrameReader::new(reader, Framing::new(512, 512), None, None, 1)?;
///     while let Some(block) = frames.next_block()? {
///         println!("{}: {} frames of {} channels at {rate} Hz", source.name, block.count, frames.channels());
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sources {
    /// The recordings.
    pub list: Vec<RecordingSource>,
    /// Part of the frames of the only recording.
    pub part: Option<Shard>,
    /// Choices where files do not decide.
    pub options: ReadOptions,
    /// Format and channels of samples without a header: of standard input, or of files.
    raw: Option<(NumberFormat, usize)>,
}

/// Source of one recording: a file, or standard input.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordingSource {
    /// Its name in outputs: the path, relative to the folder if one was given.
    pub name: String,
    /// Its file; none for standard input.
    #[serde(serialize_with = "escaped")]
    pub path: Option<PathBuf>,
    /// Bytes of the file, and of the files of samples that it names.
    pub bytes: u64,
    /// Time of the last change of one of them, in nanoseconds since 1970.
    modified: u128,
}

impl Sources {
    /// The recording at a path, or those in a folder and its subfolders.
    ///
    /// # Errors
    /// If the path can't be read, and for a folder without recordings.
    pub fn find(input: &Path) -> Result<Self, RecordingError> {
        let found = fs::metadata(input).map_err(|source| RecordingError::Path { path: input.to_owned(), source })?;
        let list = if found.is_dir() {
            let found = find_recordings(input)?;
            if found.is_empty() {
                return Err(RecordingError::NoRecordings(input.to_owned()));
            }
            let name = |path: &Path| {
                let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
                parts.join("/")
            };
            found.iter().map(|path| RecordingSource::file(input.join(path), name(path))).collect::<Result<_, _>>()?
        } else {
            vec![RecordingSource::file(input.to_owned(), input.display().to_string())?]
        };
        Ok(Self { list, part: None, options: ReadOptions::default(), raw: None })
    }

    /// Samples on standard input, interleaved, by the name `-`.
    pub fn standard_input(numbers: NumberFormat, channels: usize, rate: f64) -> Self {
        let input = RecordingSource { name: "-".to_owned(), path: None, bytes: 0, modified: 0 };
        let options = ReadOptions { rate: Some(rate), ..ReadOptions::default() };
        Self { list: vec![input], part: None, options, raw: Some((numbers, channels)) }
    }

    /// A file of interleaved samples without a header.
    ///
    /// # Errors
    /// If the path can't be read, names a folder, or has the extension of a format with a header.
    pub fn raw_file(path: &Path, numbers: NumberFormat, channels: usize, rate: f64) -> Result<Self, RecordingError> {
        let refused = |problem| RecordingError::Recording { path: path.to_owned(), problem };
        if let Some(format) = Format::of(path) {
            return Err(refused(
                format.problem("--format is for samples without a header, and this format has its own"),
            ));
        }
        let source = RecordingSource::file(path.to_owned(), path.display().to_string())?;
        if !path.is_file() {
            return Err(refused(RecordingProblem::NotAFile));
        }
        Ok(Self { list: vec![source], ..Self::standard_input(numbers, channels, rate) })
    }

    /// A shard: of several recordings every N-th, of one a part of its frames.
    ///
    /// # Errors
    /// For standard input, and if there are fewer recordings than shards.
    pub fn shard(mut self, shard: Shard) -> Result<Self, RecordingError> {
        match &self.list[..] {
            _ if shard.count == 1 => {}
            [only] if only.path.is_none() => return Err(RecordingError::ShardOfStream),
            [_] => self.part = Some(shard),
            _ => {
                let mut numbers = 0..;
                self.list.retain(|_| numbers.next().is_some_and(|number: u64| number % shard.count == shard.index - 1));
                if self.list.is_empty() {
                    return Err(RecordingError::TooManyShards(shard));
                }
            }
        }
        Ok(self)
    }

    /// Bytes of all recordings; standard input counts none.
    pub fn bytes(&self) -> u64 {
        self.list.iter().map(|source| source.bytes).sum()
    }

    /// Length of the longest name, in bytes.
    pub fn longest_name(&self) -> usize {
        self.list.iter().map(|source| source.name.len()).max().unwrap_or(0)
    }

    /// Whether reading can begin anywhere.
    pub fn can_resume(&self) -> bool {
        self.list.iter().all(|source| source.path.is_some())
    }

    /// Format and channels of samples without a header, if they are such.
    pub fn raw(&self) -> Option<(NumberFormat, usize)> {
        self.raw
    }

    /// Opens a recording, whether or not its sample rate is known.
    ///
    /// # Errors
    /// If it can't be opened.
    pub fn reader(&self, source: &RecordingSource) -> Result<Box<dyn SampleReader>, RecordingProblem> {
        let raw_rate = self.options.rate.unwrap_or(1.0);
        if self.raw.is_some() {
            formats::ensure_options(None, false, &self.options)?;
        }
        match (&source.path, self.raw) {
            (Some(path), None) => formats::open_with(path, &self.options),
            (Some(path), Some((numbers, channels))) => {
                let reader = RawReader::new(fs::File::open(path)?, numbers, channels, raw_rate);
                formats::choose(Box::new(reader.of_length(source.bytes)), &self.options, &[])
            }
            (None, Some((numbers, channels))) => {
                formats::choose(Box::new(RawReader::new(stdin(), numbers, channels, raw_rate)), &self.options, &[])
            }
            (None, None) => Err(RecordingProblem::UnknownFormat),
        }
    }

    /// Opens a recording; returns its sample rate, too.
    ///
    /// # Errors
    /// If it can't be opened, or its rate is not known or not within [`RATES`].
    pub fn open(&self, source: &RecordingSource) -> Result<(Box<dyn SampleReader>, f64), RecordingProblem> {
        let reader = self.reader(source)?;
        let layout = reader.layout();
        let rate = layout.rate.ok_or_else(|| RecordingProblem::UnknownRate(layout.notes.clone()))?;
        let [least, most] = RATES;
        if !(least..=most).contains(&rate) {
            return Err(RecordingProblem::Rate(rate, layout.notes.clone()));
        }
        Ok((reader, rate))
    }
}

impl RecordingSource {
    fn file(path: PathBuf, name: String) -> Result<Self, RecordingError> {
        let metadata = fs::metadata(&path).map_err(|source| RecordingError::Path { path: path.clone(), source })?;
        let files: Vec<_> = iter::once(metadata).chain(files_of(&path)).collect();
        let changes = files.iter().filter_map(|file| file.modified().ok()?.duration_since(UNIX_EPOCH).ok());
        let modified = changes.max().map_or(0, |time| time.as_nanos());
        Ok(Self { name, path: Some(path), bytes: files.iter().map(fs::Metadata::len).sum(), modified })
    }
}

/// Files that a header names, beside it.
fn files_of(header: &Path) -> Vec<fs::Metadata> {
    let Some(format @ (Format::BrainVision | Format::Wfdb | Format::SigMf)) = Format::of(header) else {
        return Vec::new();
    };
    let (text, stem) = (fs::read(header).unwrap_or_default(), stem(header));
    let (text, _) = formats::utf8(text);
    let values = text.lines().filter_map(|line| Some(line.split_once('=')?.1.trim().replace("$b", &stem)));
    let mut names: Vec<String> = match format {
        Format::BrainVision => values.collect(),
        Format::Wfdb => text.split_whitespace().map(str::to_owned).collect(),
        _ => {
            let name = text.split_once("\"core:dataset\"").and_then(|(_, rest)| rest.split('"').nth(1));
            vec![name.map_or_else(|| format!("{stem}.sigmf-data"), str::to_owned)]
        }
    };
    names.retain(|name| name.contains('.'));
    names.sort();
    names.dedup();
    let beside = names.iter().filter_map(|name| Some(header.with_file_name(Path::new(name).file_name()?)));
    beside.filter(|path| path != header).filter_map(|path| fs::metadata(path).ok()).collect()
}

/// A path as text, with escapes for bytes that are no text.
fn escaped<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{path:?}"))
}

/// Part of the work: shard `index` of `count`, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Number of the shard, from 1 to `count`.
    pub index: u64,
    /// Number of shards.
    pub count: u64,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match parsed {
            Some((index, count)) if (1..=count).contains(&index) => Ok(Self { index, count }),
            _ => Err(format!("`{text}` is not a shard: I/N with I from 1 to N, as in 1/4")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_tables_are_refused_for_samples_without_a_header() {
        let mut input = Sources::standard_input("s16".parse().unwrap(), 1, 1.0);
        for (time_column, skip_rows, message) in
            [(Some("t".to_owned()), 0, "--time-column is for tables"), (None, 1, "--skip-rows is for tables of text")]
        {
            input.options = ReadOptions { time_column, skip_rows, ..ReadOptions::default() };
            assert_eq!(input.reader(&input.list[0]).err().unwrap().to_string(), message);
        }
    }

    #[test]
    fn a_header_changes_with_its_samples() {
        let folder = tempfile::tempdir().unwrap();
        for (header, text, samples) in [
            ("a.vhdr", "DataFile=$b.eeg", "a.eeg"),
            ("b.hea", "b 1 100 4\nx.dat 16", "x.dat"),
            ("c.sigmf-meta", "{}", "c.sigmf-data"),
            ("d.sigmf-meta", "{\"global\": {\"core:dataset\": \"samples of d.bin\"}}", "samples of d.bin"),
            ("e.vhdr", "datafile = e and f.EEG", "e and f.EEG"),
        ] {
            let path = folder.path().join(header);
            let samples = folder.path().join(samples);
            fs::write(&path, text).unwrap();
            fs::write(&samples, [0; 8]).unwrap();
            let source = || RecordingSource::file(path.clone(), header.to_owned()).unwrap();
            let before = source();
            assert_eq!(before.bytes, text.len() as u64 + 8, "{header}");
            fs::write(&samples, [0; 16]).unwrap();
            assert_ne!(source(), before, "{header}");
        }
    }
}
