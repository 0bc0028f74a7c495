//! Files read into one recording per channel.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use hound::{SampleFormat, WavReader};

use super::error::{DataError, RecordingProblem};
use super::formats::{self, Format};

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
    pub samples: Arc<[f32]>,
}

/// Samples per channel that are read at a time.
const BLOCK: usize = 1 << 14;

/// Reads a recording in the format that its extension names. Returns one recording per channel in the order of the
/// channels, all of one length.
///
/// # Errors
/// [`DataError::Recording`] with the file and a [`RecordingProblem`].
pub fn read_recording(path: &Path) -> Result<Vec<Recording>, DataError> {
    if Format::of(path) == Some(Format::Wav) {
        return read_wav(path);
    }
    let (rate, channels) =
        read_channels(path).map_err(|problem| DataError::Recording { path: path.to_owned(), problem })?;
    Ok(recordings(path, rate.map_or(1, |rate| rate.round() as u32), channels))
}

/// Sample rate and samples of each channel of a file of any format.
fn read_channels(path: &Path) -> Result<(Option<f64>, Vec<Vec<f32>>), RecordingProblem> {
    let mut reader = formats::open(path)?;
    let layout = reader.layout().clone();
    let mut sink = Channels::new(layout.channels, 0);
    let mut block = Vec::new();
    while reader.read(&mut block, BLOCK)? > 0 {
        block.drain(..).for_each(|sample| sink.push(sample));
    }
    if sink.whole() == 0 {
        return Err(RecordingProblem::NoSamples);
    }
    sink.check_finite()?;
    Ok((layout.rate, sink.channels))
}

fn recordings(path: &Path, sample_rate: u32, channels: Vec<Vec<f32>>) -> Vec<Recording> {
    let path: Arc<Path> = path.into();
    let recording = |(channel, samples): (usize, Vec<f32>)| Recording {
        path: path.clone(),
        channel,
        sample_rate,
        samples: samples.into(),
    };
    channels.into_iter().enumerate().map(recording).collect()
}

/// Reads a WAV file: PCM of 16, 24 or 32 bits or 32-bit float, any number of channels, any sample rate. Returns one
/// recording per channel in the order of the channels, all of one length.
///
/// # Errors
/// [`DataError::Recording`] with the file and a [`RecordingProblem`].
pub fn read_wav(path: &Path) -> Result<Vec<Recording>, DataError> {
    let open = || decode_wav(BufReader::new(File::open(path)?));
    let wav = open().map_err(|problem| DataError::Recording { path: path.to_owned(), problem })?;
    Ok(recordings(path, wav.sample_rate, wav.channels))
}

/// A decoded WAV file.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodedWav {
    /// Samples per second.
    pub sample_rate: u32,
    /// Samples of each channel, all of one length of at least 1.
    pub channels: Vec<Vec<f32>>,
}

/// Decodes a WAV file, as [`read_wav`] does, from a reader at its start.
///
/// # Errors
/// [`RecordingProblem`] for a file that is damaged or of a format that is not supported.
pub fn decode_wav<R: Read + Seek>(mut file: R) -> Result<DecodedWav, RecordingProblem> {
    let file_bytes = file.seek(SeekFrom::End(0))?;
    file.rewind()?;
    check_magic(&mut file)?;

    // hound's `spec` has no container width. The position after reading all samples tells it, measured from here.
    let mut file = WavReader::new(file).map_err(in_header)?.into_inner();
    let data_start = file.stream_position()?;
    file.rewind()?;
    let mut reader = WavReader::new(file).map_err(in_header)?;

    let spec = reader.spec();
    let (width, is_float) = match (spec.sample_format, spec.bits_per_sample) {
        (SampleFormat::Int, bits @ (16 | 24 | 32)) => (bits, false),
        (SampleFormat::Float, 32) => (32, true),
        (SampleFormat::Int, bits) => return unsupported(format!("{bits}-bit PCM")),
        (SampleFormat::Float, bits) => return unsupported(format!("{bits}-bit float")),
    };
    if spec.sample_rate == 0 {
        return Err(RecordingProblem::Malformed("the sample rate is 0"));
    }
    let expected = reader.duration() as usize;
    if expected == 0 {
        return Err(RecordingProblem::NoSamples);
    }

    // The header of a damaged file may announce more samples than the file can hold.
    let frame_bytes = u64::from(width / 8) * u64::from(spec.channels);
    let capacity = expected.min((file_bytes / frame_bytes) as usize);
    let mut sink = Channels::new(usize::from(spec.channels), capacity);
    let outcome = if is_float {
        read_samples(&mut reader, &mut sink, |sample: f32| sample)
    } else {
        let scale = full_scale(width);
        read_samples(&mut reader, &mut sink, |sample: i32| {
            // The largest 32-bit integers would round to 1 in f32: limited to the float below.
            (sample as f32 / scale).min(1.0 - f32::EPSILON / 2.0)
        })
    };
    match outcome {
        Ok(()) => {}
        Err(hound::Error::IoError(error)) if is_end_of_file(&error) => {
            return Err(RecordingProblem::Truncated { expected, found: sink.whole() });
        }
        Err(error) => return Err(in_header(error)),
    }
    let moved = reader.into_inner().stream_position()? - data_start;
    if moved != expected as u64 * frame_bytes {
        return unsupported(format!("{width}-bit samples in containers of another width"));
    }
    sink.check_finite()?;
    Ok(DecodedWav { sample_rate: spec.sample_rate, channels: sink.channels })
}

/// De-interleaved samples.
struct Channels {
    channels: Vec<Vec<f32>>,
    next: usize,
}

impl Channels {
    fn new(count: usize, capacity: usize) -> Self {
        Self { channels: (0..count).map(|_| Vec::with_capacity(capacity)).collect(), next: 0 }
    }

    fn push(&mut self, sample: f32) {
        self.channels[self.next].push(sample);
        self.next = (self.next + 1) % self.channels.len();
    }

    /// Whole samples per channel.
    fn whole(&self) -> usize {
        self.channels.last().map_or(0, Vec::len)
    }

    fn check_finite(&self) -> Result<(), RecordingProblem> {
        for (channel, samples) in self.channels.iter().enumerate() {
            if let Some(index) = samples.iter().position(|sample| !sample.is_finite()) {
                return Err(RecordingProblem::NonFinite { channel, index, value: samples[index] });
            }
        }
        Ok(())
    }
}

fn read_samples<R: Read, S: hound::Sample>(
    reader: &mut WavReader<R>,
    sink: &mut Channels,
    convert: impl Fn(S) -> f32,
) -> Result<(), hound::Error> {
    for sample in reader.samples::<S>() {
        sink.push(convert(sample?));
    }
    Ok(())
}

/// Full scale: magnitude of the most negative integer of this many bits.
fn full_scale(bits: u16) -> f32 {
    (1u64 << (bits - 1)) as f32
}

/// Distinguishes a file of another kind from a truncated WAV file. Leaves the file at its start.
fn check_magic<R: Read + Seek>(file: &mut R) -> Result<(), RecordingProblem> {
    let mut magic = Vec::with_capacity(12);
    file.by_ref().take(12).read_to_end(&mut magic)?;
    file.rewind()?;
    if magic.starts_with(b"RF64") || magic.starts_with(b"BW64") {
        return unsupported("a 64-bit RF64 or BW64 file".to_owned());
    }
    if !magic.starts_with(b"RIFF") {
        return Err(RecordingProblem::NotWav);
    }
    match magic.get(8..12) {
        None => Err(RecordingProblem::TruncatedHeader),
        Some(b"WAVE") => Ok(()),
        Some(_) => Err(RecordingProblem::NotWav),
    }
}

fn in_header(error: hound::Error) -> RecordingProblem {
    match error {
        hound::Error::IoError(error) if is_end_of_file(&error) => RecordingProblem::TruncatedHeader,
        hound::Error::IoError(error) => RecordingProblem::Io(error),
        hound::Error::FormatError(what) => RecordingProblem::Malformed(what),
        hound::Error::TooWide => RecordingProblem::Unsupported("samples of more than 32 bits".to_owned()),
        _ => RecordingProblem::Unsupported("an encoding other than PCM or float".to_owned()),
    }
}

/// Whether the file has ended: hound reports that as an I/O error without a system code.
fn is_end_of_file(error: &io::Error) -> bool {
    error.raw_os_error().is_none()
}

fn unsupported<T>(what: String) -> Result<T, RecordingProblem> {
    Err(RecordingProblem::Unsupported(what))
}

#[cfg(test)]
#[path = "recording_tests.rs"]
mod tests;
