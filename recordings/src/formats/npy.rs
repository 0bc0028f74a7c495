//! NumPy arrays (NEP 1, versions 1 to 3 of the format).

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use super::parts::{Calibration, Part, PartsReader, Ranges};
use super::raw::{NumberFormat, read_full};
use super::{Format, RecordingLayout, open_file};
use crate::error::{RecordingProblem, Result};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Types of numbers that are read, for messages.
pub(super) const ACCEPTED: &str =
    "bools, integers of 1 to 8 bytes, floats of 2, 4 or 8, and complex numbers of 8 or 16";
const MOST_HEADER_BYTES: usize = 1 << 16;

/// Bytes that the header is a multiple of, so that numbers are aligned.
const ALIGNMENT: usize = 64;
/// Bytes before the dictionary: magic, version and length.
const PREFIX: usize = 10;

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
        "f2" | "f4" | "f8" => NumberFormat::float(kind[1..].parse().ok()?),
        "c8" => NumberFormat::float(4).complex(),
        "c16" => NumberFormat::float(8).complex(),
        _ => return None,
    };
    "<|=>".contains(order).then(|| numbers.in_order(order == ">"))
}

/// Opens the array in a `.npy` file.
pub(super) fn open(path: &Path) -> Result<PartsReader> {
    let file = open_file(path)?;
    let header = ArrayHeader::read(&mut BufReader::new(&file), Format::Npy)?;
    let needed = header.shape.iter().product::<u64>() * header.value_bytes() as u64;
    let available = file.metadata()?.len().saturating_sub(header.bytes);
    if needed <= available {
        return header.file_reader(file, None, Format::Npy, &[]);
    }
    if header.separate_channels() > 1 {
        return Err(Format::Npy.problem(format!(
            "it is truncated, and its channels stand one after the other: its shape takes {needed} bytes, it has {available}"
        )));
    }
    let held = available / (header.rows_and_channels(Format::Npy)?.1 * header.value_bytes() as u64);
    if held == 0 {
        return Err(RecordingProblem::NoSamples);
    }
    header.file_reader(file, None, Format::Npy, &[])?.truncated(held)
}

impl ArrayHeader {
    /// Reads the header of an array in a file of `format`.
    pub(super) fn read(input: &mut impl Read, format: Format) -> Result<Self> {
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
        // Python 2 wrote long integers.
        let sizes = sizes.map(|size| size.strip_suffix('L').unwrap_or(size));
        let too_large = || format!("its shape is ({}), more than a file can hold", shape.unwrap_or_default());
        let shape = sizes.map(|size| size.parse().ok()).collect::<Option<Vec<u64>>>().ok_or_else(too_large)?;
        // The bytes of an array, read and decoded, must be a number.
        shape.iter().try_fold(32u64, |product, size| product.checked_mul(*size)).ok_or_else(too_large)?;
        Ok(Self { numbers, fortran_order, shape, bytes })
    }

    /// Bytes of a number, or of the two of a complex one.
    pub(super) fn value_bytes(&self) -> usize {
        self.numbers.bytes() * self.numbers.parts()
    }

    /// Samples per channel and channels, the longer of two dimensions being time, and whether the samples of one time stand
    /// together.
    fn rows_and_channels(&self, format: Format) -> Result<(u64, u64, bool)> {
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
        Ok((length, channels, are_interleaved))
    }

    /// Number of channels if they stand one after the other, or else 1.
    pub(super) fn separate_channels(&self) -> u64 {
        let dimensions = self.rows_and_channels(Format::Npz);
        dimensions.map_or(1, |(_, channels, are_interleaved)| if are_interleaved { 1 } else { channels })
    }

    /// A reader of the numbers, which `stream` yields from a position behind the header on. Those of a channel that stand
    /// together have a stream of their own. `left_out` are the names of other arrays of the file.
    pub(super) fn reader(
        &self,
        rate: Option<f64>,
        format: Format,
        left_out: &[String],
        stream: impl Fn(u64) -> Result<Box<dyn Read + Send>>,
    ) -> Result<PartsReader> {
        let (length, channels, are_interleaved) = self.rows_and_channels(format)?;
        let numbers = self.numbers;
        let (count, together) = if are_interleaved { (1, channels) } else { (channels, 1) };
        let part = |part: u64| {
            let channels = vec![Calibration::NONE; together as usize * numbers.parts()];
            Ok(Part { stream: stream(part * length * self.value_bytes() as u64)?, numbers, channels })
        };
        let parts = (0..count).map(part).collect::<Result<_>>()?;
        let mut layout = RecordingLayout { rate, is_complex: numbers.is_complex(), ..RecordingLayout::default() };
        layout.left_out("arrays that are no samples are", left_out);
        PartsReader::new(format, parts, length, layout)
    }

    /// As [`reader`](Self::reader), of an array in a file.
    pub(super) fn file_reader(
        &self,
        file: File,
        rate: Option<f64>,
        format: Format,
        left_out: &[String],
    ) -> Result<PartsReader> {
        let file = Arc::new(file);
        self.reader(rate, format, left_out, |position| {
            Ok(Box::new(Ranges::new(file.clone(), vec![(self.bytes + position, u64::MAX)])))
        })
    }

    /// The first number of the array, whose bytes `input` begins with.
    pub(super) fn number(&self, input: &mut impl Read) -> Result<f64> {
        let mut bytes = vec![0; self.numbers.bytes()];
        input.read_exact(&mut bytes)?;
        Ok(self.numbers.first(&bytes))
    }
}

/// The header of an array in C order, of at least `bytes` bytes: `numbers` is NumPy's name of their type in quotation
/// marks, or a list of fields.
///
/// ```
/// let header = firefly_recordings::npy_header("'<f4'", &[3], 0);
/// assert_eq!(header.len(), 128);
/// assert!(header.starts_with(b"\x93NUMPY\x01\x00") && header.ends_with(b" \n"));
/// ```
pub fn npy_header(numbers: &str, shape: &[u64], bytes: usize) -> Vec<u8> {
    let sizes = match shape {
        [size] => format!("{size},"),
        sizes => sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    };
    let text = format!("{{'descr': {numbers}, 'fortran_order': False, 'shape': ({sizes}), }}");
    let length = (PREFIX + text.len() + 1).max(bytes).next_multiple_of(ALIGNMENT);
    let mut header = [&MAGIC[..], &[1, 0]].concat();
    // Types and shapes of a table are far shorter than what two bytes can say.
    header.extend(((length - PREFIX) as u16).to_le_bytes());
    header.extend(text.bytes());
    header.resize(length - 1, b' ');
    header.push(b'\n');
    header
}
