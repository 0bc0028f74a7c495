//! Samples without a header, and the binary number formats of samples, decoded to f32 or f64.

use std::fmt;
use std::io::{ErrorKind, Read};
use std::ops::{Div, Sub};
use std::str::FromStr;

use half::{bf16, f16};

use super::{Note, RecordingLayout, SampleReader};
use crate::error::Result;

/// The layout and both reads of a [`SampleReader`] with a field `layout` and a method `read_as` for any [`SampleValue`].
macro_rules! decoded_reads {
    () => {
        fn layout(&self) -> &$crate::formats::RecordingLayout {
            &self.layout
        }

        fn read(&mut self, block: &mut Vec<f32>, count: usize) -> Result<usize, $crate::error::RecordingProblem> {
            self.read_as(block, count)
        }

        fn read_wide(&mut self, block: &mut Vec<f64>, count: usize) -> Result<usize, $crate::error::RecordingProblem> {
            self.read_as(block, count)
        }
    };
}

pub(super) use decoded_reads;

/// Interleaved samples from any reader, such as standard input. Integers are divided by full scale. Bytes at the end
/// that are not a sample of every channel are left out.
pub struct RawReader<R> {
    input: R,
    numbers: NumberFormat,
    layout: RecordingLayout,
    bytes: Vec<u8>,
}

impl<R: Read + Send> RawReader<R> {
    /// A reader of samples of `channels` channels, at least 1, at `rate` samples per second. A channel of complex
    /// samples has two numbers.
    pub fn new(input: R, numbers: NumberFormat, channels: usize, rate: f64) -> Self {
        let channels = channels.max(1) * numbers.parts();
        let layout = RecordingLayout {
            rate: Some(rate),
            is_wide: numbers.is_wide(),
            is_complex: numbers.is_complex(),
            ..RecordingLayout::of(channels)
        };
        Self { input, numbers, layout, bytes: Vec::new() }
    }

    /// The same reader of an input whose samples per channel, or centre frequency, is known.
    pub(super) fn with_layout(mut self, change: impl FnOnce(&mut RecordingLayout)) -> Self {
        change(&mut self.layout);
        self
    }

    /// The same reader of an input of so many bytes.
    pub(crate) fn of_length(self, bytes: u64) -> Self {
        let width = (self.numbers.bytes() * self.layout.channels) as u64;
        self.with_layout(|layout| layout.length = Some(bytes / width))
    }

    fn read_as<T: SampleValue>(&mut self, block: &mut Vec<T>, count: usize) -> Result<usize> {
        let width = self.numbers.bytes() * self.layout.channels;
        self.bytes.resize(count * width, 0);
        let bytes = read_full(&mut self.input, &mut self.bytes)?;
        let read = bytes / width;
        self.numbers.decode_samples(&self.bytes[..read * width], block);
        if bytes % width > 0 {
            let text = format!("{} bytes at the end are not a sample of every channel and are left out", bytes % width);
            self.layout.notes.push(Note::Remark(text));
        }
        Ok(read)
    }
}

impl<R: Read + Send> SampleReader for RawReader<R> {
    decoded_reads!();
}

/// Type that numbers are decoded to.
pub(super) trait SampleValue:
    Copy + Default + PartialOrd + Into<f64> + Sub<Output = Self> + Div<Output = Self>
{
    /// Largest value below 1 that integers of full scale are limited to.
    const BELOW_ONE: Self;
    fn of_i64(value: i64) -> Self;
    fn of_u64(value: u64) -> Self;
    fn of_f64(value: f64) -> Self;
}

macro_rules! sample_values {
    ($($float:ident)*) => {$(
        impl SampleValue for $float {
            const BELOW_ONE: Self = 1.0 - Self::EPSILON / 2.0;
            fn of_i64(value: i64) -> Self {
                value as Self
            }
            fn of_u64(value: u64) -> Self {
                value as Self
            }
            fn of_f64(value: f64) -> Self {
                value as Self
            }
        }
    )*};
}

sample_values!(f32 f64);

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

/// Binary format of a sample: type, width and byte order of its number, or of the two numbers of a complex one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberFormat {
    kind: NumberKind,
    big_endian: bool,
    is_complex: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberKind {
    Signed(u8),
    Unsigned(u8),
    Float(u8),
    /// bfloat16.
    Brain,
    /// Companded 8-bit samples of ITU-T G.711.
    ALaw,
    MuLaw,
}

impl NumberFormat {
    /// Little-endian bfloat16.
    pub(super) const BRAIN: Self = Self::new(NumberKind::Brain);
    pub(super) const A_LAW: Self = Self::new(NumberKind::ALaw);
    pub(super) const MU_LAW: Self = Self::new(NumberKind::MuLaw);

    const fn new(kind: NumberKind) -> Self {
        Self { kind, big_endian: false, is_complex: false }
    }

    /// Signed little-endian integers of 1, 2, 3, 4 or 8 bytes.
    pub(super) const fn signed(bytes: u8) -> Self {
        Self::new(NumberKind::Signed(bytes))
    }

    /// Unsigned little-endian integers of 1, 2, 4 or 8 bytes.
    pub(super) const fn unsigned(bytes: u8) -> Self {
        Self::new(NumberKind::Unsigned(bytes))
    }

    /// Little-endian floats of 2, 4 or 8 bytes.
    pub(super) const fn float(bytes: u8) -> Self {
        Self::new(NumberKind::Float(bytes))
    }

    /// The same format in big-endian or little-endian byte order.
    pub(super) const fn in_order(self, big_endian: bool) -> Self {
        Self { big_endian, ..self }
    }

    /// Complex samples whose two parts have this format.
    pub(super) const fn complex(self) -> Self {
        Self { is_complex: true, ..self }
    }

    /// Whether samples are complex: an in-phase and a quadrature part, one after the other.
    pub const fn is_complex(self) -> bool {
        self.is_complex
    }

    /// Numbers of a sample: 2 of a complex one.
    pub(super) const fn parts(self) -> usize {
        if self.is_complex { 2 } else { 1 }
    }

    /// Bytes of one number.
    pub const fn bytes(self) -> usize {
        match self.kind {
            NumberKind::Signed(bytes) | NumberKind::Unsigned(bytes) | NumberKind::Float(bytes) => bytes as usize,
            NumberKind::Brain => 2,
            NumberKind::ALaw | NumberKind::MuLaw => 1,
        }
    }

    /// Whether f32 does not hold every number.
    pub(super) const fn is_wide(self) -> bool {
        match self.kind {
            NumberKind::Signed(bytes) | NumberKind::Unsigned(bytes) => bytes > 3,
            NumberKind::Float(bytes) => bytes > 4,
            NumberKind::Brain | NumberKind::ALaw | NumberKind::MuLaw => false,
        }
    }

    /// Appends the numbers in `bytes` as they are.
    pub(super) fn decode<T: SampleValue>(self, bytes: &[u8], out: &mut Vec<T>) {
        match self.kind {
            NumberKind::Signed(1) => out.extend(bytes.iter().map(|byte| T::of_f64(byte.cast_signed().into()))),
            NumberKind::Unsigned(1) => out.extend(bytes.iter().map(|byte| T::of_f64((*byte).into()))),
            NumberKind::Signed(2) => self.each(bytes, out, |raw| T::of_f64(i16::from_le_bytes(raw).into())),
            NumberKind::Unsigned(2) => self.each(bytes, out, |raw| T::of_f64(u16::from_le_bytes(raw).into())),
            NumberKind::Signed(3) => self.each(bytes, out, |raw| T::of_f64(i24(raw).into())),
            NumberKind::Signed(4) => self.each(bytes, out, |raw| T::of_f64(i32::from_le_bytes(raw).into())),
            NumberKind::Unsigned(4) => self.each(bytes, out, |raw| T::of_f64(u32::from_le_bytes(raw).into())),
            NumberKind::Signed(_) => self.each(bytes, out, |raw| T::of_i64(i64::from_le_bytes(raw))),
            NumberKind::Unsigned(_) => self.each(bytes, out, |raw| T::of_u64(u64::from_le_bytes(raw))),
            NumberKind::Float(2) => self.each(bytes, out, |raw| T::of_f64(f16::from_le_bytes(raw).into())),
            NumberKind::Float(4) => self.each(bytes, out, |raw| T::of_f64(f32::from_le_bytes(raw).into())),
            NumberKind::Float(_) => self.each(bytes, out, |raw| T::of_f64(f64::from_le_bytes(raw))),
            NumberKind::Brain => self.each(bytes, out, |raw| T::of_f64(bf16::from_le_bytes(raw).into())),
            NumberKind::ALaw => out.extend(bytes.iter().map(|byte| T::of_f64(a_law(*byte).into()))),
            NumberKind::MuLaw => out.extend(bytes.iter().map(|byte| T::of_f64(mu_law(*byte).into()))),
        }
    }

    /// The first number in `bytes`; NaN if there is none.
    pub(super) fn first(self, bytes: &[u8]) -> f64 {
        let mut numbers = Vec::new();
        self.decode(bytes, &mut numbers);
        numbers.first().copied().unwrap_or(f64::NAN)
    }

    /// Place and value of the first finite number in `bytes` that its decoded value is not.
    pub(super) fn first_beyond_f32(self, bytes: &[u8], decoded: &[f32]) -> Option<(usize, f64)> {
        if self.kind != NumberKind::Float(8) {
            return None;
        }
        let (numbers, _) = bytes.as_chunks::<8>();
        let number = |place: usize| f64::from_le_bytes(little_endian(numbers[place], self.big_endian));
        let is_lost = |(place, number): &(usize, f64)| number.is_finite() && !decoded[*place].is_finite();
        (0..decoded.len()).map(|place| (place, number(place))).find(is_lost)
    }

    /// Appends the numbers in `bytes`, integers divided by full scale, so within [-1, 1); floats unchanged.
    pub(super) fn decode_samples<T: SampleValue>(self, bytes: &[u8], out: &mut Vec<T>) {
        let first = out.len();
        self.decode(bytes, out);
        let half = |bits: usize| T::of_u64(1 << (bits - 1));
        let bits = 8 * self.bytes();
        let (offset, scale) = match self.kind {
            NumberKind::Float(_) | NumberKind::Brain => return,
            // Unsigned samples are centred on half their range.
            NumberKind::Unsigned(_) => (half(bits), half(bits)),
            NumberKind::Signed(_) => (T::default(), half(bits)),
            NumberKind::ALaw | NumberKind::MuLaw => (T::default(), half(16)),
        };
        for sample in &mut out[first..] {
            let scaled = (*sample - offset) / scale;
            *sample = if scaled > T::BELOW_ONE { T::BELOW_ONE } else { scaled };
        }
    }

    fn each<T, const N: usize>(self, bytes: &[u8], out: &mut Vec<T>, number: impl Fn([u8; N]) -> T) {
        let (numbers, _) = bytes.as_chunks::<N>();
        if self.big_endian {
            out.extend(numbers.iter().map(|raw| number(little_endian(*raw, true))));
        } else {
            out.extend(numbers.iter().map(|raw| number(*raw)));
        }
    }
}

/// A sample rate or a time step, if it can be one.
pub(super) fn positive(value: f64) -> Option<f64> {
    (value.is_finite() && value > 0.0).then_some(value)
}

/// Bytes of a number in little-endian order.
pub(super) fn little_endian<const N: usize>(mut bytes: [u8; N], big_endian: bool) -> [u8; N] {
    if big_endian {
        bytes.reverse();
    }
    bytes
}

fn i24([low, middle, high]: [u8; 3]) -> i32 {
    i32::from_le_bytes([0, low, middle, high]) >> 8
}

/// Linear 16-bit value of an A-law byte (ITU-T G.711).
fn a_law(byte: u8) -> i32 {
    let code = byte ^ 0x55;
    let (exponent, mantissa) = (i32::from((code >> 4) & 7), i32::from(code & 15));
    let magnitude = match exponent {
        0 => (mantissa << 4) + 8,
        _ => ((mantissa << 4) + 0x108) << (exponent - 1),
    };
    if code & 0x80 == 0 { -magnitude } else { magnitude }
}

/// Linear 16-bit value of a µ-law byte (ITU-T G.711).
fn mu_law(byte: u8) -> i32 {
    let code = !byte;
    let magnitude = (((i32::from(code & 15) << 3) + 0x84) << ((code >> 4) & 7)) - 0x84;
    if code & 0x80 == 0 { magnitude } else { -magnitude }
}

impl FromStr for NumberFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, big_endian) = match text.strip_suffix("be") {
            Some(name) => (name, true),
            None => (text.strip_suffix("le").unwrap_or(text), false),
        };
        let real = name.strip_prefix('c');
        let format = match (real.unwrap_or(name), real.is_some()) {
            ("u8", _) => Self::unsigned(1),
            ("s8", false) | ("i8", true) => Self::signed(1),
            ("s16", false) | ("i16", true) => Self::signed(2),
            ("s24", false) => Self::signed(3),
            ("s32", false) | ("i32", true) => Self::signed(4),
            ("f16", false) => Self::float(2),
            ("f32", _) => Self::float(4),
            ("f64", _) => Self::float(8),
            _ => {
                return Err(format!(
                    "`{text}` is not a format of samples: one of u8, s8, s16, s24, s32, f16, f32 and f64, or cu8, ci8, ci16, \
                     ci32, cf32 and cf64 for complex samples, followed by le or be as in s16le (le unless given)"
                ));
            }
        };
        let format = format.in_order(big_endian);
        Ok(if real.is_some() { format.complex() } else { format })
    }
}

impl fmt::Display for NumberFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            NumberKind::Signed(_) if self.is_complex => "ci",
            NumberKind::Unsigned(_) if self.is_complex => "cu",
            NumberKind::Float(_) if self.is_complex => "cf",
            NumberKind::Signed(_) => "s",
            NumberKind::Unsigned(_) => "u",
            NumberKind::Float(_) => "f",
            NumberKind::Brain => "bf",
            NumberKind::ALaw => "alaw",
            NumberKind::MuLaw => "mulaw",
        };
        let order = match (self.bytes(), self.big_endian) {
            (1, _) => "",
            (_, true) => "be",
            (_, false) => "le",
        };
        write!(f, "{name}{}{order}", 8 * self.bytes())
    }
}
