//! Memory of tensors on a GPU, whose address other libraries are given.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use burn::tensor::{Device, Int, StreamId, Tensor};
use burn_cubecl::cubecl::cuda::CudaRuntime;
use burn_cubecl::cubecl::future::block_on;
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{Cube, CubeBackend};
use cubecl_runtime::runtime::Runtime;

use super::driver::Gpu;
use crate::error::CallError;

/// Owner that CubeCL keeps until the memory of a tensor is free. It is only dropped, so that its lock is never taken.
type Resource = Mutex<Box<dyn Send>>;

/// CubeCL's stream for tensors that stay on a GPU. One for all threads: its pool then reuses what an earlier call has
/// freed, whichever thread that ran on.
pub fn stream() -> StreamId {
    static STREAM: OnceLock<StreamId> = OnceLock::new();
    *STREAM.get_or_init(StreamId::allocate)
}

/// The values of a buffer as a Burn tensor, in one dimension.
#[derive(Clone)]
pub enum Values {
    Float(Tensor<1>),
    Int(Tensor<1, Int>),
}

impl Values {
    /// The tensor as CubeCL has it: the operations that compute it are launched, if they are not yet.
    fn resolve(&self) -> Result<CubeTensor, CallError> {
        let tensor = match self {
            Self::Float(tensor) => tensor.clone().try_into_primitive::<Cube>().map(|tensor| {
                let client = tensor.client.clone();
                client.resolve_tensor_float::<CubeBackend>(tensor)
            }),
            Self::Int(tensor) => tensor.clone().try_into_primitive::<Cube>().map(|tensor| {
                let client = tensor.client.clone();
                client.resolve_tensor_int::<CubeBackend>(tensor)
            }),
        };
        match tensor {
            Ok(tensor) if tensor.is_contiguous() => Ok(tensor),
            // Values in one dimension always are contiguous; a copy would not be the memory of `self`.
            Ok(tensor) => Err(CallError::Device(format!("{tensor:?} is not contiguous"))),
            Err(error) => Err(CallError::Device(format!("{error:?}"))),
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Float(tensor) => tensor.dims()[0],
            Self::Int(tensor) => tensor.dims()[0],
        }
    }
}

/// Contiguous values on a GPU, complete and at an address that does not change while this lives.
pub struct Buffer {
    values: Values,
    device: Device,
    index: usize,
    gpu: &'static Gpu,
    address: u64,
    /// The tensor and CubeCL's guard of its memory; taken when the buffer is dropped.
    held: Option<(CubeTensor, Resource)>,
    is_shared: AtomicBool,
}

/// Memory that other libraries may still work on: what used it has dropped it, but work may be in flight.
struct Retired {
    gpu: &'static Gpu,
    #[expect(dead_code, reason = "dropped when nothing uses it any more")]
    held: (CubeTensor, Resource),
}

static RETIRED: Mutex<Vec<Retired>> = Mutex::new(Vec::new());

impl Buffer {
    /// The memory of `values` on the CUDA device of an index, when they are computed.
    ///
    /// # Errors
    /// [`CallError::Device`] if the device fails, or an operation that the values are a result of did.
    pub fn of(values: Values, device: &Device, index: usize) -> Result<Self, CallError> {
        let gpu = Gpu::of(index)?;
        let (device, is_shared) = (device.clone(), AtomicBool::new(false));
        if values.len() == 0 {
            return Ok(Self { values, device, index, gpu, address: 0, held: None, is_shared });
        }
        let tensor = values.resolve()?;
        let handle = tensor.handle.clone();
        // CubeCL reports a launch that failed as an error of the buffers it would have written.
        block_on(tensor.client.sync_buffers([&handle])).map_err(CallError::device)?;
        let resource =
            tensor.client.get_resource::<<CudaRuntime as Runtime>::Server>(handle).map_err(CallError::device)?;
        let address = resource.resource().ptr;
        let held = Some((tensor, Mutex::new(Box::new(resource) as Box<dyn Send>)));
        Ok(Self { values, device, index, gpu, address, held, is_shared })
    }

    /// The values. After another library was given the address, they are complete only once [`settle`](Self::settle)
    /// has returned.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// The device as Burn names it.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The driver's index of the device.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The address, for this package; null without values.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The address, for other libraries: the memory is reused only when no work of theirs is in flight.
    pub fn share(&self) -> u64 {
        self.is_shared.store(true, Ordering::Release);
        self.address
    }

    /// Waits for what other libraries do with the memory.
    ///
    /// # Errors
    /// [`CallError::Device`] if the device fails.
    pub fn settle(&self) -> Result<(), CallError> {
        if self.is_shared.load(Ordering::Acquire) {
            self.gpu.synchronize()?;
        }
        Ok(())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(held) = self.held.take()
            && *self.is_shared.get_mut()
        {
            let retired = Retired { gpu: self.gpu, held };
            RETIRED.lock().unwrap_or_else(PoisonError::into_inner).push(retired);
        }
    }
}

/// Gives the memory of dropped buffers back, after waiting for the GPUs whose memory other libraries have used.
pub fn collect() {
    let mut retired = std::mem::take(&mut *RETIRED.lock().unwrap_or_else(PoisonError::into_inner));
    while let Some(gpu) = retired.last().map(|one| one.gpu) {
        let settled = gpu.synchronize().is_ok();
        let (of_gpu, others) = retired.into_iter().partition(|one| std::ptr::eq(one.gpu, gpu));
        retired = others;
        if !settled {
            // As while a graph is captured: what can't be waited for stays.
            let of_gpu: Vec<Retired> = of_gpu;
            RETIRED.lock().unwrap_or_else(PoisonError::into_inner).extend(of_gpu);
        }
    }
}
