//! Model zoo on spectral operations for [Burn](https://burn.dev).
//!
//! | model | computes |
//! | --- | --- |
//! | [`WelchPeaks`] | exact Welch peaks, with any number of segments of any length |
//! | [`LearnedWelchPeaks`] | the same with learned taper, gates of segments and gain, and perhaps a learned transform |
//! | [`AutoWelchPeaks`] | exact or learned peaks, by the strategy that is predicted to be fastest |
//! | [`Butterfly`] | a learned fast transform |
//! | [`LogMel`], [`Mfcc`] | log-mel spectra with fixed or learned filters; cepstral coefficients |
//! | [`MelClassifier`] | classes of recordings, by convolutions over their log-mel spectra |
//! | [`SpectralDenoiser`] | a signal without noise, by a mask on its short-time spectrum |
//! | [`Fits`] | forecasts of series |
//! | [`Fno1d`], [`Fno2d`], [`Fno3d`] | a map between fields: Fourier neural operators |
//! | [`LongConv`], [`S4d`], [`Hyena`] | outputs of sequences by convolutions with kernels as long as the sequence |
//! | [`FNet`] | values of tokens, mixed by Fourier transforms |
//! | [`GfNet`] | classes of images, by filters of the spectrum of patches |
//!
//! All of them are Burn modules: they nest in other modules, train with them and are saved with them. The module
//! [`zoo`] lists every family by name, and creates, saves and loads its models.
//!
//! Models of frames, recordings and rows take tensors of any rank and work along the last dimension. Models of peaks
//! map frames `[.., frame]` to [`Peaks`] `[.., k]`. A frame of S segments has `n_fft + (S − 1) · hop` samples; further
//! samples are ignored. Power is in the signal's unit squared, one-sided, and scaled as [`Scaling`] says.
//! Complex values are a [`ComplexTensor`](firefly_ops::fft::ComplexTensor), whose parts [`SpectrumLayout`] joins.
//!
//! ```
//! use burn::tensor::{Device, Tensor};
//! use firefly_models::WelchPeaksConfig;
//!
//! let device = Device::flex();
//! let model = WelchPeaksConfig::new().with_n_fft(256).with_k(16).with_segments(2).init(&device);
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

/// Declares the panicking form of a method that returns an error, such as `forward` of `try_forward`.
macro_rules! or_panic {
    (
        $name:ident$(<$(const $rank:ident),+ $(; $kind:ident: $bound:ident)?>)? =
            $fallible:ident($($argument:ident: $type:ty),*) -> $output:ty
    ) => {
        #[doc = concat!("[`", stringify!($fallible), "`](Self::", stringify!($fallible), ") of valid arguments.")]
        ///
        /// # Panics
        /// With the message of its error.
        #[track_caller]
        pub fn $name$(<$(const $rank: usize),+ $(, $kind: $bound)?>)?(&self, $($argument: $type),*) -> $output {
            $crate::expect_valid(self.$fallible($($argument),*))
        }
    };
}

/// Checks that fields of a configuration are finite and at least their limits.
macro_rules! ensure_least {
    ($config:expr, $name:expr, $($field:ident: $least:literal),+ $(,)?) => {
        [$((stringify!($field), $config.$field as f64, $least)),+].into_iter().try_for_each(|(field, value, least)| {
            let holds = value.is_finite() && value >= least;
            $crate::ensure(holds, $name, field, value, format_args!("at least {least}"))
        })
    };
}

/// Declares a configuration: fields with their documentation and default, those without one optional or required.
macro_rules! config {
    (
        $(#[$doc:meta])* $config:ident;
        $($(#[$field_doc:meta])* $field:ident: $type:ident$(<$argument:ty>)? $(= $default:literal)?;)*
    ) => {
        $(#[$doc])*
        #[non_exhaustive]
        #[derive(Config, Debug, PartialEq)]
        pub struct $config {
            $(
                $(#[$field_doc])*
                $(#[config(default = $default)])?
                pub $field: $type$(<$argument>)?,
            )*
        }
    };
}

/// Declares a configuration whose fields have a default, a least value and perhaps a greatest one, and the check of these
/// and by further methods.
macro_rules! limited_config {
    (
        $(#[$doc:meta])* $config:ident $(, $check:ident)*;
        $($(#[$field_doc:meta])* $field:ident: $type:ident = $default:literal, $least:literal $(, $most:expr)?;)*
    ) => {
        config! { $(#[$doc])* $config; $($(#[$field_doc])* $field: $type = $default;)* }

        impl $config {
            fn check_fields(&self) -> Result<(), ArgumentError> {
                ensure_least!(self, stringify!($config), $($field: $least),*)?;
                $($($crate::ensure_most(stringify!($config), stringify!($field), self.$field, $most)?;)?)*
                $(self.$check()?;)*
                Ok(())
            }
        }
    };
}

/// Declares `validate` of a configuration, whose `check_fields` checks them.
macro_rules! validated {
    ($config:ty) => {
        impl $config {
            /// Checks every field.
            ///
            /// # Errors
            /// [`ArgumentError`] naming the first field that is out of range.
            pub fn validate(&self) -> Result<(), ArgumentError> {
                self.check_fields()
            }
        }
    };
}

/// Declares the methods that models and their configurations have in common: `validate` and `try_init` of a
/// configuration, which is checked before the model's `new` takes it, and `config` of the model.
macro_rules! configured {
    ($model:ident by $config:ident) => {
        validated! { $config }

        impl $config {
            or_panic! { init = try_init(device: &burn::tensor::Device) -> $model }

            /// The untrained model on `device`.
            ///
            /// # Errors
            /// [`ArgumentError`] naming the first field that is out of range.
            pub fn try_init(&self, device: &burn::tensor::Device) -> Result<$model, ArgumentError> {
                self.validate()?;
                $model::new(self, device)
            }
        }

        impl $model {
            /// Configuration of the model.
            pub fn config(&self) -> &$config {
                &self.config
            }
        }
    };
}

/// Declares a family's configuration, whose `try_init` makes the model that returns it by `config`, and its card by name.
macro_rules! configured_by {
    ($config:ty, $name:literal) => {
        type Config = $config;

        const CARD: $crate::zoo::FamilyCard = $crate::zoo::FamilyCard { name: $name };

        fn from_config(config: &$config, device: &burn::tensor::Device) -> Result<Self, firefly_ops::ArgumentError> {
            config.try_init(device)
        }

        fn config(&self) -> $config {
            Self::config(self).clone()
        }
    };
}

/// Declares `apply` of a family whose models map one tensor of floats to another, and its declared inputs if the fields
/// of the configuration are given that are their shape behind the batch; `name` is the operation in errors.
macro_rules! applied_to {
    ($argument:ident [$($field:ident),+]: $input:ty => $output:ty, $name:expr) => {
        fn inputs(&self, batch: usize) -> Vec<firefly_framework::graph::Input> {
            vec![firefly_framework::graph::Input::new(stringify!($argument), [batch, $(self.config.$field),+])]
        }

        applied_to! { $argument: $input => $output, $name }
    };
    ($argument:ident: $input:ty => $output:ty, $name:expr) => {
        fn apply(
            &self,
            inputs: Vec<firefly_framework::graph::AnyTensor>,
        ) -> Result<Vec<firefly_framework::graph::AnyTensor>, firefly_ops::ArgumentError> {
            let [input] = $crate::zoo::exactly($name, inputs)?;
            let input: $input = input.try_float($name, stringify!($argument))?;
            let output: $output = self.try_forward(input)?;
            Ok(vec![output.into()])
        }
    };
}

use std::fmt::Display;

use burn::module::Initializer;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::Device;

#[cfg(feature = "flex")]
#[cfg_attr(docsrs, doc(cfg(feature = "flex")))]
pub mod auto;
pub mod butterfly;
pub mod channel_linear;
pub mod checksum;
mod fits;
pub mod fnet;
pub mod fno;
pub mod gfnet;
pub mod learned_welch_peaks;
pub mod log_mel;
mod mel_classifier;
mod mfcc;
mod rows;
pub mod segments;
pub mod sequence;
mod spectral_denoiser;
mod spectrum_layout;
#[cfg(feature = "testing")]
#[cfg_attr(docsrs, doc(cfg(feature = "testing")))]
pub mod testing;
pub mod weights;
mod welch_peaks;
pub mod zoo;

#[cfg(feature = "flex")]
#[cfg_attr(docsrs, doc(cfg(feature = "flex")))]
pub use auto::{AutoWelchPeaks, AutoWelchPeaksConfig};
pub use butterfly::{Butterfly, ButterflyConfig};
pub use fits::{Fits, FitsConfig};
pub use fnet::{FNet, FNetConfig};
pub use fno::{Fno1d, Fno2d, Fno3d, FnoConfig};
pub use gfnet::{GfNet, GfNetConfig};
pub use learned_welch_peaks::{LearnedWelchPeaks, LearnedWelchPeaksConfig};
pub use log_mel::{LogMel, LogMelConfig};
pub use mel_classifier::{MelClassifier, MelClassifierConfig};
pub use mfcc::{Mfcc, MfccConfig};
pub use sequence::{Hyena, HyenaConfig, LongConv, LongConvConfig, S4d, S4dConfig};
pub use spectral_denoiser::{SpectralDenoiser, SpectralDenoiserConfig};
pub use spectrum_layout::SpectrumLayout;
pub use welch_peaks::{WelchPeaks, WelchPeaksConfig};

pub use firefly_ops::{ArgumentError, Band, Detrend, Peaks, Scaling, Window, WindowSymmetry};

/// Names that most files of a family need.
mod prelude {
    pub(crate) use burn::config::Config;
    pub(crate) use burn::module::{Initializer, Module, Param};
    pub(crate) use burn::nn::{LayerNorm, LayerNormConfig, Linear, LinearConfig};
    pub(crate) use burn::tensor::{Device, FloatDType, Int, Tensor, TensorData};
    pub(crate) use firefly_framework::graph::{AnyTensor, Input};
    pub(crate) use firefly_ops::fft::ComplexTensor;
    pub(crate) use firefly_ops::{ArgumentError, Band, Detrend, Peaks, Scaling, WelchOptions, Window, WindowSymmetry};

    pub(crate) use crate::zoo::{Family, Variant, exactly};
    pub(crate) use crate::{MAX_DEPTH, NORMAL, ensure, ensure_most, ensure_table, normal_linear};

    /// Result whose error is that of an argument unless another is named.
    pub(crate) type Result<V, E = ArgumentError> = std::result::Result<V, E>;
}

/// The value of a result, or a panic with the error's message: how `try_forward` becomes `forward`.
#[track_caller]
fn expect_valid<T>(result: Result<T, ArgumentError>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

/// `Ok` where `holds`, else the error.
fn ensure(
    holds: bool,
    operation: &'static str,
    argument: &'static str,
    got: impl Display,
    expected: impl Display,
) -> Result<(), ArgumentError> {
    if holds { Ok(()) } else { Err(ArgumentError::new(operation, argument, got, expected)) }
}

/// Weights of encoders by Fourier transforms at first.
const NORMAL: Initializer = Initializer::Normal { mean: 0.0, std: 0.02 };

/// Linear layer with weights of [`NORMAL`] and a bias of 0.
fn normal_linear(inputs: usize, outputs: usize, device: &Device) -> Linear {
    let layer = LinearConfig::new(inputs, outputs).with_initializer(NORMAL).init(device);
    Linear { bias: Some(Initializer::Zeros.init([outputs], device)), ..layer }
}

/// Largest number of layers or blocks of a model: each of them takes memory and time before the first step.
const MAX_DEPTH: usize = 1024;

/// Checks a count against the largest one that is accepted.
fn ensure_most(config: &'static str, field: &'static str, count: usize, most: usize) -> Result<(), ArgumentError> {
    ensure(count <= most, config, field, count, format_args!("at most {most}"))
}

/// Checks that a table of constants of `count` rows, as the field says, has at most 2²⁸ values, 1 GiB.
fn ensure_table(config: &'static str, field: &'static str, count: usize, row: usize) -> Result<(), ArgumentError> {
    const MAX_VALUES: usize = 1 << 28;
    ensure_most(config, field, count, MAX_VALUES / row.max(1))
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
