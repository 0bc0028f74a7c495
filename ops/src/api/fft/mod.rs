//! Fourier transforms in the conventions of `torch.fft`: any length, any dimensions of tensors of any rank, real and
//! complex, on every backend, differentiable.
//!
//! | function | input → output along the dimension |
//! | --- | --- |
//! | [`fft()`], [`ifft`] | complex or real `[n]` → complex `[n]` |
//! | [`rfft`], [`ihfft`] | real `[n]` → complex `[n/2 + 1]` |
//! | [`irfft`], [`hfft`] | complex `[n/2 + 1]` → real `[n]` |
//! | `…2`, `…n` | the same along the last two or all dimensions |
//! | [`stft`], [`istft`] | real `[samples]` → complex `[bins, frames]`, and back |
//! | [`stft_complex`], [`istft_complex`] | complex `[samples]` → complex `[n_fft, frames]`, and back |
//! | [`frames`], [`overlap_add`] | `[samples]` → `[frames, length]`, and their sum |
//! | [`dct`], [`idct`], [`dst`], [`idst`] | real `[n]` → coefficients of `n` cosines or sines, types 1 to 4, and back |
//! | [`czt`], [`zoom_fft`] | complex or real `[n]` → complex `[m]`, at points of a spiral or frequencies of a band |
//! | [`hilbert`], [`envelope`], [`real_cepstrum`], [`minimum_phase`] | real `[n]` → analytic signal, its magnitude; cepstrum, and back |
//! | [`fft_convolve`], [`OverlapSave`] | real `[n]` and `[k]` → their convolution, at once or block by block |
//! | [`fftfreq`], [`rfftfreq`], [`fftshift`], [`ifftshift`] | frequencies of bins, and their order |
//!
//! - **Arguments**: `rfft(signal)` is along the last dimension, in [`Norm::Backward`](crate::Norm). Each transform has
//!   a form with all arguments, such as [`rfft_with`]. Dimensions are of any integer type, as in Burn; negative ones
//!   count from the end. What returns real values takes their number, as `irfft(spectrum, 1000)`; `None` is an even one.
//! - **Length**: any n of at least 1, also a prime; an n-point transform is never that of a longer, padded signal.
//! - **Complex values** are a [`ComplexTensor`]: a real and an imaginary part.
//! - **Normalisation** is [`Norm`](crate::Norm)'s.
//! - **Types**: f32 and, on a CPU, f64 compute in their own precision; f16 and bf16 compute in, and return, f32.
//! - **Accuracy** in f32: the largest error of a row is within 2·10⁻⁶ + 5·10⁻⁷ log₁₀ n of its largest value, twice that
//!   for lengths with large prime factors.
//! - **Gradients** are those of the real and imaginary parts. A backward pass is itself a transform.
//!
//! ```
//! use burn::tensor::{Device, Tensor};
//! use firefly_ops::fft::{irfft, rfft};
//!
//! // A low-pass filter: the lowest 100 bins of 1,000 samples.
//! let signal = Tensor::<2>::ones([8, 1000], &Device::flex());
//! let low = rfft(signal)?.map(|part| part.narrow(1, 0, 100));
//! let filtered = irfft(low, 1000)?;
//! assert_eq!(filtered.dims(), [8, 1000]);
//! # Ok::<(), firefly_ops::ArgumentError>(())
//! ```

/// Declares transforms in two forms: one along the last dimensions in `Norm::Backward`, which takes a length where the
/// default is ambiguous, and one with all arguments.
macro_rules! transforms {
    (
        $length:ident: $short:ty, $long:ty as $lengths:expr;
        $along:ident: $dims:ty as $given:expr, $last:expr;
        $arguments:literal; $errors:literal;
        $(
            $(#[$doc:meta])*
            $name:ident($input:ty $(, $optional:ident)?) -> $output:ty, $with:ident = $method:ident($forward:expr);
        )*
    ) => {$(
        $(#[$doc])*
        #[doc = concat!("\n# Errors\n", $errors)]
        pub fn $name<const D: usize>(
            input: $input
            $(, $optional: impl Into<Option<$short>>)?
        ) -> crate::error::Result<$output> {
            let $length: Option<$short> = None$(.or($optional.into()))?;
            let call = FftCall { operation: stringify!($name), forward: $forward, norm: crate::Norm::Backward };
            call.$method(input, $lengths, $last)
        }

        #[doc = concat!("[`", stringify!($name), "`] with all arguments. See there for an example, and for errors.\n")]
        #[doc = $arguments]
        /// - `norm`: the factor of the transform.
        pub fn $with<const D: usize>(
            input: $input,
            $length: $long,
            $along: $dims,
            norm: crate::Norm,
        ) -> crate::error::Result<$output> {
            FftCall { operation: stringify!($name), forward: $forward, norm }.$method(input, $lengths, $given)
        }
    )*};
}

mod along;
mod analytic;
mod chirp;
mod complex_tensor;
mod cosine;
mod dimensions;
mod framing;
mod frequencies;
mod one_dimension;
mod overlap_save;
mod stft;

pub use crate::fast_length::next_fast_len;
pub use crate::options::ConvolveMode;
pub(super) use along::FftCall;
pub use analytic::{envelope, hilbert, minimum_phase, real_cepstrum};
pub(super) use analytic::{peak, root};
pub use chirp::{czt, zoom_fft};
pub use complex_tensor::ComplexTensor;
pub(super) use cosine::along;
pub use cosine::{dct, dct_with, dst, dst_with, idct, idct_with, idst, idst_with};
pub use dimensions::{
    fft2, fft2_with, fftn, fftn_with, hfft2, hfft2_with, hfftn, hfftn_with, ifft2, ifft2_with, ifftn, ifftn_with,
    ihfft2, ihfft2_with, ihfftn, ihfftn_with, irfft2, irfft2_with, irfftn, irfftn_with, rfft2, rfft2_with, rfftn,
    rfftn_with,
};
pub(super) use framing::row_frames;
pub use framing::{frames, overlap_add};
pub use frequencies::{fftfreq, fftshift, fftshift_with, ifftshift, ifftshift_with, rfftfreq};
pub use one_dimension::{
    fft, fft_convolve, fft_with, hfft, hfft_with, ifft, ifft_with, ihfft, ihfft_with, irfft, irfft_with, rfft,
    rfft_with,
};
pub use overlap_save::OverlapSave;
pub(super) use stft::full_window;
pub use stft::{istft, istft_complex, stft, stft_complex};
