//! Frames of a signal and their sum, the one the transpose of the other.
//!
//! A frame is cut into pieces as long as a hop. The pieces that are the first of their frames follow each other in the
//! signal, and so do those that are the second: slices of the signal, as many as a frame has pieces, whatever the
//! number of frames. So the gradients of both are slices and sums as well.

use burn::tensor::ops::PadMode;
use burn::tensor::{Tensor, s};

/// `count` frames of `length` samples, `hop` apart: `[rows, samples]` → `[rows, count, length]`.
pub(super) fn frames(signal: Tensor<2>, length: usize, hop: usize, count: usize) -> Tensor<3> {
    let [rows, _] = signal.dims();
    let hop = own_hop(hop, count, length);
    let pieces = length.div_ceil(hop);
    let signal = resized(signal, (count + pieces - 1) * hop);
    let piece = |index: usize| signal.clone().narrow(1, index * hop, count * hop).reshape([rows, count, hop]);
    let frames = Tensor::cat((0..pieces).map(piece).collect(), 2);
    if length == pieces * hop { frames } else { frames.narrow(2, 0, length) }
}

/// The sum of frames `hop` apart: `[rows, count, length]` → `[rows, (count − 1) hop + length]`.
pub(super) fn overlap_add(frames: Tensor<3>, hop: usize) -> Tensor<2> {
    let [rows, count, length] = frames.dims();
    let hop = own_hop(hop, count, length);
    let pieces = length.div_ceil(hop);
    let frames = if length == pieces * hop { frames } else { frames.pad([(0, pieces * hop - length)], 0.0) };
    let piece = |index: usize| {
        let piece = frames.clone().narrow(2, index * hop, hop).reshape([rows, count * hop]);
        if pieces == 1 { piece } else { piece.pad([(index * hop, (pieces - 1 - index) * hop)], 0.0) }
    };
    let sum = (1..pieces).fold(piece(0), |sum, index| sum + piece(index));
    resized(sum, (count - 1) * hop + length)
}

/// The hop of `count` frames: that of a single one, which nothing follows, is at most its length.
fn own_hop(hop: usize, count: usize, length: usize) -> usize {
    if count == 1 { hop.min(length) } else { hop }
}

/// Rows with `count` samples more at each end, as Burn's `pad` makes them.
pub(super) fn padded(rows: Tensor<2>, count: usize, mode: PadMode) -> Tensor<2> {
    if mode != PadMode::Reflect {
        return rows.pad([(count, count)], mode);
    }
    let [_, samples] = rows.dims();
    // Slices and no `flip`, which Burn's `pad` reflects with and its servers take for an operation on integers.
    let reversed = |start: usize| rows.clone().slice_dim(1, s![start..start + count;-1]);
    Tensor::cat(vec![reversed(1), rows.clone(), reversed(samples - 1 - count)], 1)
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

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn reflected_rows_and_their_gradients_are_those_of_burns_pad() {
        let device = Device::flex().autodiff();
        for (samples, count) in [(2, 1), (5, 4), (9, 3), (64, 20)] {
            let values = |rows: usize, columns: usize| {
                let values = Tensor::<1, burn::tensor::Int>::arange(0..(rows * columns) as i64, &device).float();
                (values * 0.37).sin().reshape([rows, columns])
            };
            let weights = values(3, samples + 2 * count);
            let of = |padded: fn(Tensor<2>, usize) -> Tensor<2>| {
                let rows = values(3, samples).require_grad();
                let padded = padded(rows.clone(), count);
                let gradients = (padded.clone() * weights.clone()).sum().backward();
                let [padded, gradient] = [padded.inner(), rows.grad(&gradients).unwrap()];
                [padded, gradient].map(|tensor| tensor.into_data().try_to_vec::<f32>().unwrap())
            };
            let [found, gradient] = of(|rows, count| padded(rows, count, PadMode::Reflect));
            let [expected, expected_gradient] = of(|rows, count| rows.pad([(count, count)], PadMode::Reflect));
            assert_eq!(found, expected, "{samples} samples");
            for (found, expected) in gradient.iter().zip(&expected_gradient) {
                assert!((found - expected).abs() < 1e-6, "{samples} samples: {found}, and {expected} by pad");
            }
        }
    }
}
