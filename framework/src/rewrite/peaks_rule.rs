//! Welch peaks, recognised.

use burn::tensor::{DType, IntDType, TensorData};
use firefly_ops::WelchOptions;

use super::interpret::{Interpretation, is_row_of_lines};
use super::meaning::{Content, Energy, Meaning, Part};
use super::spectral::welch_peaks_operation;
use super::{Replacement, Rule};
use crate::graph::{Graph, Node, Operation, Ranked, Step, ValueId};

/// Relative difference up to which weights count as equal: constants are f32.
const EQUAL: f64 = 1e-6;

/// The strongest bins of a Welch spectrum made of stock operations become one `welch_peaks`.
///
/// What is recognised: segments cut from the rows of a matrix by any mix of slicing, unfolding, reshaping, stacking and
/// permuting; one window; a real transform along the samples (`burn::signal::rfft`, or [`butterfly`](firefly_ops::butterfly)
/// with exact twiddles); squared magnitude; a mean or sum over segments, or one by one; interior bins doubled by a constant
/// vector, by slice assignment or by concatenation; constant scales anywhere in between; then `topk`, `topk_with_indices`,
/// `argtopk`, or a descending sort that is cut to its first `k`, along the bins. Left alone is whatever differs from the
/// [contract](firefly_ops) in its numbers, and a model in which something else reads the spectrum too.
///
/// Rows with non-finite samples follow the contract afterwards, not the stock operations.
#[derive(Debug, Clone, Copy, Default)]
pub struct WelchPeaksRule;

impl Rule for WelchPeaksRule {
    fn name(&self) -> &str {
        "welch peaks"
    }

    fn find(&self, graph: &Graph) -> Vec<Replacement> {
        let searched = graph
            .nodes()
            .iter()
            .any(|node| matches!(node.operation, Operation::TopK { .. } | Operation::Sort { descending: true, .. }));
        if !searched {
            return Vec::new();
        }
        let known = Interpretation::new(graph);
        let places = 0..graph.nodes().len();
        places.filter_map(|place| replace(graph, &known, Search::at(graph, place)?)).collect()
    }
}

/// A search for the strongest elements of a matrix's rows.
struct Search {
    /// The matrix.
    input: ValueId,
    /// The axis that is searched.
    axis: usize,
    /// Elements wanted of each row.
    k: usize,
    /// The elements found, if they are wanted.
    values: Option<ValueId>,
    /// Where they were, if that is wanted.
    positions: Option<ValueId>,
    /// The nodes that search.
    nodes: Vec<usize>,
}

impl Search {
    fn at(graph: &Graph, place: usize) -> Option<Self> {
        let node = &graph.nodes()[place];
        let input = *node.inputs.first()?;
        match node.operation {
            Operation::TopK { axis, wanted } => {
                let [values, positions] = by_kind(node, wanted);
                let k = graph.get(node.outputs[0]).shape[axis];
                Some(Self { input, axis, k, values, positions, nodes: vec![place] })
            }
            Operation::Sort { axis, descending: true, wanted } => {
                let [values, positions] = by_kind(node, wanted);
                let (values, positions) = (Cut::of(graph, values, axis)?, Cut::of(graph, positions, axis)?);
                let k = values.k.or(positions.k)?;
                let same = [values.k, positions.k].into_iter().flatten().all(|length| length == k);
                let nodes = [values.place, positions.place].into_iter().flatten().collect();
                let search = Self { input, axis, k, values: values.value, positions: positions.value, nodes };
                same.then_some(search)
            }
            _ => None,
        }
    }
}

fn by_kind(node: &Node, wanted: Ranked) -> [Option<ValueId>; 2] {
    let output = |place: usize| node.outputs.get(place).copied();
    match wanted {
        Ranked::Values => [output(0), None],
        Ranked::Positions => [None, output(0)],
        Ranked::Both => [output(0), output(1)],
    }
}

/// The first elements of a sorted value: all that anybody reads of it.
#[derive(Default)]
struct Cut {
    value: Option<ValueId>,
    place: Option<usize>,
    k: Option<usize>,
}

impl Cut {
    /// Nothing of a value that nobody reads; `None` of one that is read otherwise than from its start.
    fn of(graph: &Graph, sorted: Option<ValueId>, axis: usize) -> Option<Self> {
        let Some(sorted) = sorted else { return Some(Self::default()) };
        if graph.outputs().contains(&sorted) {
            return None;
        }
        let reads = |place: &usize| graph.nodes()[*place].inputs.contains(&sorted);
        let mut readers = (0..graph.nodes().len()).filter(reads);
        let Some(place) = readers.next() else { return Some(Self::default()) };
        let Operation::Slice { steps } = &graph.nodes()[place].operation else { return None };
        let cut = graph.nodes()[place].outputs[0];
        let (whole, part) = (&graph.get(sorted).shape, &graph.get(cut).shape);
        let from_the_start = steps.iter().all(|step| *step == Step { start: 0, stride: 1 });
        let rows = (0..whole.len()).all(|other| other == axis || whole[other] == part[other]);
        let only = readers.next().is_none();
        (from_the_start && rows && only).then(|| Self { value: Some(cut), place: Some(place), k: Some(part[axis]) })
    }
}

/// A spectrum that the contract knows: the estimate, and what its power has to be multiplied by.
struct Estimate {
    options: WelchOptions,
    start: usize,
    factor: f64,
}

impl Estimate {
    fn of(meaning: &Meaning) -> Option<(Self, &Energy)> {
        let Content::Energy(energy) = &meaning.content else { return None };
        let (count, n_fft) = (energy.segments.starts.len(), energy.segments.length);
        let whole = energy.first_bin == 0 && energy.weights.len() == n_fft / 2 + 1;
        if !is_row_of_lines(meaning) || energy.part != Part::Both || !whole {
            return None;
        }
        let weight = energy.weights[0];
        let one_sided = energy.weights.iter().enumerate().all(|(bin, have)| {
            let expected = if bin == 0 || bin == n_fft / 2 { weight } else { 2.0 * weight };
            (have - expected).abs() <= EQUAL * expected
        });
        // welch_peaks averages; a negative factor would turn the order round.
        let factor = count as f64 * weight;
        if !(one_sided && factor.is_finite() && factor > 0.0) {
            return None;
        }
        let mut starts = energy.segments.starts.clone();
        starts.sort_unstable();
        let hop = starts.get(1).map_or(n_fft / 2, |second| second - starts[0]);
        if !starts.windows(2).all(|pair| pair[1] - pair[0] == hop) {
            return None;
        }
        let options = WelchOptions { hop, ..WelchOptions::new(n_fft, count) };
        options.validate("welch_peaks").ok()?;
        Some((Self { options, start: starts[0], factor }, energy))
    }
}

/// The graph with `welch_peaks` in the place of a search.
fn replace(graph: &Graph, known: &Interpretation<'_>, search: Search) -> Option<Replacement> {
    let (estimate, energy) = Estimate::of(known.meaning(search.input)?)?;
    if search.axis != 1 || search.k > estimate.options.bins() {
        return None;
    }
    let mut after = graph.clone();
    let mut nodes = Vec::new();
    let source = energy.segments.source;
    let dtype = graph.get(source).dtype;
    let rows = graph.get(source).shape[0];
    let [target, ..] = [search.values, search.positions].into_iter().flatten().collect::<Vec<_>>()[..] else {
        return None;
    };

    let n_fft = estimate.options.n_fft;
    let signal = from_sample(&mut after, &mut nodes, source, estimate.start);
    let window = match energy.segments.window {
        Some(window) => as_line(&mut after, &mut nodes, window, n_fft),
        None => after.constant(ones(n_fft, dtype)?),
    };
    if after.get(window).dtype != dtype {
        return None;
    }
    let bins_dtype = search.positions.map_or(DType::I64, |positions| graph.get(positions).dtype);
    let bins = search.positions.unwrap_or_else(|| after.computed(&[rows, search.k], bins_dtype));
    let power = search.values.unwrap_or_else(|| after.computed(&[rows, search.k], dtype));
    let scale = (estimate.factor - 1.0).abs() > EQUAL;
    let unscaled = if scale { after.computed(&[rows, search.k], dtype) } else { power };
    let operation = welch_peaks_operation(estimate.options, search.k, IntDType::from(bins_dtype));
    nodes.push(Node::new(operation, vec![signal, window], vec![bins, unscaled]));
    if scale {
        nodes.push(Node::new(Operation::MultiplyScalar(estimate.factor), vec![unscaled], vec![power]));
    }
    after.replace(&search.nodes, nodes);
    let obsolete = energy.spectra.clone();
    Some(Replacement { graph: after, target, obsolete, batch: rows as u64 })
}

/// The signal without the samples before `start`.
fn from_sample(graph: &mut Graph, nodes: &mut Vec<Node>, source: ValueId, start: usize) -> ValueId {
    if start == 0 {
        return source;
    }
    let (rows, samples, dtype) = (graph.get(source).shape[0], graph.get(source).shape[1], graph.get(source).dtype);
    let rest = graph.computed(&[rows, samples - start], dtype);
    let steps = vec![Step { start: 0, stride: 1 }, Step { start, stride: 1 }];
    nodes.push(Node::new(Operation::Slice { steps }, vec![source], vec![rest]));
    rest
}

/// A vector with one axis only.
fn as_line(graph: &mut Graph, nodes: &mut Vec<Node>, vector: ValueId, length: usize) -> ValueId {
    if graph.get(vector).shape == [length] {
        return vector;
    }
    let line = graph.computed(&[length], graph.get(vector).dtype);
    nodes.push(Node::new(Operation::Reshape, vec![vector], vec![line]));
    line
}

fn ones(length: usize, dtype: DType) -> Option<TensorData> {
    match dtype {
        DType::F32 => Some(TensorData::ones::<f32, _>([length])),
        DType::F64 => Some(TensorData::ones::<f64, _>([length])),
        _ => None,
    }
}
