//! Tensors of other libraries in a GPU's memory, and results that stay there, by DLPack.
//!
//! CubeCL can't take memory over that another library has allocated, so that a tensor of PyTorch or CuPy is copied to
//! memory of CubeCL's, within the GPU. Results are given without a copy: a [`DeviceArray`] keeps CubeCL's memory in
//! place as long as anything refers to it.
//!
//! Order of work. The producer of an input is told this package's stream, which then waits for the producer's work. The
//! copy is waited for by the host, and so are results: whatever has a [`DeviceArray`] may use it in any stream. Memory
//! that was shared is reused only after the host has waited for all work on that GPU.

mod device_array;
mod dlpack;
mod driver;
mod export;
mod import;
mod layout;
mod memory;

pub use device_array::{DeviceArray, Resident, from_dlpack, reshaped, resident, swapped};
