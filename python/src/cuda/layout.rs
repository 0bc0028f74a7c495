//! Strides of tensors of other libraries.

/// Rows of `row_bytes` contiguous bytes whose beginnings are `pitch_bytes` apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PitchedRows {
    pub rows: usize,
    pub row_bytes: usize,
    pub pitch_bytes: usize,
}

/// The rows of a tensor whose values lie in the order of its indices: contiguous, or with one gap per row, as in a
/// slice of columns. `strides` are in values of `size` bytes. `None` for every other layout, and without values.
pub fn pitched_rows(shape: &[usize], strides: &[i64], size: usize) -> Option<PitchedRows> {
    // Outermost dimensions first; a dimension of one index has no stride that matters.
    let mut dimensions = shape
        .iter()
        .zip(strides)
        .filter(|(length, _)| **length != 1)
        .map(|(&length, &stride)| usize::try_from(stride).ok().map(|stride| (length, stride)))
        .collect::<Option<Vec<_>>>()?;
    if dimensions.iter().any(|&(length, _)| length == 0) {
        return None;
    }
    // The inner dimensions whose values are contiguous are a row.
    let mut row = 1;
    while let Some(&(length, stride)) = dimensions.last()
        && stride == row
    {
        row *= length;
        dimensions.pop();
    }
    let contiguous = PitchedRows { rows: 1, row_bytes: row * size, pitch_bytes: row * size };
    let Some(&(_, pitch)) = dimensions.last() else { return Some(contiguous) };
    // Single values far apart, as in a transposed matrix, are no rows: such copies are slow.
    let is_row = row > 1 || shape.last().is_some_and(|&length| length == 1);
    if !is_row || pitch < row {
        return None;
    }
    // The outer dimensions must step evenly from row to row.
    let mut rows = 1;
    for &(length, stride) in dimensions.iter().rev() {
        if stride != pitch * rows {
            return None;
        }
        rows *= length;
    }
    Some(PitchedRows { rows, row_bytes: row * size, pitch_bytes: pitch * size })
}
