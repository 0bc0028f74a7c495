//! Recordings in files of many formats, as streams of samples, as whole channels, or as frames.
//!
//! | to | use |
//! | --- | --- |
//! | find recordings | [`Sources`], or [`find_recordings`] in a folder |
//! | read a file block by block | [`open`] for a [`SampleReader`], [`open_with`] with the caller's choices |
//! | read samples without a header | [`RawReader`] |
//! | cut it into frames while it is read | [`FrameReader`] |
//! | read whole channels | [`read_recording`]; [`read_table`], [`read_rows`] and [`Array`] for tables and arrays |
//!
//! Samples of audio files are within [-1, 1): integers are divided by full scale, floats unchanged. Numbers of tables and
//! arrays are taken as they are. Omitted, guessed and missing parts are a [`Note`] in the layout. Samples that exceed the
//! memory are in a temporary file, mapped into the address space. Errors are a [`RecordingProblem`] of one file,
//! or a [`RecordingError`] that names it.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod error;
mod folder;
mod formats;
mod frames;
mod memory;
mod recording;
mod samples;
mod source;

pub use error::{RecordingError, RecordingProblem};
pub use folder::{distinct_names, find_recordings, stem};
pub use formats::{
    Array, Format, Note, NumberFormat, RawReader, ReadOptions, RecordingLayout, SampleReader, npy_header, open,
    open_with, unit_of,
};
pub use frames::{Block, FrameReader, FrameSamples, Framing, MOST_ROUNDING};
pub use memory::{SampleMemory, available_memory};
pub use recording::{Recording, channel_titles, read_recording, read_recording_within, read_rows, read_table};
pub use samples::Samples;
pub use source::{RATES, RecordingSource, Shard, Sources};
