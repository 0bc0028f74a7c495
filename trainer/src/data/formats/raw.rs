//! Samples without a header.

use std::io::{ErrorKind, Read};

use super::number::NumberFormat;
use super::reader::{RecordingLayout, SampleReader};
use crate::data::error::RecordingProblem;

/// Interleaved samples from any reader, such as standard input. Integers are divided by full scale. Bytes at the end
/// that are not a sample of every channel are left out.
pub struct RawReader<R> {
    input: R,
    numbers: NumberFormat,
    layout: RecordingLayout,
    bytes: Vec<u8>,
}

impl<R: Read + Send> RawReader<R> {
    /// A reader of samples of `channels` channels, at least 1, at `rate` samples per second.
    pub fn new(input: R, numbers: NumberFormat, channels: usize, rate: f64) -> Self {
        let layout = RecordingLayout { channels: channels.max(1), rate: Some(rate), length: None, titles: Vec::new() };
        Self { input, numbers, layout, bytes: Vec::new() }
    }
}

impl<R: Read + Send> SampleReader for RawReader<R> {
    fn layout(&self) -> &RecordingLayout {
        &self.layout
    }

    fn read(&mut self, block: &mut Vec<f32>, count: usize) -> Result<usize, RecordingProblem> {
        let width = self.numbers.bytes() * self.layout.channels;
        self.bytes.resize(count * width, 0);
        let read = read_full(&mut self.input, &mut self.bytes)? / width;
        self.numbers.decode_samples(&self.bytes[..read * width], block);
        Ok(read)
    }
}

/// Fills `bytes` as far as the input goes, and returns the number of bytes read.
pub(super) fn read_full(input: &mut impl Read, bytes: &mut [u8]) -> std::io::Result<usize> {
    let mut read = 0;
    while read < bytes.len() {
        match input.read(&mut bytes[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}
