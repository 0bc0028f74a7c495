//! Frames of a signal and their sum, the one the transpose of the other.
//!
//! A frame is cut into pieces as long as a hop. The pieces that are the first of their frames follow each other in the
//! signal, and so do those that are the second: slices of the signal, as many as a frame has pieces, whatever the
//! number of frames. So the gradients of both are slices and sums as well.

use burn::tensor::Tensor;

/// `count` frames of `length` samples, `hop` apart: `[rows, samples]` → `[rows, count, length]`.
pub(super) fn frames(signal: Tensor<2>, length: usize, hop: usize, count: usize) -> Tensor<3> {
    let [rows, _] = signal.dims();
    let pieces = length.div_ceil(hop);
    let signal = resized(signal, (count + pieces - 1) * hop);
    let piece = |index: usize| signal.clone().narrow(1, index * hop, count * hop).reshape([rows, count, hop]);
    let frames = Tensor::cat((0..pieces).map(piece).collect(), 2);
    if length == pieces * hop { frames } else { frames.narrow(2, 0, length) }
}

/// The sum of frames `hop` apart: `[rows, count, length]` → `[rows, (count − 1) hop + length]`.
pub(super) fn overlap_add(frames: Tensor<3>, hop: usize) -> Tensor<2> {
    let [rows, count, length] = frames.dims();
    let pieces = length.div_ceil(hop);
    let frames = if length == pieces * hop { frames } else { frames.pad([(0, pieces * hop - length)], 0.0) };
    let piece = |index: usize| {
        let piece = frames.clone().narrow(2, index * hop, hop).reshape([rows, count * hop]);
        if pieces == 1 { piece } else { piece.pad([(index * hop, (pieces - 1 - index) * hop)], 0.0) }
    };
    let sum = (1..pieces).fold(piece(0), |sum, index| sum + piece(index));
    resized(sum, (count - 1) * hop + length)
}

/// Rows cut or padded with zeros to `length` samples.
pub(super) fn resized(rows: Tensor<2>, length: usize) -> Tensor<2> {
    let [_, samples] = rows.dims();
    match samples {
        _ if samples > length => rows.narrow(1, 0, length),
        _ if samples < length => rows.pad([(0, length - samples)], 0.0),
        _ => rows,
    }
}
