//! Kernels compiled to PTX and loaded, and tables on the device: each once per process.

use std::collections::HashMap;
use std::ffi::CString;
use std::ptr::null_mut;

use cubecl::ir::nvidia::SmArch;
use cubecl::{Compiler, CubeKernel, define_kernel};
use cubecl_cuda::compiler::CudaBackend;
use cubecl_cuda::{CudaCompilationOptions, CudaCompiler, CudaRepresentation};
use cubecl_llvm::nvptx::ptx_version::PtxVersion;
use cubecl_runtime::id::KernelId;
use cudarc::driver::sys;

use super::checked;
use crate::plan::Kernel;

/// Compiler for one device, with all that it has put there.
pub(super) struct KernelCompiler {
    options: CudaCompilationOptions,
    /// The device's primary context; none without a device.
    context: Option<usize>,
    kernels: HashMap<KernelId, Kernel>,
    /// Addresses of tables by their bytes.
    tables: HashMap<Vec<u8>, u64>,
}

impl KernelCompiler {
    pub fn new(architecture: u32, ptx: Option<PtxVersion>, context: Option<usize>) -> Self {
        let mut options = CudaCompilationOptions::default();
        // The last argument of a kernel is a struct that it reads in place, as in CubeCL's own runtime.
        options.cpp.supports_features.grid_constants = architecture >= 70;
        options.arch = Some(SmArch::new(architecture, architecture >= 70));
        options.ptx_version = ptx;
        Self { options, context, kernels: HashMap::new(), tables: HashMap::new() }
    }

    pub fn kernels(&self) -> usize {
        self.kernels.len()
    }

    /// The kernel, compiled and loaded at its first use.
    pub fn kernel(&mut self, kernel: &dyn CubeKernel) -> Result<Kernel, String> {
        let id = kernel.id();
        if let Some(known) = self.kernels.get(&id) {
            return Ok(known.clone());
        }
        let definition = define_kernel(kernel).map_err(|error| error.to_string())?;
        let (dim, name) = (definition.settings.cube_dim, definition.settings.kernel_name.clone());
        let compiled = CudaCompiler::new(CudaBackend::Llvm).compile(definition, &self.options);
        let CudaRepresentation::Llvm(module) = compiled.map_err(|error| error.to_string())? else {
            return Err(format!("{name}: CubeCL compiled no PTX"));
        };
        let shared = module.shared_memory_size as u32;
        let mut function = null_mut();
        if self.context.is_some() {
            self.enter()?;
            let entry = CString::new(name.clone()).map_err(|error| error.to_string())?;
            let mut loaded = null_mut();
            let dynamic = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: PTX ends in a zero, and out-parameters outlive the calls. The module is never unloaded.
            unsafe {
                checked("cuModuleLoadData", sys::cuModuleLoadData(&mut loaded, module.ptx.as_ptr().cast()))?;
                checked("cuModuleGetFunction", sys::cuModuleGetFunction(&mut function, loaded, entry.as_ptr()))?;
                checked("cuFuncSetAttribute", sys::cuFuncSetAttribute(function, dynamic, shared as i32))?;
            }
        }
        let kernel = Kernel { function: function as usize, name, block: [dim.x, dim.y, dim.z], shared };
        self.kernels.insert(id, kernel.clone());
        Ok(kernel)
    }

    /// Address of a table on the device.
    pub fn table(&mut self, bytes: &[u8]) -> Result<u64, String> {
        if let Some(&known) = self.tables.get(bytes) {
            return Ok(known);
        }
        let mut address = 0;
        if self.context.is_some() {
            self.enter()?;
            // SAFETY: as many bytes are allocated as are copied, and the copy is complete when it returns. The memory is
            // never freed.
            unsafe {
                checked("cuMemAlloc", sys::cuMemAlloc_v2(&mut address, bytes.len().max(1)))?;
                checked("cuMemcpyHtoD", sys::cuMemcpyHtoD_v2(address, bytes.as_ptr().cast(), bytes.len()))?;
            }
        }
        self.tables.insert(bytes.to_vec(), address);
        Ok(address)
    }

    /// Makes the device's context that of this thread.
    fn enter(&self) -> Result<(), String> {
        let Some(context) = self.context else { return Ok(()) };
        // Another thread may be capturing a CUDA graph, which forbids this one to load or allocate unless it says so.
        let mut mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the context is never released.
        unsafe {
            checked("cuCtxSetCurrent", sys::cuCtxSetCurrent(context as sys::CUcontext))?;
            checked("cuThreadExchangeStreamCaptureMode", sys::cuThreadExchangeStreamCaptureMode(&mut mode))
        }
    }
}
