//! The kernel of all operators.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{copy_nonoverlapping, null, null_mut};

use burn::tensor::DType;

use super::abi::{Handle, Owned, Torch, registered};
use crate::call::contiguous_strides;
use crate::error::Result;
use crate::operation::{self, needs};
use crate::{Array, Call, InteropError, host, plans};

/// The most tensors of an operator.
const MAX_TENSORS: usize = 8;

/// Computes the operation that the last argument says from the tensors before it, on the device where they are and on
/// PyTorch's current stream.
///
/// # Safety
/// The dispatcher's: the stack has the arguments of an operator's schema, which the kernel owns, and room for results.
pub(super) unsafe extern "C-unwind" fn kernel(stack: *mut u64, arguments: u64, results: u64) {
    let torch = registered();
    // SAFETY: the dispatcher's.
    let stack = unsafe { std::slice::from_raw_parts_mut(stack, arguments.max(results) as usize) };
    // SAFETY: as above.
    if let Err(error) = unsafe { call(torch, stack, arguments as usize - 1, results as usize) } {
        raise(torch, error.to_string());
    }
}

/// # Safety
/// As [`kernel`].
unsafe fn call(torch: &Torch, stack: &mut [u64], count: usize, results: usize) -> Result<()> {
    let tensors: [Owned; MAX_TENSORS] =
        std::array::from_fn(|input| if input < count { Owned(stack[input] as Handle) } else { Owned::NONE });
    let text = Text(torch, stack[count] as Handle);
    // SAFETY: the text lives as long as `text`.
    let operation = unsafe { text.get() };
    let mut place = Place { torch, kind: 0, index: 0 };
    let mut inputs = [Array { address: 0, shape: &[], strides: &[], dtype: DType::F32 }; MAX_TENSORS];
    for (position, (input, tensor)) in inputs.iter_mut().zip(&tensors[..count]).enumerate() {
        // SAFETY: the tensor lives as long as `tensors`.
        let (array, own) = unsafe { Place::of(torch, tensor, position, operation) }?;
        if position == 0 {
            place = own;
        } else if (own.kind, own.index) != (place.kind, place.index) {
            let expected = "on the first input's device";
            return Err(InteropError::array(operation, position, "on another device", expected));
        }
        *input = array;
    }
    let call = Call { operation, device: place.index.max(0) as u32, inputs: &inputs[..count] };
    // SAFETY: addresses are those of live tensors on the device.
    let mut outputs = unsafe { if place.kind == torch.cpu { place.on_host(&call) } else { place.on_cuda(&call) } }?;
    // Gradients that are not needed are results, too.
    let is_backward = outputs.len() < results;
    let mut computed = outputs.iter_mut();
    for (position, result) in stack[..results].iter_mut().enumerate() {
        let is_there = !is_backward || needs(operation::parse(operation)?, position as u32).unwrap_or(true);
        let output = if is_there { computed.next().map(Owned::take) } else { None };
        *result =
            output.map_or_else(|| place.empty(&[0], &[1], torch.float32).map(|mut tensor| tensor.take()), Ok)? as u64;
    }
    Ok(())
}

/// The device that tensors are on.
#[derive(Clone, Copy)]
struct Place<'a> {
    torch: &'a Torch,
    kind: i32,
    index: i32,
}

impl<'a> Place<'a> {
    /// A tensor as an array, and its device.
    ///
    /// # Safety
    /// The tensor outlives the array.
    unsafe fn of<'t>(torch: &'a Torch, tensor: &Owned, position: usize, operation: &str) -> Result<(Array<'t>, Self)> {
        let (api, handle) = (&torch.api, tensor.0);
        let (mut address, mut rank, mut dtype, mut kind, mut index) = (null_mut(), 0, 0, 0, 0);
        let (mut shape, mut strides): (*const i64, *const i64) = (null(), null());
        // SAFETY: the handle is of a live tensor; out-parameters outlive the calls; shape and strides are the tensor's.
        let (shape, strides) = unsafe {
            (api.data_ptr)(handle, &mut address);
            (api.dim)(handle, &mut rank);
            (api.sizes)(handle, &mut shape);
            (api.strides)(handle, &mut strides);
            (api.dtype)(handle, &mut dtype);
            (api.device_type)(handle, &mut kind);
            (api.device_index)(handle, &mut index);
            let lengths =
                |start: *const i64| if rank == 0 { &[][..] } else { std::slice::from_raw_parts(start, rank as usize) };
            (lengths(shape), lengths(strides))
        };
        let refused = |got, expected| Err(InteropError::array(operation, position, got, expected));
        let dtype = match dtype {
            float if float == torch.float32 => DType::F32,
            float if float == torch.float64 => DType::F64,
            _ => return refused("of another type", "of float32, or float64 on a CPU"),
        };
        if kind != torch.cpu && kind != torch.cuda {
            return refused("on another device", "on a CPU or a CUDA device");
        }
        Ok((Array { address: address as u64, shape, strides, dtype }, Self { torch, kind, index }))
    }

    /// A new tensor.
    fn empty(&self, shape: &[i64], strides: &[i64], dtype: i32) -> Result<Owned> {
        let mut tensor = Owned::NONE;
        let (rank, kind, index) = (shape.len() as i64, self.kind, self.index);
        // SAFETY: shape and strides outlive the call.
        let status = unsafe {
            (self.torch.api.empty_strided)(rank, shape.as_ptr(), strides.as_ptr(), dtype, kind, index, &mut tensor.0)
        };
        if status == 0 { Ok(tensor) } else { Err(InteropError::Missing("PyTorch has no memory for a result".into())) }
    }

    /// A new tensor of a type of ours.
    fn typed(&self, shape: &[i64], strides: &[i64], dtype: DType) -> Result<Owned> {
        let dtype = match dtype {
            DType::F64 => self.torch.float64,
            DType::I32 => self.torch.int32,
            DType::I64 => self.torch.int64,
            _ => self.torch.float32,
        };
        self.empty(shape, strides, dtype)
    }

    fn address(&self, tensor: &Owned) -> *mut c_void {
        let mut address = null_mut();
        // SAFETY: the tensor is live.
        unsafe { (self.torch.api.data_ptr)(tensor.0, &mut address) };
        address
    }

    /// # Safety
    /// As [`host::run`].
    unsafe fn on_host(&self, call: &Call<'_>) -> Result<Vec<Owned>> {
        // SAFETY: the caller's.
        let outputs = unsafe { host::run(call) }?;
        let outputs = outputs.into_iter().map(|output| {
            let shape: Vec<i64> = output.shape().iter().map(|&length| length as i64).collect();
            let strides = contiguous_strides(output.shape().iter().copied());
            let strides: Vec<i64> = strides.into_iter().map(|stride| stride as i64).collect();
            let tensor = self.typed(&shape, &strides, output.dtype())?;
            let bytes = output.as_bytes();
            if !bytes.is_empty() {
                // SAFETY: the new tensor has as many values of the same type.
                unsafe { copy_nonoverlapping(bytes.as_ptr(), self.address(&tensor).cast(), bytes.len()) };
            }
            Ok(tensor)
        });
        outputs.collect()
    }

    /// # Safety
    /// As [`Plan::launch`](crate::plan::Plan::launch).
    unsafe fn on_cuda(&self, call: &Call<'_>) -> Result<Vec<Owned>> {
        let plan = plans::plan(call)?;
        let stream_of = self.torch.api.cuda_stream.ok_or_else(|| InteropError::Missing("libtorch_cuda".into()))?;
        let outputs = plan.outputs.iter().map(|output| self.typed(&output.shape, &output.strides, output.dtype));
        let outputs = outputs.collect::<Result<Vec<_>, _>>()?;
        let mut addresses = [0; 2 * MAX_TENSORS];
        let (of_inputs, of_outputs) = addresses.split_at_mut(MAX_TENSORS);
        for (address, input) in of_inputs.iter_mut().zip(call.inputs) {
            *address = input.address;
        }
        for (address, output) in of_outputs.iter_mut().zip(&outputs) {
            *address = self.address(output) as u64;
        }
        // The caching allocator gives the workspace to what is queued on this stream later.
        let workspace = match plan.workspace as i64 {
            0 => Owned::NONE,
            bytes => self.empty(&[bytes], &[1], self.torch.uint8)?,
        };
        let temporary = if workspace.0.is_null() { 0 } else { self.address(&workspace) as u64 };
        let mut stream = null_mut();
        // SAFETY: the out-parameter outlives the call; addresses are of live tensors of the plan's shapes, which PyTorch
        // keeps for this stream.
        unsafe {
            stream_of(self.index, &mut stream);
            let (inputs, outputs) = (&of_inputs[..call.inputs.len()], &of_outputs[..outputs.len()]);
            plan.launch(inputs, outputs, temporary, stream)?;
        }
        Ok(outputs)
    }
}

/// The argument that says the operation.
struct Text<'a>(&'a Torch, Handle);

impl Text<'_> {
    /// # Safety
    /// The result does not outlive `self`.
    unsafe fn get<'a>(&self) -> &'a str {
        let mut text: *const c_char = null();
        // SAFETY: the handle is of a live string, whose text ends in a zero.
        let text = unsafe {
            (self.0.api.string_text)(self.1, &mut text);
            CStr::from_ptr(text)
        };
        // Text that is not UTF-8 is no operation.
        text.to_str().unwrap_or_default()
    }
}

impl Drop for Text<'_> {
    fn drop(&mut self) {
        // SAFETY: the string is owned.
        unsafe { (self.0.api.delete_string)(self.1) };
    }
}

/// Throws an exception of C++, which becomes `RuntimeError`; destructors of Rust run.
fn raise(torch: &Torch, error: String) -> ! {
    let mut text = [0; 1024];
    let length = error.len().min(text.len() - 1);
    text[..length].copy_from_slice(&error.as_bytes()[..length]);
    drop(error);
    // SAFETY: texts end in zeros, and outlive the exception's making.
    unsafe { (torch.api.check)(false, c"firefly".as_ptr(), c"firefly".as_ptr(), 0, text.as_ptr().cast()) };
    unreachable!("the check has thrown")
}
