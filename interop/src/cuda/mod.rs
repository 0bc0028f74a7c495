//! Plans for CUDA devices: our launch code runs once per call on a server of CubeCL that compiles and records launches.

mod compile;
mod launch;
mod server;

use std::collections::HashMap;
use std::ptr::null_mut;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use burn::tensor::StreamId;
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{CubeBackend, CubeDevice};
use burn_std::Metadata;
use cubecl::client::Client;
use cubecl::ir::DeviceProperties;
use cubecl::server::Handle;
use cubecl_cuda::{CudaDevice, CudaRuntime};
use cubecl_llvm::nvptx::ptx_version::PtxVersion;
use cubecl_runtime::runtime::Runtime;
use cudarc::driver::sys;
use firefly_ops::op::{SpectralOps, TensorList};

use self::compile::KernelCompiler;
use self::server::{RecordingState, recording_client};
use crate::error::caught;
use crate::plan::{Output, Plan, Recording, Resolved, Slot};
use crate::{Array, Call, InteropError};

/// Records the launches of operations for one device.
///
/// Kernels are compiled once per process. An operation that reads from the device while it is launched can't be
/// recorded; none does.
pub struct Recorder {
    client: Client,
    device: CubeDevice,
    state: Arc<Mutex<RecordingState>>,
    /// One operation is recorded at a time.
    turn: Mutex<()>,
    context: usize,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An error of the driver, with the name of the function that returned it.
fn checked(function: &str, status: sys::CUresult) -> Result<(), String> {
    if status == sys::CUresult::CUDA_SUCCESS { Ok(()) } else { Err(format!("{function}: {status:?}")) }
}

impl Recorder {
    /// The recorder of a device, made at its first use.
    ///
    /// # Errors
    /// [`InteropError::Missing`] if the device or its driver is not there.
    pub fn of_device(index: u32) -> Result<Arc<Self>, InteropError> {
        static RECORDERS: LazyLock<Mutex<HashMap<u32, Arc<Recorder>>>> = LazyLock::new(Mutex::default);
        let mut recorders = locked(&RECORDERS);
        if let Some(recorder) = recorders.get(&index) {
            return Ok(Arc::clone(recorder));
        }
        let missing = |reason| InteropError::Missing(format!("CUDA device {index}: {reason}"));
        let recorder = Arc::new(caught(|| Self::open(index)).and_then(|opened| opened).map_err(missing)?);
        recorders.insert(index, Arc::clone(&recorder));
        Ok(recorder)
    }

    /// A recorder without a device: compiles for an architecture, such as 90, and a version of the driver, such as
    /// 13,000. Its plans can't be launched. Tables are cached per process and device, so that there can be one such
    /// recorder in a process, and none of device 0.
    pub fn offline(properties: DeviceProperties, architecture: u32, driver: i32) -> Self {
        let compiler = KernelCompiler::new(architecture, PtxVersion::for_driver(driver), None);
        Self::new(properties, compiler, 0, 0)
    }

    /// The recorder of a device with the properties that CubeCL's own runtime reports of it, so that launches are the
    /// same.
    fn open(index: u32) -> Result<Self, String> {
        let properties = (*CudaRuntime::client(&CudaDevice::new(index as usize)).properties_shared()).clone();
        let (mut version, mut major, mut minor, mut ordinal) = (0, 0, 0, 0);
        let mut context = null_mut();
        use sys::CUdevice_attribute::{
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as MAJOR,
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as MINOR,
        };
        // SAFETY: out-parameters outlive the calls. The context is never released.
        unsafe {
            checked("cuDriverGetVersion", sys::cuDriverGetVersion(&mut version))?;
            checked("cuDeviceGet", sys::cuDeviceGet(&mut ordinal, index as i32))?;
            checked("cuDeviceGetAttribute", sys::cuDeviceGetAttribute(&mut major, MAJOR, ordinal))?;
            checked("cuDeviceGetAttribute", sys::cuDeviceGetAttribute(&mut minor, MINOR, ordinal))?;
            checked("cuDevicePrimaryCtxRetain", sys::cuDevicePrimaryCtxRetain(&mut context, ordinal))?;
        }
        let architecture = (major * 10 + minor) as u32;
        let compiler = KernelCompiler::new(architecture, PtxVersion::for_driver(version), Some(context as usize));
        Ok(Self::new(properties, compiler, index, context as usize))
    }

    fn new(properties: DeviceProperties, compiler: KernelCompiler, index: u32, context: usize) -> Self {
        let state = Arc::new(Mutex::new(RecordingState::new(compiler)));
        let client = recording_client(properties, index, Arc::clone(&state));
        let device = CubeDevice::Cuda(CudaDevice::new(index as usize));
        Self { client, device, state, turn: Mutex::new(()), context }
    }

    /// Number of kernels that have been compiled.
    pub fn kernels(&self) -> usize {
        locked(&self.state).compiler.kernels()
    }

    /// The plan of a call.
    ///
    /// # Errors
    /// As [`Call::checked`]; [`InteropError::Device`] for a limit of the device, and for a kernel that does not compile.
    pub fn record(&self, call: &Call<'_>) -> Result<Plan, InteropError> {
        let operation = call.checked()?;
        let _turn = locked(&self.turn);
        locked(&self.state).start();
        let inputs: Vec<CubeTensor> = call.inputs.iter().map(|input| self.tensor(input)).collect();
        // Inputs are another library's: further owners keep operations from writing to them in place.
        let owners: Vec<[Handle; 3]> =
            inputs.iter().map(|input| std::array::from_fn(|_| input.handle.clone())).collect();
        let outputs = caught(|| CubeBackend::apply(operation, TensorList::of_floats(inputs.clone())));
        let flushed = self.client.flush().map_err(|error| format!("{error:?}"));
        let plan = flushed.and(outputs).and_then(|TensorList { ints, floats }| {
            let recording = locked(&self.state).finish()?;
            let outputs: Vec<_> = ints.into_iter().chain(floats).collect();
            self.plan(call, recording, &inputs, &outputs)
        });
        drop(owners);
        plan.map_err(|reason| InteropError::Device { operation: call.operation.into(), reason })
    }

    /// A tensor that stands for an input.
    fn tensor(&self, input: &Array<'_>) -> CubeTensor {
        let (shape, strides) = (input.shape.iter().map(|&length| length as usize), input.relevant_strides());
        let last: usize = shape.clone().zip(&strides).map(|(length, stride)| length.saturating_sub(1) * stride).sum();
        let bytes = ((1 + last) * input.dtype.size()) as u64;
        let handle = Handle::new(self.client.service_id(), StreamId::current(), bytes + input.offset());
        // Kernels choose their loads by the alignment of the first value.
        let handle = if input.offset() > 0 { handle.offset_start(input.offset()) } else { handle };
        let meta = Metadata::new(shape.collect::<Vec<_>>(), strides);
        CubeTensor::new(self.client.clone(), handle, meta, self.device.clone(), input.dtype)
    }

    fn plan(
        &self,
        call: &Call<'_>,
        mut recording: Recording,
        inputs: &[CubeTensor],
        outputs: &[CubeTensor],
    ) -> Result<Plan, String> {
        let memory = |tensor: &CubeTensor| tensor.handle.clone().binding().memory.id().value;
        for (position, input) in inputs.iter().enumerate() {
            recording.slots.insert(memory(input), Slot::Input(position as u16));
        }
        for (position, output) in outputs.iter().enumerate() {
            if output.handle.offset_start.unwrap_or(0) != 0 {
                return Err(format!("output {position} starts inside of its memory"));
            }
            if let Some(other) = recording.slots.insert(memory(output), Slot::Output(position as u16)) {
                return Err(format!("output {position} is the memory of {other:?}"));
            }
        }
        let Resolved { launches, addresses, workspace } = recording.resolve()?;
        let signed = |lengths: &[usize]| lengths.iter().map(|&length| length as i64).collect();
        let output = |tensor: &CubeTensor| Output {
            shape: signed(tensor.meta.shape()),
            strides: signed(tensor.meta.strides()),
            dtype: tensor.dtype,
        };
        Ok(Plan {
            operation: call.operation.into(),
            launches,
            addresses,
            workspace,
            outputs: outputs.iter().map(output).collect(),
            inputs: inputs.len(),
            context: self.context,
        })
    }
}
