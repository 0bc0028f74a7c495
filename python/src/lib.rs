//! Extension module `firefly_fft._native`: the operations, the zoo and the trainer on contiguous NumPy arrays.
//!
//! The Python code of the package checks and arranges arguments; here arrays are rows, `[rows, n]`, of one type. Every
//! function computes without the interpreter's lock, on threads of its own, and can be interrupted.

mod array;
mod batch;
mod device;
mod error;
mod kernels;
mod mel;
mod operations;
mod rows;
mod select;
mod stft;
mod threads;
mod train;
mod welch;
mod window;
mod zoo;

use pyo3::prelude::*;

/// The extension module. It exports the C functions of `firefly_interop`, which `firefly_fft.torch`, `firefly_fft.cupy`
/// and other languages call.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::batch::apply;
    #[pymodule_export]
    use super::mel::mel_filters;
    #[pymodule_export]
    use super::operations::dpss;
    #[pymodule_export]
    use super::select::{local_maxima, top_k};
    #[pymodule_export]
    use super::stft::{frames, istft, stft};
    #[pymodule_export]
    use super::threads::{num_threads, set_num_threads};
    #[pymodule_export]
    use super::train::train;
    #[pymodule_export]
    use super::welch::{WelchEstimate, exponents};
    #[pymodule_export]
    use super::window::window;
    #[pymodule_export]
    use super::zoo::{Model, card, create, from_bytes, list_models, list_pretrained, load, load_run, pretrained};

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        threads::serve_tensors();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("BUILT_FOR_CUDA", cfg!(feature = "cuda"))
    }
}
