//! Evaluation of constant vectors.

use firefly_ops::{Direction, exact_twiddle_values};

use crate::graph::{Graph, Operation, Origin, ValueId};

/// Largest difference between an f32 twiddle and the exact one.
const TWIDDLE_ERROR: f64 = 1e-7;

/// Largest number of operations between a vector and the constants it is computed from.
const DEPTH: usize = 16;

/// Elements of a value that varies along at most one axis, if they don't depend on an input.
pub fn vector(graph: &Graph, producers: &[Option<usize>], value: ValueId) -> Option<Vec<f64>> {
    evaluate(graph, producers, value, DEPTH)
}

fn evaluate(graph: &Graph, producers: &[Option<usize>], id: ValueId, depth: usize) -> Option<Vec<f64>> {
    let value = graph.get(id);
    if value.elements() != value.shape.iter().copied().max().unwrap_or(1) {
        return None;
    }
    if let Origin::Constant(data) = &value.origin {
        return data.try_to_vec_as::<f64>().ok();
    }
    let node = &graph.nodes()[producers[id.index()]?];
    let depth = depth.checked_sub(1)?;
    let input = |index: usize| evaluate(graph, producers, *node.inputs.get(index)?, depth);
    let pairwise = |join: fn(f64, f64) -> f64| {
        let (left, right) = (input(0)?, input(1)?);
        let at = |values: &[f64], index: usize| if values.len() == 1 { values[0] } else { values[index] };
        let fits = |values: &[f64]| values.len() == 1 || values.len() == value.elements();
        let joined = (0..value.elements()).map(|index| join(at(&left, index), at(&right, index)));
        (fits(&left) && fits(&right)).then(|| joined.collect())
    };
    let each = |change: &dyn Fn(f64) -> f64| Some(input(0)?.into_iter().map(change).collect());
    match &node.operation {
        Operation::Fill(fill) => Some(vec![*fill; value.elements()]),
        Operation::Reshape | Operation::Permute { .. } | Operation::Cast => input(0),
        Operation::Expand => match input(0)? {
            single if single.len() == 1 => Some(vec![single[0]; value.elements()]),
            same if same.len() == value.elements() => Some(same),
            _ => None,
        },
        Operation::Concatenate { .. } => {
            (0..node.inputs.len()).map(input).collect::<Option<Vec<_>>>().map(|v| v.concat())
        }
        Operation::Add => pairwise(|a, b| a + b),
        Operation::Subtract => pairwise(|a, b| a - b),
        Operation::Multiply => pairwise(|a, b| a * b),
        Operation::Divide => pairwise(|a, b| a / b),
        Operation::AddScalar(scalar) => each(&|x| x + scalar),
        Operation::SubtractScalar(scalar) => each(&|x| x - scalar),
        Operation::MultiplyScalar(scalar) => each(&|x| x * scalar),
        Operation::DivideScalar(scalar) => each(&|x| x / scalar),
        Operation::Slice { slices } | Operation::AssignSlice { slices } => {
            let shape = &graph.get(node.inputs[0]).shape;
            let axis = (0..shape.len()).max_by_key(|axis| shape[*axis])?;
            let (start, stride) = (slices[axis].start, slices[axis].stride);
            let mut whole = input(0)?;
            if stride != 1 {
                return None;
            }
            if matches!(node.operation, Operation::Slice { .. }) {
                return Some(whole[start..start + value.elements()].to_vec());
            }
            let part = input(1)?;
            whole[start..start + part.len()].copy_from_slice(&part);
            Some(whole)
        }
        _ => None,
    }
}

/// The matrix of the last two axes of a value, row by row, and its size, if it is a constant that is the same along all
/// other axes.
pub fn matrix(graph: &Graph, producers: &[Option<usize>], value: ValueId) -> Option<(Vec<f64>, [usize; 2])> {
    evaluate_matrix(graph, producers, value, DEPTH)
}

fn evaluate_matrix(
    graph: &Graph,
    producers: &[Option<usize>],
    id: ValueId,
    depth: usize,
) -> Option<(Vec<f64>, [usize; 2])> {
    let value = graph.get(id);
    let (outer, size) = value.shape.split_last_chunk::<2>()?;
    if let Origin::Constant(data) = &value.origin {
        return (value.elements() == size[0] * size[1]).then_some((data.try_to_vec_as::<f64>().ok()?, *size));
    }
    let node = &graph.nodes()[producers[id.index()]?];
    let (input, rank) = (*node.inputs.first()?, value.shape.len());
    let (found, found_size) = evaluate_matrix(graph, producers, input, depth.checked_sub(1)?)?;
    match &node.operation {
        Operation::Cast => Some((found, found_size)),
        Operation::Reshape if found_size == *size && outer.iter().all(|length| *length == 1) => {
            Some((found, found_size))
        }
        Operation::Expand if found_size == *size => Some((found, found_size)),
        Operation::Permute { axes } if axes.iter().enumerate().all(|(place, axis)| place == *axis) => {
            Some((found, found_size))
        }
        Operation::Permute { axes } if axes[rank - 2..] == [rank - 1, rank - 2] => {
            let transposed = |index: usize| found[index % size[1] * size[0] + index / size[1]];
            Some(((0..found.len()).map(transposed).collect(), *size))
        }
        _ => None,
    }
}

/// Whether a value is a constant that holds the exact twiddles of the forward transform of length `n`.
pub fn are_exact_twiddles(graph: &Graph, value: ValueId, n: usize) -> bool {
    let Origin::Constant(data) = &graph.get(value).origin else { return false };
    let Ok(values) = data.try_to_vec_as::<f64>() else { return false };
    let exact = exact_twiddle_values(n, Direction::Forward);
    let close = |(value, exact): (&f64, &f64)| (value - exact).abs() <= TWIDDLE_ERROR;
    values.len() == exact.len() && values.iter().zip(&exact).all(close)
}
