//! Tensors whose rank and kind are known at run time.

use burn::backend::ops::{FloatTensorOps, IntTensorOps};
use burn::backend::{Dispatch, DispatchTensor, TensorMetadata};
use burn::tensor::{DType, Device, Int, Shape, Tensor, TensorData};
use firefly_ops::ArgumentError;

/// Float or integer tensor of any rank, the common type of the inputs and outputs of all models.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_framework::graph::AnyTensor;
///
/// let tensor = AnyTensor::from(Tensor::<2>::ones([2, 3], &Device::flex()));
/// assert_eq!(tensor.dims(), [2, 3]);
/// assert!(tensor.clone().try_int::<2>("a model", "tokens").is_err());
/// assert_eq!(tensor.try_float::<2>("a model", "signal")?.dims(), [2, 3]);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
#[derive(Debug, Clone)]
pub struct AnyTensor(pub(super) DispatchTensor);

impl<const D: usize> From<Tensor<D>> for AnyTensor {
    fn from(tensor: Tensor<D>) -> Self {
        Self(tensor.into_dispatch())
    }
}

impl<const D: usize> From<Tensor<D, Int>> for AnyTensor {
    fn from(tensor: Tensor<D, Int>) -> Self {
        Self(tensor.into_dispatch())
    }
}

impl AnyTensor {
    /// Data of floats or integers as a tensor on `device`, in their own type.
    ///
    /// ```
    /// use burn::tensor::{Device, TensorData};
    /// use firefly_framework::graph::AnyTensor;
    ///
    /// let data = TensorData::new(vec![1.0f64, 2.0, 3.0], [3, 1]);
    /// assert_eq!(AnyTensor::from_data(data.clone(), &Device::flex()).into_data(), data);
    /// ```
    pub fn from_data(data: TensorData, device: &Device) -> Self {
        let (bytes, shape, dtype) = data.into_parts();
        let flat = TensorData::from_bytes(bytes, [shape.num_elements()], dtype);
        let tensor = if dtype.is_float() {
            Self::from(Tensor::<1>::from_data(flat, (device, dtype)))
        } else {
            Self::from(Tensor::<1, Int>::from_data(flat, (device, dtype)))
        };
        tensor.in_shape(shape)
    }

    /// The values in host memory.
    ///
    /// # Panics
    /// If the device fails.
    pub fn into_data(self) -> TensorData {
        let (shape, is_float) = (self.0.shape(), self.is_float());
        let flat = self.in_shape(Shape::from([shape.num_elements()])).0;
        let data = if is_float {
            Tensor::<1>::from_dispatch(flat).into_data()
        } else {
            Tensor::<1, Int>::from_dispatch(flat).into_data()
        };
        let (bytes, _, dtype) = data.into_parts();
        TensorData::from_bytes(bytes, shape, dtype)
    }

    /// Lengths of the dimensions.
    pub fn dims(&self) -> Vec<usize> {
        self.0.shape().to_vec()
    }

    /// Type of the elements.
    pub fn dtype(&self) -> DType {
        self.0.dtype()
    }

    /// Whether the elements are floats.
    pub fn is_float(&self) -> bool {
        self.dtype().is_float()
    }

    /// The tensor as floats of rank `D`: `argument` of `operation`.
    ///
    /// # Errors
    /// [`ArgumentError`] for a tensor of another rank or kind.
    pub fn try_float<const D: usize>(
        self,
        operation: &'static str,
        argument: &'static str,
    ) -> Result<Tensor<D>, ArgumentError> {
        if !self.is_float() || self.dims().len() != D {
            return Err(self.refused(operation, argument, format!("floats of {D} dimensions")));
        }
        Ok(Tensor::from_dispatch(self.0))
    }

    /// The tensor as integers of rank `D`: `argument` of `operation`.
    ///
    /// # Errors
    /// As [`try_float`](Self::try_float).
    pub fn try_int<const D: usize>(
        self,
        operation: &'static str,
        argument: &'static str,
    ) -> Result<Tensor<D, Int>, ArgumentError> {
        if !is_integer(self.dtype()) || self.dims().len() != D {
            return Err(self.refused(operation, argument, format!("integers of {D} dimensions")));
        }
        Ok(Tensor::from_dispatch(self.0))
    }

    /// The elements in order, in dimensions of other lengths.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_framework::graph::AnyTensor;
    ///
    /// let tensor = AnyTensor::from(Tensor::<2>::ones([2, 3], &Device::flex()));
    /// assert_eq!(tensor.try_reshape("a model", "signal", [6, 1, 1])?.dims(), [6, 1, 1]);
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    ///
    /// # Errors
    /// [`ArgumentError`] if that is another number of elements.
    pub fn try_reshape(
        self,
        operation: &'static str,
        argument: &'static str,
        shape: impl Into<Shape>,
    ) -> Result<Self, ArgumentError> {
        let shape = shape.into();
        if shape.num_elements() != self.0.shape().num_elements() {
            return Err(self.refused(operation, argument, format!("{:?}", shape.to_vec())));
        }
        Ok(self.in_shape(shape))
    }

    /// All elements in order, of a tensor of floats.
    ///
    /// # Errors
    /// [`ArgumentError`] for a tensor of another kind.
    pub fn try_flatten(self, operation: &'static str, argument: &'static str) -> Result<Tensor<1>, ArgumentError> {
        if !self.is_float() {
            return Err(self.refused(operation, argument, "floats".into()));
        }
        let flat = Shape::from([self.0.shape().num_elements()]);
        Ok(Tensor::from_dispatch(self.in_shape(flat).0))
    }

    /// The elements in a shape of as many.
    fn in_shape(self, shape: Shape) -> Self {
        Self(if self.is_float() {
            Dispatch::float_reshape(self.0, shape)
        } else {
            Dispatch::int_reshape(self.0, shape)
        })
    }

    fn refused(&self, operation: &'static str, argument: &'static str, expected: String) -> ArgumentError {
        ArgumentError::new(operation, argument, format!("{:?} of {:?}", self.dims(), self.dtype()), expected)
    }
}

/// Whether a type is one of integers.
pub(super) fn is_integer(dtype: DType) -> bool {
    dtype.is_int() || dtype.is_uint()
}
