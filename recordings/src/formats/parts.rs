//! Channels whose numbers stand in streams: columns of arrays, ranges of files, interleaved samples of several files.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::sync::Arc;

use super::raw::{NumberFormat, SampleValue, decoded_reads, read_full};
use super::{Format, RecordingLayout, SampleReader};
use crate::error::{RecordingProblem, Result};

/// Channels whose numbers are interleaved in one stream.
pub(super) struct Part {
    pub(super) stream: Box<dyn Read + Send>,
    pub(super) numbers: NumberFormat,
    pub(super) channels: Vec<Calibration>,
}

/// Physical value of a channel's numbers: `gain · number + offset`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Calibration {
    pub(super) gain: f64,
    pub(super) offset: f64,
    /// The number that stands for a missing sample.
    pub(super) missing: Option<f64>,
}

impl Calibration {
    /// Numbers as they are.
    pub(super) const NONE: Self = Self { gain: 1.0, offset: 0.0, missing: None };

    fn value(&self, number: f64) -> f64 {
        if self.missing == Some(number) { f64::NAN } else { self.gain * number + self.offset }
    }
}

/// Titles of the channels of an array: its name, with the number of the channel if it has several.
pub(super) fn array_titles(name: &str, channels: u64) -> impl Iterator<Item = String> {
    (0..channels).map(move |channel| if channels == 1 { name.to_owned() } else { format!("{name} {channel}") })
}

/// Recording of which each channel is in one of several streams.
pub(super) struct PartsReader {
    format: Format,
    parts: Vec<Part>,
    layout: RecordingLayout,
    left: u64,
    bytes: Vec<u8>,
    numbers: Vec<f64>,
}

impl PartsReader {
    /// A recording of so many samples per channel; its channels are those of the parts.
    ///
    /// # Errors
    /// If there are none.
    pub(super) fn new(format: Format, parts: Vec<Part>, length: u64, mut layout: RecordingLayout) -> Result<Self> {
        layout.channels = parts.iter().map(|part| part.channels.len()).sum();
        layout.length = Some(length);
        layout.is_wide |= parts.iter().any(|part| part.numbers.is_wide());
        if layout.channels == 0 || length == 0 {
            return Err(RecordingProblem::NoSamples);
        }
        Ok(Self { format, parts, layout, left: length, bytes: Vec::new(), numbers: Vec::new() })
    }

    /// The same recording of a file that ends after so many samples per channel.
    pub(super) fn truncated(mut self, held: u64) -> Result<Self> {
        self.layout.truncated(self.left, held);
        (self.layout.length, self.left) = (Some(held), held);
        if held == 0 { Err(RecordingProblem::NoSamples) } else { Ok(self) }
    }

    fn read_as<T: SampleValue>(&mut self, block: &mut Vec<T>, count: usize) -> Result<usize> {
        let count = usize::try_from(self.left).unwrap_or(usize::MAX).min(count);
        let (first, channels) = (block.len(), self.layout.channels);
        let mut before = 0;
        for part in &mut self.parts {
            let width = part.channels.len();
            self.bytes.resize(count * width * part.numbers.bytes(), 0);
            if read_full(&mut part.stream, &mut self.bytes)? < self.bytes.len() {
                return Err(self.format.problem("it ends before its samples do"));
            }
            if width == channels && part.channels.iter().all(|channel| *channel == Calibration::NONE) {
                part.numbers.decode(&self.bytes, block);
                continue;
            }
            block.resize(first + count * channels, T::default());
            self.numbers.clear();
            part.numbers.decode(&self.bytes, &mut self.numbers);
            for (row, numbers) in block[first..].chunks_mut(channels).zip(self.numbers.chunks(width)) {
                for ((sample, number), channel) in row[before..].iter_mut().zip(numbers).zip(&part.channels) {
                    *sample = T::of_f64(channel.value(*number));
                }
            }
            before += width;
        }
        self.left -= count as u64;
        Ok(count)
    }
}

impl SampleReader for PartsReader {
    decoded_reads!();
}

/// Stream of the bytes that a function returns, chunk by chunk; an empty one is the end.
pub(super) struct Chunks<F> {
    next: F,
    held: Cursor<Vec<u8>>,
}

impl<F: FnMut() -> io::Result<Vec<u8>>> Chunks<F> {
    pub(super) fn new(next: F) -> Self {
        Self { next, held: Cursor::default() }
    }
}

impl<F: FnMut() -> io::Result<Vec<u8>>> Read for Chunks<F> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.held.position() == self.held.get_ref().len() as u64 {
            self.held = Cursor::new((self.next)()?);
        }
        self.held.read(bytes)
    }
}

/// Ranges of a file that are read one after the other. Several readers may share the file.
pub(super) struct Ranges {
    file: Arc<File>,
    /// Next byte of each range, and the byte behind it; the last of them is read first.
    ranges: Vec<(u64, u64)>,
}

impl Ranges {
    /// Ranges in the order in which they are read.
    pub(super) fn new(file: Arc<File>, mut ranges: Vec<(u64, u64)>) -> Self {
        ranges.reverse();
        Self { file, ranges }
    }
}

impl Read for Ranges {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while let Some((start, end)) = self.ranges.last_mut() {
            let count = usize::try_from(end.saturating_sub(*start)).unwrap_or(usize::MAX).min(bytes.len());
            let mut file = &*self.file;
            file.seek(SeekFrom::Start(*start))?;
            let read = file.read(&mut bytes[..count])?;
            *start += read as u64;
            if read > 0 || bytes.is_empty() {
                return Ok(read);
            }
            self.ranges.pop();
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, (0..100).collect::<Vec<u8>>()).unwrap();
        let mut bytes = Vec::new();
        let ranges = vec![(90, 93), (5, 5), (10, 12), (98, 200)];
        Ranges::new(Arc::new(File::open(&path).unwrap()), ranges).read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, [90, 91, 92, 10, 11, 98, 99]);
    }

    #[test]
    fn channels_have_their_own_gain_and_offset_and_missing_samples_are_nan() {
        let of = |gain, offset, missing| Calibration { gain, offset, missing };
        let part =
            |bytes: Vec<u8>, numbers, channels| Part { stream: Box::new(io::Cursor::new(bytes)), numbers, channels };
        let parts = vec![
            part(
                vec![1, 2, 3, 0x80, 5, 6],
                NumberFormat::signed(1),
                vec![of(0.5, 0.0, None), of(1.0, 10.0, Some(-128.0))],
            ),
            part(vec![200, 100, 0], NumberFormat::unsigned(1), vec![Calibration::NONE]),
        ];
        let mut reader = PartsReader::new(Format::Wfdb, parts, 4, RecordingLayout::default()).unwrap();
        let mut block: Vec<f32> = Vec::new();
        assert_eq!(reader.read(&mut block, 3).unwrap(), 3);
        assert_eq!((&block[..4], &block[5..]), (&[0.5, 12.0, 200.0, 1.5][..], &[100.0, 2.5, 16.0, 0.0][..]));
        assert!(block[4].is_nan());
        assert!(reader.read(&mut block, 3).unwrap_err().to_string().contains("it ends before its samples do"));
    }
}
