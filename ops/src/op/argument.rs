//! Arguments of operations as the scalars of their records.

use std::slice::Iter;

use burn::backend::ir::ScalarIr;
use burn::tensor::IntDType;

use super::Needed;
use crate::options::{
    AdamOptions, Average, Band, Detrend, Direction, FftForm, FftOptions, Interpolation, LocalMaximaOptions, LogGuard,
    LogUnit, Logarithm, MelBands, MelNorm, MelOptions, MelScale, PeakLossOptions, Scaling, SegmentSet, SignalPadding,
    SpectrumKind, StftOptions, WeightDecay, WelchOptions,
};

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
one_scalar!(f32, Float, self => f64::from(*self), value => Some(value as f32));
one_scalar!(u64, UInt, self => *self, value => Some(value));
one_scalar!(usize, UInt, self => *self as u64, value => value.try_into().ok());
one_scalar!(Needed, UInt, self => self.0.into(), value => value.try_into().ok().map(Needed));

/// Implements [`Argument`] for a struct: its fields, one after the other.
macro_rules! fields {
    ($type:ident { $($field:ident),* }) => {
        impl Argument for $type {
            fn encode(&self, scalars: &mut Vec<ScalarIr>) {
                $(self.$field.encode(scalars);)*
            }

            fn decode(scalars: &mut Iter<'_, ScalarIr>) -> Option<Self> {
                $(let $field = Argument::decode(scalars)?;)*
                Some(Self { $($field),* })
            }
        }
    };
}

/// Implements [`Argument`] for an enum: the number of the variant, and its value if it has one.
macro_rules! variants {
    ($type:ident { $($number:literal: $variant:ident $(($value:ident))? $({ $field:ident })?),* }) => {
        impl Argument for $type {
            fn encode(&self, scalars: &mut Vec<ScalarIr>) {
                match *self {
                    $(Self::$variant $(($value))? $({ $field })? => {
                        scalars.push(ScalarIr::UInt($number));
                        $($value.encode(scalars);)?
                        $($field.encode(scalars);)?
                    })*
                }
            }

            fn decode(scalars: &mut Iter<'_, ScalarIr>) -> Option<Self> {
                match *scalars.next()? {
                    $(ScalarIr::UInt($number) => {
                        $(let $value = Argument::decode(scalars)?;)?
                        $(let $field = Argument::decode(scalars)?;)?
                        Some(Self::$variant $(($value))? $({ $field })?)
                    })*
                    _ => None,
                }
            }
        }
    };
}

impl<T: Argument, const N: usize> Argument for [T; N] {
    fn encode(&self, scalars: &mut Vec<ScalarIr>) {
        self.iter().for_each(|value| value.encode(scalars));
    }

    fn decode(scalars: &mut Iter<'_, ScalarIr>) -> Option<Self> {
        let values: Option<Vec<T>> = (0..N).map(|_| T::decode(scalars)).collect();
        values?.try_into().ok()
    }
}

/// Whether there is a value, and the value.
impl<T: Argument> Argument for Option<T> {
    fn encode(&self, scalars: &mut Vec<ScalarIr>) {
        self.is_some().encode(scalars);
        self.iter().for_each(|value| value.encode(scalars));
    }

    fn decode(scalars: &mut Iter<'_, ScalarIr>) -> Option<Self> {
        if bool::decode(scalars)? { T::decode(scalars).map(Some) } else { Some(None) }
    }
}

/// The bits of the set.
impl Argument for SegmentSet {
    fn encode(&self, scalars: &mut Vec<ScalarIr>) {
        self.into_bits().encode(scalars);
    }

    fn decode(scalars: &mut Iter<'_, ScalarIr>) -> Option<Self> {
        <[u64; 2]>::decode(scalars).map(Self::from_bits)
    }
}

/// Nothing: kernels take the mean.
impl Argument for Average {
    fn encode(&self, _: &mut Vec<ScalarIr>) {
        assert_eq!(*self, Self::Mean, "records of kernels average by the mean");
    }

    fn decode(_: &mut Iter<'_, ScalarIr>) -> Option<Self> {
        Some(Self::Mean)
    }
}

variants!(IntDType { 0: I64, 1: I32, 2: I16, 3: I8, 4: U64, 5: U32, 6: U16, 7: U8 });
variants!(Direction { 0: Forward, 1: Inverse });
variants!(FftForm { 0: Complex, 1: Columns, 2: Real, 3: InverseReal });
fields!(FftOptions { length, direction, scale, interior });
variants!(Scaling { 0: Power, 1: Spectrum, 2: Density { sample_rate } });
variants!(Detrend { 0: None, 1: Constant, 2: Linear });
fields!(Band { first, end });
fields!(WelchOptions { n_fft, hop, segments, scaling, detrend, band, chosen, average });
variants!(Interpolation { 0: LogParabola, 1: Hann });
fields!(LocalMaximaOptions { height, distance, prominence, interpolation });
fields!(PeakLossOptions { k, temperature, offset, weights });
variants!(WeightDecay { 0: None, 1: Coupled(factor), 2: Decoupled(factor) });
fields!(AdamOptions { learning_rate, step, betas, epsilon, weight_decay });
variants!(SignalPadding { 0: Constant(value), 1: Reflect, 2: Edge, 3: Circular });
fields!(StftOptions { n_fft, hop, window_length, center, pad, normalized, onesided });
variants!(MelScale { 0: Htk, 1: Slaney });
variants!(MelNorm { 0: None, 1: Slaney });
fields!(MelBands { sample_rate, count, f_min, f_max, scale, norm });
variants!(SpectrumKind { 0: Amplitude, 1: Power });
fields!(MelOptions { stft, bands, kind });
variants!(LogUnit { 0: Natural, 1: Ten, 2: Decibel });
variants!(LogGuard { 0: Offset(value), 1: Floor(value) });
fields!(Logarithm { unit, guard });
