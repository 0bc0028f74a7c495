//! Recognition of mel spectra in models of separate operations.

use std::f64::consts::LOG10_E;

use firefly_ops::op::OpDescriptor;
use firefly_ops::options::{LogGuard, LogUnit, Logarithm, MelBands, MelNorm, MelScale, SpectrumKind, mel_filters};
use firefly_ops::{MelOptions, StftOptions};

use super::edit::{Edit, only_reader};
use super::interpretation::{AxisRole, Content, Interpretation, PowerSpectrum, SpectrumPart, Transform};
use super::{Replacement, constants};
use crate::graph::{Graph, Operation, ValueId};

/// Sample rates that matrices are compared at, in hertz.
const SAMPLE_RATES: [f64; 11] =
    [16_000.0, 22_050.0, 44_100.0, 48_000.0, 8_000.0, 24_000.0, 32_000.0, 11_025.0, 12_000.0, 96_000.0, 192_000.0];

/// Largest difference of a weight, relative to the largest: constants are f32.
const FILTER_TOLERANCE: f64 = 2e-6;

/// Power or amplitude of frames and the filters that it is multiplied by.
struct Product<'a> {
    transform: &'a Transform,
    power: &'a PowerSpectrum,
    kind: SpectrumKind,
    filters: ValueId,
    /// Whether the output is `[rows, bands, frames]`, or else `[rows, frames, bands]`.
    bands_first: bool,
}

impl<'a> Product<'a> {
    /// The factors of a product that are these.
    fn of(found: &'a Interpretation<'_>, [left, right]: [ValueId; 2]) -> Option<Self> {
        let product = |id: ValueId, filters: ValueId, bands_first: bool| {
            found.values(id).iter().rev().find_map(|value| {
                let (power, kind) = match &value.content {
                    Content::Power(power) => (power, SpectrumKind::Power),
                    Content::Amplitude(power) => (power, SpectrumKind::Amplitude),
                    _ => return None,
                };
                let (transform, graph) = (&value.transform, found.graph());
                let &[rows, _] = &graph.get(transform.segments.source).shape[..] else { return None };
                let bins = (AxisRole::Own(1), power.weights.len());
                let frames = (AxisRole::Segment, transform.segments.starts.len());
                let [first, second] = if bands_first { [bins, frames] } else { [frames, bins] };
                let is_cube = graph.get(id).shape == [rows, first.1, second.1];
                let is_product = is_cube && value.axes.are(&[(AxisRole::Own(0), rows), first, second]);
                is_product.then_some(Self { transform, power, kind, filters, bands_first })
            })
        };
        product(right, left, true).or_else(|| product(left, right, false))
    }

    /// The frames and bands, and the first sample of the first frame.
    fn options(&self, found: &Interpretation<'_>) -> Option<(MelOptions, usize)> {
        let segments = &self.transform.segments;
        let n_fft = segments.length;
        let is_whole = self.power.first_bin == 0 && self.power.weights.len() == n_fft / 2 + 1;
        let is_plain = self.power.part == SpectrumPart::Both && self.power.weights.iter().all(|weight| *weight == 1.0);
        if !is_whole || !is_plain {
            return None;
        }
        // Frames in their order, equally spaced.
        let (first, starts) = (*segments.starts.first()?, &segments.starts);
        let hop = starts.get(1).map_or(Some(n_fft), |second| second.checked_sub(first))?;
        let is_even = starts.windows(2).all(|pair| pair[1].checked_sub(pair[0]) == Some(hop));
        if hop == 0 || !is_even {
            return None;
        }
        let (weights, size) = constants::matrix(found, self.filters)?;
        let (weights, count) =
            if self.bands_first { (weights, size[0]) } else { (constants::transposed(&weights, size), size[1]) };
        let bands = bands(&weights, count, n_fft)?;
        let stft = StftOptions::new(n_fft).with_hop(hop).with_center(false);
        Some((MelOptions::new(stft, bands).with_kind(self.kind), first))
    }
}

/// A logarithm, its output, and the nodes that compute it.
struct Tail {
    logarithm: Logarithm,
    output: ValueId,
    nodes: Vec<usize>,
}

impl Tail {
    /// The guarded logarithm of a value of a kind, if nothing else reads the value.
    fn of(graph: &Graph, value: ValueId, kind: SpectrumKind) -> Option<Self> {
        let (guard_index, guard_node) = only_reader(graph, value)?;
        let guard = match guard_node.operation {
            Operation::AddScalar(offset) => LogGuard::Offset(offset),
            Operation::ClampMin(floor) => LogGuard::Floor(floor),
            _ => return None,
        };
        let least = f64::from(f32::MIN_POSITIVE);
        let (index, node) = only_reader(graph, *guard_node.outputs.first()?)?;
        let is_logarithm = node.operation == Operation::Logarithm && guard.value() >= least;
        let logarithm = Logarithm::new(LogUnit::Natural).with_guard(guard);
        let natural = Self { logarithm, output: node.outputs[0], nodes: vec![guard_index, index] };
        is_logarithm.then(|| natural.with_unit(graph, kind))
    }

    /// The same logarithm with the factors that follow it, as far as they make it one in another unit.
    fn with_unit(self, graph: &Graph, kind: SpectrumKind) -> Self {
        let decibel = if kind == SpectrumKind::Power { 10.0 } else { 20.0 } * LOG10_E;
        let units = [(LogUnit::Ten, LOG10_E), (LogUnit::Decibel, decibel)];
        let (mut factor, mut output, mut nodes, mut best) = (1.0, self.output, self.nodes.clone(), self);
        while let Some((index, node)) = only_reader(graph, output) {
            factor *= match node.operation {
                Operation::MultiplyScalar(scalar) => scalar,
                Operation::DivideScalar(scalar) => 1.0 / scalar,
                _ => break,
            };
            output = node.outputs[0];
            nodes.push(index);
            if let Some((unit, _)) = units.iter().find(|(_, wanted)| constants::is_one(factor / wanted)) {
                let logarithm = Logarithm::new(*unit).with_guard(best.logarithm.guard);
                best = Self { logarithm, output, nodes: nodes.clone() };
            }
        }
        best
    }
}

/// The graph with one operation in place of a product and its logarithm.
pub fn replace(found: &Interpretation<'_>, index: usize) -> Option<Replacement> {
    let graph = found.graph();
    let node = &graph.nodes()[index];
    let (Operation::MatrixProduct, &[left, right]) = (&node.operation, &node.inputs[..]) else { return None };
    let product = Product::of(found, [left, right])?;
    let (options, start) = product.options(found)?;
    let segments = &product.transform.segments;
    let (frames, source) = (segments.starts.len(), graph.get(segments.source));
    let tail = Tail::of(graph, node.outputs[0], product.kind);
    let (mut replaced, mut target, mut logarithm) = (vec![index], node.outputs[0], None);
    if let Some(tail) = tail {
        replaced.extend(tail.nodes);
        (target, logarithm) = (tail.output, Some(tail.logarithm));
    }

    let mut edit = Edit::new(graph);
    let length = options.stft.n_fft + (frames - 1) * options.stft.hop;
    let signal = edit.samples(segments.source, start, length);
    let window = edit.window(segments.window, options.stft.n_fft, source.dtype)?;
    let mut bands = target;
    if !product.bands_first {
        bands = edit.before(
            Operation::Permute { axes: vec![0, 2, 1] },
            target,
            &[source.shape[0], options.bands.count, frames],
        );
    }
    edit.push(OpDescriptor::Mel { options, logarithm }, &[signal, window], &[bands]);
    Some(edit.replace(&replaced, target, product.transform.outputs.clone(), source.shape[0]))
}

/// The bands whose filters are the rows of `weights` `[count, n_fft / 2 + 1]`, on one of the usual sample rates.
fn bands(weights: &[f64], count: usize, n_fft: usize) -> Option<MelBands> {
    let bins = n_fft / 2 + 1;
    let edges: Vec<(usize, f64)> =
        weights.chunks_exact(bins).enumerate().filter_map(|(m, row)| Some((m + 2, upper_edge(row)?))).collect();
    let (first, last) = (edges.first()?, edges.last()?);
    if first.0 == last.0 {
        return None;
    }
    let norms = [MelNorm::Slaney, MelNorm::None];
    let scales = [MelScale::Slaney, MelScale::Htk];
    let kinds = scales.into_iter().flat_map(|scale| norms.map(|norm| (scale, norm)));
    let mut candidates =
        SAMPLE_RATES.into_iter().flat_map(|rate| kinds.clone().map(move |(scale, norm)| (rate, scale, norm)));
    candidates.find_map(|(rate, scale, norm)| {
        // Edges are equally spaced on the scale: two of them give all others.
        let mel = |edge: &(usize, f64)| scale.mel(edge.1 * rate / n_fft as f64);
        let step = (mel(last) - mel(first)) / (last.0 - first.0) as f64;
        let at = |edge: usize| scale.hertz(mel(last) + (edge as f64 - last.0 as f64) * step);
        let (low, high) = (at(0).round().max(0.0), at(count + 1));
        let high = if (high - rate / 2.0).abs() < 0.5 { rate / 2.0 } else { high.round() };
        let bands = MelBands::new(rate, count).with_f_min(low).with_f_max(high).with_scale(scale).with_norm(norm);
        is_equal(weights, &mel_filters(n_fft, &bands).ok()?).then_some(bands)
    })
}

/// The upper edge of a triangle in bins, from the last two weights beyond its largest one.
fn upper_edge(weights: &[f64]) -> Option<f64> {
    let peak = (0..weights.len()).max_by(|&a, &b| weights[a].total_cmp(&weights[b]))?;
    let end = peak + 1 + weights[peak + 1..].iter().take_while(|weight| **weight > 0.0).count();
    let last = end.checked_sub(1).filter(|last| *last >= peak + 2)?;
    let slope = weights[last] - weights[last - 1];
    Some(last as f64 - weights[last] / slope)
}

fn is_equal(weights: &[f64], filters: &[Vec<f64>]) -> bool {
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= FILTER_TOLERANCE * largest;
    weights.iter().zip(filters.iter().flatten()).all(close)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounded(n_fft: usize, bands: &MelBands) -> Vec<f64> {
        mel_filters(n_fft, bands).unwrap().concat().into_iter().map(|weight| f64::from(weight as f32)).collect()
    }

    #[test]
    fn bands_are_found_from_their_filters() {
        for (n_fft, wanted) in [
            (400, MelBands::new(16_000.0, 80).with_f_max(8000.0)),
            (1024, MelBands::new(22_050.0, 80).with_f_max(8000.0)),
            (512, MelBands::new(16_000.0, 64).with_f_min(20.0).with_f_max(7600.0).with_scale(MelScale::Htk)),
            (
                2048,
                MelBands::new(44_100.0, 128).with_f_max(22_050.0).with_scale(MelScale::Htk).with_norm(MelNorm::None),
            ),
            (400, MelBands::new(8000.0, 23).with_f_min(100.0).with_f_max(3800.0).with_norm(MelNorm::None)),
        ] {
            assert_eq!(bands(&rounded(n_fft, &wanted), wanted.count, n_fft), Some(wanted));
        }
    }

    #[test]
    fn other_matrices_are_no_filters() {
        let filters = rounded(400, &MelBands::new(16_000.0, 40));
        let mut other = filters.clone();
        *other.iter_mut().rfind(|weight| **weight > 0.0).unwrap() *= 1.01;
        assert_eq!(bands(&other, 40, 400), None);
        let doubled: Vec<f64> = filters.iter().map(|weight| 2.0 * weight).collect();
        assert_eq!(bands(&doubled, 40, 400), None);
        assert_eq!(bands(&vec![1.0; 40 * 201], 40, 400), None);
        assert_eq!(bands(&vec![0.0; 40 * 201], 40, 400), None);
    }
}
