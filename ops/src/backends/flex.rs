//! Flex, Burn's CPU backend.

use burn::backend::Flex;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::{DType, Element, IntDType, Shape, TensorData};
use burn_flex::FlexTensor;

use super::host::{AsArray, Host};

/// A contiguous Flex tensor.
pub(super) struct Contiguous(FlexTensor);

impl AsArray for Contiguous {
    fn slice<T: Element + bytemuck::Pod>(&self) -> &[T] {
        self.0.as_slice().expect("the tensor is contiguous and of this type")
    }

    fn unique_slice<T: Element + bytemuck::Pod>(&mut self) -> Option<&mut [T]> {
        let (start, count) = (self.0.layout().start_offset(), self.0.layout().num_elements());
        self.0.try_storage_mut().map(|storage| &mut storage[start..start + count])
    }

    fn shape(&self) -> &Shape {
        self.0.layout().shape()
    }

    fn dtype(&self) -> DType {
        self.0.dtype()
    }
}

impl Host for Flex {
    type Array = Contiguous;

    fn array(tensor: FloatTensor<Self>) -> Contiguous {
        Contiguous(tensor.to_contiguous())
    }

    fn samples(integers: IntTensor<Self>) -> FloatTensor<Self> {
        integers
    }

    fn tensor(array: Contiguous) -> FloatTensor<Self> {
        array.0
    }

    fn float(data: TensorData) -> FloatTensor<Self> {
        FlexTensor::from_data(data)
    }

    fn int(data: TensorData, dtype: IntDType) -> IntTensor<Self> {
        FlexTensor::from_data(data.convert_dtype(dtype.into()))
    }
}
