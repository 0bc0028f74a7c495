//! Transforms of columns as transforms of rows, for tensors that no kernel takes as they are.

use burn::backend::TensorMetadata;
use burn::backend::tensor::FloatTensor;

use crate::ops::SpectralOps;
use crate::options::FftOptions;

/// As [`SpectralOps::complex_fft_columns`]: the matrices are transposed, and the results transposed back.
pub(super) fn columns_as_rows<B: SpectralOps>(
    re: FloatTensor<B>,
    im: FloatTensor<B>,
    options: FftOptions,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let shape = re.shape();
    let [matrices, points, width] = [shape[0], shape[1], shape[2]];
    let rows = |part| B::float_reshape(B::float_swap_dims(part, 1, 2), [matrices * width, points].into());
    let columns = |part| B::float_swap_dims(B::float_reshape(part, [matrices, width, points].into()), 1, 2);
    let (re, im) = B::complex_fft(rows(re), rows(im), options);
    (columns(re), columns(im))
}
