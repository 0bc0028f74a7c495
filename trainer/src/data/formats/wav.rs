//! WAV files of any size: RIFF, and its 64-bit forms RF64 and BW64 (EBU Tech 3306).

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;

use super::number::NumberFormat;
use super::raw::read_full;
use super::reader::{RecordingLayout, SampleReader};
use crate::data::error::RecordingProblem;
use crate::data::format::Format;

/// Length of a chunk that stands in the `ds64` chunk instead, or that was not known to the program that wrote the file.
const UNKNOWN_LENGTH: u64 = 0xffff_ffff;
/// Format tags of a `fmt ` chunk.
const PCM: u16 = 1;
const IEEE_FLOAT: u16 = 3;
const EXTENSIBLE: u16 = 0xfffe;

/// WAV file of 8-, 16-, 24- or 32-bit PCM or of 32- or 64-bit floats.
pub(super) struct WavSamples {
    file: File,
    numbers: NumberFormat,
    layout: RecordingLayout,
    /// Samples per channel that are still to be read.
    left: u64,
    bytes: Vec<u8>,
}

/// Contents of the chunks before the samples.
struct WavHeader {
    numbers: NumberFormat,
    channels: u16,
    rate: u32,
    data_start: u64,
    data_bytes: u64,
}

impl WavSamples {
    pub(super) fn open(path: &Path) -> Result<Self, RecordingProblem> {
        let mut file = File::open(path)?;
        let file_bytes = file.metadata()?.len();
        let header = WavHeader::read(&mut file, file_bytes)?;
        let width = (header.numbers.bytes() * usize::from(header.channels)) as u64;
        let available = file_bytes.saturating_sub(header.data_start);
        let length = header.data_bytes / width;
        if header.data_bytes > available {
            let samples = |bytes: u64| usize::try_from(bytes / width).unwrap_or(usize::MAX);
            let (expected, found) = (samples(header.data_bytes), samples(available));
            return Err(RecordingProblem::Truncated { expected, found });
        }
        if length == 0 {
            return Err(RecordingProblem::NoSamples);
        }
        file.seek(SeekFrom::Start(header.data_start))?;
        let rate = Some(f64::from(header.rate));
        let layout =
            RecordingLayout { channels: header.channels.into(), rate, length: Some(length), titles: Vec::new() };
        Ok(Self { file, numbers: header.numbers, layout, left: length, bytes: Vec::new() })
    }

    fn width(&self) -> usize {
        self.numbers.bytes() * self.layout.channels
    }
}

impl SampleReader for WavSamples {
    fn layout(&self) -> &RecordingLayout {
        &self.layout
    }

    fn read(&mut self, block: &mut Vec<f32>, count: usize) -> Result<usize, RecordingProblem> {
        let width = self.width();
        let count = usize::try_from(self.left).unwrap_or(usize::MAX).min(count);
        self.bytes.resize(count * width, 0);
        let read = read_full(&mut self.file, &mut self.bytes)? / width;
        if read < count {
            let expected = self.layout.length.unwrap_or(self.left);
            let samples = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
            let found = samples(expected - self.left + read as u64);
            return Err(RecordingProblem::Truncated { expected: samples(expected), found });
        }
        self.numbers.decode_samples(&self.bytes, block);
        self.left -= read as u64;
        Ok(read)
    }

    fn skip(&mut self, count: u64) -> Result<u64, RecordingProblem> {
        let count = count.min(self.left);
        let bytes = count * self.width() as u64;
        self.file.seek_relative(i64::try_from(bytes).unwrap_or(i64::MAX))?;
        self.left -= count;
        Ok(count)
    }
}

impl WavHeader {
    /// Walks through the chunks up to the samples.
    fn read(file: &mut File, file_bytes: u64) -> Result<Self, RecordingProblem> {
        let mut magic = [0; 12];
        let read = read_full(file, &mut magic)?;
        let is_wave = matches!(&magic[..4], b"RIFF" | b"RF64" | b"BW64") && (read < 12 || &magic[8..] == b"WAVE");
        match (is_wave, read) {
            (true, 12) => {}
            (true, _) => return Err(RecordingProblem::TruncatedHeader),
            (false, _) => return Err(RecordingProblem::NotWav),
        }
        let is_64_bit = &magic[..4] != b"RIFF";
        let mut long_data_bytes = None;
        let mut format = None;
        loop {
            let chunk: [u8; 8] = array(file)?;
            let length = u64::from(u32::from_le_bytes([chunk[4], chunk[5], chunk[6], chunk[7]]));
            let start = file.stream_position()?;
            match &chunk[..4] {
                b"ds64" if is_64_bit => {
                    let [_, data_bytes]: [u64; 2] =
                        [u64::from_le_bytes(array(file)?), u64::from_le_bytes(array(file)?)];
                    long_data_bytes = Some(data_bytes);
                }
                b"fmt " => format = Some(numbers(file, length)?),
                b"data" => {
                    let (numbers, channels, rate) =
                        format.ok_or_else(|| Format::Wav.problem("its samples come before its format"))?;
                    let data_bytes = match (length, long_data_bytes) {
                        (UNKNOWN_LENGTH, Some(bytes)) => bytes,
                        // A program that writes to a pipe can't return to the header.
                        (UNKNOWN_LENGTH, None) => file_bytes.saturating_sub(start),
                        (length, _) => length,
                    };
                    return Ok(Self { numbers, channels, rate, data_start: start, data_bytes });
                }
                _ => {}
            }
            // Chunks begin at even positions.
            file.seek(SeekFrom::Start(start + length + length % 2))?;
        }
    }
}

/// Number format, channels and sample rate of a `fmt ` chunk.
fn numbers(file: &mut File, length: u64) -> Result<(NumberFormat, u16, u32), RecordingProblem> {
    if length < 16 {
        return Err(Format::Wav.problem(format!("its format chunk has {length} bytes, not 16 or more")));
    }
    let fields: [u8; 16] = array(file)?;
    let short = |at: usize| u16::from_le_bytes([fields[at], fields[at + 1]]);
    let (channels, rate, block, bits) =
        (short(2), u32::from_le_bytes([fields[4], fields[5], fields[6], fields[7]]), short(12), short(14));
    let tag = match short(0) {
        // The extension begins with its size, the valid bits and the speakers; then the tag.
        EXTENSIBLE if length >= 40 => {
            let extension: [u8; 10] = array(file)?;
            let valid = u16::from_le_bytes([extension[2], extension[3]]);
            // Programs differ in which end of a container they leave empty.
            if valid != 0 && valid != bits {
                return Err(Format::Wav.problem(format!("its samples have {valid} bits in containers of {bits}")));
            }
            u16::from_le_bytes([extension[8], extension[9]])
        }
        tag => tag,
    };
    let numbers = match (tag, bits) {
        (PCM, 8) => NumberFormat::unsigned(1),
        (PCM, 16 | 24 | 32) => NumberFormat::signed((bits / 8) as u8),
        (IEEE_FLOAT, 32 | 64) => NumberFormat::float((bits / 8) as u8),
        _ => {
            let encoding = match tag {
                PCM => format!("{bits}-bit PCM"),
                IEEE_FLOAT => format!("{bits}-bit float"),
                0x0002 | 0x0011 => "ADPCM".to_owned(),
                0x0006 => "A-law".to_owned(),
                0x0007 => "µ-law".to_owned(),
                0x0055 => "MP3".to_owned(),
                tag => format!("encoding {tag:#06x}"),
            };
            let accepted = "accepted: PCM of 8, 16, 24 or 32 bits, and 32- or 64-bit float";
            return Err(Format::Wav.problem(format!("its samples are {encoding} ({accepted})")));
        }
    };
    if channels == 0 || rate == 0 {
        return Err(Format::Wav.problem(format!("it has {channels} channels at {rate} Hz")));
    }
    let expected = numbers.bytes() * usize::from(channels);
    if usize::from(block) != expected {
        let reason = format!("{channels} samples of {bits} bits take {expected} bytes, its header says {block}");
        return Err(Format::Wav.problem(reason));
    }
    Ok((numbers, channels, rate))
}

fn array<const N: usize>(file: &mut File) -> Result<[u8; N], RecordingProblem> {
    let mut bytes = [0; N];
    match read_full(file, &mut bytes)? {
        read if read == N => Ok(bytes),
        _ => Err(RecordingProblem::TruncatedHeader),
    }
}
