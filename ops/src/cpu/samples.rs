//! Rows of samples in another type than f32, converted piece by piece in memory that stays in the caches of a core.

use burn::tensor::{bf16, f16};

use super::runtime::scratch::with_vector;
use super::runtime::tasks::Tasks;

/// Samples of a piece, unless a row has more.
const PIECE: usize = 1 << 13;
/// Rows that kernels of short rows compute at once.
const GROUP: usize = 16;

/// Samples of rows, one row after the other.
#[derive(Debug, Clone, Copy)]
pub enum NarrowSamples<'a> {
    F16(&'a [f16]),
    BF16(&'a [bf16]),
    I32(&'a [i32]),
    I16(&'a [i16]),
    U16(&'a [u16]),
    I8(&'a [i8]),
    U8(&'a [u8]),
}

impl NarrowSamples<'_> {
    /// Rows of a piece, where rows have `width` samples.
    pub fn rows_of_piece(width: usize) -> usize {
        match PIECE / width.max(1) {
            rows @ ..GROUP => rows.max(1),
            rows => rows / GROUP * GROUP,
        }
    }

    /// Runs `task` on the samples of each piece as f32, and on its part of the outputs.
    pub fn in_pieces<O: Send>(
        self,
        width: usize,
        outputs: impl Iterator<Item = O> + Send,
        task: impl Fn(&[f32], O) + Send + Sync,
    ) {
        match self {
            Self::F16(samples) => in_pieces(samples, width, f16::to_f32, outputs, task),
            Self::BF16(samples) => in_pieces(samples, width, bf16::to_f32, outputs, task),
            Self::I32(samples) => in_pieces(samples, width, |sample| sample as f32, outputs, task),
            Self::I16(samples) => in_pieces(samples, width, f32::from, outputs, task),
            Self::U16(samples) => in_pieces(samples, width, f32::from, outputs, task),
            Self::I8(samples) => in_pieces(samples, width, f32::from, outputs, task),
            Self::U8(samples) => in_pieces(samples, width, f32::from, outputs, task),
        }
    }
}

fn in_pieces<S: Copy + Sync, O: Send>(
    samples: &[S],
    width: usize,
    widened: impl Fn(S) -> f32 + Send + Sync,
    outputs: impl Iterator<Item = O> + Send,
    task: impl Fn(&[f32], O) + Send + Sync,
) {
    let rows = NarrowSamples::rows_of_piece(width);
    let pieces = samples.chunks((rows * width).max(1));
    let tasks = Tasks { rows, count: pieces.len() };
    tasks.run(pieces.zip(outputs), |(piece, output)| {
        with_vector(|values| {
            values.extend(piece.iter().map(|&sample| widened(sample)));
            task(values, output);
        });
    });
}
