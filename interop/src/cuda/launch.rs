//! Replay of a plan by the driver.

use std::ffi::c_void;
use std::ptr::null_mut;

use cudarc::driver::sys;

use super::checked;
use crate::InteropError;
use crate::call::ALIGNMENT;
use crate::error::Result;
use crate::plan::{MAX_ARGUMENTS, Plan, Slot};

/// Addresses that need no allocation.
const FEW_ADDRESSES: usize = 64;

impl Plan {
    /// Launches everything on a stream, and returns without waiting.
    ///
    /// - `inputs`, `outputs`: addresses of the first values; offsets of inputs from an aligned address are those of the
    ///   call that was recorded.
    /// - `workspace`: address of [`workspace`](Self::workspace) bytes, aligned to
    ///   [`WORKSPACE_ALIGNMENT`](crate::plan::WORKSPACE_ALIGNMENT), that nothing else uses until the launches are
    ///   complete, or has queued on another stream.
    /// - `stream`: the driver's handle, of the plan's device; null is the default stream.
    ///
    /// # Errors
    /// [`InteropError::Device`] with the driver's error.
    ///
    /// # Panics
    /// For another number of inputs or outputs than the operation's.
    ///
    /// # Safety
    /// Addresses are of memory of the device that holds the arrays of the call, and outlives the launches.
    pub unsafe fn launch(&self, inputs: &[u64], outputs: &[u64], workspace: u64, stream: *mut c_void) -> Result<()> {
        assert_eq!((inputs.len(), outputs.len()), (self.inputs, self.outputs.len()), "{}", self.operation);
        let failed = |reason| InteropError::Device { operation: self.operation.clone(), reason };
        if self.launches.is_empty() {
            return Ok(());
        }
        let _context = CurrentContext::enter(self.context).map_err(failed)?;
        let (mut few, mut many) = ([0; FEW_ADDRESSES], Vec::new());
        let addresses = if self.addresses.len() <= FEW_ADDRESSES {
            &mut few[..self.addresses.len()]
        } else {
            many.resize(self.addresses.len(), 0);
            &mut many[..]
        };
        for (address, &(slot, offset)) in addresses.iter_mut().zip(&self.addresses) {
            *address = offset
                + match slot {
                    // Offsets in an input count from the aligned address.
                    Slot::Input(input) => inputs[usize::from(input)] / ALIGNMENT * ALIGNMENT,
                    Slot::Output(output) => outputs[usize::from(output)],
                    Slot::Workspace => workspace,
                    Slot::Constant(table) => table,
                };
        }
        for launch in &self.launches {
            let mut parameters = [null_mut::<c_void>(); MAX_ARGUMENTS + 1];
            for (parameter, &argument) in parameters.iter_mut().zip(&launch.arguments) {
                *parameter = (&raw const addresses[usize::from(argument)]).cast_mut().cast();
            }
            parameters[launch.arguments.len()] = launch.info.as_ptr().cast_mut().cast();
            let ([x, y, z], [threads_x, threads_y, threads_z]) = (launch.grid, launch.kernel.block);
            let function = launch.kernel.function as sys::CUfunction;
            let (shared, stream, parameters) = (launch.kernel.shared, stream.cast(), parameters.as_mut_ptr());
            // SAFETY: the kernel takes these arguments, which the driver copies; addresses are the caller's.
            let status = unsafe {
                sys::cuLaunchKernel(
                    function,
                    x,
                    y,
                    z,
                    threads_x,
                    threads_y,
                    threads_z,
                    shared,
                    stream,
                    parameters,
                    null_mut(),
                )
            };
            checked("cuLaunchKernel", status).map_err(failed)?;
        }
        Ok(())
    }
}

/// The context of this thread before it was that of a device; it is again once this is dropped.
struct CurrentContext(Option<sys::CUcontext>);

impl CurrentContext {
    /// Makes a context that of this thread, where it is not. A thread that has not used the device yet, as one of
    /// autograd's, has none, and one that computes on another device has another.
    fn enter(context: usize) -> Result<Self, String> {
        let mut current = null_mut();
        // SAFETY: the out-parameter outlives the call; the context is never released.
        unsafe {
            checked("cuCtxGetCurrent", sys::cuCtxGetCurrent(&mut current))?;
            if current as usize == context {
                return Ok(Self(None));
            }
            checked("cuCtxSetCurrent", sys::cuCtxSetCurrent(context as sys::CUcontext))?;
        }
        Ok(Self(Some(current).filter(|current| !current.is_null())))
    }
}

impl Drop for CurrentContext {
    fn drop(&mut self) {
        if let Some(context) = self.0 {
            // SAFETY: the context was that of this thread.
            let _ = unsafe { sys::cuCtxSetCurrent(context) };
        }
    }
}
