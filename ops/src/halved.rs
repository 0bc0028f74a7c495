//! Sums of neighbouring samples.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, TensorMetadata};
use burn::tensor::{Shape, Slice};

/// The sums of 2^`halvings` neighbouring samples of each row: `[rows, samples]` → `[rows, samples >> halvings]`. Samples
/// are added up in pairs, and the pairs in pairs; those that fill no sum are left out.
pub(crate) fn halved<B: Backend>(signal: FloatTensor<B>, halvings: usize) -> FloatTensor<B> {
    let mut signal = signal;
    for _ in 0..halvings {
        let [rows, samples] = signal.shape().dims();
        let sums = samples / 2;
        if samples % 2 == 1 {
            signal = B::float_slice(signal, &[Slice::from(0..rows), Slice::from(0..2 * sums)]);
        }
        let pairs = B::float_reshape(signal, Shape::from([rows, sums, 2]));
        signal = B::float_reshape(B::float_sum_dim(pairs, 2), Shape::from([rows, sums]));
    }
    signal
}
