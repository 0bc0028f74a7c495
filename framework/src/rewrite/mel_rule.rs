//! Recognition of mel spectra in models of separate operations.

use std::f64::consts::LOG10_E;

use firefly_ops::{LogGuard, LogUnit, Logarithm, MelOptions, SpectrumKind, StftOptions};

use super::abstract_value::{AxisRole, PowerSpectrum, SpectrumPart, ValueKind};
use super::interpretation::Interpretation;
use super::operands::only_reader;
use super::spectral_nodes::mel_operation;
use super::{Replacement, Rule, constants, mel_bands, operands};
use crate::graph::{Graph, Node, Operation, ValueId};

/// Relative tolerance of the factor of a unit: models hold it in f32.
const UNIT_TOLERANCE: f64 = 1e-6;

/// Rule that replaces frames, transforms, power, the product with mel filters and its logarithm by one
/// [`mel`](firefly_ops::mel()) or [`log_mel`](firefly_ops::log_mel).
///
/// Recognised patterns: frames cut from the rows of a matrix by any mix of slicing, unfolding, reshaping, stacking and
/// permuting, equally spaced; one window; a real transform along the samples ([`stft`](firefly_ops::fft::stft) without
/// normalisation, [`rfft`](firefly_ops::fft::rfft), [`fft`](firefly_ops::fft::fft()), `burn::signal::rfft`, or
/// `burn::signal::stft`), of which the lower bins are taken if it has both sides; magnitude, squared or not; the matrix
/// product with constant mel filters, from either side; then, if that is read by nothing else, ln(x + ε) or
/// ln(max(x, ε)), and the factors that make it a decimal logarithm or decibels.
/// Padding of centred frames stays before the operation. Filters are those of HTK's and Slaney's scales and norms, at
/// the usual sample rates, with edges at whole hertz. Left alone is any other matrix, and a spectrum that something else
/// reads.
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

/// Power or amplitude of frames and the filters that it is multiplied by.
struct Product<'a> {
    power: &'a PowerSpectrum,
    kind: SpectrumKind,
    filters: ValueId,
    /// Whether the output is `[rows, bands, frames]`, or else `[rows, frames, bands]`.
    bands_first: bool,
}

impl<'a> Product<'a> {
    fn at(graph: &Graph, interpretation: &'a Interpretation<'_>, node: &Node) -> Option<Self> {
        let [left, right] = node.inputs[..] else { return None };
        let power = |id: ValueId, roles: [AxisRole; 3]| {
            let value = interpretation.value(id)?;
            let (power, kind) = match &value.kind {
                ValueKind::Power(power) => (power, SpectrumKind::Power),
                ValueKind::Amplitude(power) => (power, SpectrumKind::Amplitude),
                _ => return None,
            };
            let rows = graph.get(power.segments.source).shape[0];
            // Of one row, frames are among the rows.
            let of_one_row = roles.map(|role| match role {
                AxisRole::Frame => AxisRole::Unit,
                AxisRole::Segment => AxisRole::FrameSegment,
                other => other,
            });
            (value.roles == roles || (rows == 1 && value.roles == of_one_row)).then_some((power, kind))
        };
        let right_power = power(right, [AxisRole::Frame, AxisRole::Point, AxisRole::Segment]);
        let left_power = power(left, [AxisRole::Frame, AxisRole::Segment, AxisRole::Point]);
        match (right_power, left_power) {
            (Some((power, kind)), _) => Some(Self { power, kind, filters: left, bands_first: true }),
            (None, Some((power, kind))) => Some(Self { power, kind, filters: right, bands_first: false }),
            _ => None,
        }
    }

    /// The frames and bands, and the first sample of the first frame.
    fn options(&self, graph: &Graph, interpretation: &Interpretation<'_>) -> Option<(MelOptions, usize)> {
        let (segments, n_fft) = (&self.power.segments, self.power.segments.length);
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
        let (weights, [rows, columns]) = constants::matrix(graph, interpretation.producers(), self.filters)?;
        let (weights, count) = if self.bands_first {
            (weights, rows)
        } else {
            let transposed = |index: usize| weights[index % rows * columns + index / rows];
            ((0..weights.len()).map(transposed).collect(), columns)
        };
        let bands = mel_bands::bands(&weights, count, n_fft)?;
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
            if let Some((unit, _)) = units.iter().find(|(_, wanted)| (factor / wanted - 1.0).abs() <= UNIT_TOLERANCE) {
                let logarithm = Logarithm::new(*unit).with_guard(best.logarithm.guard);
                best = Self { logarithm, output, nodes: nodes.clone() };
            }
        }
        best
    }
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
    let tail = Tail::of(graph, output, product.kind);

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
    replaced.extend(tail.iter().flat_map(|tail| &tail.nodes));
    after.replace(&replaced, nodes);
    let obsolete = product.power.spectra.clone();
    Some(Replacement { graph: after, target, obsolete, batch: rows as u64 })
}
