//! Tensors of any rank as rows along the last dimension, and signals of any type of samples as such rows.

use burn::backend::ops::{FloatTensorOps, IntTensorOps};
use burn::backend::{Dispatch, DispatchTensor};
use burn::tensor::kind::Basic;
use burn::tensor::{DType, Float, Int, Shape, Tensor};

/// Kinds of tensors that a signal may be: floats, or integers, which count as the numbers that they are.
///
/// On a CPU (Flex) and on GPUs, kernels of [`welch_psd`](crate::welch_psd), [`welch_peaks`](crate::welch_peaks),
/// [`power_spectrum`](crate::power_spectrum), [`mel`](crate::mel) and [`log_mel`](crate::log_mel) read samples of f16, bf16,
/// i8, u8, i16, u16 and i32 where they are and compute in f32: results have the bits that they have of a signal converted
/// to f32, which is not made. A signal is converted where it is differentiated or captured, and on other devices.
///
/// ```
/// use burn::tensor::{DType, Device, Int, Tensor, TensorData};
/// use firefly_ops::{WelchOptions, welch_peaks};
///
/// // An impulse as a sound card records it.
/// let device = Device::flex();
/// let samples = TensorData::from([1i16 << 14, 0, 0, 0, 0, 0, 0, 0]);
/// let signal = Tensor::<1, Int>::from_data(samples, (&device, DType::I16));
/// let peaks = welch_peaks(signal, Tensor::<1>::ones([8], &device), &WelchOptions::new(8, 1), 4)?;
/// assert_eq!(peaks.bins.into_data().iter::<i64>().collect::<Vec<_>>(), [1, 2, 3, 0]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
pub trait SampleKind: Basic + sealed::Sealed {
    /// Rows of a signal: as they are, or converted.
    #[doc(hidden)]
    fn rows<const D: usize>(signal: Tensor<D, Self>, converted: Option<DType>) -> DispatchTensor;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for burn::tensor::Float {}
    impl Sealed for burn::tensor::Int {}
}

impl SampleKind for Float {
    fn rows<const D: usize>(signal: Tensor<D>, converted: Option<DType>) -> DispatchTensor {
        Leading::of(&signal).0.flatten(match converted {
            Some(dtype) => signal.cast(dtype),
            None => signal,
        })
    }
}

impl SampleKind for Int {
    fn rows<const D: usize>(signal: Tensor<D, Int>, converted: Option<DType>) -> DispatchTensor {
        let leading = Leading::of(&signal).0;
        match converted {
            Some(dtype) => leading.flatten(signal.float().cast(dtype)),
            None => leading.flatten_integers(signal),
        }
    }
}

/// A tensor in a shape whose zeros are lengths: Burn's own `reshape` keeps the length that a dimension has for a 0.
pub(super) fn reshaped<const D: usize, const E: usize>(tensor: Tensor<D>, shape: [usize; E]) -> Tensor<E> {
    Tensor::from_dispatch(Dispatch::float_reshape(tensor.into_dispatch(), Shape::from(shape)))
}

/// The shape of `leading` dimensions, then `last` ones.
pub(super) fn shape_of<const D: usize>(leading: &[usize], last: &[usize]) -> [usize; D] {
    let mut shape = [0; D];
    shape[..leading.len()].copy_from_slice(leading);
    shape[leading.len()..].copy_from_slice(last);
    shape
}

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

/// The least normal number of the type of a tensor.
pub(in crate::api) fn least_normal<const D: usize>(tensor: &Tensor<D>) -> f64 {
    if tensor.dtype() == DType::F64 { f64::MIN_POSITIVE } else { f32::MIN_POSITIVE.into() }
}
