//! Welch estimates among power spectra: the options that the operations compute them with.

use firefly_ops::WelchOptions;

use super::abstract_value::{AbstractValue, AxisRole, PowerSpectrum, SpectrumPart, ValueKind};
use super::operands;
use crate::graph::{Graph, Node, ValueId};

/// Relative tolerance of weights: constants are f32.
pub const TOLERANCE: f64 = 1e-6;

/// A power spectrum that [`welch_psd`](firefly_ops::welch_psd) computes.
#[derive(Debug, Clone, Copy)]
pub struct PowerEstimate<'a> {
    /// The spectrum.
    pub spectrum: &'a PowerSpectrum,
    /// Segments, in the scaling of plain power.
    pub options: WelchOptions,
    /// First sample of the first segment.
    pub start: usize,
    /// Factor of its power to that of `options`, which is positive and finite.
    pub factor: f64,
}

impl<'a> PowerEstimate<'a> {
    /// The estimate that a value is, whose axes are frames and bins, beside others of length 1.
    pub fn of(value: &'a AbstractValue) -> Option<Self> {
        let ValueKind::Power(spectrum) = &value.kind else { return None };
        let (count, n_fft) = (spectrum.segments.starts.len(), spectrum.segments.length);
        let all_bins = spectrum.first_bin == 0 && spectrum.weights.len() == n_fft / 2 + 1;
        let is_unit = |role: AxisRole| role == AxisRole::Unit || (role == AxisRole::Segment && count == 1);
        let axes = value.roles.iter().filter(|role| !is_unit(**role));
        if !axes.eq(&[AxisRole::Frame, AxisRole::Point]) || spectrum.part != SpectrumPart::Both || !all_bins {
            return None;
        }
        // Interior bins weigh twice as much as DC and Nyquist.
        let weight = spectrum.weights[0];
        let one_sided = spectrum.weights.iter().enumerate().all(|(bin, actual)| {
            let expected = if bin == 0 || 2 * bin == n_fft { weight } else { 2.0 * weight };
            (actual - expected).abs() <= TOLERANCE * expected
        });
        // The operations average over segments; a negative factor would reverse the order of peaks.
        let factor = count as f64 * weight;
        if !(one_sided && factor.is_finite() && factor > 0.0) {
            return None;
        }
        // Segments are equally spaced.
        let mut starts = spectrum.segments.starts.clone();
        starts.sort_unstable();
        let hop = starts.get(1).map_or((n_fft / 2).max(1), |second| second - starts[0]);
        if !starts.windows(2).all(|pair| pair[1] - pair[0] == hop) {
            return None;
        }
        let options = WelchOptions::new(n_fft, count).with_hop(hop);
        options.validate("welch_psd").ok()?;
        Some(Self { spectrum, options, start: starts[0], factor })
    }

    /// Whether its power differs from that of `options` by a factor.
    pub fn is_scaled(&self) -> bool {
        (self.factor - 1.0).abs() > TOLERANCE
    }

    /// Inputs of the operation: the signal from the first sample on, and the window. What computes them is appended to
    /// `nodes`.
    pub fn inputs(&self, after: &mut Graph, nodes: &mut Vec<Node>) -> Option<Vec<ValueId>> {
        let source = after.get(self.spectrum.segments.source);
        let (length, dtype) = (source.shape[1] - self.start, source.dtype);
        let signal = operands::samples(after, nodes, self.spectrum.segments.source, self.start, length);
        let window = operands::window(after, nodes, self.spectrum.segments.window, self.options.n_fft, dtype)?;
        Some(vec![signal, window])
    }
}
