//! Arguments of operations as the scalars of their records.

use std::slice::Iter;

use burn::backend::ir::ScalarIr;
use burn::tensor::IntDType;

use crate::options::{Detrend, Direction, FftOptions, Interpolation, LocalMaximaOptions, Scaling, WelchOptions};

/// An argument of an operation as the scalars of its record.
pub(super) trait Argument: Sized {
    /// Appends the argument.
    fn encode(&self, scalars: &mut Vec<ScalarIr>);
    /// Takes the argument from the front; `None` if it is not there.
    fn decode(scalars: &mut Iter<'_, ScalarIr>) -> Option<Self>;
}

/// Implements [`Argument`] for a type that one scalar holds.
macro_rules! one_scalar {
    ($type:ty, $variant:ident, $self:ident => $encoded:expr, $scalar:ident => $decoded:expr) => {
        impl Argument for $type {
            fn encode(&$self, scalars: &mut Vec<ScalarIr>) {
                scalars.push(ScalarIr::$variant($encoded));
            }

            fn decode(scalars: &mut Iter<'_, ScalarIr>) -> Option<Self> {
                if let ScalarIr::$variant($scalar) = *scalars.next()? { $decoded } else { None }
            }
        }
    };
}

one_scalar!(bool, Bool, self => *self, value => Some(value));
one_scalar!(f64, Float, self => *self, value => Some(value));
one_scalar!(usize, UInt, self => *self as u64, value => value.try_into().ok());
one_scalar!(IntDType, UInt, self => position(*self), value => INT_TYPES.get(usize::try_from(value).ok()?).copied());

/// The integer types, each encoded as its position here.
const INT_TYPES: [IntDType; 8] = [
    IntDType::I64,
    IntDType::I32,
    IntDType::I16,
    IntDType::I8,
    IntDType::U64,
    IntDType::U32,
    IntDType::U16,
    IntDType::U8,
];

fn position(dtype: IntDType) -> u64 {
    INT_TYPES.iter().position(|candidate| *candidate == dtype).expect("every integer type is listed") as u64
}

impl Argument for [bool; 6] {
    fn encode(&self, scalars: &mut Vec<ScalarIr>) {
        self.iter().for_each(|value| value.encode(scalars));
    }

    fn decode(scalars: &mut Iter<'_, ScalarIr>) -> Option<Self> {
        let mut values = [false; 6];
        for value in &mut values {
            *value = bool::decode(scalars)?;
        }
        Some(values)
    }
}

/// A missing number is encoded as 0.
impl Argument for Option<f64> {
    fn encode(&self, scalars: &mut Vec<ScalarIr>) {
        self.is_some().encode(scalars);
        self.unwrap_or_default().encode(scalars);
    }

    fn decode(scalars: &mut Iter<'_, ScalarIr>) -> Option<Self> {
        let (is_some, value) = (bool::decode(scalars)?, f64::decode(scalars)?);
        Some(is_some.then_some(value))
    }
}

impl Argument for FftOptions {
    fn encode(&self, scalars: &mut Vec<ScalarIr>) {
        self.length.encode(scalars);
        (self.direction == Direction::Inverse).encode(scalars);
        self.scale.encode(scalars);
        self.interior.encode(scalars);
    }

    fn decode(scalars: &mut Iter<'_, ScalarIr>) -> Option<Self> {
        let length = usize::decode(scalars)?;
        let direction = if bool::decode(scalars)? { Direction::Inverse } else { Direction::Forward };
        Some(Self { length, direction, scale: f64::decode(scalars)?, interior: f64::decode(scalars)? })
    }
}

impl Argument for LocalMaximaOptions {
    fn encode(&self, scalars: &mut Vec<ScalarIr>) {
        self.height.encode(scalars);
        self.distance.encode(scalars);
        self.prominence.encode(scalars);
        (self.interpolation == Interpolation::Hann).encode(scalars);
    }

    fn decode(scalars: &mut Iter<'_, ScalarIr>) -> Option<Self> {
        let (height, distance, prominence) =
            (Argument::decode(scalars)?, Argument::decode(scalars)?, Argument::decode(scalars)?);
        let interpolation = if bool::decode(scalars)? { Interpolation::Hann } else { Interpolation::LogParabola };
        Some(Self { height, distance, prominence, interpolation })
    }
}

impl Argument for WelchOptions {
    fn encode(&self, scalars: &mut Vec<ScalarIr>) {
        let (scaling, sample_rate) = match self.scaling {
            Scaling::Power => (0usize, 0.0),
            Scaling::Spectrum => (1, 0.0),
            Scaling::Density { sample_rate } => (2, sample_rate),
        };
        [self.n_fft, self.hop, self.segments, scaling].iter().for_each(|count| count.encode(scalars));
        sample_rate.encode(scalars);
        (self.detrend == Detrend::Constant).encode(scalars);
    }

    fn decode(scalars: &mut Iter<'_, ScalarIr>) -> Option<Self> {
        let mut count = || usize::decode(scalars);
        let (n_fft, hop, segments, scaling) = (count()?, count()?, count()?, count()?);
        let sample_rate = f64::decode(scalars)?;
        let detrend = if bool::decode(scalars)? { Detrend::Constant } else { Detrend::None };
        let scaling = match scaling {
            0 => Scaling::Power,
            1 => Scaling::Spectrum,
            2 => Scaling::Density { sample_rate },
            _ => return None,
        };
        Some(Self { n_fft, hop, segments, scaling, detrend })
    }
}
