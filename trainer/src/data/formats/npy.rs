//! NumPy arrays (NEP 1, versions 1 to 3 of the format).

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::number::NumberFormat;
use super::raw::read_full;
use super::reader::{RecordingLayout, SampleReader, open_file};
use crate::data::error::RecordingProblem;
use crate::data::format::Format;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Types of numbers that are read, for messages.
pub(super) const ACCEPTED: &str = "bools, integers of 1 to 8 bytes and floats of 4 or 8";
/// Longest header that is read.
const MOST_HEADER_BYTES: usize = 1 << 16;

/// Header of an array.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ArrayHeader {
    pub(super) numbers: NumberFormat,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<u64>,
    /// Bytes before those of its numbers.
    pub(super) bytes: u64,
}

/// Format of numbers by NumPy's name of their type, such as `<f4`; bools are 0 and 1.
fn number_format(name: &str) -> Option<NumberFormat> {
    let (order, kind) = name.split_at_checked(1)?;
    let numbers = match kind {
        "i1" | "i2" | "i4" | "i8" => NumberFormat::signed(kind[1..].parse().ok()?),
        "u1" | "u2" | "u4" | "u8" | "b1" => NumberFormat::unsigned(kind[1..].parse().ok()?),
        "f4" | "f8" => NumberFormat::float(kind[1..].parse().ok()?),
        _ => return None,
    };
    match order {
        "<" | "|" | "=" => Some(numbers),
        ">" => Some(numbers.big_endian()),
        _ => None,
    }
}

/// Dimensions of an array of samples.
struct RowsAndChannels {
    /// Samples per channel.
    length: u64,
    channels: u64,
    /// Whether the samples of one time stand together.
    are_interleaved: bool,
}

/// Array of one or two dimensions, the longer of which is time. Numbers are taken as they are.
pub(super) struct ArrayReader {
    format: Format,
    source: ArraySource,
    numbers: NumberFormat,
    layout: RecordingLayout,
    left: u64,
    bytes: Vec<u8>,
    channel: Vec<f32>,
}

/// Source of the bytes of an array.
enum ArraySource {
    /// A stream of interleaved samples, or one per channel.
    Streams(Vec<Box<dyn Read + Send>>),
    /// A file, and the position of the next sample of all channels, or of each of them.
    File(File, Vec<u64>),
}

/// Opens the array in a `.npy` file.
pub(super) fn open(path: &Path) -> Result<ArrayReader, RecordingProblem> {
    let file = open_file(path)?;
    let header = ArrayHeader::read(&mut BufReader::new(&file), Format::Npy)?;
    let needed = header.shape.iter().product::<u64>() * header.numbers.bytes() as u64;
    let available = file.metadata()?.len().saturating_sub(header.bytes);
    if needed > available {
        return Err(Format::Npy.problem(format!("its shape takes {needed} bytes, it has {available}")));
    }
    ArrayReader::of_file(file, &header, None, Format::Npy)
}

impl ArrayHeader {
    /// Reads the header of an array in a file of `format`.
    pub(super) fn read(input: &mut impl Read, format: Format) -> Result<Self, RecordingProblem> {
        let mut start = [0; 8];
        let mut length = [0; 4];
        if read_full(input, &mut start)? < 8 || &start[..6] != MAGIC {
            return Err(format.problem("it does not begin with a NumPy header"));
        }
        let length_bytes = if start[6] == 1 { 2 } else { 4 };
        let truncated = || format.problem("it ends inside its header");
        if read_full(input, &mut length[..length_bytes])? < length_bytes {
            return Err(truncated());
        }
        let length = u32::from_le_bytes(length) as usize;
        if length > MOST_HEADER_BYTES {
            return Err(format.problem(format!("its header has {length} bytes")));
        }
        let mut text = vec![0; length];
        if read_full(input, &mut text)? < length {
            return Err(truncated());
        }
        let text = String::from_utf8_lossy(&text);
        let bytes = (8 + length_bytes + length) as u64;
        Self::parse(text.trim(), bytes).map_err(|reason| format.problem(reason))
    }

    /// Parses the dictionary of a header.
    ///
    /// # Errors
    /// The reason why the array is not read.
    fn parse(text: &str, bytes: u64) -> Result<Self, String> {
        let value = |key: &str| Some(text.split_once(&format!("'{key}':"))?.1.trim_start());
        let damaged = || format!("its header is {text}, not a dictionary of descr, fortran_order and shape");
        // A structured type has a list in place of a name.
        let descr = value("descr").ok_or_else(damaged)?;
        let name = descr.strip_prefix('\'').and_then(|rest| Some(rest.split_once('\'')?.0));
        let numbers = name.and_then(number_format).ok_or_else(|| {
            let found = name.map_or("a type with several fields".into(), |name| format!("type {name}"));
            format!("its numbers are of {found} (accepted: {ACCEPTED})")
        })?;
        let fortran_order = value("fortran_order").ok_or_else(damaged)?.starts_with("True");
        let shape = value("shape").and_then(|rest| Some(rest.strip_prefix('(')?.split_once(')')?.0));
        let sizes = shape.ok_or_else(damaged)?.split(',').map(str::trim).filter(|size| !size.is_empty());
        let too_large = || format!("its shape is ({}), more than a file can hold", shape.unwrap_or_default());
        let shape = sizes.map(|size| size.parse().ok()).collect::<Option<Vec<u64>>>().ok_or_else(too_large)?;
        // The bytes of an array, read and decoded, must be a number.
        shape.iter().try_fold(16u64, |product, size| product.checked_mul(*size)).ok_or_else(too_large)?;
        Ok(Self { numbers, fortran_order, shape, bytes })
    }

    /// Samples and channels, the longer of two dimensions being time.
    fn rows_and_channels(&self, format: Format) -> Result<RowsAndChannels, RecordingProblem> {
        let (length, channels, time_is_first) = match self.shape[..] {
            [length] => (length, 1, true),
            [rows, columns] if rows >= columns => (rows, columns, true),
            [rows, columns] => (columns, rows, false),
            _ => return Err(format.problem(format!("its array has {} dimensions, not 1 or 2", self.shape.len()))),
        };
        if length == 0 || channels == 0 {
            return Err(RecordingProblem::NoSamples);
        }
        // The last index of C order and the first of Fortran order vary fastest.
        let are_interleaved = channels == 1 || time_is_first != self.fortran_order;
        Ok(RowsAndChannels { length, channels, are_interleaved })
    }

    /// Offsets of the channels in bytes; a single one where they are interleaved.
    fn channel_offsets(&self, format: Format) -> Result<Vec<u64>, RecordingProblem> {
        let RowsAndChannels { length, channels, are_interleaved } = self.rows_and_channels(format)?;
        let parts = if are_interleaved { 1 } else { channels };
        Ok((0..parts).map(|channel| channel * length * self.numbers.bytes() as u64).collect())
    }

    /// Number of channels if they stand one after the other, or else 1.
    pub(super) fn separate_channels(&self) -> u64 {
        let layout = self.rows_and_channels(Format::Npz);
        layout.map_or(1, |layout| if layout.are_interleaved { 1 } else { layout.channels })
    }

    /// The first number of the array, whose bytes `input` begins with.
    pub(super) fn number(&self, input: &mut impl Read) -> Result<f64, RecordingProblem> {
        let mut bytes = vec![0; self.numbers.bytes()];
        input.read_exact(&mut bytes)?;
        let mut value = Vec::new();
        self.numbers.decode(&bytes, &mut value);
        Ok(value.first().copied().map_or(f64::NAN, f64::from))
    }
}

impl ArraySource {
    /// Number of streams or positions: 1 of interleaved samples, or else that of the channels.
    fn parts(&self) -> usize {
        match self {
            Self::Streams(streams) => streams.len(),
            Self::File(_, positions) => positions.len(),
        }
    }

    /// Reads the next bytes of a part; fewer at its end.
    fn read(&mut self, part: usize, bytes: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Streams(streams) => read_full(&mut streams[part], bytes),
            Self::File(file, positions) => {
                file.seek(SeekFrom::Start(positions[part]))?;
                positions[part] += bytes.len() as u64;
                read_full(file, bytes)
            }
        }
    }
}

impl ArrayReader {
    /// A reader of an array whose numbers stand in `file` from the header's `bytes` on.
    pub(super) fn of_file(
        file: File,
        header: &ArrayHeader,
        rate: Option<f64>,
        format: Format,
    ) -> Result<Self, RecordingProblem> {
        let positions = header.channel_offsets(format)?.into_iter().map(|offset| header.bytes + offset).collect();
        Self::new(header, rate, format, ArraySource::File(file, positions))
    }

    /// A reader of an array whose numbers `stream` yields, from an offset on.
    pub(super) fn streams(
        header: &ArrayHeader,
        rate: Option<f64>,
        format: Format,
        stream: impl Fn(u64) -> Result<Box<dyn Read + Send>, RecordingProblem>,
    ) -> Result<Self, RecordingProblem> {
        let streams = header.channel_offsets(format)?.into_iter().map(stream).collect::<Result<_, _>>()?;
        Self::new(header, rate, format, ArraySource::Streams(streams))
    }

    fn new(
        header: &ArrayHeader,
        rate: Option<f64>,
        format: Format,
        source: ArraySource,
    ) -> Result<Self, RecordingProblem> {
        let RowsAndChannels { length, channels, .. } = header.rows_and_channels(format)?;
        let layout = RecordingLayout { channels: channels as usize, rate, length: Some(length), titles: Vec::new() };
        let (bytes, channel) = (Vec::new(), Vec::new());
        Ok(Self { format, source, numbers: header.numbers, layout, left: length, bytes, channel })
    }
}

impl SampleReader for ArrayReader {
    fn layout(&self) -> &RecordingLayout {
        &self.layout
    }

    fn read(&mut self, block: &mut Vec<f32>, count: usize) -> Result<usize, RecordingProblem> {
        let count = usize::try_from(self.left).unwrap_or(usize::MAX).min(count);
        let parts = self.source.parts();
        let together = self.layout.channels / parts;
        self.bytes.resize(count * together * self.numbers.bytes(), 0);
        let first = block.len();
        block.resize(first + count * self.layout.channels, 0.0);
        for part in 0..parts {
            if self.source.read(part, &mut self.bytes)? < self.bytes.len() {
                return Err(self.format.problem("it ends before its array does"));
            }
            self.channel.clear();
            self.numbers.decode(&self.bytes, &mut self.channel);
            if parts == 1 {
                block[first..].copy_from_slice(&self.channel);
            } else {
                let samples = block[first..].iter_mut().skip(part).step_by(parts);
                samples.zip(&self.channel).for_each(|(sample, number)| *sample = *number);
            }
        }
        self.left -= count as u64;
        Ok(count)
    }
}
