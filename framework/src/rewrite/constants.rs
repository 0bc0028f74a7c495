//! Evaluation and comparison of constants.

use firefly_ops::Direction;
use firefly_ops::twiddles::exact_twiddle_values;

use super::interpretation::Interpretation;
use crate::graph::{Graph, Operation, Origin, ValueId};

/// Relative tolerance of weights and factors: constants are f32.
pub const TOLERANCE: f64 = 1e-6;
/// Largest difference between an f32 twiddle and the exact one.
const TWIDDLE_ERROR: f64 = 1e-7;

/// Largest number of operations between a vector and the constants it is computed from.
const DEPTH: usize = 16;

/// Whether a factor changes nothing.
pub fn is_one(factor: f64) -> bool {
    (factor - 1.0).abs() <= TOLERANCE
}

/// Elements of a value that varies along at most one axis, if they don't depend on an input.
pub fn vector(found: &Interpretation<'_>, value: ValueId) -> Option<Vec<f64>> {
    evaluate(found, value, DEPTH)
}

fn evaluate(found: &Interpretation<'_>, id: ValueId, depth: usize) -> Option<Vec<f64>> {
    let value = found.graph().get(id);
    if value.elements() != value.shape.iter().copied().max().unwrap_or(1) {
        return None;
    }
    if let Origin::Constant(data) = &value.origin {
        return data.try_to_vec_as::<f64>().ok();
    }
    let node = found.producer(id)?;
    let depth = depth.checked_sub(1)?;
    let input = |index: usize| evaluate(found, *node.inputs.get(index)?, depth);
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
            let shape = &found.graph().get(node.inputs[0]).shape;
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
pub fn matrix(found: &Interpretation<'_>, value: ValueId) -> Option<(Vec<f64>, [usize; 2])> {
    evaluate_matrix(found, value, DEPTH)
}

fn evaluate_matrix(found: &Interpretation<'_>, id: ValueId, depth: usize) -> Option<(Vec<f64>, [usize; 2])> {
    let value = found.graph().get(id);
    let (outer, size) = value.shape.split_last_chunk::<2>()?;
    if let Origin::Constant(data) = &value.origin {
        return (value.elements() == size[0] * size[1]).then_some((data.try_to_vec_as::<f64>().ok()?, *size));
    }
    let node = found.producer(id)?;
    let rank = value.shape.len();
    let (matrix, input_size) = evaluate_matrix(found, *node.inputs.first()?, depth.checked_sub(1)?)?;
    let is_same = match &node.operation {
        Operation::Cast => true,
        Operation::Reshape => input_size == *size && outer.iter().all(|length| *length == 1),
        Operation::Expand => input_size == *size,
        Operation::Permute { axes } if axes[rank - 2..] == [rank - 1, rank - 2] => {
            return Some((transposed(&matrix, input_size), *size));
        }
        Operation::Permute { axes } => axes.is_sorted(),
        _ => false,
    };
    is_same.then_some((matrix, *size))
}

/// The columns of a matrix as rows.
pub fn transposed(matrix: &[f64], [rows, columns]: [usize; 2]) -> Vec<f64> {
    (0..matrix.len()).map(|index| matrix[index % rows * columns + index / rows]).collect()
}

/// Whether a value is a constant that holds the exact twiddles of the forward transform of length `n`.
pub fn are_exact_twiddles(graph: &Graph, value: ValueId, n: usize) -> bool {
    let Origin::Constant(data) = &graph.get(value).origin else { return false };
    let Ok(values) = data.try_to_vec_as::<f64>() else { return false };
    let exact = exact_twiddle_values(n, Direction::Forward);
    let close = |(value, exact): (&f64, &f64)| (value - exact).abs() <= TWIDDLE_ERROR;
    values.len() == exact.len() && values.iter().zip(&exact).all(close)
}
