//! Views and concatenations of abstract values: which samples or bins are where.

use super::abstract_value::{AbstractValue, AxisRole, PowerSpectrum, Segments, SpectrumPart, ValueKind};
use crate::graph::AxisSlice;

/// `value`, of shape `old`, reshaped to `new`.
///
/// Axes are matched from the first on: equal lengths correspond, axes of length 1 come and go, frames and segments
/// merge or separate, and the samples of a row split into consecutive segments.
pub fn reshape(value: &AbstractValue, old: &[usize], new: &[usize]) -> Option<AbstractValue> {
    let mut kind = value.kind.clone();
    let mut roles = Vec::new();
    let mut axes = value.roles.iter().copied().zip(old.iter().copied()).peekable();
    let mut lengths = new.iter().copied().peekable();
    loop {
        match (axes.peek().copied(), lengths.peek().copied()) {
            (Some((role, length)), Some(new)) if length == new && role != AxisRole::Unit => {
                roles.push(role);
                axes.next();
                lengths.next();
            }
            (_, Some(1)) => {
                roles.push(AxisRole::Unit);
                lengths.next();
            }
            (Some((AxisRole::Unit, _) | (AxisRole::Segment, 1)), _) => {
                axes.next();
            }
            (Some((AxisRole::Frame, rows)), Some(new)) => {
                axes.next();
                let (role, segments) = axes.next()?;
                (role == AxisRole::Segment && rows * segments == new).then(|| roles.push(AxisRole::FrameSegment))?;
                lengths.next();
            }
            (Some((AxisRole::FrameSegment, length)), Some(rows)) => {
                lengths.next();
                let segments = lengths.next()?;
                let count = kind.segments().starts.len();
                (segments == count && rows * segments == length)
                    .then(|| roles.extend([AxisRole::Frame, AxisRole::Segment]))?;
                axes.next();
            }
            (Some((AxisRole::Point, length)), Some(count)) => {
                // The samples of a row become consecutive segments.
                lengths.next();
                let samples = lengths.next()?;
                let ValueKind::Samples(segments) = &mut kind else { return None };
                let is_row = segments.starts.len() == 1 && segments.window.is_none();
                (is_row && count * samples == length).then(|| roles.extend([AxisRole::Segment, AxisRole::Point]))?;
                let start = segments.starts[0];
                segments.starts = (0..count).map(|segment| start + segment * samples).collect();
                segments.length = samples;
                axes.next();
            }
            (None, None) => break,
            _ => return None,
        }
    }
    Some(AbstractValue { kind, roles })
}

/// The part of `value`, of shape `old`, that `slices` select, of shape `new`.
pub fn slice(value: &AbstractValue, old: &[usize], slices: &[AxisSlice], new: &[usize]) -> Option<AbstractValue> {
    let mut sliced = value.clone();
    let axes = value.roles.iter().zip(old).zip(slices.iter().zip(new)).enumerate();
    for (axis, ((role, &length), (step, &taken))) in axes {
        if *step == (AxisSlice { start: 0, stride: 1 }) && taken == length {
            continue;
        }
        if step.stride != 1 {
            return None;
        }
        let range = step.start..step.start + taken;
        match (role, &mut sliced.kind) {
            (AxisRole::Segment, kind) => {
                let segments = kind.segments_mut();
                segments.starts = segments.starts[range].to_vec();
            }
            (AxisRole::Point, ValueKind::Samples(segments)) if segments.window.is_none() => {
                segments.starts.iter_mut().for_each(|start| *start += range.start);
                segments.length = taken;
            }
            (AxisRole::Point, ValueKind::Power(power)) => {
                power.first_bin += range.start;
                power.weights = power.weights[range].to_vec();
            }
            (AxisRole::Part, ValueKind::Spectrum(_, part, _) | ValueKind::Power(PowerSpectrum { part, .. }))
                if taken == 1 =>
            {
                *part = if step.start == 0 { SpectrumPart::Real } else { SpectrumPart::Imaginary };
                sliced.roles[axis] = AxisRole::Unit;
            }
            // The lower bins of a spectrum; its first bin is not tracked, so that it has to be bin 0.
            (AxisRole::Point, ValueKind::Spectrum(..)) if step.start == 0 => {}
            _ => return None,
        }
    }
    Some(sliced)
}

/// Segments of `size` samples, `step` apart, along `axis`; `count` of them, on a new last axis.
pub fn unfold(value: &AbstractValue, axis: usize, size: usize, step: usize, count: usize) -> Option<AbstractValue> {
    let ValueKind::Samples(segments) = &value.kind else { return None };
    let is_row = segments.window.is_none() && segments.starts.len() == 1 && !value.has_separate_segments();
    if !is_row || value.roles[axis] != AxisRole::Point {
        return None;
    }
    let mut unfolded = segments.clone();
    unfolded.starts = (0..count).map(|window| segments.starts[0] + window * step).collect();
    unfolded.length = size;
    let mut roles = value.roles.clone();
    roles[axis] = AxisRole::Segment;
    roles.push(AxisRole::Point);
    Some(AbstractValue { kind: ValueKind::Samples(unfolded), roles })
}

/// Concatenation of `parts` along `axis`: of segments, of samples, of bins, or of the two parts of a spectrum.
pub fn concatenate(parts: &[&AbstractValue], axis: usize) -> Option<AbstractValue> {
    if let &[re, im] = parts
        && let Some(spectrum) = complex(re, im, axis)
    {
        return Some(spectrum);
    }
    let (first, rest) = parts.split_first()?;
    let mut joined = (*first).clone();
    for part in rest {
        joined = match first.roles[axis] {
            AxisRole::Unit | AxisRole::Segment => append_segments(&joined, part, axis)?,
            AxisRole::Point => append_points(joined, part)?,
            AxisRole::Frame | AxisRole::FrameSegment | AxisRole::Part => return None,
        };
    }
    if joined.roles[axis] == AxisRole::Unit {
        joined.roles[axis] = AxisRole::Segment;
    }
    Some(joined)
}

/// Real and imaginary part of the same spectra, one after the other along an axis of length 1 of each.
fn complex(re: &AbstractValue, im: &AbstractValue, axis: usize) -> Option<AbstractValue> {
    let (ValueKind::Spectrum(segments, SpectrumPart::Real, real), ValueKind::Spectrum(others, part, imaginary)) =
        (&re.kind, &im.kind)
    else {
        return None;
    };
    let are_parts = *part == SpectrumPart::Imaginary && segments == others && re.roles == im.roles;
    if !are_parts || re.roles[axis] != AxisRole::Unit {
        return None;
    }
    let mut roles = re.roles.clone();
    roles[axis] = AxisRole::Part;
    let spectra = [real.as_slice(), imaginary].concat();
    Some(AbstractValue { kind: ValueKind::Spectrum(segments.clone(), SpectrumPart::Both, spectra), roles })
}

/// `first` with the segments of `next` appended along `axis`.
fn append_segments(first: &AbstractValue, next: &AbstractValue, axis: usize) -> Option<AbstractValue> {
    let segments_at = |value: &AbstractValue| match value.roles[axis] {
        AxisRole::Segment => true,
        AxisRole::Unit => !value.has_separate_segments() && value.kind.segments().starts.len() == 1,
        _ => false,
    };
    if !segments_at(first) || !segments_at(next) {
        return None;
    }
    let mut joined = first.clone();
    let mut aligned = next.clone();
    joined.roles[axis] = AxisRole::Segment;
    aligned.roles[axis] = AxisRole::Segment;
    share_segments(&mut joined.kind, &mut aligned.kind);
    // Apart from their segments, both must be equal.
    (joined == aligned).then_some(joined)
}

/// Gives both values the segments and spectra of both.
fn share_segments(first: &mut ValueKind, next: &mut ValueKind) {
    let starts = [first.segments().starts.as_slice(), next.segments().starts.as_slice()].concat();
    for kind in [&mut *first, &mut *next] {
        kind.segments_mut().starts.clone_from(&starts);
    }
    match (first, next) {
        (ValueKind::Spectrum(_, _, first), ValueKind::Spectrum(_, _, next)) => join_lists(first, next),
        (ValueKind::Power(first), ValueKind::Power(next)) => join_lists(&mut first.spectra, &mut next.spectra),
        _ => {}
    }
}

fn join_lists<T: Clone>(first: &mut Vec<T>, next: &mut Vec<T>) {
    first.append(next);
    next.clone_from(first);
}

/// `first` with the samples or bins of `next` appended.
fn append_points(first: AbstractValue, next: &AbstractValue) -> Option<AbstractValue> {
    if first.roles != next.roles {
        return None;
    }
    let kind = match (first.kind, &next.kind) {
        (ValueKind::Samples(low), ValueKind::Samples(high)) => {
            let starts = low.starts.iter().map(|start| start + low.length).collect();
            let expected = Segments { starts, length: high.length, ..low.clone() };
            (low.window.is_none() && expected == *high).then_some(())?;
            ValueKind::Samples(Segments { length: low.length + high.length, ..low })
        }
        (ValueKind::Power(low), ValueKind::Power(high)) => {
            let first_bin = low.first_bin + low.weights.len();
            let expected = PowerSpectrum { first_bin, weights: high.weights.clone(), ..low.clone() };
            (expected == *high).then_some(())?;
            let weights = [low.weights.as_slice(), high.weights.as_slice()].concat();
            ValueKind::Power(PowerSpectrum { weights, ..low })
        }
        _ => return None,
    };
    Some(AbstractValue { kind, roles: first.roles })
}

/// `value`, of shape `shape`, with the part that `slices` select replaced by `part`.
pub fn assign(
    value: &AbstractValue,
    shape: &[usize],
    slices: &[AxisSlice],
    part: &AbstractValue,
) -> Option<AbstractValue> {
    let (ValueKind::Power(whole), ValueKind::Power(replacing)) = (&value.kind, &part.kind) else { return None };
    let points = value.point_axis()?;
    let start = slices[points].start;
    let count = replacing.weights.len();
    let only_bins = slices.iter().all(|step| step.stride == 1)
        && slices.iter().enumerate().all(|(axis, step)| axis == points || step.start == 0)
        && start + count <= shape[points];
    let expected =
        PowerSpectrum { first_bin: whole.first_bin + start, weights: replacing.weights.clone(), ..whole.clone() };
    if !only_bins || part.roles != value.roles || expected != *replacing {
        return None;
    }
    let mut assigned = whole.clone();
    assigned.weights[start..start + count].copy_from_slice(&replacing.weights);
    Some(AbstractValue { kind: ValueKind::Power(assigned), roles: value.roles.clone() })
}
