//! Elementwise operations and reductions on abstract values: windows, squares, sums and scales.

use super::abstract_value::{AbstractValue, AxisRole, PowerSpectrum, SpectrumPart, ValueKind};
use crate::graph::ValueId;

/// Samples times the window `vector`, with one element per sample.
pub fn windowed(value: &AbstractValue, vector: ValueId) -> Option<AbstractValue> {
    let ValueKind::Samples(segments) = &value.kind else { return None };
    if segments.window.is_some() {
        return None;
    }
    let mut segments = segments.clone();
    segments.window = Some(vector);
    Some(AbstractValue { kind: ValueKind::Samples(segments), roles: value.roles.clone() })
}

/// Power times a weight per bin.
pub fn weighted(value: &AbstractValue, weights: &[f64]) -> Option<AbstractValue> {
    let ValueKind::Power(power) = &value.kind else { return None };
    if power.weights.len() != weights.len() {
        return None;
    }
    let weights = power.weights.iter().zip(weights).map(|(old, weight)| old * weight).collect();
    Some(AbstractValue {
        kind: ValueKind::Power(PowerSpectrum { weights, ..power.clone() }),
        roles: value.roles.clone(),
    })
}

/// Power times a factor.
pub fn scaled(value: &AbstractValue, factor: f64) -> Option<AbstractValue> {
    let ValueKind::Power(power) = &value.kind else { return None };
    weighted(value, &vec![factor; power.weights.len()])
}

/// Square of one part of a spectrum of `bins` bins.
pub fn squared(value: &AbstractValue, bins: usize) -> Option<AbstractValue> {
    let ValueKind::Spectrum(segments, part, spectra) = &value.kind else { return None };
    let power = PowerSpectrum {
        part: *part,
        first_bin: 0,
        weights: vec![1.0; bins],
        spectra: spectra.clone(),
        segments: segments.clone(),
    };
    Some(AbstractValue { kind: ValueKind::Power(power), roles: value.roles.clone() })
}

/// Square root of a power.
pub fn root(value: &AbstractValue) -> Option<AbstractValue> {
    let ValueKind::Power(power) = &value.kind else { return None };
    Some(AbstractValue { kind: ValueKind::Amplitude(power.clone()), roles: value.roles.clone() })
}

/// Sum of two powers: of the real and the imaginary part of the same segments, or of different segments.
pub fn sum(left: &AbstractValue, right: &AbstractValue) -> Option<AbstractValue> {
    let (ValueKind::Power(a), ValueKind::Power(b)) = (&left.kind, &right.kind) else { return None };
    if left.roles != right.roles || a.first_bin != b.first_bin || a.weights != b.weights {
        return None;
    }
    let mut total = a.clone();
    total.spectra.extend(b.spectra.iter().filter(|value| !a.spectra.contains(value)));
    let complementary = matches!(
        (a.part, b.part),
        (SpectrumPart::Real, SpectrumPart::Imaginary) | (SpectrumPart::Imaginary, SpectrumPart::Real)
    );
    if complementary && a.segments == b.segments {
        total.part = SpectrumPart::Both;
    } else if a.part == b.part && !left.has_separate_segments() {
        let (x, y) = (&a.segments, &b.segments);
        if (x.source, x.length, x.window) != (y.source, y.length, y.window) {
            return None;
        }
        total.segments.starts.extend(&y.starts);
    } else {
        return None;
    }
    Some(AbstractValue { kind: ValueKind::Power(total), roles: left.roles.clone() })
}

/// Sum along `axis`, divided by `divisor`.
pub fn reduced(value: &AbstractValue, axis: usize, divisor: f64) -> Option<AbstractValue> {
    let mut reduced = scaled(value, 1.0 / divisor)?;
    match reduced.roles[axis] {
        AxisRole::Segment | AxisRole::Part => reduced.roles[axis] = AxisRole::Unit,
        AxisRole::Unit => {}
        _ => return None,
    }
    Some(reduced)
}
