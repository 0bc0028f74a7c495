//! Frames of recordings, cut while they are read.

use std::sync::LazyLock;

use crate::error::{RecordingProblem, Result};
use crate::formats::{Note, SampleReader};
use crate::memory::available_memory;
use crate::source::Shard;

/// Samples of one block: 1 MiB of f32, of which a few are in memory at a time, and in the caches.
const BLOCK_SAMPLES: usize = 1 << 18;
/// Samples that are read at a time: they are decoded while they are in the first caches.
const READ_SAMPLES: usize = 1 << 14;

/// Blocks in memory at most: being read, and being written.
const COPIES: u64 = 2;
/// Blocks in memory at most per device: waiting, being computed, and results that wait.
const COPIES_PER_DEVICE: u64 = 6;
/// Power of what rounding to f32 changes, relative to that of the variation of a frame, above which it counts: −80 dB.
pub const MOST_ROUNDING: f64 = 1e-8;
/// Largest magnitudes of frames whose power f64 holds.
const WIDE: std::ops::RangeInclusive<f64> = 1e-140..=1e140;
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

/// Samples of frames, `[count, channels, frame]`, row-major.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FrameSamples {
    /// All of them.
    pub rounded: Vec<f32>,
    /// Frames of one channel, or of both parts of a complex one, that rounding to f32 changes too much, by their place
    /// among `[count, channels]`: see [`Framing::most_rounding`].
    pub wide_rows: Vec<usize>,
    /// Samples of those.
    pub wide: Vec<f64>,
}

/// Division of a recording into frames: `length` samples each, one every `step` samples from its start.
///
/// Samples at the end that do not fill a frame are left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Framing {
    /// Samples of a frame.
    pub length: usize,
    /// Samples between the starts of frames.
    pub step: usize,
    /// Whether the mean of every frame of a channel is subtracted before its samples are rounded to f32, of recordings
    /// with more digits. An estimate that subtracts the mean of each segment is the same for it.
    pub is_centred: bool,
    /// Power of what rounding to f32 changes, relative to that of the variation of a frame, above which it is given in f64
    /// too. If infinite, there is a note about frames beyond [`MOST_ROUNDING`].
    pub most_rounding: f64,
}

impl Framing {
    /// Frames of so many samples, one every `step` samples, as they are.
    pub const fn new(length: usize, step: usize) -> Self {
        Self { length, step, is_centred: false, most_rounding: f64::INFINITY }
    }

    /// Number of whole frames of so many samples.
    pub fn frames(self, samples: u64) -> u64 {
        match samples.checked_sub(self.length as u64) {
            None => 0,
            Some(rest) => rest / self.step as u64 + 1,
        }
    }
}

/// Samples that were read, with the digits that their recording has.
enum Held {
    Narrow(Vec<f32>),
    Wide(Vec<f64>),
}

/// The value of an expression of the samples that are held, whatever their digits.
macro_rules! of_held {
    ($held:expr, $samples:ident => $value:expr) => {
        match $held {
            Held::Narrow($samples) => $value,
            Held::Wide($samples) => $value,
        }
    };
}

impl Held {
    fn len(&self) -> usize {
        of_held!(self, samples => samples.len())
    }

    fn read(&mut self, reader: &mut dyn SampleReader, count: usize) -> Result<usize> {
        match self {
            Self::Narrow(samples) => reader.read(samples, count),
            Self::Wide(samples) => reader.read_wide(samples, count),
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
    held: Held,
    /// Notes of the reader that were taken.
    noted: usize,
    /// Largest part of a frame's variation that rounding changed, as a ratio of powers.
    rounding: f64,
    /// Whether frames have samples that are all too small for f32, and whether some have samples that are too large.
    vanished: bool,
    overflowed: bool,
    /// Samples per channel before the next frame that are still to be skipped.
    gap: u64,
    /// Why reading ended behind the frames of the last block.
    failed: Option<RecordingProblem>,
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
            let length = layout.length.ok_or(RecordingProblem::UnknownLength)?;
            let frames = u128::from(framing.frames(length));
            let border = |index: u64| (frames * u128::from(index) / u128::from(shard.count)) as u64;
            first = border(shard.index - 1);
            // A header may announce less than there is, which the last part has.
            if shard.index < shard.count {
                end = border(shard.index);
            }
        }
        let next = start.unwrap_or(first);
        // Samples between frames are held too, until the block is complete.
        let samples = BLOCK_SAMPLES / channels;
        let block = (samples / framing.length).min(samples.saturating_sub(framing.length) / framing.step + 1).max(1);
        // Samples in f64 besides take three times the memory.
        let frames = if layout.is_wide && framing.most_rounding.is_finite() { 3 * block } else { block };
        ensure_memory(framing, channels, frames, devices)?;
        let gap = next * framing.step as u64;
        let held = if layout.is_wide { Held::Wide(Vec::new()) } else { Held::Narrow(Vec::new()) };
        Ok(Self {
            reader,
            framing,
            channels,
            block,
            next,
            end,
            held,
            noted: 0,
            rounding: 0.0,
            vanished: false,
            overflowed: false,
            gap,
            failed: None,
        })
    }

    /// Limits blocks to the frames of so many samples per channel, one frame at least.
    pub fn limit_blocks(&mut self, samples: u64) {
        let most = usize::try_from(self.framing.frames(samples)).unwrap_or(usize::MAX);
        self.block = self.block.min(most.max(1));
    }

    /// Notes about the recording since the last call.
    pub fn take_notes(&mut self) -> Vec<Note> {
        let notes = &self.reader.layout().notes;
        let mut new = notes[self.noted.min(notes.len())..].to_vec();
        self.noted = notes.len();
        let mut remark = |text| new.push(Note::Remark(text));
        if self.rounding > MOST_ROUNDING {
            let hint = "; --detrend constant subtracts the mean of each frame before";
            remark(format!(
                "its samples are rounded to 32 bits, which changes them by up to {:.0} dB of their variation{}",
                10.0 * self.rounding.log10(),
                if self.framing.is_centred { "" } else { hint }
            ));
            self.rounding = 0.0;
        }
        if std::mem::take(&mut self.vanished) {
            remark(format!(
                "frames whose samples are all smaller than the {:e} of numbers of 32 bits are taken for 0: multiply the \
                 recording by a number",
                f32::from_bits(1)
            ));
        }
        if std::mem::take(&mut self.overflowed) {
            remark(format!(
                "samples beyond the {:e} of numbers of 32 bits are taken for infinite: divide the recording by a number",
                f32::MAX
            ));
        }
        new
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
    /// If the recording can't be read or is damaged, behind the frames that were read before.
    pub fn next_block(&mut self) -> Result<Option<Block<FrameSamples>>, RecordingProblem> {
        if let Some(problem) = self.failed.take() {
            return Err(problem);
        }
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
        let more = (samples * self.channels).saturating_sub(self.held.len());
        of_held!(&mut self.held, held => held.reserve(more));
        while self.held.len() < samples * self.channels {
            let missing = samples - self.held.len() / self.channels;
            let before = self.held.len();
            match self.held.read(&mut *self.reader, missing.min(most)) {
                Ok(0) => break,
                Ok(_) => {}
                Err(problem) => {
                    // A reader may leave samples of some channels only.
                    of_held!(&mut self.held, held => held.truncate(before));
                    self.failed = Some(problem);
                    break;
                }
            }
        }
        let count = (self.framing.frames((self.held.len() / self.channels) as u64) as usize).min(wanted);
        if count == 0 {
            return self.failed.take().map_or(Ok(None), Err);
        }
        let first = self.next;
        self.next += count as u64;
        let values = self.take(count);
        Ok(Some(Block { first, count, values }))
    }

    /// Copies frames out of the samples held, and drops those that no later frame has.
    fn take(&mut self, count: usize) -> FrameSamples {
        let Framing { length, step, .. } = self.framing;
        let channels = self.channels;
        let used = count * step * channels;
        let mut taken = FrameSamples::default();
        match &mut self.held {
            // The samples held are the frames.
            Held::Narrow(held) if channels == 1 && step == length => {
                let rest = held.split_off(used);
                taken.rounded = std::mem::replace(held, rest);
                return taken;
            }
            Held::Narrow(held) => taken.rounded = frames_of(held, count, channels, self.framing),
            Held::Wide(held) => {
                let mut samples = frames_of(held, count, channels, self.framing);
                let parts = if self.reader.layout().is_complex { 2 } else { 1 };
                for (place, row) in samples.chunks_mut(parts * length).enumerate() {
                    // Both parts are centred, whichever needs digits.
                    let mut is_wide = false;
                    row.chunks_mut(length).for_each(|frame| is_wide |= self.needs_digits(frame));
                    if is_wide {
                        taken.wide_rows.push(place);
                        taken.wide.extend_from_slice(row);
                    }
                }
                taken.rounded = samples.into_iter().map(|sample| sample as f32).collect();
            }
        }
        self.gap = (used / channels).saturating_sub(self.held.len() / channels) as u64;
        let dropped = used.min(self.held.len());
        of_held!(&mut self.held, held => drop(held.drain(..dropped)));
        taken
    }

    /// Centres a frame, if that is wanted. Returns whether f32 has too few digits for it, or else takes down what rounding
    /// changes, for a note.
    fn needs_digits(&mut self, frame: &mut [f64]) -> bool {
        let largest = largest_magnitude(frame);
        let rounding = rounded(frame, self.framing.is_centred);
        if self.framing.most_rounding.is_finite() && WIDE.contains(&largest) {
            return rounding > self.framing.most_rounding;
        }
        if largest > 0.0 && largest as f32 == 0.0 {
            self.vanished = true;
        } else if rounding.is_finite() {
            self.rounding = self.rounding.max(rounding);
        }
        self.overflowed |= (largest as f32).is_infinite() && frame.iter().any(|sample| !(*sample as f32).is_finite());
        false
    }
}

/// Frames `[count, channels, frame]` of interleaved samples.
fn frames_of<T: Copy>(held: &[T], count: usize, channels: usize, framing: Framing) -> Vec<T> {
    let Framing { length, step, .. } = framing;
    let mut samples = Vec::with_capacity(count * channels * length);
    for frame in 0..count {
        let start = frame * step * channels;
        let interleaved = &held[start..start + length * channels];
        if channels == 1 {
            samples.extend_from_slice(interleaved);
        } else {
            for channel in 0..channels {
                samples.extend(interleaved.iter().skip(channel).step_by(channels));
            }
        }
    }
    samples
}

/// Centres a frame, if that is wanted. Returns the power of what rounding to f32 will change, of samples or in a transform,
/// relative to that of the frame's variation; 0 for a frame without any, infinite for samples that are not finite as f32.
fn rounded(frame: &mut [f64], is_centred: bool) -> f64 {
    let finite = || frame.iter().filter(|sample| sample.is_finite());
    let mean = finite().sum::<f64>() / finite().count().max(1) as f64;
    let offset = if is_centred { mean } else { 0.0 };
    let (mut changed, mut variation) = (0.0, 0.0);
    for sample in frame.iter_mut() {
        variation += (*sample - mean) * (*sample - mean);
        *sample -= offset;
        let change = *sample - f64::from(*sample as f32);
        changed += change * change;
    }
    // Residual of a constant frame: the rounding error of its mean.
    let rounding = f64::EPSILON * mean.abs() * frame.len() as f64;
    if !(changed + variation).is_finite() {
        return f64::INFINITY;
    }
    // A transform rounds sums of about the mean, also where f32 holds every sample.
    let of_sums = (mean - offset) * f64::from(f32::EPSILON) / 4.0;
    let changed = changed.max(frame.len() as f64 * of_sums * of_sums);
    if variation <= rounding * rounding { 0.0 } else { changed / variation }
}

/// Largest magnitude of finite samples; 0 without.
fn largest_magnitude(frame: &[f64]) -> f64 {
    frame.iter().map(|sample| sample.abs()).filter(|sample| sample.is_finite()).fold(0.0, f64::max)
}

/// Checks that the blocks of a recording fit into memory.
fn ensure_memory(framing: Framing, channels: usize, frames: usize, devices: usize) -> Result<()> {
    let frame = (framing.length as u64).saturating_mul(channels as u64).saturating_mul(size_of::<f32>() as u64);
    let copies = COPIES.saturating_add(COPIES_PER_DEVICE.saturating_mul(devices as u64));
    let needed = frame.saturating_mul(frames as u64).saturating_mul(copies).saturating_add(RESERVE);
    let available = AVAILABLE.unwrap_or(u64::MAX);
    if needed > available {
        return Err(RecordingProblem::FrameMemory { frame: framing.length, channels, needed, available });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::formats::{NumberFormat, RawReader};

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
        let mut reader = FrameReader::new(Box::new(reader), Framing::new(length, step), None, start, 1).unwrap();
        reader.block = 3;
        let mut rows = Vec::new();
        while let Some(frames) = reader.next_block().unwrap() {
            assert_eq!(frames.values.rounded.len(), frames.count * channels * length);
            for (row, samples) in frames.values.rounded.chunks(length).enumerate() {
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
                let frames = Framing::new(length, step).frames(samples as u64) as usize;
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
        let mut reader = FrameReader::new(Box::new(reader), Framing::new(8, 10_000_000), None, None, 1).unwrap();
        let mut frames = 0;
        while let Some(block) = reader.next_block().unwrap() {
            frames += block.count;
            assert!(matches!(&reader.held, Held::Narrow(held) if held.capacity() <= 2 * BLOCK_SAMPLES));
        }
        assert_eq!(frames, 10);
    }

    /// Input that can't be read.
    struct Damaged;

    impl Read for Damaged {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("damaged"))
        }
    }

    #[test]
    fn frames_before_a_damaged_place_are_read() {
        let bytes = std::io::repeat(0).take(2 * READ_SAMPLES as u64 + 5000);
        let reader = RawReader::new(bytes.chain(Damaged), "s8".parse().unwrap(), 1, 1.0);
        let mut reader = FrameReader::new(Box::new(reader), Framing::new(1000, 1000), None, None, 1).unwrap();
        let block = reader.next_block().unwrap().unwrap();
        assert_eq!((block.first, block.count), (0, 2 * READ_SAMPLES / 1000));
        assert_eq!(reader.next_block().unwrap_err().to_string(), "damaged");
    }

    /// Frames of 100 samples of f64, and the notes about them.
    fn of_f64(sample: impl Fn(f64) -> f64, is_centred: bool) -> (Vec<f32>, Vec<Note>) {
        let bytes: Vec<u8> = (0..400).flat_map(|index| sample(f64::from(index)).to_le_bytes()).collect();
        let reader = RawReader::new(std::io::Cursor::new(bytes), "f64".parse().unwrap(), 1, 1.0);
        let mut reader =
            FrameReader::new(Box::new(reader), Framing { is_centred, ..Framing::new(100, 100) }, None, None, 1)
                .unwrap();
        let samples = reader.next_block().unwrap().unwrap().values.rounded;
        (samples, reader.take_notes())
    }

    #[test]
    fn a_small_signal_on_a_large_offset_is_kept_by_centring_and_noted_without() {
        let signal = |time: f64| 0.01 * (time * 0.37).sin();
        let (samples, notes) = of_f64(|time| 1e6 + signal(time), true);
        let mean = (0..100).map(|time| signal(f64::from(time))).sum::<f64>() / 100.0;
        for (index, sample) in samples[..100].iter().enumerate() {
            assert!((f64::from(*sample) - signal(index as f64) + mean).abs() < 1e-9, "{index}: {sample}");
        }
        assert_eq!(notes, []);
        let (samples, notes) = of_f64(|time| 1e6 + signal(time), false);
        assert!(samples.iter().all(|sample| (sample - 1e6).abs() < 0.1));
        assert!(notes[0].to_string().contains("--detrend constant"), "{notes:?}");
        for sample in [|time: f64| time.sin(), |_| 1e6 + 0.01, |_| 0.0] {
            assert_eq!(of_f64(sample, false).1, []);
        }
        assert!(!of_f64(|time| 1e-44 * time.sin(), true).1.is_empty());
    }

    #[test]
    fn frames_that_rounding_changes_are_given_in_f64_on_request() {
        // Four frames of four channels: the last channel gets an offset after two frames, the second ends within the fourth.
        let sample = |index: usize, channel: usize| {
            let offset = if index >= 200 && channel == 3 { 1e6 } else { 0.0 };
            let missing = if index >= 350 && channel == 1 { f64::NAN } else { 0.0 };
            missing + offset + (index as f64 * 0.37 + channel as f64).sin() * 1e-3
        };
        let of = |format: &str, channels: usize, is_centred| {
            let samples = (0..400).flat_map(|index| (0..4).map(move |channel| sample(index, channel)));
            let bytes: Vec<u8> = samples.flat_map(f64::to_le_bytes).collect();
            let reader = RawReader::new(std::io::Cursor::new(bytes), format.parse().unwrap(), channels, 1.0);
            let framing = Framing { most_rounding: MOST_ROUNDING, is_centred, ..Framing::new(100, 100) };
            let mut reader = FrameReader::new(Box::new(reader), framing, None, None, 1).unwrap();
            let block = reader.next_block().unwrap().unwrap();
            assert_eq!((block.count, block.values.rounded.len(), reader.take_notes()), (4, 1600, vec![]));
            block.values
        };
        let real = of("f64", 4, false);
        assert_eq!(real.wide_rows, [11, 13, 15]);
        assert_eq!(real.wide[..100], (200..300).map(|index| sample(index, 3)).collect::<Vec<_>>());
        let complex = of("cf64", 2, false);
        assert_eq!(complex.wide_rows, [5, 6, 7]);
        assert_eq!(complex.wide[100..200], real.wide[..100]);
        // Centred frames fit the digits of f32; only the frame with missing samples is given in f64.
        assert_eq!(of("f64", 4, true).wide_rows, [13]);
    }

    #[test]
    fn samples_that_f32_does_not_hold_are_noted() {
        for (scale, is_centred) in [(1e-300, false), (1e-300, true), (1e-50, false)] {
            let (samples, notes) = of_f64(|time| scale * time.sin(), is_centred);
            assert!(samples.iter().all(|sample| *sample == 0.0));
            assert!(notes.len() == 1 && notes[0].to_string().contains("are taken for 0"), "{notes:?}");
        }
        for (scale, is_centred) in [(1e100, false), (1e160, false), (1e160, true)] {
            let (samples, notes) = of_f64(|time| scale * (time + 1.0).sin(), is_centred);
            assert!(samples.iter().all(|sample| sample.is_infinite()));
            assert!(notes.len() == 1 && notes[0].to_string().contains("are taken for infinite"), "{notes:?}");
        }
    }

    #[test]
    fn frames_that_do_not_fit_into_memory_are_refused() {
        let format: NumberFormat = "u8".parse().unwrap();
        let reader = RawReader::new(std::io::empty(), format, 65_536, 1.0);
        let framing = Framing::new(usize::MAX, 1);
        let error = FrameReader::new(Box::new(reader), framing, None, None, 1).err().unwrap().to_string();
        assert!(error.contains("samples of 65536 channels take"), "{error}");
    }
}
