//! Functions of audio spectra, differentiable but for the roll-off.
//!
//! | function | inputs → output |
//! | --- | --- |
//! | [`inverse_mel`] | bands `[.., bands, frames]` → spectrum `[.., bins, frames]` |
//! | [`griffin_lim`] | magnitudes `[.., bins, frames]` → signal `[.., samples]` |
//! | [`spectral_centroid`], [`spectral_bandwidth`], [`spectral_kurtosis`], [`spectral_flatness`], [`spectral_rolloff`] | magnitudes `[.., bins, frames]` → a number per frame, `[.., 1, frames]` |
//! | [`multi_resolution_stft_loss`] | two signals `[.., samples]` → their distance `[1]` |
//!
//! ```
//! use burn::tensor::{Device, FloatDType, Tensor};
//! use firefly_ops::audio::{griffin_lim, inverse_mel, multi_resolution_stft_loss, spectral_centroid};
//! use firefly_ops::fft::rfftfreq;
//! use firefly_ops::options::MelBands;
//! use firefly_ops::StftOptions;
//!
//! let device = Device::flex();
//! let power = inverse_mel(Tensor::<3>::ones([2, 40, 20], &device), 1024, &MelBands::new(16_000.0, 40))?;
//! let frequencies = rfftfreq(1024, 1.0 / 16_000.0, FloatDType::F32, &device)?;
//! assert_eq!(spectral_centroid(power.clone(), frequencies)?.dims(), [2, 1, 20]);
//! let signal: Tensor<2> = griffin_lim(power.sqrt(), None, &StftOptions::new(1024), 4, 0.99, Some(0), None)?;
//! let loss = multi_resolution_stft_loss(signal.clone() * 2.0, signal, None)?.into_scalar::<f32>();
//! assert!((loss - (1.0 + 2f32.ln())).abs() < 0.05);
//! # Ok::<(), firefly_ops::ArgumentError>(())
//! ```

mod features;
mod loss;
mod reconstruction;

pub use features::{spectral_bandwidth, spectral_centroid, spectral_flatness, spectral_kurtosis, spectral_rolloff};
pub use loss::multi_resolution_stft_loss;
pub use reconstruction::{griffin_lim, inverse_mel};
