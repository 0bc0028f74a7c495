//! Samples of recordings and values of tables: in memory, or in a temporary file that is mapped into the address space.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::{Deref, Range};
use std::sync::Arc;

use memmap2::Mmap;

use crate::memory::SampleMemory;

/// Samples of a channel, or values of a table or an array, as a slice. Cloning shares them.
#[derive(Debug, Clone)]
pub struct Samples(Storage);

#[derive(Debug, Clone)]
enum Storage {
    Memory(Arc<Vec<f32>>),
    /// Bytes of a file.
    File(Arc<Mmap>, Range<usize>),
}

impl Deref for Samples {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        match &self.0 {
            Storage::Memory(samples) => samples,
            Storage::File(file, range) => bytemuck::cast_slice(&file[range.clone()]),
        }
    }
}

impl Samples {
    /// Whether they are in a file.
    pub fn is_in_file(&self) -> bool {
        matches!(self.0, Storage::File(..))
    }

    /// Copy of the samples in a temporary file.
    ///
    /// # Errors
    /// If the file can't be written or mapped.
    pub fn to_file(&self) -> io::Result<Self> {
        let mut samples = GrowingSamples::new(SampleMemory { left: 0 });
        samples.push(self)?;
        samples.finish()
    }
}

impl Default for Samples {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl PartialEq for Samples {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl From<Vec<f32>> for Samples {
    fn from(samples: Vec<f32>) -> Self {
        Self(Storage::Memory(Arc::new(samples)))
    }
}

/// Temporary file of channels, one after the other, which no other process has a name for. It is in the system's
/// folder of temporary files, and vanishes with the last of its samples.
pub(crate) struct SampleFile {
    file: File,
    channels: usize,
    /// Samples per channel, at most.
    capacity: u64,
    /// Samples per channel that are written.
    written: u64,
    /// Samples of the channel that is being written.
    channel: Vec<f32>,
}

impl SampleFile {
    /// A file for up to so many samples per channel.
    pub(crate) fn new(channels: usize, capacity: u64) -> io::Result<Self> {
        Ok(Self { file: tempfile::tempfile()?, channels, capacity, written: 0, channel: Vec::new() })
    }

    /// Whether interleaved samples of all channels can be added.
    pub(crate) fn has_capacity(&self, block: &[f32]) -> bool {
        self.written + (block.len() / self.channels) as u64 <= self.capacity
    }

    /// Adds interleaved samples of all channels.
    pub(crate) fn push(&mut self, block: &[f32]) -> io::Result<()> {
        debug_assert!(self.has_capacity(block), "samples of the next channel would be overwritten");
        for channel in 0..self.channels {
            self.channel.clear();
            self.channel.extend(block.iter().skip(channel).step_by(self.channels));
            let place = (channel as u64).saturating_mul(self.capacity).saturating_add(self.written);
            self.file.seek(SeekFrom::Start(place.saturating_mul(size_of::<f32>() as u64)))?;
            self.file.write_all(bytemuck::cast_slice(&self.channel))?;
        }
        self.written += (block.len() / self.channels) as u64;
        Ok(())
    }

    pub(crate) fn finish(self) -> io::Result<Vec<Samples>> {
        if self.written == 0 {
            return Ok(vec![Samples::from(Vec::new()); self.channels]);
        }
        // SAFETY: the file is unnamed, so no other process can modify or truncate it, and it is not written to after
        // this point.
        let map = Arc::new(unsafe { Mmap::map(&self.file)? });
        let bytes = |samples: u64| samples as usize * size_of::<f32>();
        let range = |channel: u64| bytes(channel * self.capacity)..bytes(channel * self.capacity + self.written);
        Ok((0..self.channels as u64).map(|channel| Samples(Storage::File(map.clone(), range(channel)))).collect())
    }
}

/// Samples that are read one after the other: in memory, or in a temporary file once they would take more of it than
/// they may.
pub(crate) struct GrowingSamples {
    memory: SampleMemory,
    samples: Vec<f32>,
    file: Option<SampleFile>,
}

impl GrowingSamples {
    pub(crate) fn new(memory: SampleMemory) -> Self {
        Self { memory, samples: Vec::new(), file: None }
    }

    pub(crate) fn push(&mut self, block: &[f32]) -> io::Result<()> {
        if self.file.is_none() && !self.memory.take(block.len() as u64) {
            let mut file = SampleFile::new(1, u64::MAX)?;
            file.push(&std::mem::take(&mut self.samples))?;
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => file.push(block)?,
            None => self.samples.extend_from_slice(block),
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> io::Result<Samples> {
        Ok(match self.file {
            Some(file) => file.finish()?.pop().unwrap_or_default(),
            None => self.samples.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_that_memory_does_not_hold_are_in_a_file() {
        let read = |left| {
            let mut samples = GrowingSamples::new(SampleMemory { left });
            [&[1.0, 2.0][..], &[3.0], &[], &[4.0, 5.0]].into_iter().for_each(|block| samples.push(block).unwrap());
            samples.finish().unwrap()
        };
        for (left, is_in_file) in [(0, true), (8, true), (19, true), (20, false)] {
            let samples = read(left);
            assert_eq!((samples.is_in_file(), &samples[..]), (is_in_file, &[1.0, 2.0, 3.0, 4.0, 5.0][..]), "{left}");
        }
        assert!(GrowingSamples::new(SampleMemory { left: 0 }).finish().unwrap().is_empty());
    }

    #[test]
    fn channels_of_a_file_are_those_that_were_written() {
        let mut file = SampleFile::new(2, 5).unwrap();
        file.push(&[1.0, -1.0, 2.0, -2.0]).unwrap();
        file.push(&[3.0, -3.0]).unwrap();
        assert!(file.has_capacity(&[0.0; 4]) && !file.has_capacity(&[0.0; 6]));
        let channels = file.finish().unwrap();
        assert_eq!(
            channels.iter().map(|samples| samples.to_vec()).collect::<Vec<_>>(),
            [[1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]]
        );
    }
}
