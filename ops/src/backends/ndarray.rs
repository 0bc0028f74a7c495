//! NdArray, Burn's older CPU backend.
#![expect(deprecated, reason = "Burn retires the backend after 0.22; until then its users are served")]

use burn::backend::NdArray;
use burn::backend::ops::{FloatTensorOps, IntTensorOps};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::{DType, Element, FloatDType, IntDType, Shape, TensorData, try_read_sync};

use super::host::{AsArray, Host};

impl AsArray for TensorData {
    fn slice<T: Element + bytemuck::Pod>(&self) -> &[T] {
        self.as_slice().expect("the tensor is of this type")
    }

    /// The data are a copy, or the tensor's own if nothing else holds it.
    fn unique_slice<T: Element + bytemuck::Pod>(&mut self) -> Option<&mut [T]> {
        self.as_mut_slice().ok()
    }

    fn shape(&self) -> &Shape {
        TensorData::shape(self)
    }

    fn dtype(&self) -> DType {
        TensorData::dtype(self)
    }
}

impl Host for NdArray {
    type Array = TensorData;

    fn array(tensor: FloatTensor<Self>) -> TensorData {
        let data = try_read_sync(Self::float_into_data(tensor)).expect("host memory is read at once");
        data.expect("host memory can be read")
    }

    fn samples(integers: IntTensor<Self>) -> FloatTensor<Self> {
        Self::int_into_float(integers, FloatDType::F32)
    }

    fn tensor(array: TensorData) -> FloatTensor<Self> {
        Self::float(array)
    }

    fn float(data: TensorData) -> FloatTensor<Self> {
        Self::float_from_data(data, &Default::default())
    }

    fn int(data: TensorData, dtype: IntDType) -> IntTensor<Self> {
        Self::int_from_data(data.convert_dtype(dtype.into()), &Default::default())
    }
}
