//! Tensors of any rank as rows along the last dimension.

use burn::backend::ops::{FloatTensorOps, IntTensorOps};
use burn::backend::{Dispatch, DispatchTensor};
use burn::tensor::kind::Basic;
use burn::tensor::{Int, Shape, Tensor};

/// The dimensions that precede the last one: what the results of an operation share with its input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leading<const D: usize> {
    dims: [usize; D],
}

impl<const D: usize> Leading<D> {
    /// The leading dimensions of `tensor`, and the length of its rows.
    pub fn of<K: Basic>(tensor: &Tensor<D, K>) -> (Self, usize) {
        const { assert!(D >= 1, "a scalar has no rows") };
        let dims = tensor.dims();
        (Self { dims }, dims[D - 1])
    }

    /// The number of rows.
    fn rows(&self) -> usize {
        self.dims[..D - 1].iter().product()
    }

    /// `tensor` `[.., length]` as `[rows, length]`, a view where the tensor is contiguous.
    pub fn flatten(&self, tensor: Tensor<D>) -> DispatchTensor {
        let length = tensor.dims()[D - 1];
        let tensor = tensor.into_dispatch();
        // A graph that is being captured records no reshape that changes nothing.
        if D == 2 { tensor } else { Dispatch::float_reshape(tensor, Shape::from([self.rows(), length])) }
    }

    /// Integers `[.., length]` as `[rows, length]`.
    pub fn flatten_integers(&self, tensor: Tensor<D, Int>) -> DispatchTensor {
        let length = tensor.dims()[D - 1];
        let tensor = tensor.into_dispatch();
        if D == 2 { tensor } else { Dispatch::int_reshape(tensor, Shape::from([self.rows(), length])) }
    }

    /// Rows `[rows, length]` as `[.., length]`.
    pub fn unflatten(&self, rows: DispatchTensor, length: usize) -> Tensor<D> {
        Tensor::from_dispatch(if D == 2 { rows } else { Dispatch::float_reshape(rows, self.shape(length)) })
    }

    /// Bin numbers of rows, `[rows, k]`, as `[.., k]`.
    pub fn unflatten_bins(&self, bins: DispatchTensor, k: usize) -> Tensor<D, Int> {
        Tensor::from_dispatch(if D == 2 { bins } else { Dispatch::int_reshape(bins, self.shape(k)) })
    }

    fn shape(&self, length: usize) -> Shape {
        let mut dims = self.dims;
        dims[D - 1] = length;
        Shape::from(dims)
    }
}
