//! CUDA's driver: copies between buffers of one GPU, on a stream of this package.

use std::ffi::c_int;
use std::ptr::{null, null_mut};
use std::sync::{Mutex, PoisonError};

use cudarc::driver::result::{self, DriverError, stream::StreamKind};
use cudarc::driver::sys;

use super::layout::PitchedRows;

/// A GPU's primary context, which CubeCL, PyTorch and CuPy share, and a stream for copies in it. It lives as long as
/// the process.
pub struct Gpu {
    context: sys::CUcontext,
    stream: sys::CUstream,
}

// SAFETY: the driver's contexts and streams may be used by any thread.
unsafe impl Send for Gpu {}
// SAFETY: as above; the driver locks what its calls change.
unsafe impl Sync for Gpu {}

/// The GPUs in use, by the driver's index.
static GPUS: Mutex<Vec<(usize, &'static Gpu)>> = Mutex::new(Vec::new());

/// Context that is current on this thread until this is dropped.
struct Current;

impl Current {
    fn push(context: sys::CUcontext) -> Result<Self, DriverError> {
        // SAFETY: the context is a device's primary one, which is never released.
        unsafe { sys::cuCtxPushCurrent_v2(context) }.result()?;
        Ok(Self)
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        let mut popped = null_mut();
        // SAFETY: `push` has pushed a context on this thread. An error leaves nothing to undo.
        let _ = unsafe { sys::cuCtxPopCurrent_v2(&mut popped) };
    }
}

impl Gpu {
    /// The GPU of an index. The device must be open, so that the driver is loaded.
    ///
    /// # Errors
    /// The driver's.
    pub fn of(index: usize) -> Result<&'static Self, DriverError> {
        let mut gpus = GPUS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, gpu)) = gpus.iter().find(|(known, _)| *known == index) {
            return Ok(gpu);
        }
        result::init()?;
        let device = result::device::get(c_int::try_from(index).unwrap_or(c_int::MAX))?;
        // SAFETY: the driver has just returned the device.
        let context = unsafe { result::primary_ctx::retain(device) }?;
        let current = Current::push(context)?;
        let stream = result::stream::create(StreamKind::NonBlocking)?;
        drop(current);
        let gpu: &'static Self = Box::leak(Box::new(Self { context, stream }));
        gpus.push((index, gpu));
        Ok(gpu)
    }

    /// The stream for copies as DLPack names it.
    pub fn stream_number(&self) -> usize {
        self.stream.addr()
    }

    /// The result of `work`, for which the device is the current one: PyTorch exports a tensor only then.
    ///
    /// # Errors
    /// The driver's.
    pub fn current<T>(&self, work: impl FnOnce() -> T) -> Result<T, DriverError> {
        let _current = Current::push(self.context)?;
        Ok(work())
    }

    /// Copies rows to contiguous memory, and waits until they are there.
    ///
    /// # Errors
    /// The driver's.
    ///
    /// # Safety
    /// `from` has the rows and `to` as many bytes as they have, both in this GPU's memory; until this returns nothing
    /// else writes to `from` or uses `to`, but for work that the stream waits for.
    pub unsafe fn copy(&self, from: u64, to: u64, rows: &PitchedRows) -> Result<(), DriverError> {
        let _current = Current::push(self.context)?;
        if rows.rows == 1 {
            // SAFETY: the caller's; the stream is one of the context.
            unsafe { result::memcpy_dtod_async(to, from, rows.row_bytes, self.stream) }?;
        } else {
            let copy = sys::CUDA_MEMCPY2D {
                srcXInBytes: 0,
                srcY: 0,
                srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
                srcHost: null(),
                srcDevice: from,
                srcArray: null_mut(),
                srcPitch: rows.pitch_bytes,
                dstXInBytes: 0,
                dstY: 0,
                dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
                dstHost: null_mut(),
                dstDevice: to,
                dstArray: null_mut(),
                dstPitch: rows.row_bytes,
                WidthInBytes: rows.row_bytes,
                Height: rows.rows,
            };
            // SAFETY: the caller's; the stream is one of the context.
            unsafe { sys::cuMemcpy2DAsync_v2(&copy, self.stream) }.result()?;
        }
        // SAFETY: the stream is one of the context, and is never destroyed.
        unsafe { result::stream::synchronize(self.stream) }
    }

    /// Waits for the work of all streams of the context, other libraries' included.
    ///
    /// # Errors
    /// The driver's.
    pub fn synchronize(&self) -> Result<(), DriverError> {
        let _current = Current::push(self.context)?;
        result::ctx::synchronize()
    }
}
