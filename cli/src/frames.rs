//! Frames of recordings, cut while they are read.

use std::sync::LazyLock;

use anyhow::{Result, ensure};
use firefly_app::host::available_memory;
use firefly_app::number::bytes;
use firefly_trainer::data::formats::SampleReader;

use crate::options::Shard;

/// Samples of one block: 1 MiB of f32, of which a few are in memory at a time, and in the caches.
const BLOCK_SAMPLES: usize = 1 << 18;
/// Samples that are read at a time: they are decoded while they are in the first caches.
const READ_SAMPLES: usize = 1 << 14;

/// Blocks in memory at most: being read, and being written.
const COPIES: u64 = 2;
/// Blocks in memory at most per device: waiting, being computed, and results that wait.
const COPIES_PER_DEVICE: u64 = 6;
/// Memory that a command takes beside its blocks.
const RESERVE: u64 = 64 << 20;
/// Memory available at the first recording: to find out takes as long as to open a few files.
static AVAILABLE: LazyLock<Option<u64>> = LazyLock::new(available_memory);

/// Values of consecutive frames of all channels of one recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Block<T> {
    /// Number of the first frame within the recording.
    pub first: u64,
    /// Number of frames.
    pub count: usize,
    /// The values.
    pub values: T,
}

/// Samples `[count, channels, frame]`, row-major.
pub type SampleBlock = Block<Vec<f32>>;

/// Division of a recording into frames: `length` samples each, one every `step` samples from its start.
///
/// Samples at the end that do not fill a frame are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framing {
    /// Samples of a frame.
    pub length: usize,
    /// Samples between the starts of frames.
    pub step: usize,
}

impl Framing {
    /// Number of whole frames of so many samples.
    pub fn frames(self, samples: u64) -> u64 {
        match samples.checked_sub(self.length as u64) {
            None => 0,
            Some(rest) => rest / self.step as u64 + 1,
        }
    }
}

/// Reader of a recording's frames, block by block.
pub struct FrameReader {
    reader: Box<dyn SampleReader>,
    framing: Framing,
    channels: usize,
    /// Frames of a block.
    block: usize,
    next: u64,
    /// Frame that reading ends before.
    end: u64,
    /// Samples of the next frames that were read already, interleaved.
    held: Vec<f32>,
    /// Samples per channel before the next frame that are still to be skipped.
    gap: u64,
}

impl FrameReader {
    /// A reader from frame `start` on, or of the frames of a part from there on, of blocks for so many devices.
    ///
    /// # Errors
    /// If the recording can't be read up to there, or a part is wanted of one whose length is not known.
    pub fn new(
        reader: Box<dyn SampleReader>,
        framing: Framing,
        part: Option<Shard>,
        start: Option<u64>,
        devices: usize,
    ) -> Result<Self> {
        let layout = reader.layout();
        let channels = layout.channels;
        let (mut first, mut end) = (0, u64::MAX);
        if let Some(shard) = part {
            let length = layout.length.ok_or_else(|| anyhow::anyhow!("--shard: its length is not known"))?;
            let frames = u128::from(framing.frames(length));
            let border = |index: u64| (frames * u128::from(index) / u128::from(shard.count)) as u64;
            (first, end) = (border(shard.index - 1), border(shard.index));
        }
        let next = start.unwrap_or(first);
        // Samples between frames are held too, until the block is complete.
        let samples = BLOCK_SAMPLES / channels;
        let block = (samples / framing.length).min(samples.saturating_sub(framing.length) / framing.step + 1).max(1);
        ensure_memory(framing, channels, block, devices)?;
        let gap = next * framing.step as u64;
        Ok(Self { reader, framing, channels, block, next, end, held: Vec::new(), gap })
    }

    /// Channels of the recording.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Share of the recording that was read, where its length is known.
    pub fn share_read(&self) -> Option<f64> {
        let length = self.reader.layout().length?;
        Some(((self.next * self.framing.step as u64) as f64 / length as f64).min(1.0))
    }

    /// The next block; `None` at the end.
    ///
    /// # Errors
    /// If the recording can't be read or is damaged.
    pub fn next_block(&mut self) -> Result<Option<SampleBlock>> {
        if self.gap > 0 {
            let skipped = self.reader.skip(self.gap)?;
            if skipped < self.gap {
                return Ok(None);
            }
            self.gap = 0;
        }
        let wanted = usize::try_from(self.end - self.next).unwrap_or(usize::MAX).min(self.block);
        if wanted == 0 {
            return Ok(None);
        }
        let samples = (wanted - 1) * self.framing.step + self.framing.length;
        let most = (READ_SAMPLES / self.channels).max(1);
        self.held.reserve((samples * self.channels).saturating_sub(self.held.len()));
        while self.held.len() < samples * self.channels {
            let missing = samples - self.held.len() / self.channels;
            if self.reader.read(&mut self.held, missing.min(most))? == 0 {
                break;
            }
        }
        let count = (self.framing.frames((self.held.len() / self.channels) as u64) as usize).min(wanted);
        if count == 0 {
            return Ok(None);
        }
        let first = self.next;
        self.next += count as u64;
        let values = self.take(count);
        Ok(Some(SampleBlock { first, count, values }))
    }

    /// Copies frames out of the samples held, and drops those that no later frame has.
    fn take(&mut self, count: usize) -> Vec<f32> {
        let Framing { length, step } = self.framing;
        let channels = self.channels;
        let used = count * step * channels;
        if channels == 1 && step == length {
            // The samples held are the frames.
            let rest = self.held.split_off(used);
            return std::mem::replace(&mut self.held, rest);
        }
        let mut samples = Vec::with_capacity(count * channels * length);
        for frame in 0..count {
            let start = frame * step * channels;
            let interleaved = &self.held[start..start + length * channels];
            if channels == 1 {
                samples.extend_from_slice(interleaved);
            } else {
                for channel in 0..channels {
                    samples.extend(interleaved.iter().skip(channel).step_by(channels));
                }
            }
        }
        self.gap = (used / channels).saturating_sub(self.held.len() / channels) as u64;
        self.held.drain(..used.min(self.held.len()));
        samples
    }
}

/// Checks that the blocks of a recording fit into memory.
fn ensure_memory(framing: Framing, channels: usize, frames: usize, devices: usize) -> Result<()> {
    let frame = (framing.length as u64).saturating_mul(channels as u64).saturating_mul(size_of::<f32>() as u64);
    let copies = COPIES.saturating_add(COPIES_PER_DEVICE.saturating_mul(devices as u64));
    let needed = frame.saturating_mul(frames as u64).saturating_mul(copies).saturating_add(RESERVE);
    let available = AVAILABLE.unwrap_or(u64::MAX);
    ensure!(
        needed <= available,
        "its frames of {} samples of {channels} channels take {} of memory, of which {} are available",
        framing.length,
        bytes(needed),
        bytes(available)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use firefly_trainer::data::formats::{NumberFormat, RawReader};

    use super::*;

    /// Frames of a recording whose sample `i` of channel `c` is `i + 1000 c`, as their first and last samples.
    fn framing(
        samples: usize,
        channels: usize,
        length: usize,
        step: usize,
        start: Option<u64>,
    ) -> Vec<(u64, f32, f32)> {
        let interleaved = (0..samples).flat_map(|index| (0..channels).map(move |channel| index + 1000 * channel));
        let bytes: Vec<u8> = interleaved.flat_map(|value| (value as f32).to_le_bytes()).collect();
        let format: NumberFormat = "f32".parse().unwrap();
        let reader = RawReader::new(std::io::Cursor::new(bytes), format, channels, 1.0);
        let mut reader = FrameReader::new(Box::new(reader), Framing { length, step }, None, start, 1).unwrap();
        reader.block = 3;
        let mut rows = Vec::new();
        while let Some(frames) = reader.next_block().unwrap() {
            assert_eq!(frames.values.len(), frames.count * channels * length);
            for (row, samples) in frames.values.chunks(length).enumerate() {
                assert!(samples.windows(2).all(|pair| pair[1] == pair[0] + 1.0));
                rows.push((frames.first + (row / channels) as u64, samples[0], samples[length - 1]));
            }
        }
        rows
    }

    #[test]
    fn frames_begin_every_step_and_an_incomplete_one_is_left_out() {
        for (samples, length, step) in
            [(100, 10, 10), (109, 10, 10), (100, 10, 3), (100, 10, 25), (95, 10, 25), (9, 10, 1)]
        {
            for channels in [1, 2] {
                let expected: Vec<_> = (0..)
                    .map(|frame| (frame, frame as usize * step))
                    .take_while(|(_, start)| start + length <= samples)
                    .flat_map(|(frame, start)| (0..channels).map(move |channel| (frame, start + 1000 * channel)))
                    .map(|(frame, first)| (frame, first as f32, (first + length - 1) as f32))
                    .collect();
                let found = framing(samples, channels, length, step, None);
                assert_eq!(found, expected, "{samples} samples, {length} every {step}");
                let frames = Framing { length, step }.frames(samples as u64) as usize;
                assert_eq!(frames * channels, expected.len());
                let later = framing(samples, channels, length, step, Some(2));
                assert_eq!(later, expected[expected.len().min(2 * channels)..]);
            }
        }
    }

    #[test]
    fn blocks_of_distant_frames_stay_small() {
        let format: NumberFormat = "u8".parse().unwrap();
        let bytes = std::io::repeat(1).take(100_000_000);
        let reader = RawReader::new(bytes, format, 1, 1.0);
        let mut reader =
            FrameReader::new(Box::new(reader), Framing { length: 8, step: 10_000_000 }, None, None, 1).unwrap();
        let mut frames = 0;
        while let Some(block) = reader.next_block().unwrap() {
            frames += block.count;
            assert!(reader.held.capacity() <= 2 * BLOCK_SAMPLES);
        }
        assert_eq!(frames, 10);
    }

    #[test]
    fn frames_that_do_not_fit_into_memory_are_refused() {
        let format: NumberFormat = "u8".parse().unwrap();
        let reader = RawReader::new(std::io::empty(), format, 65_536, 1.0);
        let framing = Framing { length: usize::MAX, step: 1 };
        let error = FrameReader::new(Box::new(reader), framing, None, None, 1).err().unwrap().to_string();
        assert!(error.contains("samples of 65536 channels take"), "{error}");
    }
}
