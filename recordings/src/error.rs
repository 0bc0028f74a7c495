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
pub enum RecordingProblem {
    /// The file can't be opened or read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The path names a folder, a pipe or a device.
    #[error("it is a folder, a pipe or a device, but a recording must be a file")]
    NotAFile,
    /// The first bytes are not those of a RIFF/WAVE file.
    #[error("not a WAV file (it does not begin with a RIFF/WAVE header)")]
    NotWav,
    /// The file ends inside its header.
    #[error("truncated: the file ends inside its header")]
    TruncatedHeader,
    /// A valid header followed by no samples.
    #[error("it holds no samples")]
    NoSamples,
    /// The file's extension names no format of recordings.
    #[error("its extension names no format of recordings (accepted: {})", Format::EXTENSIONS)]
    UnknownFormat,
    /// The file is damaged, or holds what is not read.
    #[error("{format} file: {reason}")]
    Content {
        /// Format of the file.
        format: Format,
        /// The reason.
        reason: String,
    },
    /// A float sample is NaN or infinite.
    #[error("sample {index} of channel {channel} is {value}, not a finite number of 32 bits")]
    NonFinite {
        /// Channel, counted from 0.
        channel: usize,
        /// Index within the channel, counted from 0.
        index: usize,
        /// The sample found.
        value: f32,
    },
    /// A sample is so large that the power of its frame is not finite.
    #[error(
        "sample {index} of channel {channel} is {value:e}, and the power of a frame with samples beyond {limit:.1e} \
         overflows: divide the recording by a number"
    )]
    Overflow {
        /// Channel, counted from 0.
        channel: usize,
        /// Index within the channel, counted from 0.
        index: usize,
        /// The sample found.
        value: f32,
        /// Largest magnitude accepted.
        limit: f32,
    },
    /// A temporary file for samples that do not fit into memory can't be written or mapped.
    #[error(
        "it does not fit into memory, and a temporary file for its samples failed; the variable TMPDIR names the \
         folder of such files"
    )]
    TemporaryFile(#[source] io::Error),
    /// There are more samples than the header announces, of a recording that does not fit into memory.
    #[error("it holds more than the {announced} samples that its header announces")]
    LongerThanAnnounced {
        /// Samples per channel by the header.
        announced: u64,
    },
    /// The frames of a block do not fit into memory.
    #[error(
        "blocks of its frames of {frame} samples of {channels} channels take {} of memory, of which {} are available",
        bytes(*needed), bytes(*available)
    )]
    FrameMemory {
        /// Samples of a frame.
        frame: usize,
        /// Channels of the recording.
        channels: usize,
        /// Bytes of the blocks that are in memory at a time.
        needed: u64,
        /// Bytes available.
        available: u64,
    },
    /// A part is wanted of a recording whose length its header does not say.
    #[error("its length is not known, so that it can't be divided")]
    UnknownLength,
    /// Neither the file nor the caller says the sample rate; with the notes about the file, such as on its times.
    #[error("it does not say its sample rate{}", in_brackets(.0))]
    UnknownRate(Vec<Note>),
    /// Samples are missing or damaged, of a recording that is wanted whole.
    #[error("{0}")]
    Incomplete(String),
    /// The recording has no channel of this name.
    #[error("it has no channel `{name}`; its channels are {found}")]
    NoChannel {
        /// The name.
        name: String,
        /// Labels or numbers of the channels that it has.
        found: String,
    },
    /// An option does not apply to the format of the file.
    #[error("{option} is for {kind}")]
    Option {
        /// The option.
        option: &'static str,
        /// What it is for.
        kind: &'static str,
    },
    /// Channels are to be pairs of an in-phase and a quadrature part.
    #[error("it has {0} channels, not pairs of an in-phase and a quadrature part")]
    OddChannels(usize),
    /// Another recording that is used with this one has another sample rate.
    #[error("it has {found} samples per second, and others that are used with it have {expected}")]
    OtherRate {
        /// Its rate.
        found: f64,
        /// The rate of others.
        expected: f64,
    },
    /// The sample rate is out of range.
    #[error("its sample rate is {0:e} Hz, but must be from {min:e} to {max:e}", min = RATES[0], max = RATES[1])]
    Rate(f64),
    /// The samples do not fit into memory.
    #[error("its values take more than {}, what the available memory has for them: give a smaller table", bytes(*available))]
    Memory {
        /// Bytes that they may take.
        available: u64,
    },
}

fn in_brackets(notes: &[Note]) -> String {
    let notes: Vec<String> = notes.iter().map(Note::to_string).collect();
    if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) }
}

impl Format {
    /// Error of a file of this format, with the reason.
    pub(crate) fn problem(self, reason: impl Into<String>) -> RecordingProblem {
        RecordingProblem::Content { format: self, reason: reason.into() }
    }
}

/// Error of recordings.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// One file can't be used.
    #[error("reading {}", path.display())]
    Recording {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        problem: RecordingProblem,
    },
    /// An array can't be read.
    #[error("{}: {reason}", path.display())]
    Array {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The folder does not exist.
    #[error("{}: no such folder", .0.display())]
    FolderMissing(PathBuf),
    /// The path names a file.
    #[error("{}: not a folder (give the folder that holds the recordings)", .0.display())]
    NotAFolder(PathBuf),
    /// The folder, or one inside it, can't be listed.
    #[error("listing {}", path.display())]
    Folder {
        /// The folder that could not be listed.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The folder holds no recording.
    #[error("{}: no recording in this folder or below it (accepted: {})", .0.display(), Format::EXTENSIONS)]
    NoRecordings(PathBuf),
    /// A path can't be read.
    #[error("{}", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Standard input can't be divided into shards.
    #[error("standard input can't be divided")]
    ShardOfStream,
    /// There are fewer recordings than shards.
    #[error("{0}: there are fewer recordings than shards")]
    TooManyShards(Shard),
}
