//! Functions of PyTorch's stable C ABI, of PyTorch 2.10 and later.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

use crate::InteropError;

/// A tensor, or a library of operators.
pub(super) type Handle = *mut c_void;
/// 0, or an error.
pub(super) type Status = i32;
/// A kernel on a stack of arguments, which its results replace.
pub(super) type Kernel = unsafe extern "C-unwind" fn(*mut u64, u64, u64);

/// The version of PyTorch whose encoding of arguments the kernel is written for: 2.10.
pub(super) const VERSION: u64 = 2 << 56 | 10 << 48;

macro_rules! api {
    ($($field:ident($($argument:ty),*) -> $result:ty = $symbol:literal;)*) => {
        pub(super) struct Api {
            $(pub $field: unsafe extern "C-unwind" fn($($argument),*) -> $result,)*
            /// Stream of a CUDA device, where PyTorch is built for CUDA.
            pub cuda_stream: Option<unsafe extern "C-unwind" fn(i32, *mut *mut c_void) -> Status>,
        }

        impl Api {
            fn load(folder: &CStr) -> Result<Self, InteropError> {
                let cpu = open(folder, "torch_cpu").ok_or_else(|| missing("libtorch_cpu"))?;
                Ok(Self {
                    $($field: {
                        let symbol = symbol(cpu, $symbol).ok_or_else(|| missing($symbol))?;
                        // SAFETY: the symbol has this type in PyTorch's headers, which promise to keep it.
                        unsafe {
                            std::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn($($argument),*) -> $result>(symbol)
                        }
                    },)*
                    cuda_stream: open(folder, "torch_cuda")
                        .and_then(|cuda| symbol(cuda, c"aoti_torch_get_current_cuda_stream"))
                        // SAFETY: as above.
                        .map(|symbol| unsafe {
                            std::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn(i32, *mut *mut c_void) -> Status>(symbol)
                        }),
                })
            }
        }
    };
}

fn missing(name: impl std::fmt::Debug) -> InteropError {
    InteropError::Missing(format!("{name:?} is missing: PyTorch 2.10 or later has it"))
}

/// A library of PyTorch's that is loaded.
fn open(folder: &CStr, name: &str) -> Option<*mut c_void> {
    let extension = if cfg!(target_os = "macos") { "dylib" } else { "so" };
    let path = CString::new(format!("{}/lib{name}.{extension}", folder.to_str().ok()?)).ok()?;
    // SAFETY: the text ends in a zero; nothing is loaded that is not.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
    (!library.is_null()).then_some(library)
}

fn symbol(library: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the library is loaded, and never unloaded.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

api! {
    library_fragment(*const c_char, *const c_char, u32, *mut Handle) -> Status = c"aoti_torch_library_init_fragment";
    library_impl_of(*const c_char, *const c_char, *const c_char, u32, *mut Handle) -> Status = c"aoti_torch_library_init_impl";
    library_def(Handle, *const c_char) -> Status = c"aoti_torch_library_def";
    library_impl(Handle, *const c_char, Kernel, u64) -> Status = c"torch_library_impl";
    data_ptr(Handle, *mut *mut c_void) -> Status = c"aoti_torch_get_data_ptr";
    dim(Handle, *mut i64) -> Status = c"aoti_torch_get_dim";
    sizes(Handle, *mut *const i64) -> Status = c"aoti_torch_get_sizes";
    strides(Handle, *mut *const i64) -> Status = c"aoti_torch_get_strides";
    dtype(Handle, *mut i32) -> Status = c"aoti_torch_get_dtype";
    device_type(Handle, *mut i32) -> Status = c"aoti_torch_get_device_type";
    device_index(Handle, *mut i32) -> Status = c"aoti_torch_get_device_index";
    empty_strided(i64, *const i64, *const i64, i32, i32, i32, *mut Handle) -> Status = c"aoti_torch_empty_strided";
    delete_tensor(Handle) -> Status = c"aoti_torch_delete_tensor_object";
    string_text(Handle, *mut *const c_char) -> Status = c"torch_string_c_str";
    delete_string(Handle) -> Status = c"torch_delete_string";
    check(bool, *const c_char, *const c_char, u32, *const c_char) -> () = c"aoti_torch_check";
    dtype_float32() -> i32 = c"aoti_torch_dtype_float32";
    dtype_float64() -> i32 = c"aoti_torch_dtype_float64";
    dtype_int32() -> i32 = c"aoti_torch_dtype_int32";
    dtype_int64() -> i32 = c"aoti_torch_dtype_int64";
    dtype_uint8() -> i32 = c"aoti_torch_dtype_uint8";
    cpu_type() -> i32 = c"aoti_torch_device_type_cpu";
    cuda_type() -> i32 = c"aoti_torch_device_type_cuda";
}

/// PyTorch's functions, and its numbers of types and devices.
pub(super) struct Torch {
    pub api: Api,
    pub float32: i32,
    pub float64: i32,
    pub int32: i32,
    pub int64: i32,
    pub uint8: i32,
    pub cpu: i32,
    pub cuda: i32,
}

static TORCH: OnceLock<Torch> = OnceLock::new();

/// PyTorch, whose libraries are in the folder.
pub(super) fn torch(folder: &CStr) -> Result<&'static Torch, InteropError> {
    let api = Api::load(folder)?;
    // SAFETY: the functions take nothing and return a number.
    let torch = unsafe {
        Torch {
            float32: (api.dtype_float32)(),
            float64: (api.dtype_float64)(),
            int32: (api.dtype_int32)(),
            int64: (api.dtype_int64)(),
            uint8: (api.dtype_uint8)(),
            cpu: (api.cpu_type)(),
            cuda: (api.cuda_type)(),
            api,
        }
    };
    Ok(TORCH.get_or_init(|| torch))
}

/// PyTorch, whose operators were registered.
pub(super) fn registered() -> &'static Torch {
    TORCH.get().expect("kernels are registered once PyTorch is known")
}

/// A tensor that is deleted with this.
pub(super) struct Owned(pub Handle);

impl Owned {
    /// No tensor.
    pub const NONE: Self = Self(null_mut());

    /// The tensor, which its taker owns.
    pub fn take(&mut self) -> Handle {
        std::mem::replace(&mut self.0, null_mut())
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: the tensor is owned.
            unsafe { (registered().api.delete_tensor)(self.0) };
        }
    }
}
