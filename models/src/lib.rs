//! Model zoo on spectral operations for [Burn](https://burn.dev).
//!
//! | model | computes |
//! | --- | --- |
//! | [`WelchPeaks`] | exact Welch peaks, with as many segments as its [`Tier`] |
//! | [`LearnedWelchPeaks`] | the same with learned taper, twiddles, gates and gain |
//! | [`AdaptiveWelchPeaks`] | the same from as many segments as each frame needs |
//! | [`AutoWelchPeaks`] | exact or learned peaks, by the strategy that is predicted to be fastest |
//! | [`Butterfly`] | a learned fast transform |
//! | [`LearnedFft`] | a gated transform before power, mel bands or peaks |
//! | [`LogMel`], [`Mfcc`] | log-mel spectra with fixed or learned filters; cepstral coefficients |
//! | [`MelClassifier`] | classes of recordings, by convolutions over their log-mel spectra |
//! | [`SpectralDenoiser`] | a signal without noise, by a mask on its short-time spectrum |
//! | [`Fits`], [`TimesNet`] | forecasts of series |
//! | [`Fno1d`], [`Fno2d`], [`Fno3d`] | a map between fields: Fourier neural operators |
//! | [`LongConv`], [`S4d`], [`Hyena`] | outputs of sequences by convolutions with kernels as long as the sequence |
//! | [`FNet`] | values of tokens, mixed by Fourier transforms |
//! | [`GfNet`], [`Afno`] | classes of images, by filters or linear layers on the spectrum of patches |
//!
//! All of them are Burn modules: they nest in other modules, train with them and are saved with them. The module
//! [`zoo`] lists every family by name, and creates, saves and loads its models.
//!
//! Models of frames, recordings and rows take tensors of any rank and work along the last dimension. Models of peaks
//! map frames `[.., frame]` to [`Peaks`] `[.., k]`. A frame of S segments has `n_fft + (S − 1) · hop` samples; further
//! samples are ignored. Power is in the signal's unit squared, one-sided, and scaled as [`Scaling`] says.
//! [`SpectrumLayout`] joins the parts of complex spectra in one tensor.
//!
//! ```
//! use burn::tensor::{Device, Tensor};
//! use firefly_models::{Tier, WelchPeaksConfig};
//!
//! let device = Device::flex();
//! let model = WelchPeaksConfig::new().with_n_fft(256).with_k(16).with_tier(Tier::Fast).init(&device);
//! let frames = Tensor::<2>::ones([64, 384], &device); // [batch, frame]
//! let peaks = model.forward(frames); // strongest first
//! assert_eq!((peaks.bins.dims(), peaks.power.dims()), ([64, 16], [64, 16]));
//! ```
//!
//! # Errors
//! Methods that follow Burn's conventions, such as `init`, `forward` and `psd`, panic on bad arguments with the message
//! of a typed error; `try_init`, `try_forward` and `try_psd` return it as an [`ArgumentError`].
//!
//! # Features
//! | feature | effect |
//! | --- | --- |
//! | `flex` (default) | Burn's CPU backend; [`AutoWelchPeaks`], whose strategies on the host run there |
//! | `ndarray`, `cuda`, `rocm`, `vulkan`, `wgpu`, `metal` | a further backend each |
//! | `autodiff` (default) | gradients |
//! | `fusion`, `simd`, `rayon` | as in `firefly-ops` |
//! | `testing` | Welch peaks composed of several operations, for tests and measurements; not covered by semantic versioning |
#![cfg_attr(docsrs, feature(doc_cfg))]

mod adaptive_welch_peaks;
#[cfg(feature = "flex")]
mod auto;
mod butterfly;
mod channel_linear;
mod fits;
mod fnet;
mod fno;
mod learned_fft;
mod learned_welch_peaks;
mod least;
mod log_mel;
mod mel_classifier;
mod mfcc;
mod rows;
mod sequence;
mod spectral_denoiser;
mod spectrum_layout;
#[cfg(feature = "testing")]
#[cfg_attr(docsrs, doc(cfg(feature = "testing")))]
pub mod testing;
mod tier;
mod timesnet;
mod vision;
pub mod weights;
mod welch_peaks;
pub mod zoo;

pub use adaptive_welch_peaks::{AdaptivePeaks, AdaptiveRounds, AdaptiveWelchPeaks, AdaptiveWelchPeaksConfig};
#[cfg(feature = "flex")]
#[cfg_attr(docsrs, doc(cfg(feature = "flex")))]
pub use auto::{
    AutoWelchPeaks, AutoWelchPeaksConfig, Candidate, PUBLISHED_STRATEGIES, PublishedStrategy, Selection, Strategy,
    traces_selections,
};
pub use butterfly::{Butterfly, ButterflyConfig, ButterflyFactor, PermutationKind, RelaxedPermutation};
pub use channel_linear::ChannelLinear;
pub use fits::{Fits, FitsConfig};
pub use fnet::{FNet, FNetBlock, FNetConfig};
pub use fno::{
    ChannelUnit, DenseLayer, FactorizedLayer, Fno, Fno1d, Fno2d, Fno3d, FnoConfig, FnoKind, FnoLayer, SpectralWeights,
};
pub use learned_fft::{LearnedFft, LearnedFftConfig, SpectralFeatures};
pub use learned_welch_peaks::{
    GateKind, Gates, HardConcrete, LearnedWelchPeaks, LearnedWelchPeaksConfig, StoreError, WEIGHTS_FORMAT,
};
pub use log_mel::{LogMel, LogMelConfig, standardised_spectrum};
pub use mel_classifier::{MelClassifier, MelClassifierConfig};
pub use mfcc::{Mfcc, MfccConfig};
pub use sequence::{
    Channels, DiagonalStateSpace, DirectKernel, FeedForward, Hyena, HyenaConfig, HyenaFilter, HyenaOperator, LongConv,
    LongConvConfig, Mixer, S4d, S4dConfig, SequenceBlock, SequenceStack,
};
pub use spectral_denoiser::{SpectralDenoiser, SpectralDenoiserConfig};
pub use spectrum_layout::SpectrumLayout;
pub use tier::Tier;
pub use timesnet::{Periods, TimesBlock, TimesNet, TimesNetConfig, find_periods};
pub use vision::{
    Afno, AfnoConfig, AfnoMixer, BlockLinear, GfNet, GfNetConfig, GlobalFilter, PatchMixer, VisionBlock, VisionStack,
};
pub use weights::ParameterMismatch;
pub use welch_peaks::{WelchPeaks, WelchPeaksConfig};

pub use firefly_ops::{ArgumentError, Band, Detrend, Peaks, Scaling, WelchOptions, Window, WindowSymmetry};

/// The value of a result, or a panic with the error's message: how `try_forward` becomes `forward`.
#[track_caller]
fn expect_valid<T>(result: Result<T, ArgumentError>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

/// Checks the number of channels of a block's input.
fn ensure_channels(
    operation: &'static str,
    argument: &'static str,
    channels: usize,
    width: usize,
) -> Result<(), ArgumentError> {
    if channels == width {
        return Ok(());
    }
    Err(ArgumentError::new(operation, argument, format_args!("of {channels} channels"), format_args!("of {width}")))
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
