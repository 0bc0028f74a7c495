//! CPU engine: kernels over plain slices, the arithmetic under the adapters of backends in host memory.
//!
//! | folder | contents |
//! | --- | --- |
//! | `runtime/` | tasks on rayon, also of rows of samples in another type than f32, per-thread buffers, sums over rows |
//! | `isa/` | registers of each instruction set, the tokens that prove its detection, and the choice at run time |
//! | `fft/` | passes of power-of-two transforms inside a row, which the families share |
//! | `transform/`, `butterfly/` | Fourier transforms of any length; gated butterfly transforms |
//! | `welch/`, `mel/` | Welch and mel spectra |
//! | `top_k/`, `local_maxima/`, `peak_loss/` | searches for peaks, and the losses of power against peaks |
//! | `spectral_conv/`, `long_conv/` | convolutions by transforms |
//! | `adam/` | steps of Adam |
//! | `elementary.rs` | logarithms and exponentials of many f32 |
//!
//! In each family, `mod.rs` has the entry functions, which choose the kernel. Files of one name have one role in every
//! family that has them:
//!
//! | file | role | families |
//! | --- | --- | --- |
//! | `forward.rs` | results in f32 by butterflies or passes, and peaks | `butterfly`, `top_k`, `welch` |
//! | `backward.rs` | gradients: in f32 by butterflies, of power by planned transforms | `butterfly`, `welch` |
//! | `lanes.rs` | rows or frames in f32, one per lane | `long_conv`, `mel`, `transform`, `welch` |
//! | `planned.rs` | rows or frames one by one, by plans of rustfft and realfft | `long_conv`, `transform`, `welch` |
//! | `plain.rs` | rows one by one, by butterflies in plain loops | `butterfly` |
//!
//! `adam`, `local_maxima` and `peak_loss` are in their `mod.rs`, as are the search of one row in `top_k` and planned frames
//! in `mel`, and `spectral_conv` has a file for its products. Where there is no `backward.rs`, gradients are in the files of
//! the forward pass. `planned.rs` and `plain.rs` compute everything in f64, and in f32 in builds with debug assertions.
//!
//! Every entry function takes row-major slices whose lengths its caller has checked, runs its rows on rayon's
//! current pool when there is enough to do, and gives the same bits whatever the number of threads: rows do not
//! depend on each other, and a sum over rows is made of partial sums over blocks whose size follows from the shapes
//! alone. Nothing is allocated per row; buffers are kept per thread.

mod adam;
mod butterfly;
mod elementary;
mod fft;
mod isa;
mod local_maxima;
mod long_conv;
mod mel;
mod peak_loss;
mod real;
mod runtime;
mod spectral_conv;
#[cfg(test)]
mod tests;
mod top_k;
mod transform;
mod welch;

pub use self::runtime::tasks::{in_pieces, rows_of_piece};
pub use adam::adam_step;
pub use butterfly::{ButterflyTransform, butterfly, butterfly_backward};
pub use isa::instruction_set;
#[cfg(feature = "testing")]
pub use isa::{InstructionSet, welch_instruction_set};
pub use local_maxima::local_maxima;
pub use long_conv::{LongConvOperands, long_conv, long_conv_backward};
pub use mel::{MelCall, mel, mel_backward};
pub use peak_loss::{PeakLossInputs, peak_loss, peak_loss_backward};
pub use real::Real;
pub use spectral_conv::SpectralConvGradients;
pub(crate) use spectral_conv::{spectral_conv, spectral_conv_backward, workspace_len};
pub use top_k::top_k;
pub use transform::{
    columns_fill_lanes, complex_fft, complex_fft_columns, complex_fft_in_place, cosine, inverse_real_fft, real_fft,
};
pub use welch::{Estimate, welch_peaks, welch_psd, welch_psd_backward};
