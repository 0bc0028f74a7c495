//! Samples of signals in device memory, read in the type that they have there.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::complex::{Complex, complex};
use super::device::{GpuDevice, chunks, elements, empty, floats, from_row, launch_checked};
use super::segments::DeviceFrames;
use crate::sample_type::SampleType;

const WORD: u32 = 32;
/// What a float of 16 bits has its exponent counted from, as the bits of an f32: the difference of the two biases.
const REBIAS: u32 = (127 - 15) << 23;
/// 2^-24, the unit of floats of 16 bits that are denormal.
const HALF_UNIT: f32 = 1.0 / 16_777_216.0;

impl SampleType {
    const fn bits(self) -> u32 {
        match self {
            Self::F32 | Self::I32 => 32,
            Self::F16 | Self::BF16 | Self::I16 | Self::U16 => 16,
            Self::I8 | Self::U8 => 8,
        }
    }

    pub const fn bytes(self) -> usize {
        self.bits() as usize / 8
    }

    pub const fn per_word(self) -> usize {
        (WORD / self.bits()) as usize
    }

    /// What a sample counts for at the top of a word, whose other bits are 0: a power of two, so that no bit is lost.
    const fn unit(self) -> f32 {
        1.0 / (1u64 << (WORD - self.bits())) as f32
    }
}

/// A signal as a kernel argument: the variant and the type of its samples are known when the kernel is compiled.
#[derive(CubeType, CubeLaunch)]
#[expect(dead_code, reason = "variants are constructed as the generated kernel arguments")]
pub enum Signal {
    /// f32, one by one.
    Single(Box<[f32]>),
    /// f32, two side by side.
    Pairs(Box<[Complex]>),
    /// Samples of any type in words, which every device reads.
    Words(Box<[u32]>),
    /// Integers one by one, which takes fewer instructions than from words.
    I16(Box<[i16]>),
    U16(Box<[u16]>),
    I8(Box<[i8]>),
    U8(Box<[u8]>),
}

/// Sample `at`.
#[cube]
pub fn sample(signal: &Signal, at: usize, #[comptime] of: SampleType) -> f32 {
    match signal {
        Signal::Single(samples) => samples[at],
        Signal::Pairs(pairs) => {
            let pair = pairs[at / 2];
            select(at % 2 == 0, pair.extract(0usize), pair.extract(1usize))
        }
        Signal::Words(words) => {
            let per_word = comptime!(of.per_word());
            widened(words[at / per_word], (at % per_word) as u32, of)
        }
        Signal::I16(samples) => f32::cast_from(samples[at]),
        Signal::U16(samples) => f32::cast_from(samples[at]),
        Signal::I8(samples) => f32::cast_from(samples[at]),
        Signal::U8(samples) => f32::cast_from(samples[at]),
    }
}

/// Samples `at` and `at + 1`; `at` is even where they are side by side.
#[cube]
pub fn sample_pair(signal: &Signal, at: usize, #[comptime] of: SampleType) -> Complex {
    match signal {
        Signal::Single(samples) => complex(samples[at], samples[at + 1]),
        Signal::Pairs(pairs) => pairs[at / 2],
        _ => complex(sample(signal, at, of), sample(signal, at + 1, of)),
    }
}

/// The sample at place `place` of a word, from its lowest bits on.
#[cube]
fn widened(word: u32, place: u32, #[comptime] of: SampleType) -> f32 {
    let bits = comptime!(of.bits());
    // To the top of the word, with zeros below.
    let top = (word << (comptime!(WORD - bits) - place * bits)) & comptime!(u32::MAX << (WORD - bits));
    if comptime!(matches!(of, SampleType::F32 | SampleType::BF16)) {
        f32::reinterpret(top)
    } else if comptime!(of == SampleType::F16) {
        // Exponent and fraction at their places in an f32: the bias differs, and 31 stands for infinities and NaN.
        let sign = top & 0x8000_0000u32;
        let rest = (top & 0x7fff_0000u32) >> 3u32;
        let exponent = top & 0x7c00_0000u32;
        let rebias = select(exponent == 0x7c00_0000u32, comptime!(2 * REBIAS).runtime(), comptime!(REBIAS).runtime());
        let normal = rest + rebias;
        let denormal = u32::reinterpret(f32::cast_from(rest >> 13u32) * HALF_UNIT);
        f32::reinterpret(sign | select(exponent == 0u32, denormal, normal))
    } else if comptime!(matches!(of, SampleType::U16 | SampleType::U8)) {
        f32::cast_from(top) * comptime!(of.unit())
    } else {
        f32::cast_from(i32::reinterpret(top)) * comptime!(of.unit())
    }
}

/// Rows of `frames` as f32, one after the other: a unit per sample.
#[cube(launch)]
fn widen(
    signal: &Signal,
    into: &mut [f32],
    count: u32,
    len: u32,
    stride: u32,
    skipped: u32,
    #[comptime] of: SampleType,
) {
    let at = ABSOLUTE_POS as u32;
    if at >= count {
        terminate!();
    }
    let from = (at / len) as usize * stride as usize + (skipped + at % len) as usize;
    into[at as usize] = sample(signal, from, of);
}

impl DeviceFrames {
    /// The frames with samples of f32, in new memory if they have another type.
    pub fn widened(&self, device: &GpuDevice) -> Self {
        if self.samples == SampleType::F32 {
            return self.clone();
        }
        let into = empty(&device.client, self.rows * self.len);
        for chunk in chunks(device, self.rows, 0, self.row_values()) {
            let (frames, count) = (self.slice(chunk.clone()), chunk.len() * self.len);
            launch_checked!(widen(
                device,
                elements(device, count),
                frames.signal(device),
                floats(&from_row(&into, chunk.start, self.len), count),
                count as u32,
                frames.len as u32,
                frames.stride as u32,
                frames.skipped as u32,
                self.samples,
            ));
        }
        Self { signal: into, stride: self.len, samples: SampleType::F32, skipped: 0, ..*self }
    }

    /// The signal as a kernel argument, sample by sample.
    pub fn signal(&self, device: &GpuDevice) -> SignalArgs {
        // CUDA, whose devices report their processors, has loads of every integer.
        match self.samples {
            SampleType::F32 => SignalArgs::Single(self.buffer()),
            SampleType::I16 if device.limits.processors.is_some() => SignalArgs::I16(self.elements()),
            SampleType::U16 if device.limits.processors.is_some() => SignalArgs::U16(self.elements()),
            SampleType::I8 if device.limits.processors.is_some() => SignalArgs::I8(self.elements()),
            SampleType::U8 if device.limits.processors.is_some() => SignalArgs::U8(self.elements()),
            _ => SignalArgs::Words(self.words()),
        }
    }
}

/// A handle that starts at a word, and the samples from there to the start of `handle`.
pub fn from_word(mut handle: Handle, samples: SampleType) -> (Handle, usize) {
    let offset = handle.offset_start.unwrap_or(0);
    let excess = offset % u64::from(WORD / 8);
    handle.offset_start = Some(offset - excess);
    (handle, excess as usize / samples.bytes())
}
