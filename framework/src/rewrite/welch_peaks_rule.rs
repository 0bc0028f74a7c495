//! Recognition of Welch peaks in models of stock operations.

use burn::tensor::{DType, IntDType};

use super::interpretation::Interpretation;
use super::power_estimate::PowerEstimate;
use super::spectral_nodes::welch_peaks_operation;
use super::{Replacement, Rule};
use crate::graph::{AxisSlice, Graph, Node, Operation, Ranked, ValueId};

/// Rule that replaces the strongest bins of a Welch spectrum of stock operations by one `welch_peaks`.
///
/// Recognised patterns: segments cut from the rows of a matrix by any mix of slicing, unfolding, reshaping, stacking
/// and permuting; one window; a real transform along the samples (`burn::signal::rfft`, `burn::signal::stft`, the
/// transforms of rows of [`firefly_ops::fft`], or [`butterfly`](firefly_ops::butterfly) with exact twiddles), of which
/// the lower bins are taken if it has both sides; squared magnitude; a mean or sum over segments, or one by one;
/// interior bins doubled by a constant vector, by slice assignment or by concatenation; constant scales anywhere in
/// between; then `topk`, `topk_with_indices`, `argtopk`, or a descending sort that is cut to its first `k`, along the
/// bins. Left alone is whatever differs from the [contract](firefly_ops) in its numbers, and a model in which something
/// else reads the spectrum too.
///
/// Rows with non-finite samples follow the contract afterwards, not the stock operations.
#[derive(Debug, Clone, Copy, Default)]
pub struct WelchPeaksRule;

impl Rule for WelchPeaksRule {
    fn name(&self) -> &str {
        "welch peaks"
    }

    fn find(&self, graph: &Graph) -> Vec<Replacement> {
        let has_search = graph
            .nodes()
            .iter()
            .any(|node| matches!(node.operation, Operation::TopK { .. } | Operation::Sort { descending: true, .. }));
        if !has_search {
            return Vec::new();
        }
        let interpretation = Interpretation::new(graph);
        let indices = 0..graph.nodes().len();
        indices.filter_map(|index| replace(graph, &interpretation, PeaksSearch::at(graph, index)?)).collect()
    }
}

/// Search for the strongest elements along an axis of a matrix.
struct PeaksSearch {
    /// The matrix.
    input: ValueId,
    /// The axis that is searched.
    axis: usize,
    /// Elements per row.
    k: usize,
    /// The elements found, if they are an output.
    values: Option<ValueId>,
    /// Their positions, if they are an output.
    positions: Option<ValueId>,
    /// Indices of the nodes that search.
    nodes: Vec<usize>,
}

impl PeaksSearch {
    fn at(graph: &Graph, index: usize) -> Option<Self> {
        let node = &graph.nodes()[index];
        let input = *node.inputs.first()?;
        match node.operation {
            Operation::TopK { axis, wanted } => {
                let [values, positions] = by_kind(node, wanted);
                let k = graph.get(node.outputs[0]).shape[axis];
                Some(Self { input, axis, k, values, positions, nodes: vec![index] })
            }
            Operation::Sort { axis, descending: true, wanted } => {
                let [values, positions] = by_kind(node, wanted);
                let (values, positions) = (SortedCut::of(graph, values, axis)?, SortedCut::of(graph, positions, axis)?);
                let k = values.k.or(positions.k)?;
                let same = [values.k, positions.k].into_iter().flatten().all(|length| length == k);
                let nodes = [values.index, positions.index].into_iter().flatten().collect();
                let search = Self { input, axis, k, values: values.value, positions: positions.value, nodes };
                same.then_some(search)
            }
            _ => None,
        }
    }
}

fn by_kind(node: &Node, wanted: Ranked) -> [Option<ValueId>; 2] {
    let output = |index: usize| node.outputs.get(index).copied();
    match wanted {
        Ranked::Values => [output(0), None],
        Ranked::Positions => [None, output(0)],
        Ranked::Both => [output(0), output(1)],
    }
}

/// The first elements of a sorted value, which are all that is read of it.
#[derive(Default)]
struct SortedCut {
    value: Option<ValueId>,
    index: Option<usize>,
    k: Option<usize>,
}

impl SortedCut {
    /// The default for a value without readers; `None` for one that is read otherwise than from its start.
    fn of(graph: &Graph, sorted: Option<ValueId>, axis: usize) -> Option<Self> {
        let Some(sorted) = sorted else { return Some(Self::default()) };
        if graph.outputs().contains(&sorted) {
            return None;
        }
        let reads = |index: &usize| graph.nodes()[*index].inputs.contains(&sorted);
        let mut readers = (0..graph.nodes().len()).filter(reads);
        let Some(index) = readers.next() else { return Some(Self::default()) };
        let Operation::Slice { slices } = &graph.nodes()[index].operation else { return None };
        let cut = graph.nodes()[index].outputs[0];
        let (whole, part) = (&graph.get(sorted).shape, &graph.get(cut).shape);
        let from_the_start = slices.iter().all(|slice| *slice == AxisSlice { start: 0, stride: 1 });
        let rows = (0..whole.len()).all(|other| other == axis || whole[other] == part[other]);
        let only = readers.next().is_none();
        (from_the_start && rows && only).then(|| Self { value: Some(cut), index: Some(index), k: Some(part[axis]) })
    }
}

/// The graph with `welch_peaks` in place of a search.
fn replace(graph: &Graph, interpretation: &Interpretation<'_>, search: PeaksSearch) -> Option<Replacement> {
    let value = interpretation.value(search.input)?;
    let estimate = PowerEstimate::of(value)?;
    let spectrum = estimate.spectrum;
    if !value.is_frames_by_points() || search.axis != 1 || search.k > estimate.options.bins() {
        return None;
    }
    let mut after = graph.clone();
    let mut nodes = Vec::new();
    let source = spectrum.segments.source;
    let dtype = graph.get(source).dtype;
    let rows = graph.get(source).shape[0];
    let [target, ..] = [search.values, search.positions].into_iter().flatten().collect::<Vec<_>>()[..] else {
        return None;
    };

    let inputs = estimate.inputs(&mut after, &mut nodes)?;
    // Outputs: those of the search, and new values for what it does not return.
    let bins_dtype = search.positions.map_or(DType::I64, |positions| graph.get(positions).dtype);
    let bins = search.positions.unwrap_or_else(|| after.computed(&[rows, search.k], bins_dtype));
    let power = search.values.unwrap_or_else(|| after.computed(&[rows, search.k], dtype));
    // welch_peaks averages without weights: any other factor is applied to its power.
    let scale = estimate.is_scaled();
    let unscaled = if scale { after.computed(&[rows, search.k], dtype) } else { power };
    let operation = welch_peaks_operation(estimate.options, search.k, IntDType::from(bins_dtype));
    nodes.push(Node::new(operation, inputs, vec![bins, unscaled]));
    if scale {
        nodes.push(Node::new(Operation::MultiplyScalar(estimate.factor), vec![unscaled], vec![power]));
    }
    after.replace(&search.nodes, nodes);
    let obsolete = spectrum.spectra.clone();
    Some(Replacement { graph: after, target, obsolete, batch: rows as u64 })
}
