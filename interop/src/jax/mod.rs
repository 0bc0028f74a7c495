//! Handlers of XLA's foreign function interface, by which JAX applies operations to its own buffers.
//!
//! There is a handler per platform for all operations, since the attribute `operation` is the operation as
//! [text](crate::operation). Arguments are its inputs and results its outputs, in the order of the table, all of them
//! contiguous. On a CPU the kernels for CPUs read the arguments where they are. On a CUDA device a [plan](crate::plan)
//! is launched on XLA's stream, with temporary memory from XLA that is given back once everything is queued. A CUDA graph
//! would keep its address: handlers do not say that they may be captured in one, and XLA calls them outside.
//!
//! XLA's headers are not needed to build them: their structures are declared here, and the version is checked.

mod abi;

use std::ffi::{CString, c_void};
use std::ptr::{copy_nonoverlapping, null_mut};
use std::sync::atomic::{AtomicI32, Ordering};

use burn::tensor::DType;

use self::abi::{Api, Buffer, CallFrame, Function, List, Text, XlaError};
use crate::call::contiguous_strides;
use crate::error::{Result, caught};
use crate::plan::WORKSPACE_ALIGNMENT;
use crate::{Array, Call, InteropError, host, plans};

/// Bytes that XLA aligns temporary memory to; it refuses to align it to more.
const XLA_ALIGNMENT: u64 = 16;

/// Minor version that handlers report. XLA refuses a later one than its own.
static MINOR: AtomicI32 = AtomicI32::new(abi::MINOR);

/// Tells the minor version of XLA's interface, before handlers are registered.
#[unsafe(no_mangle)]
pub extern "C" fn firefly_jax_minor(minor: i32) {
    MINOR.store(minor.min(abi::MINOR), Ordering::Relaxed);
}

/// The handler for CPUs.
///
/// # Safety
/// XLA's: the frame is that of a call, or asks for the handler's properties.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firefly_jax_cpu(frame: *mut CallFrame) -> *mut XlaError {
    // SAFETY: the caller's.
    unsafe { answer(&*frame, on_host) }
}

/// The handler for CUDA devices.
///
/// # Safety
/// As [`firefly_jax_cpu`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firefly_jax_cuda(frame: *mut CallFrame) -> *mut XlaError {
    // SAFETY: the caller's.
    unsafe { answer(&*frame, on_cuda) }
}

/// Function that computes a call's outputs.
type Compute = unsafe fn(Context<'_>, Call<'_>, &[&Buffer]) -> Result<()>;

/// # Safety
/// As [`firefly_jax_cpu`].
unsafe fn answer(frame: &CallFrame, compute: Compute) -> *mut XlaError {
    // SAFETY: XLA's functions and the frame's fields outlive the call; an extension of this kind has the field.
    let api = unsafe {
        if !frame.extension.is_null() && (*frame.extension).kind == abi::EXTENSION_METADATA {
            let metadata = &mut *(*frame.extension).metadata;
            (metadata.version.numbers, metadata.traits) = ([0, MINOR.load(Ordering::Relaxed)], 0);
            return null_mut();
        }
        frame.api.as_ref()
    };
    let Some(api) = api.filter(|_| frame.stage == abi::STAGE_EXECUTE) else { return null_mut() };
    // SAFETY: the caller's.
    let computed = caught(|| unsafe { call(frame, api, compute) });
    let panicked = |reason| InteropError::Device { operation: "firefly".into(), reason };
    computed.map_err(panicked).and_then(|computed| computed).map_or_else(
        |error| api.error(&CString::new(error.to_string().replace('\0', " ")).unwrap_or_default()),
        |()| null_mut(),
    )
}

/// # Safety
/// As [`firefly_jax_cpu`].
unsafe fn call(frame: &CallFrame, api: &Api, compute: Compute) -> Result<()> {
    let [major, minor] = api.version.numbers;
    if major != 0 {
        let got =
            format!("XLA's foreign function interface is of version {major}.{minor}, but must be of 0.1 or later");
        return Err(InteropError::Missing(got));
    }
    // SAFETY: the caller's.
    let operation = unsafe { operation(frame) }.ok_or_else(|| InteropError::Operation(String::new()))?;
    // SAFETY: there are as many values, and buffers are their only kind.
    let buffers =
        |list: &List| (0..list.count as usize).map(|at| unsafe { &**list.values.add(at) }).collect::<Vec<_>>();
    let (arguments, results): (Vec<&Buffer>, Vec<&Buffer>) = (buffers(&frame.arguments), buffers(&frame.results));
    let layouts = arguments.iter().map(|buffer| {
        let shape = buffer.shape();
        let strides = contiguous_strides(shape.iter().map(|&length| length as usize));
        (shape, strides.into_iter().map(|stride| stride as i64).collect())
    });
    let layouts: Vec<(Vec<i64>, Vec<i64>)> = layouts.collect();
    let arrays = arguments.iter().zip(&layouts).enumerate().map(|(input, (buffer, (shape, strides)))| {
        let dtype = buffer
            .dtype()
            .ok_or_else(|| InteropError::array(operation, input, "of another type", "of float32 or float64"))?;
        Ok(Array { address: buffer.data as u64, shape, strides, dtype })
    });
    let inputs = arrays.collect::<Result<Vec<_>>>()?;
    let context = Context { api, context: frame.context, operation };
    // SAFETY: the caller's.
    unsafe { compute(context, Call { operation, device: 0, inputs: &inputs }, &results) }
}

/// The attribute that says the operation.
///
/// # Safety
/// As [`firefly_jax_cpu`].
unsafe fn operation(frame: &CallFrame) -> Option<&str> {
    let attributes = &frame.attributes;
    (0..attributes.count as usize).find_map(|at| {
        // SAFETY: there are as many names, kinds and values as attributes; one of this kind is a text.
        unsafe {
            let is_operation = (**attributes.names.add(at)).get() == Some("operation");
            let is_text = *attributes.kinds.add(at) == abi::STRING;
            if is_operation && is_text { (*(*attributes.values.add(at)).cast::<Text>()).get() } else { None }
        }
    })
}

/// The call as XLA knows it.
#[derive(Clone, Copy)]
struct Context<'a> {
    api: &'a Api,
    context: *mut c_void,
    operation: &'a str,
}

impl Context<'_> {
    fn failed(self, reason: String) -> InteropError {
        InteropError::Device { operation: self.operation.into(), reason }
    }

    /// The fields behind the context of the arguments of a function of XLA, with those that it has written.
    ///
    /// # Safety
    /// As [`Api::call`].
    unsafe fn ask(self, function: Function, [first, second, third]: [u64; 3]) -> Result<[u64; 3]> {
        // SAFETY: the caller's. A function with fewer fields leaves the others.
        let found = unsafe { self.api.call(function, [self.context as u64, first, second, third]) };
        found.map(|[_, first, second, third]| [first, second, third]).map_err(|reason| self.failed(reason))
    }

    /// Refuses results of other shapes or types than the operation's outputs have.
    fn check<'s>(self, results: &[&Buffer], outputs: impl ExactSizeIterator<Item = (&'s [i64], DType)>) -> Result<()> {
        let count = outputs.len();
        let fit = results
            .iter()
            .zip(outputs)
            .all(|(result, (shape, dtype))| result.shape() == shape && result.dtype() == Some(dtype));
        if fit && count == results.len() {
            return Ok(());
        }
        let given: Vec<_> = results.iter().map(|result| (result.shape(), result.dtype())).collect();
        Err(self.failed(format!("{count} outputs of other shapes or types than the results {given:?}")))
    }
}

/// # Safety
/// As [`host::run`].
unsafe fn on_host(context: Context<'_>, call: Call<'_>, results: &[&Buffer]) -> Result<()> {
    // SAFETY: the caller's.
    let outputs = unsafe { host::run(&call) }?;
    let shapes: Vec<Vec<i64>> =
        outputs.iter().map(|output| output.shape().iter().map(|&length| length as i64).collect()).collect();
    context.check(results, shapes.iter().map(Vec::as_slice).zip(outputs.iter().map(|output| output.dtype())))?;
    for (result, output) in results.iter().zip(&outputs) {
        let bytes = output.as_bytes();
        if !bytes.is_empty() {
            // SAFETY: the result has as many values of the same type.
            unsafe { copy_nonoverlapping(bytes.as_ptr(), result.data.cast(), bytes.len()) };
        }
    }
    Ok(())
}

/// # Safety
/// As [`Plan::launch`](crate::plan::Plan::launch).
unsafe fn on_cuda(context: Context<'_>, call: Call<'_>, results: &[&Buffer]) -> Result<()> {
    let api = context.api;
    if !api.is_complete() {
        return Err(InteropError::Missing(format!("{}: on CUDA devices jaxlib must be newer", call.operation)));
    }
    // SAFETY: the functions have these fields.
    let [[device, ..], [stream, ..]] =
        unsafe { [context.ask(api.device_ordinal_get, [0; 3])?, context.ask(api.stream_get, [0; 3])?] };
    let plan = plans::plan(&Call { device: device as u32, ..call })?;
    context.check(results, plan.outputs.iter().map(|output| (output.shape.as_slice(), output.dtype)))?;
    let inputs: Vec<_> = call.inputs.iter().map(|input| input.address).collect();
    let outputs: Vec<_> = results.iter().map(|result| result.data as u64).collect();
    let bytes = if plan.workspace == 0 { 0 } else { plan.workspace + WORKSPACE_ALIGNMENT };
    // SAFETY: the functions have these fields; addresses are those of the call's arrays; XLA gives the temporary memory
    // to what it queues later.
    unsafe {
        let [.., memory] = if bytes == 0 { [0; 3] } else { context.ask(api.allocate, [bytes, XLA_ALIGNMENT, 0])? };
        let workspace = memory.next_multiple_of(WORKSPACE_ALIGNMENT);
        let launched = plan.launch(&inputs, &outputs, workspace, stream as *mut c_void);
        if bytes > 0 {
            context.ask(api.free, [bytes, memory, 0])?;
        }
        launched
    }
}
