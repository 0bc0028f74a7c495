//! Host implementations written by hand on other people's transforms: what Firefly's kernels are compared with.
//!
//! They are as good as their transform allows: planned once, rows shared out over threads where that pays, buffers made
//! before the first run and nothing allocated after, and the same top-K behind each transform.

mod realfft;
mod rows;
mod rustfft;
mod strongest;

pub use realfft::RealFft;
pub use rustfft::RustFft;
pub use strongest::strongest;

/// The instruction set that rustfft, and realfft on top of it, chooses on this processor.
pub fn instruction_set() -> &'static str {
    if ::rustfft::FftPlannerAvx::<f32>::new().is_ok() {
        "avx"
    } else if ::rustfft::FftPlannerSse::<f32>::new().is_ok() {
        "sse4.1"
    } else if ::rustfft::FftPlannerNeon::<f32>::new().is_ok() {
        "neon"
    } else {
        "scalar"
    }
}
