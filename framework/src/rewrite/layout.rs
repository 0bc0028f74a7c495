//! Views and joins: which samples or bins are where.

use super::meaning::{Content, Energy, Meaning, Role, Segments};
use crate::graph::Step;

/// `meaning`, of shape `old`, as shape `new`.
pub fn reshape(meaning: &Meaning, old: &[usize], new: &[usize]) -> Option<Meaning> {
    let mut content = meaning.content.clone();
    let mut roles = Vec::new();
    let mut axes = meaning.roles.iter().copied().zip(old.iter().copied()).peekable();
    let mut lengths = new.iter().copied().peekable();
    loop {
        match (axes.peek().copied(), lengths.peek().copied()) {
            (Some((role, length)), Some(new)) if length == new && role != Role::One => {
                roles.push(role);
                axes.next();
                lengths.next();
            }
            (_, Some(1)) => {
                roles.push(Role::One);
                lengths.next();
            }
            (Some((Role::One, _) | (Role::Segment, 1)), _) => {
                axes.next();
            }
            (Some((Role::Row, rows)), Some(new)) => {
                axes.next();
                let (role, segments) = axes.next()?;
                (role == Role::Segment && rows * segments == new).then(|| roles.push(Role::RowSegment))?;
                lengths.next();
            }
            (Some((Role::RowSegment, length)), Some(rows)) => {
                lengths.next();
                let segments = lengths.next()?;
                let count = content.segments().starts.len();
                (segments == count && rows * segments == length).then(|| roles.extend([Role::Row, Role::Segment]))?;
                axes.next();
            }
            (Some((Role::Line, length)), Some(count)) => {
                // A line of samples cut into segments that follow each other.
                lengths.next();
                let samples = lengths.next()?;
                let Content::Samples(segments) = &mut content else { return None };
                let whole = segments.starts.len() == 1 && segments.window.is_none();
                (whole && count * samples == length).then(|| roles.extend([Role::Segment, Role::Line]))?;
                let start = segments.starts[0];
                segments.starts = (0..count).map(|segment| start + segment * samples).collect();
                segments.length = samples;
                axes.next();
            }
            (None, None) => break,
            _ => return None,
        }
    }
    Some(Meaning { content, roles })
}

/// The part of `meaning`, of shape `old`, that `steps` take, of shape `new`.
pub fn slice(meaning: &Meaning, old: &[usize], steps: &[Step], new: &[usize]) -> Option<Meaning> {
    let mut sliced = meaning.clone();
    let axes = meaning.roles.iter().zip(old).zip(steps.iter().zip(new));
    for ((role, &length), (step, &taken)) in axes {
        if *step == (Step { start: 0, stride: 1 }) && taken == length {
            continue;
        }
        if step.stride != 1 {
            return None;
        }
        let range = step.start..step.start + taken;
        match (role, &mut sliced.content) {
            (Role::Segment, content) => keep_segments(content, range),
            (Role::Line, Content::Samples(segments)) if segments.window.is_none() => {
                segments.starts.iter_mut().for_each(|start| *start += range.start);
                segments.length = taken;
            }
            (Role::Line, Content::Energy(energy)) => {
                energy.first_bin += range.start;
                energy.weights = energy.weights[range].to_vec();
            }
            // The lower bins of a spectrum; those that a part of it starts at elsewhere are not kept track of.
            (Role::Line, Content::Spectrum(..)) if step.start == 0 => {}
            _ => return None,
        }
    }
    Some(sliced)
}

fn keep_segments(content: &mut Content, range: std::ops::Range<usize>) {
    match content {
        Content::Samples(segments) | Content::Spectrum(segments, ..) => {
            segments.starts = segments.starts[range].to_vec();
        }
        Content::Energy(energy) => energy.segments.starts = energy.segments.starts[range].to_vec(),
    }
}

/// Windows of `size` elements along the axis `axis`, of which there are `count`.
pub fn unfold(meaning: &Meaning, axis: usize, size: usize, step: usize, count: usize) -> Option<Meaning> {
    let Content::Samples(segments) = &meaning.content else { return None };
    let whole = segments.window.is_none() && segments.starts.len() == 1 && !meaning.is_split();
    if !whole || meaning.roles[axis] != Role::Line {
        return None;
    }
    let mut unfolded = segments.clone();
    unfolded.starts = (0..count).map(|window| segments.starts[0] + window * step).collect();
    unfolded.length = size;
    let mut roles = meaning.roles.clone();
    roles[axis] = Role::Segment;
    roles.push(Role::Line);
    Some(Meaning { content: Content::Samples(unfolded), roles })
}

/// `parts` one after the other along `axis`: segments after segments, samples after samples, or
/// bins after bins.
pub fn concatenate(parts: &[&Meaning], axis: usize) -> Option<Meaning> {
    let (first, rest) = parts.split_first()?;
    let mut joined = (*first).clone();
    for part in rest {
        joined = match first.roles[axis] {
            Role::One | Role::Segment => after_segments(&joined, part, axis)?,
            Role::Line => after_line(joined, part)?,
            Role::Row | Role::RowSegment => return None,
        };
    }
    if joined.roles[axis] == Role::One {
        joined.roles[axis] = Role::Segment;
    }
    Some(joined)
}

/// `first` with the segments of `next` behind its own, along `axis`.
fn after_segments(first: &Meaning, next: &Meaning, axis: usize) -> Option<Meaning> {
    let segments_at = |meaning: &Meaning| match meaning.roles[axis] {
        Role::Segment => true,
        Role::One => !meaning.is_split() && meaning.content.segments().starts.len() == 1,
        _ => false,
    };
    if !segments_at(first) || !segments_at(next) {
        return None;
    }
    let mut joined = first.clone();
    let mut aligned = next.clone();
    joined.roles[axis] = Role::Segment;
    aligned.roles[axis] = Role::Segment;
    append(&mut joined.content, &mut aligned.content);
    // But for their segments, they must be the same.
    (joined == aligned).then_some(joined)
}

/// Appends the segments of `next` to those of `first`, and gives both what they have together.
fn append(first: &mut Content, next: &mut Content) {
    let starts = [first.segments().starts.as_slice(), next.segments().starts.as_slice()].concat();
    for content in [&mut *first, &mut *next] {
        match content {
            Content::Samples(segments) | Content::Spectrum(segments, ..) => segments.starts.clone_from(&starts),
            Content::Energy(energy) => energy.segments.starts.clone_from(&starts),
        }
    }
    match (first, next) {
        (Content::Spectrum(_, _, first), Content::Spectrum(_, _, next)) => join_lists(first, next),
        (Content::Energy(first), Content::Energy(next)) => join_lists(&mut first.spectra, &mut next.spectra),
        _ => {}
    }
}

fn join_lists<T: Clone>(first: &mut Vec<T>, next: &mut Vec<T>) {
    first.append(next);
    next.clone_from(first);
}

/// `first` with the samples or bins of `next` behind its own.
fn after_line(first: Meaning, next: &Meaning) -> Option<Meaning> {
    if first.roles != next.roles {
        return None;
    }
    let content = match (first.content, &next.content) {
        (Content::Samples(low), Content::Samples(high)) => {
            let starts = low.starts.iter().map(|start| start + low.length).collect();
            let expected = Segments { starts, length: high.length, ..low.clone() };
            (low.window.is_none() && expected == *high).then_some(())?;
            Content::Samples(Segments { length: low.length + high.length, ..low })
        }
        (Content::Energy(low), Content::Energy(high)) => {
            let first_bin = low.first_bin + low.weights.len();
            let expected = Energy { first_bin, weights: high.weights.clone(), ..low.clone() };
            (expected == *high).then_some(())?;
            let weights = [low.weights.as_slice(), high.weights.as_slice()].concat();
            Content::Energy(Energy { weights, ..low })
        }
        _ => return None,
    };
    Some(Meaning { content, roles: first.roles })
}

/// `meaning`, of shape `shape`, with `part` in the place that `steps` say.
pub fn assign(meaning: &Meaning, shape: &[usize], steps: &[Step], part: &Meaning) -> Option<Meaning> {
    let (Content::Energy(whole), Content::Energy(replacing)) = (&meaning.content, &part.content) else { return None };
    let line = meaning.line()?;
    let start = steps[line].start;
    let count = replacing.weights.len();
    let only_bins = steps.iter().all(|step| step.stride == 1)
        && steps.iter().enumerate().all(|(axis, step)| axis == line || step.start == 0)
        && start + count <= shape[line];
    let expected = Energy { first_bin: whole.first_bin + start, weights: replacing.weights.clone(), ..whole.clone() };
    if !only_bins || part.roles != meaning.roles || expected != *replacing {
        return None;
    }
    let mut assigned = whole.clone();
    assigned.weights[start..start + count].copy_from_slice(&replacing.weights);
    Some(Meaning { content: Content::Energy(assigned), roles: meaning.roles.clone() })
}
