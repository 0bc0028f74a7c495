//! Recordings in files of every supported format, read block by block: one format per file.
//!
//! [`open`] returns a [`SampleReader`], whose memory does not grow with the length of the recording.

mod array;
mod compressed;
mod csv;
mod edf;
mod named_arrays;
mod npy;
mod npz;
mod number;
mod parquet;
mod raw;
mod reader;
mod safetensors;
#[cfg(test)]
mod tests;
mod wav;

use std::path::Path;

pub use array::Array;
pub use number::{NumberFormat, UnknownNumberFormat};
pub use raw::RawReader;
pub use reader::{RecordingLayout, SampleReader};

use super::error::RecordingProblem;
pub use super::format::Format;

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
    reader::open_file(path)?;
    Ok(match format {
        Format::Wav => Box::new(wav::WavSamples::open(path)?),
        Format::Flac | Format::Ogg => Box::new(compressed::CompressedReader::open(path, format)?),
        Format::Edf | Format::Bdf => Box::new(edf::EdfReader::open(path, format)?),
        Format::Npy => Box::new(npy::open(path)?),
        Format::Npz => Box::new(npz::open(path)?),
        Format::Safetensors => Box::new(safetensors::open(path)?),
        Format::Csv => Box::new(csv::CsvReader::open(path)?),
        Format::Parquet => Box::new(parquet::ParquetReader::open(path)?),
    })
}
