//! Fourier transforms in the conventions of `torch.fft`: any length, any dimensions of tensors of any rank, real and
//! complex, on every backend, differentiable.
//!
//! | function | input → output along the dimension |
//! | --- | --- |
//! | [`fft()`], [`ifft`] | complex or real `[n]` → complex `[n]` |
//! | [`rfft`], [`ihfft`] | real `[n]` → complex `[n/2 + 1]` |
//! | [`irfft`], [`hfft`] | complex `[n/2 + 1]` → real `[n]` |
//! | `…2`, `…n` | the same along two or any dimensions |
//! | [`stft`], [`istft`] | real `[samples]` → complex `[bins, frames]`, and back |
//! | [`stft_complex`], [`istft_complex`] | complex `[samples]` → complex `[n_fft, frames]`, and back |
//! | [`frames`], [`overlap_add`] | `[samples]` → `[frames, length]`, and their sum |
//! | [`dct`], [`idct`] | real `[n]` → coefficients of `n` cosines, and back |
//! | [`fft_convolve`] | real `[n]` and `[k]` → their convolution |
//! | [`fftfreq`], [`rfftfreq`], [`fftshift`], [`ifftshift`] | frequencies of bins, and their order |
//!
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
//! use firefly_ops::Norm;
//! use firefly_ops::fft::{irfft, rfft};
//!
//! // A low-pass filter: the lowest 100 bins of 1,000 samples.
//! let signal = Tensor::<2>::ones([8, 1000], &Device::flex());
//! let spectrum = rfft(signal, None, -1, Norm::Backward)?;
//! let low = spectrum.map(|part| part.narrow(1, 0, 100));
//! let filtered = irfft(low, Some(1000), -1, Norm::Backward)?;
//! assert_eq!(filtered.dims(), [8, 1000]);
//! # Ok::<(), firefly_ops::ArgumentError>(())
//! ```

mod along;
mod complex_tensor;
mod dimensions;
mod framing;
mod frequencies;
mod one_dimension;
mod stft;

pub use crate::fast_length::next_fast_len;
pub use crate::options::ConvolveMode;
pub use complex_tensor::ComplexTensor;
pub use dimensions::{fft2, fftn, hfft2, hfftn, ifft2, ifftn, ihfft2, ihfftn, irfft2, irfftn, rfft2, rfftn};
pub use framing::{frames, overlap_add};
pub use frequencies::{fftfreq, fftshift, ifftshift, rfftfreq};
pub use one_dimension::{dct, fft, fft_convolve, hfft, idct, ifft, ihfft, irfft, rfft};
pub(super) use stft::full_window;
pub use stft::{istft, istft_complex, stft, stft_complex};
