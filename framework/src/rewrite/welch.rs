//! Recognition of Welch power, and of its strongest bins, in models of stock operations.

use std::ops::RangeInclusive;

use burn::tensor::{DType, IntDType};
use firefly_ops::op::OpDescriptor;
use firefly_ops::{Scaling, WelchOptions};

use super::edit::{Edit, only_reader};
use super::interpretation::{AbstractValue, AxisRole, Interpretation, SpectrumPart, Transform};
use super::{Replacement, constants};
use crate::graph::{AxisSlice, Graph, Operation, Ranked, ValueId};

/// Factors and sample rates far from the limits of f32.
const USUAL: RangeInclusive<f64> = 1e-30..=1e30;

/// Power spectrum that [`welch_psd`](firefly_ops::welch_psd) computes.
struct PowerEstimate<'a> {
    transform: &'a Transform,
    /// Segments, in the scaling of plain power.
    options: WelchOptions,
    /// First sample of the first segment.
    start: usize,
    /// Factor of its power to that of `options`, which is positive and finite.
    factor: f64,
    rows: usize,
    dtype: DType,
}

impl<'a> PowerEstimate<'a> {
    /// The estimate that a value is, whose elements are those of frames by bins.
    fn of(found: &'a Interpretation<'_>, id: ValueId) -> Option<Self> {
        found.values(id).iter().rev().find_map(|value| Self::of_value(found.graph(), value))
    }

    fn of_value(graph: &Graph, value: &'a AbstractValue) -> Option<Self> {
        let (spectrum, transform) = (value.power()?, &value.transform);
        let segments = &transform.segments;
        let source = graph.get(segments.source);
        let (count, n_fft, bins) = (segments.starts.len(), segments.length, segments.length / 2 + 1);
        let (&[rows, _], dtype @ (DType::F32 | DType::F64)) = (&source.shape[..], source.dtype) else { return None };
        let all_bins = spectrum.first_bin == 0 && spectrum.weights.len() == bins;
        let is_matrix = value.axes.are(&[(AxisRole::Own(0), rows), (AxisRole::Own(1), bins)]);
        if !is_matrix || spectrum.part != SpectrumPart::Both || !all_bins {
            return None;
        }
        // Interior bins weigh twice as much as DC and Nyquist.
        let weight = spectrum.weights[0];
        let one_sided = spectrum.weights.iter().enumerate().all(|(bin, actual)| {
            let expected = if bin == 0 || 2 * bin == n_fft { weight } else { 2.0 * weight };
            (actual - expected).abs() <= constants::TOLERANCE * expected
        });
        // The operations average over segments; a negative factor would reverse the order of peaks.
        let factor = count as f64 * weight;
        if !(one_sided && factor.is_finite() && factor > 0.0) {
            return None;
        }
        // Segments are equally spaced.
        let mut starts = segments.starts.clone();
        starts.sort_unstable();
        let hop = starts.get(1).map_or((n_fft / 2).max(1), |second| second - starts[0]);
        if !starts.windows(2).all(|pair| pair[1] - pair[0] == hop) {
            return None;
        }
        let options = WelchOptions::new(n_fft, count).with_hop(hop);
        options.validate("welch_psd").ok()?;
        Some(Self { transform, options, start: starts[0], factor, rows, dtype })
    }

    /// Whether its power differs from that of `options` by a factor.
    fn is_scaled(&self) -> bool {
        !constants::is_one(self.factor)
    }

    /// The scaling that has its factor, if one does.
    fn scaling(&self, found: &Interpretation<'_>) -> Option<Scaling> {
        if !self.is_scaled() {
            return Some(Scaling::Power);
        }
        let window = match self.transform.segments.window {
            Some(window) => constants::vector(found, window)?,
            None => vec![1.0; self.options.n_fft],
        };
        let (sum, energy) = (window.iter().sum::<f64>(), window.iter().map(|value| value * value).sum::<f64>());
        if constants::is_one(self.factor * sum * sum) {
            return Some(Scaling::Spectrum);
        }
        // Any other factor is that of a density, at a sample rate that kernels compute with in f32.
        let sample_rate = 1.0 / (self.factor * energy);
        let is_usual = [self.factor, sample_rate].iter().all(|value| USUAL.contains(value));
        is_usual.then_some(Scaling::Density { sample_rate })
    }

    /// Inputs of the operation: the signal from the first sample on, and the window.
    fn inputs(&self, edit: &mut Edit) -> Option<[ValueId; 2]> {
        let segments = &self.transform.segments;
        let length = edit.get(segments.source).shape[1] - self.start;
        let signal = edit.samples(segments.source, self.start, length);
        Some([signal, edit.window(segments.window, self.options.n_fft, self.dtype)?])
    }
}

/// The graph with `welch_psd` in place of the node that computes an estimate.
pub fn replace_power(found: &Interpretation<'_>, index: usize) -> Option<Replacement> {
    let graph = found.graph();
    let &[target] = graph.nodes()[index].outputs.as_slice() else { return None };
    let estimate = PowerEstimate::of(found, target)?;
    // A step towards another estimate is replaced with that.
    let is_estimate = |id: &ValueId| PowerEstimate::of(found, *id).is_some();
    if only_reader(graph, target).is_some_and(|(_, reader)| reader.outputs.iter().any(is_estimate)) {
        return None;
    }
    let mut edit = Edit::new(graph);
    let inputs = estimate.inputs(&mut edit)?;
    // The result has no axes of length 1, and no factor that is no scaling.
    let shape = [estimate.rows, estimate.options.bins()];
    let mut power = edit.unshaped(target, &shape);
    let scaling = estimate.scaling(found);
    if scaling.is_none() {
        power = edit.before(Operation::MultiplyScalar(estimate.factor), power, &shape);
    }
    let options = estimate.options.with_scaling(scaling.unwrap_or_default());
    edit.push(OpDescriptor::WelchPsd { options }, &inputs, &[power]);
    Some(edit.replace(&[index], target, estimate.transform.outputs.clone(), estimate.rows))
}

/// Search for the strongest elements along an axis of a matrix.
struct PeaksSearch {
    input: ValueId,
    axis: usize,
    /// Elements per row.
    k: usize,
    /// The elements found, and their positions, where they are outputs.
    found: [Option<ValueId>; 2],
    /// Indices of the nodes that search.
    nodes: Vec<usize>,
}

impl PeaksSearch {
    fn at(graph: &Graph, index: usize) -> Option<Self> {
        let node = &graph.nodes()[index];
        let input = *node.inputs.first()?;
        let outputs = |wanted| {
            let output = |place: usize| node.outputs.get(place).copied();
            match wanted {
                Ranked::Values => [output(0), None],
                Ranked::Positions => [None, output(0)],
                Ranked::Both => [output(0), output(1)],
            }
        };
        match node.operation {
            Operation::TopK { axis, wanted } => {
                let k = graph.get(node.outputs[0]).shape[axis];
                Some(Self { input, axis, k, found: outputs(wanted), nodes: vec![index] })
            }
            Operation::Sort { axis, descending: true, wanted } => {
                let (mut found, mut nodes, mut lengths) = ([None; 2], Vec::new(), Vec::new());
                for (found, sorted) in found.iter_mut().zip(outputs(wanted)) {
                    let Some(sorted) = sorted.filter(|sorted| is_read(graph, *sorted)) else { continue };
                    let (cut, value) = start_of(graph, sorted, axis)?;
                    *found = Some(value);
                    nodes.push(cut);
                    lengths.push(graph.get(value).shape[axis]);
                }
                let k = *lengths.first()?;
                lengths.iter().all(|length| *length == k).then_some(Self { input, axis, k, found, nodes })
            }
            _ => None,
        }
    }
}

/// Whether a node reads a value, or it is an output.
fn is_read(graph: &Graph, value: ValueId) -> bool {
    graph.outputs().contains(&value) || graph.nodes().iter().any(|node| node.inputs.contains(&value))
}

/// The node that cuts the first elements along an axis from a sorted value, and these, if nothing else reads it.
fn start_of(graph: &Graph, sorted: ValueId, axis: usize) -> Option<(usize, ValueId)> {
    let (index, node) = only_reader(graph, sorted)?;
    let (Operation::Slice { slices }, &[cut]) = (&node.operation, &node.outputs[..]) else { return None };
    let (whole, part) = (&graph.get(sorted).shape, &graph.get(cut).shape);
    let from_the_start = slices.iter().all(|slice| *slice == AxisSlice { start: 0, stride: 1 });
    let rows = (0..whole.len()).all(|other| other == axis || whole[other] == part[other]);
    (from_the_start && rows).then_some((index, cut))
}

/// The graph with `welch_peaks` in place of a search.
pub fn replace_search(found: &Interpretation<'_>, index: usize) -> Option<Replacement> {
    let graph = found.graph();
    let search = PeaksSearch::at(graph, index)?;
    let estimate = PowerEstimate::of(found, search.input)?;
    let (rows, k) = (estimate.rows, search.k);
    let is_matrix = graph.get(search.input).shape == [rows, estimate.options.bins()];
    if !is_matrix || search.axis != 1 || k > estimate.options.bins() {
        return None;
    }
    let [values, positions] = search.found;
    let target = values.or(positions)?;
    let mut edit = Edit::new(graph);
    let inputs = estimate.inputs(&mut edit)?;
    // Outputs: those of the search, and new values for what it does not return.
    let bins_dtype = positions.map_or(DType::I64, |positions| graph.get(positions).dtype);
    let bins = positions.unwrap_or_else(|| edit.computed(&[rows, k], bins_dtype));
    let mut power = values.unwrap_or_else(|| edit.computed(&[rows, k], estimate.dtype));
    // welch_peaks averages without weights: any other factor is applied to its power.
    if estimate.is_scaled() {
        power = edit.before(Operation::MultiplyScalar(estimate.factor), power, &[rows, k]);
    }
    let operation = OpDescriptor::WelchPeaks { options: estimate.options, k, bins: IntDType::from(bins_dtype) };
    edit.push(operation, &inputs, &[bins, power]);
    Some(edit.replace(&search.nodes, target, estimate.transform.outputs.clone(), rows))
}
