//! A device that compiles kernels and runs nothing, so that kernels for a target can be checked without such a device.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use burn::tensor::StreamId;
use cubecl::client::Client;
use cubecl::dry_run::LaunchMode;
use cubecl::future::DynFut;
use cubecl::ir::features::{AtomicUsage, Plane, TypeUsage};
use cubecl::ir::{
    AddressType, DeviceIdentity, DeviceProperties, ElemType, FloatKind, HardwareProperties, IntKind,
    MemoryDeviceProperties, TargetProperties, Type, UIntKind,
};
use cubecl::logging::ServerLogger;
use cubecl::prelude::CubeCount;
use cubecl::server::{
    BufferBinding, CopyDescriptor, Handle, KernelArguments, MemoryLayout, MemoryLayoutDescriptor, MemoryLayoutPolicy,
    ProfileError, ProfilingToken, Server, ServerCommunication, ServerError, ServerStorage, ServerUtilities,
};
use cubecl::wgpu::MslCompiler;
use cubecl::{CompilationError, Compiler, CubeKernel, define_kernel};
use cubecl_common::bytes::Bytes;
use cubecl_common::device::{DeviceId, DeviceService, ServerUtilitiesHandle, ServiceId};
use cubecl_common::profile::{ProfileDuration, TimingMethod};
use cubecl_runtime::memory_management::{ManagedMemoryHandle, MemoryAllocationMode, StreamMemoryReport};
use cubecl_runtime::storage::{ComputeStorage, ManagedResource, StorageHandle, StorageId};

/// The source of each compiled kernel by its name and identifier, or the compiler's error.
pub type Compiled = BTreeMap<String, Result<String, String>>;

/// Compiles launches to Metal's language.
#[derive(Debug)]
struct CompileOnly {
    utilities: Arc<ServerUtilities>,
    compiled: Arc<Mutex<Compiled>>,
}

/// A client of an Apple device of the Metal 3 family, and the sources it compiles.
pub fn metal() -> (Client, Arc<Mutex<Compiled>>) {
    let device = DeviceId { type_id: 0, index_id: 0 };
    let service = ServiceId::of::<CompileOnly>(device);
    let logger = Arc::new(ServerLogger::default());
    let (utilities, _) =
        ServerUtilities::init(service, "msl", properties(), TargetProperties::default(), logger, OneBuffer);
    let compiled = Arc::new(Mutex::default());
    let server = CompileOnly { utilities: Arc::new(utilities), compiled: Arc::clone(&compiled) };
    (Client::init(device, server), compiled)
}

fn properties() -> DeviceProperties {
    let hardware = HardwareProperties {
        load_width: 128,
        vector_register_count: None,
        plane_size_min: 32,
        plane_size_max: 32,
        max_bindings: 30,
        max_shared_memory_size: 32 << 10,
        max_cube_count: (65_535, 65_535, 65_535),
        max_units_per_cube: 1024,
        max_cube_dim: (1024, 1024, 1024),
        num_streaming_multiprocessors: None,
        num_cpu_cores: None,
        last_level_cache_size: None,
        num_tensor_cores: None,
        min_tensor_cores_dim: None,
        max_vector_size: 4,
        cube_mma_reserved_shared_memory: 0,
    };
    let identity = DeviceIdentity { name: "msl".into(), fingerprint: "msl".into(), physical: None };
    let memory = MemoryDeviceProperties::new(1 << 32, 256);
    let mut properties = DeviceProperties::new(Default::default(), memory, hardware, TimingMethod::System, identity);
    properties.features.plane.insert(Plane::Ops);
    properties.features.plane.insert(Plane::Sync);
    properties.register_address_type(AddressType::U32);
    properties.register_address_type(AddressType::U64);
    let [int, uint, float] =
        [ElemType::Int(IntKind::I32), ElemType::UInt(UIntKind::U32), ElemType::Float(FloatKind::F32)];
    for ty in [ElemType::Index, ElemType::Bool, int, uint, float] {
        properties.register_type_usage(ty, TypeUsage::all());
    }
    properties.register_atomic_type_usage(Type::atomic(uint), AtomicUsage::all());
    properties
}

impl CompileOnly {
    fn compile(kernel: &dyn CubeKernel) -> Result<String, CompilationError> {
        let definition = define_kernel(kernel)?;
        Ok(MslCompiler::default().compile(definition, &Default::default())?.to_string())
    }
}

impl Server for CompileOnly {
    unsafe fn launch(
        &mut self,
        kernel: Box<dyn CubeKernel>,
        _count: CubeCount,
        _bindings: KernelArguments,
        _stream: StreamId,
        _mode: LaunchMode,
    ) {
        let name = format!("{} {}", kernel.name(), kernel.id());
        let source = Self::compile(&*kernel).map_err(|error| error.to_string());
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner).insert(name, source);
    }

    fn logger(&self) -> Arc<ServerLogger> {
        self.utilities.logger.clone()
    }

    fn utilities(&self) -> Arc<ServerUtilities> {
        self.utilities.clone()
    }

    fn initialize_memory(&mut self, _: ManagedMemoryHandle, _: u64, _: StreamId) -> Result<(), ServerError> {
        Ok(())
    }

    fn read(&mut self, _: Vec<CopyDescriptor>, _: StreamId) -> DynFut<Result<Vec<Bytes>, ServerError>> {
        unimplemented!("nothing runs here, so there is nothing to read")
    }

    fn write(&mut self, _: Vec<(CopyDescriptor, Bytes)>, _: StreamId) {}

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
        unimplemented!("nothing runs here, so there is nothing to time")
    }

    fn end_profile(&mut self, _: StreamId, _: ProfilingToken) -> Result<ProfileDuration, ProfileError> {
        unimplemented!("nothing runs here, so there is nothing to time")
    }

    fn allocation_mode(&mut self, _: MemoryAllocationMode, _: StreamId) {}
}

impl ServerCommunication for CompileOnly {}

impl DeviceService for CompileOnly {
    fn init(_: DeviceId) -> Self {
        unimplemented!("the client is made with its server")
    }

    fn utilities(&self) -> ServerUtilitiesHandle {
        self.utilities.clone()
    }
}

impl ServerStorage for CompileOnly {
    type Storage = Nothing;

    fn get_resource(&mut self, _: BufferBinding, _: StreamId) -> Result<ManagedResource<()>, ServerError> {
        unimplemented!("buffers here have no memory")
    }
}

/// Buffers without memory, each of its own.
struct OneBuffer;

impl MemoryLayoutPolicy for OneBuffer {
    fn apply(
        &self,
        service: ServiceId,
        stream: StreamId,
        descriptors: &[MemoryLayoutDescriptor],
    ) -> (Handle, Vec<MemoryLayout>) {
        assert_eq!(descriptors.len(), 1, "kernels' buffers are made one by one");
        let size = descriptors[0].shape.iter().product::<usize>() * descriptors[0].elem_size;
        let handle = Handle::new(service, stream, size as u64);
        (handle.clone(), vec![MemoryLayout::new(handle, [1])])
    }
}

struct Nothing;

impl ComputeStorage for Nothing {
    type Resource = ();

    fn alignment(&self) -> usize {
        1
    }

    fn get(&mut self, _: &StorageHandle) -> Result<(), cubecl::server::IoError> {
        unimplemented!("buffers here have no memory")
    }

    fn alloc(&mut self, _: u64) -> Result<StorageHandle, cubecl::server::IoError> {
        unimplemented!("buffers here have no memory")
    }

    fn dealloc(&mut self, _: StorageId) {}

    fn flush(&mut self) {}

    fn bytes_allocated(&self) -> u64 {
        0
    }
}
