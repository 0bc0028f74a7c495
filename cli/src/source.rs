//! The recordings that a command reads.

use std::fs;
use std::io::stdin;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, bail, ensure};
use firefly_app::files::ensure_no_input;
use firefly_trainer::data::find_recordings;
use firefly_trainer::data::formats::{self, RawReader, SampleReader};
use serde::{Serialize, Serializer};

use crate::options::{InputOptions, RATES, Shard};

/// The name that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// The recordings of a command, in their order.
#[derive(Debug, Clone)]
pub struct Sources {
    /// The recordings.
    pub list: Vec<RecordingSource>,
    /// Part of the frames of the only recording.
    pub part: Option<Shard>,
    options: InputOptions,
}

/// Source of one recording: a file, or standard input.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordingSource {
    /// Its name in outputs: the path, relative to the folder if one was given.
    pub name: String,
    /// Its file; none for standard input.
    #[serde(serialize_with = "escaped")]
    path: Option<PathBuf>,
    /// Bytes of the file.
    pub bytes: u64,
    /// Time of the file's last change, in nanoseconds since 1970.
    modified: u128,
}

impl Sources {
    /// Finds the recordings. A shard of several recordings is every N-th of them; of one, a part of its frames.
    ///
    /// # Errors
    /// If there is none, or one of `outputs` would replace one.
    pub fn find(options: &InputOptions, shard: Option<Shard>, outputs: [Option<&PathBuf>; 2]) -> Result<Self> {
        let input = options.input.as_path();
        let mut list = if input == Path::new(STANDARD_INPUT) {
            ensure!(
                options.rate.is_some() && options.format.is_some(),
                "samples on standard input need --rate and --format, as in --rate 48000 --format s16le"
            );
            vec![RecordingSource { name: STANDARD_INPUT.to_owned(), path: None, bytes: 0, modified: 0 }]
        } else {
            ensure!(options.format.is_none(), "--format is for samples on standard input (-): files have their own");
            files(input)?
        };
        for output in outputs.into_iter().flatten() {
            let inputs = list.iter().filter_map(|source| source.path.as_deref());
            ensure_no_input(output, inputs).with_context(|| output.display().to_string())?;
        }
        let mut part = None;
        if let Some(shard) = shard.filter(|shard| shard.count > 1) {
            if let [only] = &list[..] {
                ensure!(only.path.is_some(), "--shard: standard input can't be divided");
                part = Some(shard);
            } else {
                let mut numbers = 0..;
                list.retain(|_| numbers.next().is_some_and(|number: u64| number % shard.count == shard.index - 1));
                ensure!(!list.is_empty(), "--shard {shard}: there are fewer recordings than shards");
            }
        }
        Ok(Self { list, part, options: options.clone() })
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

    /// Sample rate that was given for recordings that do not say theirs.
    pub fn given_rate(&self) -> Option<f64> {
        self.options.rate
    }

    /// Opens a recording; returns its sample rate, too.
    ///
    /// # Errors
    /// If it can't be opened, or its rate is not known.
    pub fn open(&self, source: &RecordingSource) -> Result<(Box<dyn SampleReader>, f64)> {
        let reader: Box<dyn SampleReader> = match (&source.path, self.options.format) {
            (Some(path), _) => formats::open(path)?,
            (None, Some(format)) => {
                let rate = self.options.rate.unwrap_or(1.0);
                Box::new(RawReader::new(stdin(), format, self.options.channels as usize, rate))
            }
            (None, None) => bail!("samples on standard input need --format"),
        };
        let layout = reader.layout();
        let rate = layout.rate.or(self.options.rate).context("it does not say its sample rate: give --rate HZ")?;
        let [least, most] = RATES;
        ensure!((least..=most).contains(&rate), "its sample rate is {rate:e} Hz, but must be from {least} to {most:e}");
        Ok((reader, rate))
    }
}

/// The recording at a path, or those in a folder.
fn files(input: &Path) -> Result<Vec<RecordingSource>> {
    let metadata = fs::metadata(input).with_context(|| input.display().to_string())?;
    if !metadata.is_dir() {
        return Ok(vec![source(input.to_owned(), input.display().to_string())?]);
    }
    let found = find_recordings(input)?;
    if found.is_empty() {
        bail!(firefly_trainer::data::DataError::NoRecordings(input.to_owned()));
    }
    let name = |path: &Path| {
        let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        parts.join("/")
    };
    found.iter().map(|path| source(input.join(path), name(path))).collect()
}

fn source(path: PathBuf, name: String) -> Result<RecordingSource> {
    let metadata = fs::metadata(&path).with_context(|| path.display().to_string())?;
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = modified.map_or(0, |time| time.as_nanos());
    Ok(RecordingSource { name, path: Some(path), bytes: metadata.len(), modified })
}

/// A path as text, with escapes for what is none.
fn escaped<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{path:?}"))
}
