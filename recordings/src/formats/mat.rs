//! MATLAB files of versions 4 and 5 (MATLAB's "MAT-File Format"; versions 6 and 7 write that of version 5).

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::iter;
use std::path::Path;

use flate2::read::ZlibDecoder;

use super::named_arrays::is_rate;
use super::parts::{Calibration, Part, PartsReader, array_titles};
use super::raw::{NumberFormat, little_endian, positive, read_full};
use super::{Format, RecordingLayout, open_file};
use crate::error::Result;

/// Bytes of the header: a text, and the version and byte order at its end.
const HEADER_BYTES: usize = 128;
/// Types of elements.
const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;
/// Classes of arrays of numbers, from doubles to unsigned integers of 8 bytes.
const NUMERIC: std::ops::RangeInclusive<u32> = 6..=15;
/// Bit of the flags of an array of complex numbers.
const COMPLEX: u32 = 0x800;
/// Bytes of the header of an array of version 4.
const OLD_HEADER_BYTES: usize = 20;
/// Longest name, and most dimensions, in bytes.
const MOST_BYTES: usize = 4096;
/// Columns that are read, at most: each is decompressed by itself, with all before it.
const MOST_PARTS: usize = 256;

struct MatArray {
    name: String,
    numbers: NumberFormat,
    rows: u64,
    columns: u64,
    /// Position of its element, of its numbers from there on once decompressed, and whether it is compressed.
    start: u64,
    offset: u64,
    is_compressed: bool,
    /// Numbers and offset of the imaginary part.
    imaginary: Option<(NumberFormat, u64)>,
}

/// Opens the longest arrays of a file, whose columns are channels.
pub(super) fn open(path: &Path) -> Result<PartsReader> {
    let problem = |reason: String| Format::Mat.problem(reason);
    let arrays = arrays(path)?;
    let mut layout = RecordingLayout::default();
    for array in arrays.iter().filter(|array| is_rate(&array.name) && array.count() == 1) {
        let mut bytes = vec![0; array.numbers.bytes()];
        array.stream(path, array.offset)?.read_exact(&mut bytes)?;
        layout.rate = positive(array.numbers.first(&bytes));
    }
    let length = arrays.iter().map(MatArray::length).max().unwrap_or(0);
    layout.is_complex = arrays.iter().find(|array| array.length() == length).is_some_and(MatArray::is_complex);
    let is_kept = |array: &&MatArray| array.length() == length && array.is_complex() == layout.is_complex;
    let (kept, others): (Vec<_>, Vec<_>) = arrays.iter().partition(is_kept);
    let names = |arrays: &[&MatArray]| arrays.iter().map(|array| array.name.as_str()).collect::<Vec<_>>().join(", ");
    if length < 2 {
        let all: Vec<&MatArray> = arrays.iter().collect();
        let but = if all.is_empty() { String::new() } else { format!(" but {}", names(&all)) };
        return Err(problem(format!("it has no array of numbers{but}")));
    }
    let others = others.into_iter().map(|array| &array.name).filter(|name| !is_rate(name));
    layout.left_out("arrays of other lengths or types are", others);
    let mut parts = Vec::new();
    for array in kept {
        if array.imaginary.is_some() && !array.is_complex() {
            layout.remark(format!("of array {} the real part is read; transposed, it is read as complex", array.name));
        }
        let (count, together) = match array.rows >= array.columns {
            true => (array.columns, 1),
            false => (1, array.rows),
        };
        for part in 0..count {
            for (numbers, offset) in array.parts() {
                parts.push(Part {
                    stream: array.stream(path, offset + part * array.rows * numbers.bytes() as u64)?,
                    numbers,
                    channels: vec![Calibration::NONE; together as usize],
                });
            }
            if parts.len() > MOST_PARTS {
                return Err(problem(format!("it has more than {MOST_PARTS} columns of samples")));
            }
        }
        layout.titles.extend(array_titles(&array.name, count * together));
    }
    PartsReader::new(Format::Mat, parts, length, layout)
}

impl MatArray {
    fn count(&self) -> u64 {
        self.rows.saturating_mul(self.columns)
    }

    /// The longer dimension, which is time.
    fn length(&self) -> u64 {
        self.rows.max(self.columns)
    }

    /// Whether its samples are complex: the parts of those of several rows do not follow each other as channels do.
    fn is_complex(&self) -> bool {
        self.imaginary.is_some() && (self.rows >= self.columns || self.rows == 1)
    }

    /// Numbers and offsets of the parts that are read: the real one and, of complex samples, the imaginary one.
    fn parts(&self) -> impl Iterator<Item = (NumberFormat, u64)> {
        iter::once((self.numbers, self.offset)).chain(self.imaginary.filter(|_| self.is_complex()))
    }

    /// Its bytes from an offset on.
    fn stream(&self, path: &Path, skipped: u64) -> Result<Box<dyn Read + Send>> {
        let mut file = File::open(path)?;
        if !self.is_compressed {
            file.seek(SeekFrom::Start(self.start + skipped))?;
            return Ok(Box::new(BufReader::with_capacity(1 << 16, file)));
        }
        file.seek(SeekFrom::Start(self.start))?;
        let input = ZlibDecoder::new(BufReader::with_capacity(1 << 16, file));
        let end = |(numbers, offset): (NumberFormat, u64)| {
            offset.saturating_add(self.count().saturating_mul(numbers.bytes() as u64))
        };
        let left = self.parts().map(end).max().unwrap_or(0);
        let mut stream = Checked { input, name: self.name.clone(), left };
        io::copy(&mut stream.by_ref().take(skipped), &mut io::sink())?;
        Ok(Box::new(stream))
    }
}

/// Decompressed bytes of an array. Behind the last of its numbers, the rest of the stream with its checksum is read, too.
struct Checked {
    input: ZlibDecoder<BufReader<File>>,
    name: String,
    /// Bytes up to the end of the numbers that are still to be read.
    left: u64,
}

impl Read for Checked {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(bytes).and_then(|read| {
            self.left = self.left.saturating_sub(read as u64);
            if self.left == 0 {
                io::copy(&mut self.input, &mut io::sink())?;
            }
            Ok(read)
        });
        let damaged =
            |error: io::Error| io::Error::new(error.kind(), format!("its array `{}` is damaged: {error}", self.name));
        read.map_err(damaged)
    }
}

/// Whether a file is of version 7.3, which is HDF5.
pub(super) fn is_hdf5(path: &Path) -> Result<bool> {
    let mut text = [0; 10];
    read_full(&mut open_file(path)?, &mut text)?;
    Ok(&text == b"MATLAB 7.3" || text.starts_with(b"\x89HDF"))
}

fn arrays(path: &Path) -> Result<Vec<MatArray>> {
    let problem = |reason: &str| Format::Mat.problem(reason);
    let mut file = open_file(path)?;
    let file_bytes = file.metadata()?.len();
    let mut header = [0; HEADER_BYTES];
    let read = read_full(&mut file, &mut header)?;
    let big_endian = match (read, &header[126..]) {
        (HEADER_BYTES, b"IM") => false,
        (HEADER_BYTES, b"MI") => true,
        _ => return old_arrays(&mut file, file_bytes),
    };
    let (mut arrays, mut at) = (Vec::new(), HEADER_BYTES as u64);
    while at + 8 <= file_bytes {
        file.seek(SeekFrom::Start(at))?;
        let mut element = Element { input: &mut file, big_endian, read: 0 };
        let [kind, bytes] = [element.word()?, element.word()?];
        let end = at + 8 + u64::from(bytes);
        if end > file_bytes {
            return Err(problem("it ends before its arrays do"));
        }
        let start = at + 8;
        at = end;
        let array = match kind {
            COMPRESSED => {
                let mut input = ZlibDecoder::new(BufReader::new((&mut file).take(bytes.into())));
                let mut element = Element { input: &mut input, big_endian, read: 0 };
                if element.word()? != MATRIX {
                    continue;
                }
                element.word()?;
                element.array(start, true)?
            }
            MATRIX => Element { input: &mut file, big_endian, read: 0 }.array(start, false)?,
            _ => None,
        };
        arrays.extend(array);
    }
    Ok(arrays)
}

/// Arrays of numbers of a file of version 4: headers of five words, each followed by a name and its numbers.
fn old_arrays(file: &mut File, file_bytes: u64) -> Result<Vec<MatArray>> {
    let problem = |reason: &str| Format::Mat.problem(reason);
    let (mut arrays, mut at) = (Vec::new(), 0);
    while at < file_bytes {
        file.seek(SeekFrom::Start(at))?;
        let mut header = [0; OLD_HEADER_BYTES];
        let read = read_full(file, &mut header)?;
        let words = |big_endian: bool| {
            let element = Element { input: &mut io::empty(), big_endian, read: 0 };
            [0, 4, 8, 12, 16].map(|word| element.word_of(&header[word..]))
        };
        // The first word has the digits of byte order, zero, type of the numbers and type of the array: 0 to 5, and 0 to 2.
        let is_type = |word: u32| matches!([word / 100 % 10, word / 10 % 10, word % 10], [0, 0..=5, 0..=2]);
        let (big_endian, [kind, rows, columns, imaginary, name]) = match (words(false), words(true)) {
            (words, _) if words[0] < 100 && is_type(words[0]) => (false, words),
            (_, words) if (1000..2000).contains(&words[0]) && is_type(words[0]) => (true, words),
            _ => return Err(problem("it is of no version from 4 to 7.3")),
        };
        let mut text = vec![0; (name as usize).min(MOST_BYTES)];
        if read < OLD_HEADER_BYTES || read_full(file, &mut text)? < name as usize {
            return Err(problem("it ends inside an array"));
        }
        let numbers = match kind / 10 % 10 {
            0 => NumberFormat::float(8),
            1 => NumberFormat::float(4),
            2 => NumberFormat::signed(4),
            3 => NumberFormat::signed(2),
            4 => NumberFormat::unsigned(2),
            _ => NumberFormat::unsigned(1),
        };
        let start = at + OLD_HEADER_BYTES as u64 + u64::from(name);
        let parts = if imaginary == 1 { 2 } else { 1 };
        let bytes = u64::from(rows).checked_mul(u64::from(columns) * numbers.bytes() as u64 * parts);
        at = match bytes.and_then(|bytes| start.checked_add(bytes)).filter(|end| *end <= file_bytes) {
            Some(end) => end,
            None => return Err(problem("it ends before its arrays do")),
        };
        // Others are text and sparse matrices.
        if kind.is_multiple_of(10) {
            let name = String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned();
            let numbers = numbers.in_order(big_endian);
            let mut array = MatArray {
                name,
                numbers,
                rows: rows.into(),
                columns: columns.into(),
                start,
                offset: 0,
                is_compressed: false,
                imaginary: None,
            };
            array.imaginary = (imaginary == 1).then(|| (numbers, array.count() * numbers.bytes() as u64));
            arrays.push(array);
        }
    }
    Ok(arrays)
}

/// Part of a file, read in words.
struct Element<'a> {
    input: &'a mut dyn Read,
    big_endian: bool,
    /// Bytes read so far.
    read: u64,
}

impl Element<'_> {
    fn bytes(&mut self, count: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        if read_full(&mut self.input, &mut bytes)? < count {
            return Err(Format::Mat.problem("it ends inside an array"));
        }
        self.read += count as u64;
        Ok(bytes)
    }

    fn word(&mut self) -> Result<u32> {
        let bytes = self.bytes(4)?;
        Ok(self.word_of(&bytes))
    }

    fn word_of(&self, bytes: &[u8]) -> u32 {
        u32::from_le_bytes(little_endian(bytes.as_chunks().0[0], self.big_endian))
    }

    /// Type and bytes of the element that follows, and whether its data stand in the tag.
    fn tag(&mut self) -> Result<(u32, usize, bool)> {
        let word = self.word()?;
        if word >> 16 > 0 {
            return Ok((word & 0xffff, (word >> 16) as usize, true));
        }
        Ok((word, self.word()? as usize, false))
    }

    /// Data of a short element.
    fn short(&mut self) -> Result<Vec<u8>> {
        let (_, count, is_small) = self.tag()?;
        if count > MOST_BYTES || (is_small && count > 4) {
            return Err(Format::Mat.problem(format!("a name or dimensions have {count} bytes")));
        }
        let padded = if is_small { 4 } else { count.next_multiple_of(8) };
        let mut bytes = self.bytes(padded)?;
        bytes.truncate(count);
        Ok(bytes)
    }

    /// The array whose element starts at a position; none if it is not one of numbers with two dimensions.
    fn array(mut self, start: u64, is_compressed: bool) -> Result<Option<MatArray>> {
        let flags = self.short()?;
        let dimensions = self.short()?;
        let name = String::from_utf8_lossy(&self.short()?).into_owned();
        let flags = if flags.len() < 4 { 0 } else { self.word_of(&flags) };
        let dimensions: Vec<u64> = dimensions.chunks_exact(4).map(|size| self.word_of(size).into()).collect();
        // MATLAB keeps function handles in an array without a name.
        let is_numeric = NUMERIC.contains(&(flags & 0xff)) && !name.is_empty();
        let ([rows, columns], true) = (&dimensions[..], is_numeric) else { return Ok(None) };
        let (rows, columns) = (*rows, *columns);
        let (numbers, padded) = self.numbers(&name, rows, columns)?;
        let (offset, mut imaginary) = (self.read, None);
        if flags & COMPLEX > 0 {
            self.read += io::copy(&mut (&mut *self.input).take(padded), &mut io::sink())?;
            let (numbers, _) = self.numbers(&name, rows, columns)?;
            imaginary = Some((numbers, self.read));
        }
        Ok(Some(MatArray { name, numbers, rows, columns, start, offset, is_compressed, imaginary }))
    }

    /// Format of the numbers of an array, from the tag before them, and their bytes with padding.
    fn numbers(&mut self, name: &str, rows: u64, columns: u64) -> Result<(NumberFormat, u64)> {
        let (kind, bytes, is_small) = self.tag()?;
        let numbers = match kind {
            1 => NumberFormat::signed(1),
            2 => NumberFormat::unsigned(1),
            3 => NumberFormat::signed(2),
            4 => NumberFormat::unsigned(2),
            5 => NumberFormat::signed(4),
            6 => NumberFormat::unsigned(4),
            7 => NumberFormat::float(4),
            9 => NumberFormat::float(8),
            12 => NumberFormat::signed(8),
            13 => NumberFormat::unsigned(8),
            _ => return Err(Format::Mat.problem(format!("array {name} has numbers of type {kind}"))),
        };
        if rows.saturating_mul(columns).saturating_mul(numbers.bytes() as u64) != bytes as u64 {
            return Err(Format::Mat.problem(format!("array {name} of {rows} by {columns} numbers has {bytes} bytes")));
        }
        let padded = if is_small { 4 } else { (bytes as u64).next_multiple_of(8) };
        Ok((numbers.in_order(self.big_endian), padded))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::super::SampleReader;
    use super::super::tests::{assert_holds, problem, values};
    use super::*;

    /// An element with its data, padded.
    fn element(kind: u32, data: &[u8]) -> Vec<u8> {
        let mut bytes = [kind.to_le_bytes(), (data.len() as u32).to_le_bytes()].concat();
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    /// An array of doubles, whose numbers are written as type `kind`.
    fn array(name: &str, [rows, columns]: [u32; 2], kind: u32, numbers: &[u8]) -> Vec<u8> {
        let mut short_name = (((name.len() as u32) << 16) | 1).to_le_bytes().to_vec();
        short_name.extend(name.bytes());
        short_name.resize(8, 0);
        let parts = [
            element(6, &[6, 0, 0, 0, 0, 0, 0, 0]),
            element(5, &[rows.to_le_bytes(), columns.to_le_bytes()].concat()),
            if name.len() <= 4 { short_name } else { element(1, name.as_bytes()) },
            element(kind, numbers),
        ];
        element(MATRIX, &parts.concat())
    }

    fn file(elements: &[Vec<u8>], is_compressed: bool) -> Vec<u8> {
        let mut bytes = format!("{:<124}", "MATLAB 5.0 MAT-file").into_bytes();
        bytes.extend(b"\0\x01IM");
        for element in elements {
            if is_compressed {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(element).unwrap();
                let data = encoder.finish().unwrap();
                bytes.extend([COMPRESSED.to_le_bytes(), (data.len() as u32).to_le_bytes()].concat());
                bytes.extend(data);
            } else {
                bytes.extend(element);
            }
        }
        bytes
    }

    #[test]
    fn arrays_of_the_longest_length_are_channels() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.mat");
        let all = values(300);
        let doubles = |channel: usize| all.iter().skip(channel).step_by(3).flat_map(|v| f64::from(*v).to_le_bytes());
        let integers: Vec<u8> = (0..200u8).collect();
        for is_compressed in [false, true] {
            let elements = [
                array("X097_DE_time", [100, 1], 9, &doubles(0).collect::<Vec<_>>()),
                array("fs", [1, 1], 4, &12_000u16.to_le_bytes()),
                array("both", [100, 2], 9, &doubles(1).chain(doubles(2)).collect::<Vec<_>>()),
                array("rpm", [1, 1], 9, &1797f64.to_le_bytes()),
                // Function handles.
                array("", [1, 200], 2, &integers),
                element(
                    MATRIX,
                    &[
                        element(6, &[4, 0, 0, 0, 0, 0, 0, 0]),
                        element(5, &[1, 0, 0, 0, 0, 0, 0, 0]),
                        element(1, b"text"),
                    ]
                    .concat(),
                ),
            ];
            fs::write(&path, file(&elements, is_compressed)).unwrap();
            assert_holds(&path, 3, Some(12_000.0), &all);
            let layout = open(&path).unwrap().layout().clone();
            assert_eq!(layout.titles, ["X097_DE_time", "both 0", "both 1"]);
            assert!(layout.notes[0].to_string().contains("left out: rpm"));
            // Time along the second dimension, with numbers in fewer bytes than their class has.
            fs::write(&path, file(&[array("x", [2, 100], 2, &integers)], is_compressed)).unwrap();
            assert_holds(&path, 2, None, &integers.iter().map(|byte| f32::from(*byte)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn columns_of_complex_numbers_are_pairs_of_channels() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.mat");
        let all = values(400);
        // Real parts are doubles, imaginary ones whole numbers of one byte, as MATLAB chooses for them.
        let whole = |value: &f32| if *value < 0.0 { 1u8 } else { 7 };
        let real = |columns: usize| (0..columns).flat_map(move |column| (column..100 * columns).step_by(columns));
        let complex = |[rows, columns]: [u32; 2], places: &[usize]| {
            let numbers: Vec<u8> = places.iter().flat_map(|at| f64::from(all[*at]).to_le_bytes()).collect();
            let mut array = array("z", [rows, columns], 9, &numbers);
            array[17] = (COMPLEX >> 8) as u8;
            array.extend(element(2, &places.iter().map(|at| whole(&all[*at])).collect::<Vec<_>>()));
            let bytes = array.len() as u32 - 8;
            array[4..8].copy_from_slice(&bytes.to_le_bytes());
            array
        };
        let pairs = |count: usize| all[..count].iter().flat_map(|v| [*v, whole(v).into()]).collect::<Vec<f32>>();
        for is_compressed in [false, true] {
            let columns: Vec<usize> = real(2).collect();
            fs::write(&path, file(&[complex([100, 2], &columns)], is_compressed)).unwrap();
            assert_holds(&path, 4, None, &pairs(200));
            let layout = open(&path).unwrap().layout().clone();
            assert!(layout.is_complex && layout.titles == ["z 0", "z 1"], "{layout:?}");
            let row: Vec<usize> = (0..100).collect();
            fs::write(&path, file(&[complex([1, 100], &row)], is_compressed)).unwrap();
            assert_holds(&path, 2, None, &pairs(100));
            let rows: Vec<usize> = (0..200).collect();
            fs::write(&path, file(&[complex([2, 100], &rows)], is_compressed)).unwrap();
            assert_holds(&path, 2, None, &all[..200]);
            let layout = open(&path).unwrap().layout().clone();
            assert!(layout.notes[0].to_string().contains("the real part is read") && !layout.is_complex);
        }
    }

    #[test]
    fn files_of_version_4_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.mat");
        let words = |words: [u32; 5], big_endian: bool| {
            words.iter().flat_map(|word| if big_endian { word.to_be_bytes() } else { word.to_le_bytes() }).collect()
        };
        let array = |kind, rows, columns, name: &str, numbers: &[u8]| {
            let header: Vec<u8> = words([kind, rows, columns, 0, name.len() as u32 + 1], kind >= 1000);
            [&header, name.as_bytes(), &[0], numbers].concat()
        };
        let all = values(200);
        let doubles = |channel: usize| all.iter().skip(channel).step_by(2).flat_map(|v| f64::from(*v).to_le_bytes());
        let both: Vec<u8> = doubles(0).chain(doubles(1)).collect();
        let arrays = [
            array(0, 1, 1, "fs", &12_000f64.to_le_bytes()),
            array(51, 1, 4, "note", b"text"),
            array(0, 100, 2, "both", &both),
        ];
        fs::write(&path, arrays.concat()).unwrap();
        assert_holds(&path, 2, Some(12_000.0), &all);
        assert_eq!(open(&path).unwrap().layout().titles, ["both 0", "both 1"]);
        let mut complex = array(0, 100, 1, "z", &both);
        complex[12] = 1;
        fs::write(&path, complex).unwrap();
        assert_holds(&path, 2, None, &all);
        assert!(open(&path).unwrap().layout().is_complex);
        let integers: Vec<u8> = (0..50i16).flat_map(|value| (value * 100).to_be_bytes()).collect();
        fs::write(&path, array(1030, 1, 50, "x", &integers)).unwrap();
        assert_holds(&path, 1, None, &(0..50i16).map(|value| f32::from(value * 100)).collect::<Vec<_>>());
        fs::write(&path, &array(1030, 1, 50, "x", &integers)[..100]).unwrap();
        assert!(problem(&path).contains("ends before its arrays"), "{}", problem(&path));
    }

    #[test]
    fn damaged_files_and_other_versions_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.mat");
        for (bytes, message) in [
            (vec![7; 200], "of no version from 4 to 7.3"),
            (file(&[array("x", [9, 1], 1, &[1; 8])], false), "array x of 9 by 1 numbers has 8 bytes"),
            (file(&[array("x", [9, 1], 1, &[1; 9])], false)[..150].to_vec(), "ends before its arrays do"),
            (file(&[array("", [1, 9], 2, &[1; 9])], false), "it has no array of numbers"),
            (file(&[array("x", [1, 1], 2, &[1])], false), "it has no array of numbers but x"),
        ] {
            fs::write(&path, bytes).unwrap();
            assert!(problem(&path).ends_with(message), "{}", problem(&path));
        }
        let valid = file(&[array("x", [50, 1], 1, &[1; 50])], true);
        for at in HEADER_BYTES..valid.len() {
            for byte in [0, 0xff, valid[at] ^ 2] {
                let mut damaged = valid.clone();
                damaged[at] = byte;
                fs::write(&path, damaged).unwrap();
                // Samples or an error, never a panic.
                let _ = crate::read_recording(&path);
            }
        }
    }

    #[test]
    fn a_damaged_compressed_array_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.mat");
        let elements = [array("x", [100, 2], 2, &[7; 200]), array("fs", [1, 1], 4, &500u16.to_le_bytes())];
        // Without compression, other numbers are no damage but for the checksum.
        let mut valid = file(&[], false);
        let mut ends = Vec::new();
        for element in &elements {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::none());
            encoder.write_all(element).unwrap();
            let data = encoder.finish().unwrap();
            valid.extend([COMPRESSED.to_le_bytes(), (data.len() as u32).to_le_bytes()].concat());
            valid.extend(data);
            ends.push(valid.len());
        }
        fs::write(&path, &valid).unwrap();
        assert_holds(&path, 2, Some(500.0), &[7.0; 200]);
        let numbers = valid.windows(200).position(|part| part == [7; 200]).unwrap();
        // The first and the last number, and the checksum of each array.
        for (at, name) in [(numbers, "x"), (numbers + 199, "x"), (ends[0] - 1, "x"), (ends[1] - 1, "fs")] {
            let mut damaged = valid.clone();
            damaged[at] ^= 1;
            fs::write(&path, damaged).unwrap();
            assert!(
                problem(&path).ends_with(&format!("its array `{name}` is damaged: corrupt deflate stream")),
                "{at}"
            );
        }
    }
}
