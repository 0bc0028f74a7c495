//! Recognition of mel spectra in models of separate operations.

use firefly_ops::{LogGuard, LogUnit, Logarithm, MelOptions, StftOptions};

use super::abstract_value::{AxisRole, Part, PowerSpectrum, ValueKind};
use super::interpretation::Interpretation;
use super::spectral_nodes::mel_operation;
use super::{Replacement, Rule, constants, mel_bands, operands};
use crate::graph::{Graph, Node, Operation, ValueId};

/// Rule that replaces frames, transforms, power, the product with mel filters and its logarithm by one
/// [`mel`](firefly_ops::mel()) or [`log_mel`](firefly_ops::log_mel).
///
/// What is recognised: frames cut from the rows of a matrix by any mix of slicing, unfolding, reshaping, stacking and
/// permuting, equally spaced; one window; a real transform along the samples ([`stft`](firefly_ops::fft::stft) without
/// normalisation, [`rfft`](firefly_ops::fft::rfft) or `burn::signal::rfft`); squared magnitude; the matrix product with
/// constant mel filters, from either side; then, if that is read by nothing else, ln(x + ε) or ln(max(x, ε)). Padding of
/// centred frames stays before the operation. Filters are those of HTK's and Slaney's scales and norms, at the usual sample
/// rates, with edges at whole hertz. Left alone is any other matrix, amplitude, and a spectrum that something else reads.
#[derive(Debug, Clone, Copy, Default)]
pub struct MelRule;

impl Rule for MelRule {
    fn name(&self) -> &str {
        "mel"
    }

    fn find(&self, graph: &Graph) -> Vec<Replacement> {
        let is_product = |index: &usize| graph.nodes()[*index].operation == Operation::MatrixProduct;
        let products: Vec<usize> = (0..graph.nodes().len()).filter(is_product).collect();
        if products.is_empty() {
            return Vec::new();
        }
        let interpretation = Interpretation::new(graph);
        products.into_iter().filter_map(|index| replace(graph, &interpretation, index)).collect()
    }
}

/// Power of frames and the filters that it is multiplied by.
struct Product<'a> {
    power: &'a PowerSpectrum,
    filters: ValueId,
    /// Whether the output is `[rows, bands, frames]`, or else `[rows, frames, bands]`.
    bands_first: bool,
}

impl<'a> Product<'a> {
    fn at(graph: &Graph, interpretation: &'a Interpretation<'_>, node: &Node) -> Option<Self> {
        let [left, right] = node.inputs[..] else { return None };
        let power = |id: ValueId, roles: [AxisRole; 3]| {
            let value = interpretation.value(id)?;
            let ValueKind::Power(power) = &value.kind else { return None };
            let rows = graph.get(power.segments.source).shape[0];
            // Of one row, frames are among the rows.
            let of_one_row = roles.map(|role| match role {
                AxisRole::Frame => AxisRole::Unit,
                AxisRole::Segment => AxisRole::FrameSegment,
                other => other,
            });
            (value.roles == roles || (rows == 1 && value.roles == of_one_row)).then_some(power)
        };
        let right_power = power(right, [AxisRole::Frame, AxisRole::Point, AxisRole::Segment]);
        let left_power = power(left, [AxisRole::Frame, AxisRole::Segment, AxisRole::Point]);
        match (right_power, left_power) {
            (Some(power), _) => Some(Self { power, filters: left, bands_first: true }),
            (None, Some(power)) => Some(Self { power, filters: right, bands_first: false }),
            _ => None,
        }
    }

    /// The frames and bands, and the first sample of the first frame.
    fn options(&self, graph: &Graph, interpretation: &Interpretation<'_>) -> Option<(MelOptions, usize)> {
        let (segments, n_fft) = (&self.power.segments, self.power.segments.length);
        let is_whole = self.power.first_bin == 0 && self.power.weights.len() == n_fft / 2 + 1;
        let is_plain = self.power.part == Part::Both && self.power.weights.iter().all(|weight| *weight == 1.0);
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
        let (weights, [rows, columns]) = constants::matrix(graph, interpretation.producers(), self.filters)?;
        let (weights, count) = if self.bands_first {
            (weights, rows)
        } else {
            let transposed = |index: usize| weights[index % rows * columns + index / rows];
            ((0..weights.len()).map(transposed).collect(), columns)
        };
        let bands = mel_bands::bands(&weights, count, n_fft)?;
        let stft = StftOptions::new(n_fft).with_hop(hop).with_center(false);
        Some((MelOptions::new(stft, bands), first))
    }
}

/// A logarithm, its output, and the nodes that compute it.
struct Tail {
    logarithm: Logarithm,
    output: ValueId,
    nodes: [usize; 2],
}

impl Tail {
    /// The guarded logarithm of a value, if nothing else reads the value.
    fn of(graph: &Graph, value: ValueId) -> Option<Self> {
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
        is_logarithm.then(|| Self { logarithm, output: node.outputs[0], nodes: [guard_index, index] })
    }
}

/// The node that reads a value, if it is the only one, and the value is no output.
fn only_reader(graph: &Graph, value: ValueId) -> Option<(usize, &Node)> {
    let mut readers = graph.nodes().iter().enumerate().filter(|(_, node)| node.inputs.contains(&value));
    let reader = readers.next()?;
    (readers.next().is_none() && !graph.outputs().contains(&value)).then_some(reader)
}

/// The graph with one operation in place of a product and its logarithm.
fn replace(graph: &Graph, interpretation: &Interpretation<'_>, index: usize) -> Option<Replacement> {
    let node = &graph.nodes()[index];
    let product = Product::at(graph, interpretation, node)?;
    let (options, start) = product.options(graph, interpretation)?;
    let segments = &product.power.segments;
    let (source, frames) = (segments.source, segments.starts.len());
    let (rows, dtype) = (graph.get(source).shape[0], graph.get(source).dtype);
    let output = node.outputs[0];
    let tail = Tail::of(graph, output);

    let (mut after, mut nodes) = (graph.clone(), Vec::new());
    let length = options.stft.n_fft + (frames - 1) * options.stft.hop;
    let signal = operands::samples(&mut after, &mut nodes, source, start, length);
    let window = operands::window(&mut after, &mut nodes, segments.window, options.stft.n_fft, dtype)?;
    let target = tail.as_ref().map_or(output, |tail| tail.output);
    let shape = [rows, options.bands.count, frames];
    let bands = if product.bands_first { target } else { after.computed(&shape, dtype) };
    let operation = mel_operation(options, tail.as_ref().map(|tail| tail.logarithm));
    nodes.push(Node::new(operation, vec![signal, window], vec![bands]));
    if !product.bands_first {
        nodes.push(Node::new(Operation::Permute { axes: vec![0, 2, 1] }, vec![bands], vec![target]));
    }
    let mut replaced = vec![index];
    replaced.extend(tail.iter().flat_map(|tail| tail.nodes));
    after.replace(&replaced, nodes);
    let obsolete = product.power.spectra.clone();
    Some(Replacement { graph: after, target, obsolete, batch: rows as u64 })
}
