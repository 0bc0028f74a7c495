//! Frames of a signal and their sum, the one the transpose of the other.
//!
//! A frame is cut into pieces as long as a hop. The pieces that are the first of their frames follow each other in the
//! signal, and so do those that are the second: slices of the signal, as many as a frame has pieces, whatever the
//! number of frames. So the gradients of both are slices and sums as well.

use burn::tensor::ops::PadMode;
use burn::tensor::{Tensor, s};

use crate::api::rows::{reshaped, shape_of};
use crate::error::{ArgumentError, Result, ensure};
use crate::options::SignalPadding;

/// Frames of a signal, `hop` samples apart; samples behind the last frame are left out.
///
/// - `signal`: `[.., samples]`.
/// - returns `[.., frames, length]`, one dimension more, with `(samples − length) / hop + 1` frames.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::fft::frames;
///
/// let signal = Tensor::<1>::from_floats([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &Device::flex());
/// let frames: Tensor<2> = frames(signal, 3, 2)?;
/// frames.into_data().assert_eq(&[[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]].into(), false);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`] for a length or a hop of 0, and for a signal shorter than a frame.
pub fn frames<const D: usize, const E: usize>(signal: Tensor<D>, length: usize, hop: usize) -> Result<Tensor<E>> {
    const { assert!(E == D + 1, "frames have one dimension more than the signal") };
    const NAME: &str = "frames";
    let dims = signal.dims();
    let (rows, samples) = (dims[..D - 1].iter().product(), dims[D - 1]);
    ensure(hop >= 1, NAME, "hop", hop, "at least 1")?;
    let expected = format_args!("from 1 to the {samples} samples of a row");
    ensure((1..=samples).contains(&length), NAME, "length", length, expected)?;
    let count = (samples - length) / hop + 1;
    let shape = shape_of(&dims[..D - 1], &[count, length]);
    Ok(reshaped(row_frames(reshaped(signal, [rows, samples]), length, hop, count), shape))
}

/// Sum of frames, each `hop` samples behind the one before: the transpose of [`frames`].
///
/// - `frames`: `[.., frames, length]`.
/// - returns `[.., samples]`, one dimension less, with `(frames − 1) hop + length` samples.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::fft::overlap_add;
///
/// let frames = Tensor::<2>::from_floats([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]], &Device::flex());
/// let sum: Tensor<1> = overlap_add(frames, 2)?;
/// sum.into_data().assert_eq(&[1.0, 2.0, 6.0, 4.0, 5.0].into(), false);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// # Errors
/// [`ArgumentError`] for a hop of 0, and where there are no frames or samples in them.
pub fn overlap_add<const E: usize, const D: usize>(frames: Tensor<E>, hop: usize) -> Result<Tensor<D>> {
    const { assert!(E == D + 1, "frames have one dimension more than the signal") };
    const NAME: &str = "overlap_add";
    let dims = frames.dims();
    let [count, length] = [dims[E - 2], dims[E - 1]];
    ensure(hop >= 1, NAME, "hop", hop, "at least 1")?;
    ensure(count >= 1 && length >= 1, NAME, "frames", format_args!("{dims:?}"), "at least one frame of one sample")?;
    let samples = (count - 1).checked_mul(hop).and_then(|rest| rest.checked_add(length));
    let too_long = || ArgumentError::new(NAME, "hop", hop, "small enough for samples to be counted");
    let shape = shape_of(&dims[..E - 2], &[samples.ok_or_else(too_long)?]);
    let rows = dims[..E - 2].iter().product();
    Ok(reshaped(row_overlap_add(reshaped(frames, [rows, count, length]), hop), shape))
}

/// `count` frames of `length` samples, `hop` apart: `[rows, samples]` → `[rows, count, length]`.
pub(in crate::api) fn row_frames(signal: Tensor<2>, length: usize, hop: usize, count: usize) -> Tensor<3> {
    let [rows, _] = signal.dims();
    let hop = own_hop(hop, count, length);
    let pieces = length.div_ceil(hop);
    let signal = resized(signal, (count + pieces - 1) * hop);
    let piece = |index: usize| signal.clone().narrow(1, index * hop, count * hop).reshape([rows, count, hop]);
    let frames = Tensor::cat((0..pieces).map(piece).collect(), 2);
    if length == pieces * hop { frames } else { frames.narrow(2, 0, length) }
}

/// The sum of frames `hop` apart: `[rows, count, length]` → `[rows, (count − 1) hop + length]`.
pub(super) fn row_overlap_add(frames: Tensor<3>, hop: usize) -> Tensor<2> {
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

/// Rows with `count` samples more at each end.
pub(super) fn padded(rows: Tensor<2>, count: usize, padding: SignalPadding) -> Tensor<2> {
    if count == 0 {
        return rows;
    }
    let [_, samples] = rows.dims();
    // Slices and no `flip`, which Burn's `pad` reflects with and its servers take for an operation on integers.
    let reversed = |start: usize| rows.clone().slice_dim(1, s![start..start + count;-1]);
    let part = |start| rows.clone().narrow(1, start, count);
    let [before, after] = match padding {
        SignalPadding::Constant(value) => return rows.pad([(count, count)], value),
        SignalPadding::Edge => return rows.pad([(count, count)], PadMode::Edge),
        SignalPadding::Reflect => [reversed(1), reversed(samples - 1 - count)],
        SignalPadding::Circular => [part(samples - count), part(0)],
    };
    Tensor::cat(vec![before, rows, after], 1)
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
    use burn::tensor::{Device, TensorData};

    use super::*;

    #[test]
    fn frames_and_their_sum_are_those_of_the_definition_at_any_hop() {
        let device = Device::flex();
        for (samples, length, hop) in [(1, 1, 1), (7, 3, 1), (7, 3, 2), (20, 8, 8), (20, 4, 7), (9, 9, 4), (64, 20, 6)]
        {
            let values: Vec<f32> = (0..2 * 3 * samples).map(|value| (value as f32 * 0.7).sin()).collect();
            let signal = Tensor::<3>::from_data(TensorData::new(values.clone(), [2, 3, samples]), &device);
            let found: Tensor<4> = frames(signal, length, hop).unwrap();
            let count = (samples - length) / hop + 1;
            assert_eq!(found.dims(), [2, 3, count, length]);
            let sum: Tensor<3> = overlap_add(found.clone(), hop).unwrap();
            let total = (count - 1) * hop + length;
            assert_eq!(sum.dims(), [2, 3, total]);

            let (found, sum) = (vector(found), vector(sum));
            for row in 0..6 {
                let mut expected = vec![0.0; total];
                for frame in 0..count {
                    let of_row = &values[row * samples + frame * hop..][..length];
                    assert_eq!(found[(row * count + frame) * length..][..length], *of_row, "{samples} {length} {hop}");
                    expected[frame * hop..].iter_mut().zip(of_row).for_each(|(sum, value)| *sum += value);
                }
                for (found, expected) in sum[row * total..][..total].iter().zip(&expected) {
                    assert!((found - expected).abs() < 1e-5, "{samples} {length} {hop}: {found}, not {expected}");
                }
            }
        }
    }

    #[test]
    fn frames_without_hop_or_samples_are_refused() {
        let device = Device::flex();
        let signal = || Tensor::<1>::ones([5], &device);
        let error = |length, hop| frames::<1, 2>(signal(), length, hop).unwrap_err().to_string();
        assert!(error(3, 0).contains("`hop` is 0"), "{}", error(3, 0));
        assert!(error(6, 1).contains("from 1 to the 5 samples"), "{}", error(6, 1));
        assert!(error(0, 1).contains("`length` is 0"), "{}", error(0, 1));
        let error = |frames: Tensor<2>, hop| overlap_add::<2, 1>(frames, hop).unwrap_err().to_string();
        assert!(error(Tensor::ones([2, 3], &device), 0).contains("`hop` is 0"));
        assert!(error(Tensor::empty([0, 3], &device), 1).contains("at least one frame"));
    }

    fn vector<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        tensor.into_data().try_to_vec().unwrap()
    }

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
            let [found, gradient] = of(|rows, count| padded(rows, count, SignalPadding::Reflect));
            let [expected, expected_gradient] = of(|rows, count| rows.pad([(count, count)], PadMode::Reflect));
            assert_eq!(found, expected, "{samples} samples");
            for (found, expected) in gradient.iter().zip(&expected_gradient) {
                assert!((found - expected).abs() < 1e-6, "{samples} samples: {found}, and {expected} by pad");
            }
        }
    }
}
