//! A server of CubeCL that compiles launches and records them, and runs nothing.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use burn::tensor::StreamId;
use cubecl::CubeKernel;
use cubecl::client::Client;
use cubecl::dry_run::LaunchMode;
use cubecl::future::DynFut;
use cubecl::ir::DeviceProperties;
use cubecl::logging::ServerLogger;
use cubecl::prelude::CubeCount;
use cubecl::server::{
    BufferBinding, CopyDescriptor, Handle, IoError, KernelArguments, KernelResource, MemoryLayout,
    MemoryLayoutDescriptor, MemoryLayoutPolicy, ProfileError, ProfilingToken, Server, ServerCommunication, ServerError,
    ServerStorage, ServerUtilities,
};
use cubecl_common::bytes::Bytes;
use cubecl_common::device::{DeviceId, DeviceService, ServerUtilitiesHandle, ServiceId};
use cubecl_common::profile::ProfileDuration;
use cubecl_cuda::CudaRuntime;
use cubecl_runtime::memory_management::{ManagedMemoryHandle, MemoryAllocationMode, StreamMemoryReport};
use cubecl_runtime::runtime::Runtime;
use cubecl_runtime::storage::{ComputeStorage, ManagedResource, StorageHandle, StorageId};

use super::compile::KernelCompiler;
use super::locked;
use crate::call::contiguous_strides;
use crate::plan::{RecordedLaunch, Recording, Slot, WORKSPACE_ALIGNMENT};

/// Type of device of the recorders: CubeCL serves one type by threads of its own.
const RECORDER_TYPE: u16 = 0x1F;

/// Launches of the operation that is recorded, and all that was put on the device before.
pub(super) struct RecordingState {
    pub compiler: KernelCompiler,
    launches: Vec<RecordedLaunch>,
    /// Memory and its bytes. The pools of CubeCL's own servers keep a handle each, which is how in-place operations
    /// count owners.
    memory: Vec<(ManagedMemoryHandle, u64)>,
    /// Tables that the host wrote, by the number of their memory: those of other operations too, which are cached.
    tables: HashMap<usize, u64>,
    error: Option<String>,
}

impl RecordingState {
    pub fn new(compiler: KernelCompiler) -> Self {
        Self { compiler, launches: Vec::new(), memory: Vec::new(), tables: HashMap::new(), error: None }
    }

    /// Begins an operation.
    pub fn start(&mut self) {
        (self.launches, self.memory, self.error) = (Vec::new(), Vec::new(), None);
    }

    /// Ends the operation.
    pub fn finish(&mut self) -> Result<Recording, String> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let sizes = self.memory.drain(..).map(|(memory, size)| (memory.binding().id().value, size)).collect();
        let slots = self.tables.iter().map(|(&memory, &address)| (memory, Slot::Constant(address))).collect();
        Ok(Recording { launches: std::mem::take(&mut self.launches), sizes, slots })
    }

    fn record(&mut self, kernel: &dyn CubeKernel, count: CubeCount, arguments: KernelArguments) -> Result<(), String> {
        let kernel = self.compiler.kernel(kernel)?;
        let CubeCount::Static(x, y, z) = count else { return Err("a launch whose size is on the device".into()) };
        let mut addresses = Vec::new();
        for resource in &arguments.resources {
            let KernelResource::Buffer(binding) = resource else { return Err("a launch with a tensor map".into()) };
            addresses.push((binding.memory.id().value, binding.offset_start.unwrap_or(0)));
        }
        let mut info = arguments.info.data;
        // The kernel's arguments: buffers, then shapes and strides in memory if there are any, then all by value.
        if let Some(shapes) = info.get(arguments.info.dynamic_metadata_offset..).filter(|words| !words.is_empty()) {
            let table = self.compiler.table(&bytes_of(shapes))?;
            let memory = ManagedMemoryHandle::new().binding().id().value;
            self.tables.insert(memory, table);
            addresses.push((memory, 0));
        }
        // A kernel without any still has the argument.
        info.push(0);
        self.launches.push(RecordedLaunch { kernel, grid: [x, y, z], arguments: addresses, info });
        Ok(())
    }

    fn write(&mut self, descriptor: &CopyDescriptor, data: &[u8]) -> Result<(), String> {
        let table = self.compiler.table(data)?;
        let offset = descriptor.handle.offset_start.unwrap_or(0);
        self.tables.insert(descriptor.handle.memory.id().value, table.wrapping_sub(offset));
        Ok(())
    }

    fn note(&mut self, result: Result<(), String>) {
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }
}

/// Words as bytes in the order of the machine, which is the device's.
fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// A client of a recording server.
pub(super) fn recording_client(properties: DeviceProperties, index: u32, state: Arc<Mutex<RecordingState>>) -> Client {
    let device = DeviceId { type_id: RECORDER_TYPE, index_id: index as u16 };
    let service = ServiceId::of::<RecordingServer>(device);
    let target = <CudaRuntime as Runtime>::target_properties();
    let logger = Arc::new(ServerLogger::default());
    let (utilities, _) = ServerUtilities::init(service, "cuda", properties, target, logger, Contiguous);
    Client::init(device, RecordingServer { utilities: Arc::new(utilities), state })
}

struct RecordingServer {
    utilities: Arc<ServerUtilities>,
    state: Arc<Mutex<RecordingState>>,
}

impl fmt::Debug for RecordingServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecordingServer")
    }
}

impl Server for RecordingServer {
    unsafe fn launch(
        &mut self,
        kernel: Box<dyn CubeKernel>,
        count: CubeCount,
        arguments: KernelArguments,
        _stream: StreamId,
        _mode: LaunchMode,
    ) {
        let mut state = locked(&self.state);
        let recorded = state.record(&*kernel, count, arguments);
        state.note(recorded);
    }

    fn logger(&self) -> Arc<ServerLogger> {
        self.utilities.logger.clone()
    }

    fn utilities(&self) -> Arc<ServerUtilities> {
        self.utilities.clone()
    }

    fn initialize_memory(&mut self, memory: ManagedMemoryHandle, size: u64, _: StreamId) -> Result<(), ServerError> {
        locked(&self.state).memory.push((memory, size));
        Ok(())
    }

    fn read(&mut self, _: Vec<CopyDescriptor>, _: StreamId) -> DynFut<Result<Vec<Bytes>, ServerError>> {
        locked(&self.state).note(Err("an operation that reads from the device can't be recorded".into()));
        Box::pin(async { Err(nothing_runs()) })
    }

    fn write(&mut self, descriptors: Vec<(CopyDescriptor, Bytes)>, _: StreamId) {
        let mut state = locked(&self.state);
        for (descriptor, data) in descriptors {
            let written = state.write(&descriptor, &data);
            state.note(written);
        }
    }

    fn sync(&mut self, _: Vec<BufferBinding>, _: StreamId) -> DynFut<Result<(), ServerError>> {
        Box::pin(async { Ok(()) })
    }

    fn check(&mut self, _: Vec<BufferBinding>, _: StreamId) -> Result<(), ServerError> {
        Ok(())
    }

    fn flush(&mut self, _: StreamId) -> Result<(), ServerError> {
        Ok(())
    }

    fn memory_report(&mut self, _: StreamId) -> Option<StreamMemoryReport> {
        None
    }

    fn memory_cleanup(&mut self, _: StreamId) -> Result<(), ServerError> {
        Ok(())
    }

    fn start_profile(&mut self, _: StreamId) -> Result<ProfilingToken, ServerError> {
        Err(nothing_runs())
    }

    fn end_profile(&mut self, _: StreamId, _: ProfilingToken) -> Result<ProfileDuration, ProfileError> {
        Err(ProfileError::from(&nothing_runs()))
    }

    fn allocation_mode(&mut self, _: MemoryAllocationMode, _: StreamId) {}
}

fn nothing_runs() -> ServerError {
    ServerError::graph_state("launches are recorded, and nothing runs")
}

impl ServerCommunication for RecordingServer {}

impl DeviceService for RecordingServer {
    fn init(_: DeviceId) -> Self {
        unreachable!("the client is made with its server")
    }

    fn utilities(&self) -> ServerUtilitiesHandle {
        self.utilities.clone()
    }
}

impl ServerStorage for RecordingServer {
    type Storage = NoStorage;

    fn get_resource(&mut self, _: BufferBinding, _: StreamId) -> Result<ManagedResource<()>, ServerError> {
        Err(nothing_runs())
    }
}

/// Layouts of contiguous tensors, of which several may share memory.
struct Contiguous;

impl MemoryLayoutPolicy for Contiguous {
    fn apply(
        &self,
        service: ServiceId,
        stream: StreamId,
        descriptors: &[MemoryLayoutDescriptor],
    ) -> (Handle, Vec<MemoryLayout>) {
        let size = |descriptor: &MemoryLayoutDescriptor| {
            (descriptor.shape.iter().product::<usize>() * descriptor.elem_size) as u64
        };
        let total = descriptors.iter().map(|one| size(one).next_multiple_of(WORKSPACE_ALIGNMENT)).sum();
        let base = Handle::new(service, stream, total);
        let mut start = 0;
        let layout = |descriptor: &MemoryLayoutDescriptor| {
            let (mut handle, end) = (base.clone(), start + size(descriptor));
            if start > 0 {
                handle = handle.offset_start(start);
            }
            if total > end {
                handle = handle.offset_end(total - end);
            }
            start = end.next_multiple_of(WORKSPACE_ALIGNMENT);
            MemoryLayout::new(handle, contiguous_strides(descriptor.shape.iter().copied()))
        };
        let layouts = descriptors.iter().map(layout).collect();
        (base, layouts)
    }
}

/// Storage of buffers that have no memory.
struct NoStorage;

impl ComputeStorage for NoStorage {
    type Resource = ();

    fn alignment(&self) -> usize {
        WORKSPACE_ALIGNMENT as usize
    }

    fn get(&mut self, _: &StorageHandle) -> Result<(), IoError> {
        unreachable!("nothing is stored")
    }

    fn alloc(&mut self, _: u64) -> Result<StorageHandle, IoError> {
        unreachable!("nothing is stored")
    }

    fn dealloc(&mut self, _: StorageId) {}

    fn flush(&mut self) {}

    fn bytes_allocated(&self) -> u64 {
        0
    }
}
