//! Operations on arrays in host memory, by the kernels for CPUs.

use std::sync::OnceLock;

use burn::backend::Flex;
use burn::backend::ops::{FloatTensorOps, IntTensorOps};
use burn::backend::tensor::FloatTensor;
use burn::tensor::{DType, Element, Shape, TensorData, read_sync};
use burn_std::{AllocationProperty, Bytes as TensorBytes};
use bytes::Bytes;
use firefly_ops::op::{SpectralOps, TensorList};

use crate::error::caught;
use crate::{Array, Call, InteropError};

/// Function that does work before it returns, on the threads that it chooses.
pub type Runner = fn(&mut (dyn FnMut() + Send));

static RUNNER: OnceLock<Runner> = OnceLock::new();

/// Sets the function that does the work of calls on host memory, at most once per process. Without it they compute on
/// the calling thread and those of rayon, which a forked process lacks.
pub fn set_runner(runner: Runner) {
    let _ = RUNNER.set(runner);
}

/// The outputs of a call on host memory, f32 or f64, which is read where it is if it is contiguous.
///
/// ```
/// use burn::tensor::DType;
/// use firefly_interop::{Array, Call, host};
///
/// let values = [1.0f64, 4.0, 3.0];
/// let address = values.as_ptr() as u64;
/// let inputs = [Array { address, shape: &[1, 3], strides: &[3, 1], dtype: DType::F64 }];
/// // SAFETY: the array is that of `values`.
/// let outputs = unsafe { host::run(&Call { operation: "top_k 2 0", device: 0, inputs: &inputs }) }?;
/// assert_eq!(outputs[0].as_slice::<i64>().ok(), Some(&[1, 2][..]));
/// assert_eq!(outputs[1].as_slice::<f64>().ok(), Some(&[4.0, 3.0][..]));
/// # Ok::<(), firefly_interop::InteropError>(())
/// ```
///
/// # Errors
/// As [`Call::checked`]; [`InteropError::Array`] for another type; [`InteropError::Device`] if the operation panics.
///
/// # Safety
/// Addresses are of aligned host memory that holds the arrays, lives until the outputs are dropped, and is not written to
/// before this returns.
pub unsafe fn run(call: &Call<'_>) -> Result<Vec<TensorData>, InteropError> {
    let operation = call.checked()?;
    let inputs = call.inputs.iter().enumerate().map(|(input, array)| match array.dtype {
        // SAFETY: the caller's.
        DType::F32 => Ok(unsafe { tensor::<f32>(array) }),
        // SAFETY: the caller's.
        DType::F64 => Ok(unsafe { tensor::<f64>(array) }),
        dtype => Err(InteropError::array(call.operation, input, format!("of {dtype:?}"), "of float32 or float64")),
    });
    let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
    let compute = |inputs| {
        let TensorList { ints, floats } = Flex::apply(operation, TensorList::of_floats(inputs));
        let ints = ints.into_iter().map(|tensor| read_sync(Flex::int_into_data(tensor)));
        ints.chain(floats.into_iter().map(|tensor| read_sync(Flex::float_into_data(tensor)))).collect::<Vec<_>>()
    };
    let (mut inputs, mut outputs) = (Some(inputs), Err("nothing was computed".into()));
    let mut work = || {
        if let Some(inputs) = inputs.take() {
            outputs = caught(|| compute(inputs));
        }
    };
    match RUNNER.get() {
        Some(runner) => runner(&mut work),
        None => work(),
    }
    let failed = |reason| InteropError::Device { operation: call.operation.into(), reason };
    let outputs = outputs.map_err(&failed)?;
    outputs.into_iter().map(|output| output.map_err(|error| failed(format!("{error:?}")))).collect()
}

/// Memory of the caller's, for as long as a call takes.
struct Borrowed {
    start: *const u8,
    bytes: usize,
}

// SAFETY: the memory is only read, and nothing writes to it meanwhile.
unsafe impl Send for Borrowed {}

impl AsRef<[u8]> for Borrowed {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the caller of `run` keeps this memory as long as any tensor or output refers to it.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }
}

/// A tensor of an array: on its memory, or a copy where that is not contiguous.
///
/// # Safety
/// As [`run`].
unsafe fn tensor<T: Element>(array: &Array<'_>) -> FloatTensor<Flex> {
    let shape = Shape::from(array.shape.iter().map(|&length| length as usize));
    // No values have no address that is aligned.
    let data = if array.is_contiguous() && !array.is_empty() {
        let memory = Borrowed { start: array.address as *const u8, bytes: array.len() * size_of::<T>() };
        let bytes = TensorBytes::from_shared(Bytes::from_owner(memory), AllocationProperty::Other);
        TensorData::from_bytes(bytes, shape, T::dtype())
    } else {
        // SAFETY: the caller's.
        TensorData::new(unsafe { gathered::<T>(array) }, shape)
    };
    Flex::float_from_data(data, &Default::default())
}

/// The values of an array in the order of their indices.
///
/// # Safety
/// As [`run`].
unsafe fn gathered<T: Element>(array: &Array<'_>) -> Vec<T> {
    let (start, rank) = (array.address as *const T, array.shape.len());
    let (mut values, mut index) = (Vec::with_capacity(array.len()), vec![0; rank]);
    for _ in 0..array.len() {
        let offset: i64 = index.iter().zip(array.strides).map(|(index, stride)| index * stride).sum();
        // SAFETY: the index is within the shape.
        values.push(unsafe { *start.offset(offset as isize) });
        for dim in (0..rank).rev() {
            index[dim] += 1;
            if index[dim] < array.shape[dim] {
                break;
            }
            index[dim] = 0;
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn largest(values: &[f32], shape: &[i64], strides: &[i64]) -> Vec<f32> {
        let inputs = [Array { address: values.as_ptr() as u64, shape, strides, dtype: DType::F32 }];
        // SAFETY: the array is within the values.
        let outputs = unsafe { run(&Call { operation: "top_k 1 0", device: 0, inputs: &inputs }) };
        outputs.expect("shapes and options fit")[1].iter::<f32>().collect()
    }

    #[test]
    fn strided_arrays_are_read_by_their_strides() {
        let values = [1.0, 9.0, 2.0, 8.0, 3.0, 7.0];
        assert_eq!(largest(&values, &[2, 3], &[3, 1]), [9.0, 8.0]);
        // Columns, and rows that share their values.
        assert_eq!(largest(&values, &[2, 3], &[1, 2]), [3.0, 9.0]);
        assert_eq!(largest(&values, &[2, 3], &[0, 1]), [9.0, 9.0]);
    }

    #[test]
    fn work_is_done_by_the_runner() {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        set_runner(|work| {
            CALLS.fetch_add(1, Ordering::Relaxed);
            work();
        });
        assert_eq!(largest(&[1.0, 9.0, 2.0], &[1, 3], &[3, 1]), [9.0]);
        assert!(CALLS.load(Ordering::Relaxed) > 0);
    }

    #[test]
    fn no_rows_give_no_rows() {
        assert!(largest(&[], &[0, 3], &[3, 1]).is_empty());
    }

    #[test]
    fn arguments_that_do_not_fit_are_errors() {
        let inputs = [Array { address: 0, shape: &[2, 3], strides: &[3, 1], dtype: DType::F32 }];
        // SAFETY: nothing is read.
        let error = unsafe { run(&Call { operation: "top_k 4 0", device: 0, inputs: &inputs }) };
        assert!(matches!(error, Err(InteropError::Argument(error)) if error.argument == "k"));
        let inputs = [Array { dtype: DType::F16, ..inputs[0] }];
        // SAFETY: nothing is read.
        let error = unsafe { run(&Call { operation: "top_k 2 0", device: 0, inputs: &inputs }) };
        assert!(matches!(error, Err(InteropError::Array { input: 0, .. })));
    }
}
