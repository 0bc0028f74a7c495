//! Access to tensors in host memory.

use burn::backend::Backend;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::{DType, Element, IntDType, Shape, TensorData};

use crate::cpu::Real;
use crate::memory::OutputBuffer;

/// Access to a backend's tensors in host memory. A backend that provides it has every operation.
pub(in crate::backends) trait Host: Backend {
    /// A tensor's numbers, contiguous and in row-major order.
    type Array: AsArray;

    /// Reads a tensor without copying where its memory allows.
    fn array(tensor: FloatTensor<Self>) -> Self::Array;
    /// A signal of integers as one of floats, converted only if the backend has another kind of tensor for these.
    fn samples(integers: IntTensor<Self>) -> FloatTensor<Self>;
    /// The tensor of an array.
    fn tensor(array: Self::Array) -> FloatTensor<Self>;
    /// A tensor from numbers.
    fn float(data: TensorData) -> FloatTensor<Self>;
    /// A tensor from bins, of type `dtype`.
    fn int(data: TensorData, dtype: IntDType) -> IntTensor<Self>;
}

/// A contiguous tensor of known shape and type.
pub(in crate::backends) trait AsArray {
    fn slice<T: Element + bytemuck::Pod>(&self) -> &[T];
    /// The numbers for writing, if nothing else holds them.
    fn unique_slice<T: Element + bytemuck::Pod>(&mut self) -> Option<&mut [T]>;
    fn shape(&self) -> &Shape;
    fn dtype(&self) -> DType;
}

/// Runs a block with `$T` bound to the float type that `$dtype` names.
macro_rules! with_real {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            DType::F32 => {
                type $T = f32;
                $body
            }
            DType::F64 => {
                type $T = f64;
                $body
            }
            dtype => unreachable!("operations receive f32 or f64, not {dtype:?}"),
        }
    };
}

pub(super) use with_real;

pub(super) trait HostReal: Real + Element + bytemuck::Pod {}
impl<T: Real + Element + bytemuck::Pod> HostReal for T {}

/// Uninitialised values, as many as an input has.
pub(super) fn like<B: Host, T: HostReal>(input: &B::Array) -> OutputBuffer<T> {
    OutputBuffer::new(input.shape().num_elements())
}
