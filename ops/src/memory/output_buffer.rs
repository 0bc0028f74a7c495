//! Memory that an operation writes its result to.

use std::ops::{Deref, DerefMut};

use burn::tensor::{Element, Shape, TensorData};
use burn_std::Bytes;

use super::POOL;
use super::buffer_pool::PooledBuffer;

/// Bytes from which on memory is pooled: an allocator reuses less by itself.
const MIN_POOLED_BYTES: usize = 1 << 20;

/// Values of a result, with unspecified contents until they are written.
pub(crate) enum OutputBuffer<T> {
    Allocated(Vec<T>),
    Pooled { buffer: PooledBuffer, len: usize },
}

impl<T: Element + bytemuck::Pod> OutputBuffer<T> {
    /// `len` values.
    pub fn new(len: usize) -> Self {
        let bytes = len * size_of::<T>();
        if bytes >= MIN_POOLED_BYTES && bytes <= POOL.limit() {
            Self::Pooled { buffer: POOL.take(bytes), len }
        } else {
            Self::Allocated(vec![T::zeroed(); len])
        }
    }

    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        Self::Allocated(vec![T::zeroed(); len])
    }

    /// The values as a tensor's data of that shape.
    pub fn into_data(self, shape: impl Into<Shape>) -> TensorData {
        match self {
            Self::Allocated(values) => TensorData::new(values, shape.into()),
            Self::Pooled { buffer, len } => {
                // SAFETY: the buffer has at least that many bytes, all of them initialised.
                let bytes = unsafe { Bytes::from_controller(Box::new(buffer), len * size_of::<T>()) };
                TensorData::from_bytes(bytes, shape.into(), T::dtype())
            }
        }
    }
}

impl<T: bytemuck::Pod> Deref for OutputBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Allocated(values) => values,
            Self::Pooled { buffer, len } => &bytemuck::cast_slice(&buffer.memory)[..*len],
        }
    }
}

impl<T: bytemuck::Pod> DerefMut for OutputBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Allocated(values) => values,
            Self::Pooled { buffer, len } => &mut bytemuck::cast_slice_mut(&mut buffer.memory)[..*len],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::DEFAULT_LIMIT;
    use super::super::buffer_pool::BufferPool;
    use super::*;

    #[test]
    fn values_become_data_whose_copies_are_apart() {
        for len in [7, MIN_POOLED_BYTES, DEFAULT_LIMIT / size_of::<f32>() + 1] {
            let mut values = OutputBuffer::<f32>::new(len);
            assert_eq!(values.len(), len);
            values.fill(1.0);
            values[len - 1] = 5.0;
            let mut data = values.into_data([len]);
            let copy = data.clone();
            data.as_mut_slice::<f32>().unwrap()[0] = 2.0;
            let (data, copy) = (data.as_slice::<f32>().unwrap(), copy.as_slice::<f32>().unwrap());
            assert_eq!((data[0], copy[0], data[len - 1], data.len()), (2.0, 1.0, 5.0, len));
        }
    }

    #[test]
    fn a_dropped_tensor_returns_its_memory() {
        static OWN: BufferPool = BufferPool::new(1 << 20, Duration::from_secs(3600));
        let values = OutputBuffer::<i64>::Pooled { buffer: OWN.take(80), len: 10 };
        let data = values.into_data([2, 5]);
        assert_eq!(OWN.bytes(), 0);
        drop(data);
        assert_eq!(OWN.bytes(), 80);
    }
}
