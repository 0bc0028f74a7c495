//! WAV files of any size: RIFF, its big-endian form RIFX, and its 64-bit forms RF64 and BW64 (EBU Tech 3306).

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;

use super::compressed::CompressedReader;
use super::raw::{NumberFormat, SampleValue, decoded_reads, little_endian, positive, read_full};
use super::{Format, RecordingLayout, SampleReader};
use crate::error::{RecordingProblem, Result};

/// Length of a chunk that stands in the `ds64` chunk instead.
const IN_DS64: u64 = 0xffff_ffff;
/// Lengths of the samples that programs write which can't return to the header (SoX, arecord, Android, FFmpeg), each up
/// to the bytes of a header more or less; 0 is what a recorder leaves that was killed.
const UNKNOWN_LENGTHS: [u64; 4] = [0x7fff_f000, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
/// Bytes by which such a length may differ.
const HEADER_BYTES: u64 = 256;
/// Number of values that a 32-bit length wraps around at.
const WRAP: u64 = 1 << 32;
/// Format tags of a `fmt ` chunk.
const PCM: u16 = 1;
const IEEE_FLOAT: u16 = 3;
const A_LAW: u16 = 6;
const MU_LAW: u16 = 7;
const EXTENSIBLE: u16 = 0xfffe;
/// Bytes of samples from which it is decided at which end of their containers they stand.
const INSPECTED_BYTES: usize = 1 << 16;

/// WAV file of PCM of 1 to 32 bits, of 32- or 64-bit floats, or of A-law or µ-law samples.
pub(super) struct WavSamples {
    file: File,
    numbers: NumberFormat,
    /// Factor of samples that stand at the low end of their containers; 1 for others.
    gain: f64,
    layout: RecordingLayout,
    /// Samples per channel that are still to be read.
    left: u64,
    bytes: Vec<u8>,
}

/// Encoding of the samples, from a `fmt ` chunk.
#[derive(Clone, Copy)]
struct Encoding {
    numbers: NumberFormat,
    /// Bits of a sample that count, fewer than those of its container.
    valid_bits: Option<u32>,
    channels: u16,
    rate: u32,
}

/// Contents of the chunks before the samples.
struct WavHeader {
    encoding: Encoding,
    data_start: u64,
    /// Bytes of samples that the header announces.
    data_bytes: u64,
    /// Whether the length is 64 bits wide, or a plausible one of 32 bits.
    is_long: bool,
}

impl WavSamples {
    pub(super) fn open(path: &Path) -> Result<Box<dyn SampleReader>> {
        let mut file = File::open(path)?;
        let file_bytes = file.metadata()?.len();
        let Some(header) = WavHeader::read(&mut file, file_bytes)? else {
            return Ok(Box::new(CompressedReader::open(path, Format::Wav)?));
        };
        let Encoding { numbers, channels, rate, valid_bits } = header.encoding;
        let mut layout = RecordingLayout {
            rate: positive(rate.into()),
            is_wide: numbers.is_wide(),
            ..RecordingLayout::of(channels.into())
        };
        let width = (numbers.bytes() * usize::from(channels)) as u64;
        let data_bytes = header.bytes_of_samples(&mut file, file_bytes, width, &mut layout)?;
        let length = data_bytes / width;
        if length == 0 {
            return Err(RecordingProblem::NoSamples);
        }
        layout.length = Some(length);
        file.seek(SeekFrom::Start(header.data_start))?;
        let mut gain = 1.0;
        if let Some(bits) = valid_bits {
            let mut inspected = vec![0; INSPECTED_BYTES.min(data_bytes as usize)];
            let read = read_full(&mut file, &mut inspected)?;
            file.seek(SeekFrom::Start(header.data_start))?;
            let container = 8 * numbers.bytes() as u32;
            if stand_at_low_end(numbers, &inspected[..read], bits) {
                gain = 2f64.powi((container - bits) as i32);
                layout.remark(format!(
                    "its samples of {bits} bits stand at the low end of their {container}, as hound writes them"
                ));
            }
        }
        Ok(Box::new(Self { file, numbers, gain, layout, left: length, bytes: Vec::new() }))
    }

    fn width(&self) -> usize {
        self.numbers.bytes() * self.layout.channels
    }

    fn read_as<T: SampleValue>(&mut self, block: &mut Vec<T>, count: usize) -> Result<usize> {
        let (width, first) = (self.width(), block.len());
        let count = usize::try_from(self.left).unwrap_or(usize::MAX).min(count);
        self.bytes.resize(count * width, 0);
        let read = read_full(&mut self.file, &mut self.bytes)? / width;
        self.numbers.decode_samples(&self.bytes[..read * width], block);
        if self.gain != 1.0 {
            for sample in &mut block[first..] {
                let value: f64 = (*sample).into();
                let value = value * self.gain;
                // Some programs do not extend the sign of a sample at the low end of its container.
                *sample = T::of_f64(if value >= 1.0 { value - 2.0 } else { value });
            }
        }
        self.left -= read as u64;
        if read < count {
            self.layout.lost(format!("{} samples per channel were cut off while it was read", self.left));
            self.left = 0;
        }
        Ok(read)
    }
}

impl SampleReader for WavSamples {
    decoded_reads!();

    fn skip(&mut self, count: u64) -> Result<u64> {
        let count = count.min(self.left);
        let bytes = count * self.width() as u64;
        self.file.seek_relative(i64::try_from(bytes).unwrap_or(i64::MAX))?;
        self.left -= count;
        Ok(count)
    }
}

impl WavHeader {
    /// Walks through the chunks up to the samples; none if those are compressed.
    fn read(file: &mut File, file_bytes: u64) -> Result<Option<Self>> {
        let mut magic = [0; 12];
        let read = read_full(file, &mut magic)?;
        let is_riff = matches!(&magic[..4], b"RIFF" | b"RIFX" | b"RF64" | b"BW64");
        match (is_riff && (read < 12 || &magic[8..] == b"WAVE"), read) {
            (true, 12) => {}
            (true, _) => return Err(RecordingProblem::TruncatedHeader),
            (false, _) => return Err(RecordingProblem::NotWav),
        }
        let (is_64_bit, big_endian) = (matches!(&magic[..4], b"RF64" | b"BW64"), &magic[..4] == b"RIFX");
        let mut long_data_bytes = None;
        let mut encoding = None;
        loop {
            let chunk: [u8; 8] = array(file)?;
            let length = u32::from_le_bytes(little_endian(chunk.as_chunks().0[1], big_endian));
            let (length, start) = (u64::from(length), file.stream_position()?);
            match &chunk[..4] {
                b"ds64" if is_64_bit => {
                    let [_, data_bytes]: [u64; 2] =
                        [u64::from_le_bytes(array(file)?), u64::from_le_bytes(array(file)?)];
                    long_data_bytes = Some(data_bytes);
                }
                b"fmt " => match Encoding::read(file, length, big_endian)? {
                    None => return Ok(None),
                    found => encoding = found,
                },
                b"data" => {
                    let encoding = encoding.ok_or_else(|| Format::Wav.problem("its samples come before its format"))?;
                    let (data_bytes, is_long) = match (length, long_data_bytes) {
                        (IN_DS64, Some(bytes)) => (bytes, true),
                        (length, _) => (length, false),
                    };
                    return Ok(Some(Self { encoding, data_start: start, data_bytes, is_long }));
                }
                _ => {}
            }
            let mut next = start + length;
            // Chunks begin at even positions, but some programs leave out the byte of padding.
            if length % 2 == 1 {
                file.seek(SeekFrom::Start(next))?;
                let mut name = [0; 4];
                let is_name = read_full(file, &mut name)? == 4 && is_chunk_name(name);
                next += u64::from(!is_name);
            }
            if next > file_bytes {
                let name = String::from_utf8_lossy(&chunk[..4]).into_owned();
                return Err(match encoding {
                    Some(_) => Format::Wav
                        .problem(format!("its chunk `{name}` ends behind the file, and no chunk `data` was found")),
                    None => RecordingProblem::TruncatedHeader,
                });
            }
            file.seek(SeekFrom::Start(next))?;
        }
    }

    /// Bytes of samples in the file, and notes where they are not those that the header announces.
    fn bytes_of_samples(
        &self,
        file: &mut File,
        file_bytes: u64,
        width: u64,
        layout: &mut RecordingLayout,
    ) -> Result<u64> {
        let (announced, available) = (self.data_bytes, file_bytes.saturating_sub(self.data_start));
        let without_length = announced == 0 || is_unknown_length(announced);
        if !self.is_long && without_length && (announced > available || announced == 0) {
            if announced != IN_DS64 && available > 0 {
                layout.remark(format!("its header has no length ({announced:#x}): it is read to its end"));
            }
            return Ok(available);
        }
        if announced > available {
            layout.truncated(announced / width, available / width);
            return Ok(available);
        }
        let rest = available - announced;
        if !self.is_long && rest >= WRAP {
            let wrapped = rest / WRAP * WRAP;
            layout.remark(format!(
                "it is longer than the {announced} bytes of samples that its header of 32 bits can say: {} are read",
                announced + wrapped
            ));
            return Ok(announced + wrapped);
        }
        let end = self.data_start + announced;
        if rest > 1 && !is_followed_by_chunk(file, end)? {
            layout
                .lost(format!("{rest} bytes behind the {announced} of samples that its header announces are not read"));
        }
        Ok(announced)
    }
}

/// Whether a header has this length in the place of one that was not known when it was written.
pub(super) fn is_unknown_length(length: u64) -> bool {
    UNKNOWN_LENGTHS.iter().any(|known| length.abs_diff(*known) <= HEADER_BYTES)
}

/// Whether bytes can be the name of a chunk.
fn is_chunk_name(name: [u8; 4]) -> bool {
    name[0].is_ascii_alphanumeric() && name[1..].iter().all(|byte| byte.is_ascii_alphanumeric() || b" _".contains(byte))
}

/// Whether a chunk but one of samples, or a tag of another format, stands behind the samples, with or without padding.
fn is_followed_by_chunk(file: &mut File, end: u64) -> Result<bool> {
    let mut bytes = [0; 5];
    file.seek(SeekFrom::Start(end))?;
    let read = read_full(file, &mut bytes)?;
    let [a, b, c, d, e] = bytes;
    let is_other = |name| is_chunk_name(name) && !matches!(&name, b"RIFF" | b"RIFX" | b"data");
    Ok(bytes[..read].iter().all(|byte| *byte == 0) || is_other([a, b, c, d]) || is_other([b, c, d, e]))
}

/// Whether integers with fewer valid bits than their containers have stand at the low end of them: some have a bit set
/// that a sample at the high end can't have, and all are within the range of the valid bits.
fn stand_at_low_end(numbers: NumberFormat, bytes: &[u8], bits: u32) -> bool {
    let mut values: Vec<f64> = Vec::new();
    numbers.decode(&bytes[..bytes.len() / numbers.bytes() * numbers.bytes()], &mut values);
    let (step, limit) = (1i64 << (8 * numbers.bytes() as u32 - bits), 1i64 << (bits - 1));
    let values = || values.iter().map(|value| *value as i64);
    values().any(|value| value % step != 0) && values().all(|value| (-limit..2 * limit).contains(&value))
}

impl Encoding {
    /// Reads a `fmt ` chunk; none of compressed samples.
    fn read(file: &mut File, length: u64, big_endian: bool) -> Result<Option<Self>> {
        if length < 16 {
            return Err(Format::Wav.problem(format!("its format chunk has {length} bytes, not 16 or more")));
        }
        let fields: [u8; 16] = array(file)?;
        let short = |bytes: &[u8], at: usize| u16::from_le_bytes(little_endian([bytes[at], bytes[at + 1]], big_endian));
        let rate = u32::from_le_bytes(little_endian(fields.as_chunks().0[1], big_endian));
        let (channels, block, bits) = (short(&fields, 2), short(&fields, 12), short(&fields, 14));
        if channels == 0 {
            return Err(Format::Wav.problem("it has 0 channels"));
        }
        let (tag, valid) = match short(&fields, 0) {
            // The extension begins with its size, the valid bits and the speakers; then the tag, in 32 bits, or in 16
            // with zeros behind it (SoX).
            EXTENSIBLE if length >= 40 => {
                let extension: [u8; 12] = array(file)?;
                let (valid, first) = (short(&extension, 2), short(&extension, 8));
                let tag = if big_endian && first == 0 { short(&extension, 10) } else { first };
                (tag, if valid == 0 || valid > bits { bits } else { valid })
            }
            tag => (tag, bits),
        };
        // Some programs leave the bytes of a block empty.
        let container = match usize::from(block) / usize::from(channels) {
            0 => usize::from(bits).div_ceil(8),
            bytes => bytes,
        };
        let is_whole = block == 0 || usize::from(block) == container * usize::from(channels);
        let numbers = match (tag, container) {
            (PCM, 1) if (1..=8).contains(&valid) => NumberFormat::unsigned(1),
            (PCM, 2..=4) if (1..=8 * container).contains(&usize::from(valid)) => NumberFormat::signed(container as u8),
            (IEEE_FLOAT, 4 | 8) if usize::from(bits) == 8 * container => NumberFormat::float(container as u8),
            (A_LAW, 1) => NumberFormat::A_LAW,
            (MU_LAW, 1) => NumberFormat::MU_LAW,
            // ADPCM of Microsoft and of the IMA.
            (0x0002 | 0x0011, _) => return Ok(None),
            _ => {
                let encoding = match tag {
                    PCM => format!("{bits}-bit PCM in {container} bytes"),
                    IEEE_FLOAT => format!("{bits}-bit float in {container} bytes"),
                    0x0055 => "MP3".to_owned(),
                    tag => format!("encoding {tag:#06x}"),
                };
                let accepted = "accepted: PCM of 1 to 32 bits, 32- or 64-bit float, A-law, µ-law and ADPCM";
                return Err(Format::Wav.problem(format!("its samples are {encoding} ({accepted})")));
            }
        };
        if !is_whole {
            let reason = format!("{channels} samples of {container} bytes do not fill its blocks of {block}");
            return Err(Format::Wav.problem(reason));
        }
        let valid_bits = (tag == PCM && container > 1 && usize::from(valid) < 8 * container).then(|| valid.into());
        Ok(Some(Self { numbers: numbers.in_order(big_endian), valid_bits, channels, rate }))
    }
}

fn array<const N: usize>(file: &mut File) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    match read_full(file, &mut bytes)? {
        read if read == N => Ok(bytes),
        _ => Err(RecordingProblem::TruncatedHeader),
    }
}
