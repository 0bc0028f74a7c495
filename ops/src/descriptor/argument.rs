//! Arguments of operations as the scalars of their records.

use std::slice::Iter;

use burn::backend::ir::ScalarIr;
use burn::tensor::IntDType;

use crate::options::{
    AdamOptions, Band, Detrend, Direction, FftOptions, Interpolation, LocalMaximaOptions, LogGuard, LogUnit, Logarithm,
    MelBands, MelNorm, MelOptions, MelScale, PeakLossOptions, Scaling, SignalPadding, SpectrumKind, StftOptions,
    WeightDecay, WelchOptions,
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

impl<const N: usize> Argument for [bool; N] {
    fn encode(&self, scalars: &mut Vec<ScalarIr>) {
        self.iter().for_each(|value| value.encode(scalars));
    }

    fn decode(scalars: &mut Iter<'_, ScalarIr>) -> Option<Self> {
        let mut values = [false; N];
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

impl Argument for PeakLossOptions {
    fn encode(&self, scalars: &mut Vec<ScalarIr>) {
        self.k.encode(scalars);
        self.temperature.encode(scalars);
        self.offset.encode(scalars);
        self.weights.iter().for_each(|weight| weight.encode(scalars));
    }

    fn decode(scalars: &mut Iter<'_, ScalarIr>) -> Option<Self> {
        let options = Self::new(Argument::decode(scalars)?);
        let options = options.with_temperature(Argument::decode(scalars)?).with_offset(Argument::decode(scalars)?);
        Some(options.with_weights([Argument::decode(scalars)?, Argument::decode(scalars)?]))
    }
}

impl Argument for AdamOptions {
    fn encode(&self, scalars: &mut Vec<ScalarIr>) {
        self.step.encode(scalars);
        [self.learning_rate, self.betas[0], self.betas[1], self.epsilon].iter().for_each(|value| value.encode(scalars));
        let kind = match self.weight_decay {
            WeightDecay::None => 0usize,
            WeightDecay::Coupled(_) => 1,
            WeightDecay::Decoupled(_) => 2,
        };
        kind.encode(scalars);
        self.weight_decay.factor().encode(scalars);
    }

    fn decode(scalars: &mut Iter<'_, ScalarIr>) -> Option<Self> {
        let step = usize::decode(scalars)?;
        let mut number = || f64::decode(scalars);
        let (rate, betas, epsilon) = (number()?, [number()?, number()?], number()?);
        let weight_decay = match (usize::decode(scalars)?, f64::decode(scalars)?) {
            (0, _) => WeightDecay::None,
            (1, factor) => WeightDecay::Coupled(factor),
            (2, factor) => WeightDecay::Decoupled(factor),
            _ => return None,
        };
        let options = Self::new(rate, step).with_betas(betas).with_epsilon(epsilon);
        Some(options.with_weight_decay(weight_decay))
    }
}

impl Argument for StftOptions {
    fn encode(&self, scalars: &mut Vec<ScalarIr>) {
        // A missing window length is encoded as 0, which is none.
        [self.n_fft, self.hop, self.window_length.unwrap_or(0)].iter().for_each(|count| count.encode(scalars));
        [self.center, self.normalized, self.onesided].encode(scalars);
        let (mode, value) = match self.pad {
            SignalPadding::Constant(value) => (0usize, f64::from(value)),
            SignalPadding::Reflect => (1, 0.0),
            SignalPadding::Edge => (2, 0.0),
            SignalPadding::Circular => (3, 0.0),
        };
        mode.encode(scalars);
        value.encode(scalars);
    }

    fn decode(scalars: &mut Iter<'_, ScalarIr>) -> Option<Self> {
        let mut count = || usize::decode(scalars);
        let (n_fft, hop, window_length) = (count()?, count()?, count()?);
        let [center, normalized, onesided] = Argument::decode(scalars)?;
        let pad = match (usize::decode(scalars)?, f64::decode(scalars)?) {
            (0, value) => SignalPadding::Constant(value as f32),
            (1, _) => SignalPadding::Reflect,
            (2, _) => SignalPadding::Edge,
            (3, _) => SignalPadding::Circular,
            _ => return None,
        };
        let window_length = (window_length > 0).then_some(window_length);
        Some(Self { n_fft, hop, window_length, center, pad, normalized, onesided })
    }
}

impl Argument for MelOptions {
    fn encode(&self, scalars: &mut Vec<ScalarIr>) {
        let MelBands { sample_rate, count, f_min, f_max, scale, norm } = self.bands;
        self.stft.encode(scalars);
        sample_rate.encode(scalars);
        count.encode(scalars);
        f_min.encode(scalars);
        f_max.encode(scalars);
        [scale == MelScale::Htk, norm == MelNorm::Slaney, self.is_power()].encode(scalars);
    }

    fn decode(scalars: &mut Iter<'_, ScalarIr>) -> Option<Self> {
        let stft = StftOptions::decode(scalars)?;
        let (sample_rate, count) = (f64::decode(scalars)?, usize::decode(scalars)?);
        let (f_min, f_max) = (f64::decode(scalars)?, Argument::decode(scalars)?);
        let [is_htk, has_norm, is_power] = Argument::decode(scalars)?;
        let scale = if is_htk { MelScale::Htk } else { MelScale::Slaney };
        let norm = if has_norm { MelNorm::Slaney } else { MelNorm::None };
        let bands = MelBands { sample_rate, count, f_min, f_max, scale, norm };
        let kind = if is_power { SpectrumKind::Power } else { SpectrumKind::Amplitude };
        Some(Self::new(stft, bands).with_kind(kind))
    }
}

/// No logarithm is encoded as unit 0.
impl Argument for Option<Logarithm> {
    fn encode(&self, scalars: &mut Vec<ScalarIr>) {
        let unit = self.map_or(0usize, |logarithm| match logarithm.unit {
            LogUnit::Natural => 1,
            LogUnit::Ten => 2,
            LogUnit::Decibel => 3,
        });
        unit.encode(scalars);
        self.is_some_and(|logarithm| matches!(logarithm.guard, LogGuard::Offset(_))).encode(scalars);
        self.map_or(0.0, |logarithm| logarithm.guard.value()).encode(scalars);
    }

    fn decode(scalars: &mut Iter<'_, ScalarIr>) -> Option<Self> {
        let unit = usize::decode(scalars)?;
        let (is_offset, value) = (bool::decode(scalars)?, f64::decode(scalars)?);
        let guard = if is_offset { LogGuard::Offset(value) } else { LogGuard::Floor(value) };
        let unit = match unit {
            0 => return Some(None),
            1 => LogUnit::Natural,
            2 => LogUnit::Ten,
            3 => LogUnit::Decibel,
            _ => return None,
        };
        Some(Some(Logarithm::new(unit).with_guard(guard)))
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
        // An empty range stands for all bins.
        <[usize; 2]>::from(self.band.unwrap_or(Band::new(0..0))).iter().for_each(|count| count.encode(scalars));
        self.halvings.encode(scalars);
        self.skip_closed_blocks.encode(scalars);
    }

    fn decode(scalars: &mut Iter<'_, ScalarIr>) -> Option<Self> {
        let mut count = || usize::decode(scalars);
        let (n_fft, hop, segments, scaling) = (count()?, count()?, count()?, count()?);
        let sample_rate = f64::decode(scalars)?;
        let detrend = if bool::decode(scalars)? { Detrend::Constant } else { Detrend::None };
        let band = Band::new(usize::decode(scalars)?..usize::decode(scalars)?);
        let band = (band.end > 0).then_some(band);
        let (halvings, skip_closed_blocks) = (usize::decode(scalars)?, bool::decode(scalars)?);
        let scaling = match scaling {
            0 => Scaling::Power,
            1 => Scaling::Spectrum,
            2 => Scaling::Density { sample_rate },
            _ => return None,
        };
        Some(Self { n_fft, hop, segments, scaling, detrend, band, halvings, skip_closed_blocks })
    }
}
