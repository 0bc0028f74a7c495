//! Views, concatenations and assignments of abstract values: which samples or bins are where.

use super::abstract_value::{AbstractValue, Content, PowerSpectrum, Segments, SpectrumPart, Transform};
use super::axes::{Axes, AxisRole};
use crate::graph::AxisSlice;

/// Slice of all elements along an axis.
const WHOLE: AxisSlice = AxisSlice { start: 0, stride: 1 };

impl AbstractValue {
    /// The same elements in another shape. The samples of a row may become consecutive segments.
    pub fn reshape(&self, from: &[usize], to: &[usize]) -> Option<Self> {
        if !self.axes.cover(from) {
            return None;
        }
        let row = self.samples().filter(|segments| segments.starts.len() == 1 && segments.window.is_none());
        let row = row.filter(|segments| self.axes.has_length(segments.samples(), segments.length));
        let (axes, cut) = self.axes.reshape(to, row.map(Segments::samples))?;
        let mut reshaped = self.with_axes(axes);
        if let Some(count) = cut {
            let segments = &mut reshaped.transform.segments;
            segments.length /= count;
            segments.starts = (0..count).map(|segment| segments.starts[0] + segment * segments.length).collect();
        }
        Some(reshaped)
    }

    /// The same elements, repeated along axes that are longer in the shape `to`; not of power.
    pub fn expand(&self, to: &[usize]) -> Option<Self> {
        let axes = self.axes.expand(to)?;
        let may_repeat = matches!(self.content, Content::Samples | Content::Spectrum(_));
        (may_repeat || axes.cover(to)).then(|| self.with_axes(axes))
    }

    /// The part that `slices` select, which make the shape `from` the shape `to`.
    pub fn slice(&self, slices: &[AxisSlice], from: &[usize], to: &[usize]) -> Option<Self> {
        let mut sliced = self.clone();
        for (axis, slice) in slices.iter().enumerate() {
            let (start, taken) = (slice.start, to[axis]);
            if *slice == WHOLE && taken == from[axis] {
                continue;
            }
            if slice.stride != 1 {
                return None;
            }
            sliced = sliced.cut(axis, start, taken, from[axis])?;
        }
        Some(sliced)
    }

    /// The part of `taken` of `length` elements from `start` on along an axis.
    fn cut(&self, axis: usize, start: usize, taken: usize, length: usize) -> Option<Self> {
        let points = self.point_role();
        let role = self.axes.along(axis);
        let mut cut = self.clone();
        let segments = &mut cut.transform.segments;
        match (role, &mut cut.content) {
            (Some(role), Content::Convolution { .. }) => {
                return (role == points && start == 0).then(|| self.with_length(axis, taken));
            }
            (Some(AxisRole::Segment), _) => segments.starts = segments.starts[start..start + taken].to_vec(),
            (Some(AxisRole::Part), Content::Power(PowerSpectrum { part, .. })) if taken == 1 => *part = part_at(start),
            (Some(AxisRole::Part), Content::Spectrum(spectrum)) if taken == 1 => {
                spectrum
                    .blocks
                    .iter_mut()
                    .flat_map(|block| &mut block.terms)
                    .for_each(|term| term.part = part_at(start));
            }
            (Some(role), Content::Samples)
                if role == points && segments.window.is_none() && segments.length == length =>
            {
                segments.starts.iter_mut().for_each(|first| *first += start);
                segments.length = taken;
            }
            (Some(role), Content::Power(power)) if role == points => {
                power.first_bin += start;
                power.weights = power.weights[start..start + taken].to_vec();
            }
            (_, Content::Spectrum(_)) => return self.cut_bins(axis, start, taken),
            _ => return None,
        }
        cut.axes = cut.axes.with(axis, role?, taken);
        Some(cut)
    }

    /// The same content with another length along the axis of points.
    fn with_length(&self, axis: usize, length: usize) -> Self {
        self.with_axes(self.axes.with(axis, self.point_role(), length))
    }

    /// Segments of `size` samples, `step` apart, along `axis`; `count` of them, on a new last axis.
    pub fn unfold(&self, axis: usize, size: usize, step: usize, count: usize) -> Option<Self> {
        let segments = self.samples()?;
        let samples = self.point_role();
        let is_row = segments.window.is_none() && segments.starts.len() == 1;
        if !is_row || self.axes.along(axis) != Some(samples) || !self.axes.has_length(samples, segments.length) {
            return None;
        }
        let mut axes = self.axes.with(axis, AxisRole::Segment, count);
        axes.0.push(Vec::new());
        let mut unfolded = self.with_axes(axes.with(axes.0.len() - 1, samples, size));
        let first = segments.starts[0];
        unfolded.transform.segments.starts = (0..count).map(|window| first + window * step).collect();
        unfolded.transform.segments.length = size;
        Some(unfolded)
    }

    /// Samples with zeros behind them along an axis of `length`.
    pub fn padded(&self, axis: usize, length: usize) -> Option<Self> {
        let is_along = self.samples().is_some() && self.axes.along(axis) == Some(self.point_role());
        is_along.then(|| self.with_length(axis, length))
    }

    /// This value with `next` behind it along `axis`: segments, samples, bins of power, or the imaginary part behind
    /// the real one.
    pub fn append(&self, next: &Self, axis: usize) -> Option<Self> {
        if self.are_points_along(axis) && next.are_points_along(axis) {
            return self.append_points(next, axis);
        }
        self.append_part(next, axis).or_else(|| self.append_segments(next, axis))
    }

    /// Whether samples or bins of power, perhaps a single one, and nothing else are along an axis.
    fn are_points_along(&self, axis: usize) -> bool {
        let samples = self.point_role();
        let count = match &self.content {
            Content::Samples => self.transform.segments.length,
            Content::Power(power) => power.weights.len(),
            _ => return false,
        };
        let is_single = count == 1 && self.axes.0[axis].is_empty() && !self.axes.has(samples);
        is_single || self.axes.along(axis) == Some(samples)
    }

    /// Real and imaginary part of the same spectra, one after the other along an axis of length 1 of each.
    fn append_part(&self, next: &Self, axis: usize) -> Option<Self> {
        let (re, im) = (self.spectrum()?, next.spectrum()?);
        let are_equal = self.transform == next.transform && self.axes == next.axes && self.axes.0[axis].is_empty();
        let ([real], [imaginary]) = (&re.blocks[..], &im.blocks[..]) else { return None };
        let is_plain = real.complex_with(imaginary).is_some_and(|(_, weights)| weights.is_none());
        if !are_equal || !is_plain {
            return None;
        }
        let mut both = self.with_axes(self.axes.with(axis, AxisRole::Part, 2));
        if let Content::Spectrum(spectrum) = &mut both.content {
            spectrum.blocks[0].terms[0].part = SpectrumPart::Both;
        }
        Some(both)
    }

    /// The segments of `next` behind those of this one.
    fn append_segments(&self, next: &Self, axis: usize) -> Option<Self> {
        let segments_at = |value: &Self| match value.axes.0[axis][..] {
            [(AxisRole::Segment, _)] => true,
            [] => !value.axes.has(AxisRole::Segment) && value.transform.segments.starts.len() == 1,
            _ => false,
        };
        if !segments_at(self) || !segments_at(next) {
            return None;
        }
        let (first, second) = (&self.transform, &next.transform);
        let starts = [first.segments.starts.as_slice(), second.segments.starts.as_slice()].concat();
        let outputs = [first.outputs.as_slice(), second.outputs.as_slice()].concat();
        // Apart from their segments, both must be equal.
        let [joined, aligned] = [self, next].map(|value| {
            let segments = Segments { starts: starts.clone(), ..value.transform.segments.clone() };
            let transform = Transform { segments, outputs: outputs.clone(), ..value.transform.clone() };
            let axes = value.axes.with(axis, AxisRole::Segment, starts.len());
            Self { transform, content: value.content.clone(), axes }
        });
        (joined == aligned).then_some(joined)
    }

    /// The samples or bins of `next` behind those of this one.
    fn append_points(&self, next: &Self, axis: usize) -> Option<Self> {
        let others = |axes: &Axes| axes.with(axis, AxisRole::Part, 1);
        if others(&self.axes) != others(&next.axes) {
            return None;
        }
        match (&self.content, &next.content) {
            (Content::Samples, Content::Samples) => {
                let (low, high) = (&self.transform.segments, &next.transform.segments);
                let starts = low.starts.iter().map(|start| start + low.length).collect();
                let expected = Segments { starts, length: high.length, ..low.clone() };
                let is_whole =
                    |value: &Self, segments: &Segments| value.axes.has_length(segments.samples(), segments.length);
                let are_whole = is_whole(self, low) && is_whole(next, high);
                (low.window.is_none() && expected == *high && are_whole).then_some(())?;
                let length = low.length + high.length;
                let mut joined = self.with_length(axis, length);
                joined.transform.segments.length = length;
                Some(joined)
            }
            (Content::Power(low), Content::Power(high)) => {
                let first_bin = low.first_bin + low.weights.len();
                let expected = PowerSpectrum { first_bin, weights: high.weights.clone(), ..low.clone() };
                (self.transform == next.transform && expected == *high).then_some(())?;
                let weights = [low.weights.as_slice(), high.weights.as_slice()].concat();
                let joined = self.with_length(axis, weights.len());
                Some(joined.with_content(Content::Power(PowerSpectrum { weights, ..low.clone() })))
            }
            _ => None,
        }
    }

    /// Power, of shape `shape`, with the bins that `slices` select replaced by those of `part`.
    pub fn assign(&self, shape: &[usize], slices: &[AxisSlice], part: &Self) -> Option<Self> {
        let (whole, replacing) = (self.power()?, part.power()?);
        let points = self.point_axis()?;
        let start = slices[points].start;
        let count = replacing.weights.len();
        let only_bins = slices.iter().all(|slice| slice.stride == 1)
            && slices.iter().enumerate().all(|(axis, slice)| axis == points || slice.start == 0)
            && start + count <= shape[points];
        let expected =
            PowerSpectrum { first_bin: whole.first_bin + start, weights: replacing.weights.clone(), ..whole.clone() };
        let others = |axes: &Axes| axes.with(points, AxisRole::Part, 1);
        let is_same = self.transform == part.transform && others(&part.axes) == others(&self.axes);
        if !only_bins || !is_same || expected != *replacing {
            return None;
        }
        let mut assigned = whole.clone();
        assigned.weights[start..start + count].copy_from_slice(&replacing.weights);
        Some(self.with_content(Content::Power(assigned)))
    }
}

const fn part_at(place: usize) -> SpectrumPart {
    if place == 0 { SpectrumPart::Real } else { SpectrumPart::Imaginary }
}
