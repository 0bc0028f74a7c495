//! Binary number formats of samples, decoded to f32.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Binary format of a number: type, width and byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberFormat {
    kind: NumberKind,
    big_endian: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberKind {
    Signed(u8),
    Unsigned(u8),
    Float(u8),
}

/// Largest f32 below 1: integers that would round to full scale are limited to it.
const BELOW_ONE: f32 = 1.0 - f32::EPSILON / 2.0;

/// Name that is no number format of raw samples.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not a format of samples: one of u8, s16, s24, s32, f32 and f64, followed by le or be as in s16le \
     (le unless given)"
)]
pub struct UnknownNumberFormat(String);

impl NumberFormat {
    /// Signed little-endian integers of 1, 2, 3, 4 or 8 bytes.
    pub(super) const fn signed(bytes: u8) -> Self {
        Self { kind: NumberKind::Signed(bytes), big_endian: false }
    }

    /// Unsigned little-endian integers of 1, 2, 4 or 8 bytes.
    pub(super) const fn unsigned(bytes: u8) -> Self {
        Self { kind: NumberKind::Unsigned(bytes), big_endian: false }
    }

    /// Little-endian floats of 4 or 8 bytes.
    pub(super) const fn float(bytes: u8) -> Self {
        Self { kind: NumberKind::Float(bytes), big_endian: false }
    }

    /// The same format in big-endian byte order.
    pub(super) const fn big_endian(self) -> Self {
        Self { big_endian: true, ..self }
    }

    /// Bytes of one number.
    pub const fn bytes(self) -> usize {
        match self.kind {
            NumberKind::Signed(bytes) | NumberKind::Unsigned(bytes) | NumberKind::Float(bytes) => bytes as usize,
        }
    }

    /// Appends the numbers in `bytes` as they are.
    pub(super) fn decode(self, bytes: &[u8], out: &mut Vec<f32>) {
        match self.kind {
            NumberKind::Signed(1) => out.extend(bytes.iter().map(|byte| f32::from(byte.cast_signed()))),
            NumberKind::Unsigned(1) => out.extend(bytes.iter().map(|byte| f32::from(*byte))),
            NumberKind::Signed(2) => self.each(bytes, out, |raw| f32::from(i16::from_le_bytes(raw))),
            NumberKind::Unsigned(2) => self.each(bytes, out, |raw| f32::from(u16::from_le_bytes(raw))),
            NumberKind::Signed(3) => self.each(bytes, out, |raw| i24(raw) as f32),
            NumberKind::Signed(4) => self.each(bytes, out, |raw| i32::from_le_bytes(raw) as f32),
            NumberKind::Unsigned(4) => self.each(bytes, out, |raw| u32::from_le_bytes(raw) as f32),
            NumberKind::Signed(_) => self.each(bytes, out, |raw| i64::from_le_bytes(raw) as f32),
            NumberKind::Unsigned(_) => self.each(bytes, out, |raw| u64::from_le_bytes(raw) as f32),
            NumberKind::Float(4) => self.each(bytes, out, f32::from_le_bytes),
            NumberKind::Float(_) => self.each(bytes, out, |raw| f64::from_le_bytes(raw) as f32),
        }
    }

    /// Place and value of the first finite number in `bytes` that its decoded value is not.
    pub(super) fn first_beyond_f32(self, bytes: &[u8], decoded: &[f32]) -> Option<(usize, f64)> {
        if self.kind != NumberKind::Float(8) {
            return None;
        }
        let (numbers, _) = bytes.as_chunks::<8>();
        let number = |place: usize| match self.big_endian {
            true => f64::from_be_bytes(numbers[place]),
            false => f64::from_le_bytes(numbers[place]),
        };
        let is_lost = |(place, number): &(usize, f64)| number.is_finite() && !decoded[*place].is_finite();
        (0..decoded.len()).map(|place| (place, number(place))).find(is_lost)
    }

    /// Appends the numbers in `bytes`, integers divided by full scale, so within [-1, 1); floats unchanged.
    pub(super) fn decode_samples(self, bytes: &[u8], out: &mut Vec<f32>) {
        let first = out.len();
        self.decode(bytes, out);
        let scale = match self.kind {
            NumberKind::Float(_) => return,
            NumberKind::Unsigned(_) => {
                // Unsigned samples are centred on half their range.
                let half = 2f32.powi(8 * self.bytes() as i32 - 1);
                out[first..].iter_mut().for_each(|sample| *sample -= half);
                half
            }
            NumberKind::Signed(_) => 2f32.powi(8 * self.bytes() as i32 - 1),
        };
        out[first..].iter_mut().for_each(|sample| *sample = (*sample / scale).min(BELOW_ONE));
    }

    fn each<const N: usize>(self, bytes: &[u8], out: &mut Vec<f32>, number: impl Fn([u8; N]) -> f32) {
        let (numbers, _) = bytes.as_chunks::<N>();
        if self.big_endian {
            out.extend(numbers.iter().map(|raw| {
                let mut raw = *raw;
                raw.reverse();
                number(raw)
            }));
        } else {
            out.extend(numbers.iter().map(|raw| number(*raw)));
        }
    }
}

/// A 24-bit integer.
pub(super) fn i24([low, middle, high]: [u8; 3]) -> i32 {
    i32::from_le_bytes([0, low, middle, high]) >> 8
}

impl FromStr for NumberFormat {
    type Err = UnknownNumberFormat;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, big_endian) = match text {
            text if text.ends_with("be") => (&text[..text.len() - 2], true),
            text => (text.strip_suffix("le").unwrap_or(text), false),
        };
        let format = match name {
            "u8" => Self::unsigned(1),
            "s16" => Self::signed(2),
            "s24" => Self::signed(3),
            "s32" => Self::signed(4),
            "f32" => Self::float(4),
            "f64" => Self::float(8),
            _ => return Err(UnknownNumberFormat(text.to_owned())),
        };
        Ok(if big_endian { format.big_endian() } else { format })
    }
}

impl fmt::Display for NumberFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.kind {
            NumberKind::Signed(_) => "s",
            NumberKind::Unsigned(_) => "u",
            NumberKind::Float(_) => "f",
        };
        let order = match (self.bytes(), self.big_endian) {
            (1, _) => "",
            (_, true) => "be",
            (_, false) => "le",
        };
        write!(f, "{letter}{}{order}", 8 * self.bytes())
    }
}
