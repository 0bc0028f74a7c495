//! Errors of recordings.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::formats::{Format, Note};
use crate::memory::bytes;
use crate::source::{RATES, Shard};

/// Error in one file of a recording.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum RecordingProblem {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it is a folder, a pipe or a device, but a recording must be a file")]
    NotAFile,
    #[error("not a WAV file (it does not begin with a RIFF/WAVE header)")]
    NotWav,
    #[error("truncated: the file ends inside its header")]
    TruncatedHeader,
    #[error("it holds no samples")]
    NoSamples,
    #[error("its extension names no format of recordings (accepted: {})", Format::EXTENSIONS)]
    UnknownFormat,
    #[error("{format} file: {reason}")]
    Content { format: Format, reason: String },
    #[error("sample {index} of channel {channel} is {value}, not a finite number of 32 bits")]
    NonFinite { channel: usize, index: usize, value: f32 },
    #[error(
        "sample {index} of channel {channel} is {value:e}, and the power of a frame with samples beyond {limit:.1e} \
         overflows: divide the recording by a number"
    )]
    Overflow { channel: usize, index: usize, value: f32, limit: f32 },
    #[error(
        "it does not fit into memory, and a temporary file for its samples failed; the variable TMPDIR names the \
         folder of such files"
    )]
    TemporaryFile(#[source] io::Error),
    #[error("it holds more than the {announced} samples that its header announces")]
    LongerThanAnnounced { announced: u64 },
    #[error(
        "blocks of its frames of {frame} samples of {channels} channels take {} of memory, of which {} are available",
        bytes(*needed), bytes(*available)
    )]
    FrameMemory { frame: usize, channels: usize, needed: u64, available: u64 },
    #[error("its length is not known, so that it can't be divided")]
    UnknownLength,
    #[error("it does not say its sample rate{}", in_brackets(.0))]
    UnknownRate(Vec<Note>),
    #[error("{0}")]
    Incomplete(String),
    #[error("it has no channel `{name}`; its channels are {found}")]
    NoChannel { name: String, found: String },
    #[error("{option} is for {kind}")]
    Option { option: &'static str, kind: &'static str },
    #[error("it has {0} channels, not pairs of an in-phase and a quadrature part")]
    OddChannels(usize),
    #[error("it has {found} samples per second, and others that are used with it have {expected}")]
    OtherRate { found: f64, expected: f64 },
    #[error("its sample rate is {:e} Hz, but must be from {:e} to {:e}{}", .0, RATES[0], RATES[1], in_brackets(.1))]
    Rate(f64, Vec<Note>),
    #[error("its values take more than {}, what the available memory has for them: give a smaller table", bytes(*available))]
    Memory { available: u64 },
}

fn in_brackets(notes: &[Note]) -> String {
    let notes: Vec<String> = notes.iter().map(Note::to_string).collect();
    if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) }
}

/// Result of reading a part of a recording.
pub(crate) type Result<T, E = RecordingProblem> = std::result::Result<T, E>;

impl Format {
    /// Error of a file of this format, with the reason.
    pub(crate) fn problem(self, reason: impl Into<String>) -> RecordingProblem {
        RecordingProblem::Content { format: self, reason: reason.into() }
    }
}

/// Error of recordings.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum RecordingError {
    #[error("reading {}", path.display())]
    Recording {
        path: PathBuf,
        #[source]
        problem: RecordingProblem,
    },
    #[error("{}: {reason}", path.display())]
    Array { path: PathBuf, reason: String },
    #[error("{}: no such folder", .0.display())]
    FolderMissing(PathBuf),
    #[error("{}: not a folder (give the folder that holds the recordings)", .0.display())]
    NotAFolder(PathBuf),
    #[error("listing {}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("{}: no recording in this folder or below it (accepted: {})", .0.display(), Format::EXTENSIONS)]
    NoRecordings(PathBuf),
    #[error("{}", path.display())]
    Path { path: PathBuf, source: io::Error },
    #[error("standard input can't be divided")]
    ShardOfStream,
    #[error("{0}: there are fewer recordings than shards")]
    TooManyShards(Shard),
}
