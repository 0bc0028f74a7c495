//! Windows, squares, sums and scales of abstract values, on the way from samples to power.

use super::abstract_value::{AbstractValue, Content, PowerSpectrum, SpectrumPart};
use super::axes::AxisRole;
use super::bins::{BinBlock, Bins};
use crate::graph::ValueId;

impl AbstractValue {
    /// Samples times the window `vector`, with one element per sample.
    pub fn windowed(&self, vector: ValueId) -> Option<Self> {
        let segments = self.samples()?;
        let is_plain = segments.window.is_none() && self.axes.has_length(self.point_role(), segments.length);
        let mut windowed = self.clone();
        windowed.transform.segments.window = Some(vector);
        is_plain.then_some(windowed)
    }

    /// Power times a weight per bin.
    pub fn with_weights(&self, weights: &[f64]) -> Option<Self> {
        let power = self.power()?;
        let scaled = power.weights.iter().zip(weights).map(|(old, weight)| old * weight).collect();
        let is_per_bin = power.weights.len() == weights.len();
        is_per_bin.then(|| self.with_content(Content::Power(PowerSpectrum { weights: scaled, ..power.clone() })))
    }

    /// Power times a factor.
    pub fn with_factor(&self, factor: f64) -> Option<Self> {
        self.with_weights(&vec![factor; self.power()?.weights.len()])
    }

    /// Square of one part of the spectra of whole segments, without factors.
    pub fn squared(&self) -> Option<Self> {
        let [BinBlock { bins, terms }] = &self.spectrum()?.blocks[..] else { return None };
        let (&[Bins { place: 0, count, first, .. }], &[term]) = (&bins[..], &terms[..]) else { return None };
        let is_whole = self.transform.points == [self.transform.segments.length];
        let power = PowerSpectrum { part: term.part, first_bin: first, weights: vec![1.0; count] };
        let is_plain = term.weights.is_none() && term.factor == 1.0 && is_whole;
        is_plain.then(|| self.with_content(Content::Power(power)))
    }

    pub fn root(&self) -> Option<Self> {
        Some(self.with_content(Content::Amplitude(self.power()?.clone())))
    }

    /// Sum of two powers: of the real and the imaginary part of the same segments, or of different segments.
    pub fn plus_power(&self, other: &Self) -> Option<Self> {
        let (a, b) = (self.power()?, other.power()?);
        if self.axes != other.axes || a.first_bin != b.first_bin || a.weights != b.weights {
            return None;
        }
        let complementary = matches!(
            (a.part, b.part),
            (SpectrumPart::Real, SpectrumPart::Imaginary) | (SpectrumPart::Imaginary, SpectrumPart::Real)
        );
        if complementary && self.transform == other.transform {
            return Some(self.with_content(Content::Power(PowerSpectrum { part: SpectrumPart::Both, ..a.clone() })));
        }
        let (x, y) = (&self.transform.segments, &other.transform.segments);
        let is_sum = a.part == b.part && !self.axes.has(AxisRole::Segment);
        if !is_sum || (x.source, x.length, x.window) != (y.source, y.length, y.window) {
            return None;
        }
        let mut total = self.clone();
        total.transform.segments.starts.extend(&y.starts);
        let known = &self.transform.outputs;
        total.transform.outputs.extend(other.transform.outputs.iter().filter(|output| !known.contains(output)));
        Some(total)
    }

    /// Sum of power along `axis`, divided by `divisor`: over segments, or over parts.
    pub fn reduced(&self, axis: usize, divisor: f64) -> Option<Self> {
        let mut reduced = self.with_factor(1.0 / divisor)?;
        match reduced.axes.0[axis][..] {
            [] | [(AxisRole::Segment | AxisRole::Part, _)] => reduced.axes.0[axis].clear(),
            _ => return None,
        }
        Some(reduced)
    }
}
