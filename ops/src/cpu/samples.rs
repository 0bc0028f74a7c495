//! Rows of samples in another type than f32, converted piece by piece in memory that stays in the caches of a core.

use super::runtime::tasks::Tasks;
use super::runtime::with_vector;

/// Samples of a piece, unless a row has more.
const PIECE: usize = 1 << 13;
/// Rows that kernels of short rows compute at once.
const GROUP: usize = 16;

/// Rows of a piece, where rows have `width` samples.
pub fn rows_of_piece(width: usize) -> usize {
    match PIECE / width.max(1) {
        rows @ ..GROUP => rows.max(1),
        rows => rows / GROUP * GROUP,
    }
}

/// Runs `task` on the samples of each piece, `widened` to f32, and on its part of the outputs.
pub fn in_pieces<S: Copy + Sync, O: Send>(
    samples: &[S],
    width: usize,
    widened: impl Fn(S) -> f32 + Send + Sync,
    outputs: impl Iterator<Item = O> + Send,
    task: impl Fn(&[f32], O) + Send + Sync,
) {
    let rows = rows_of_piece(width);
    let pieces = samples.chunks((rows * width).max(1));
    let tasks = Tasks { rows, count: pieces.len() };
    tasks.run(pieces.zip(outputs), |(piece, output)| {
        with_vector(|values| {
            values.extend(piece.iter().map(|&sample| widened(sample)));
            task(values, output);
        });
    });
}
