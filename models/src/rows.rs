//! Tensors of any rank as rows along the last dimension.

use burn::tensor::Tensor;

/// The dimensions before the last one, which the results of a model share with its input.
#[derive(Debug, Clone, Copy)]
pub struct Leading<const D: usize> {
    dims: [usize; D],
}

impl<const D: usize> Leading<D> {
    /// The leading dimensions of a tensor of shape `dims`.
    pub fn of(dims: [usize; D]) -> Self {
        const { assert!(D >= 1, "a scalar has no rows") };
        Self { dims }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.dims[..D - 1].iter().product()
    }

    /// `tensor` `[.., length]` as `[rows, length]`.
    pub fn flatten(&self, tensor: Tensor<D>) -> Tensor<2> {
        let length = tensor.dims()[D - 1];
        // A graph that is being captured records no reshape that changes nothing.
        if D == 2 { Tensor::from_dispatch(tensor.into_dispatch()) } else { tensor.reshape([self.rows(), length]) }
    }

    /// Rows `[rows, length]` as `[.., length]`.
    pub fn unflatten(&self, rows: Tensor<2>) -> Tensor<D> {
        let [_, length] = rows.dims();
        let mut dims = self.dims;
        dims[D - 1] = length;
        if D == 2 { Tensor::from_dispatch(rows.into_dispatch()) } else { rows.reshape(dims) }
    }
}
