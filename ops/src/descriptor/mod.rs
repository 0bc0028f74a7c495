//! Operations as data: one table of names and scalar arguments, the output shapes, and how each operation is run.
//!
//! Differentiation, lazy fusion, graph capture and replay share this folder, so that they cannot differ: the table
//! here, `record` (output shapes, records and their execution) and `run` (calls of a backend's methods).
//!
//! ```
//! use burn::tensor::IntDType;
//! use firefly_ops::descriptor::{NAMES, OpDescriptor};
//!
//! // An operation of a recorded graph: its name and its arguments that are not tensors.
//! let operation = OpDescriptor::TopK { k: 5, bins: IntDType::I32 };
//! let (name, scalars) = (operation.name(), operation.scalars());
//! assert!(name == "firefly::top_k" && NAMES.contains(&name));
//! assert_eq!(OpDescriptor::parse(name, &scalars), Some(operation));
//! ```

#[cfg(feature = "autodiff")]
mod adjoint;
mod argument;
#[cfg(any(feature = "fusion", feature = "router"))]
mod record;
#[cfg(any(feature = "autodiff", feature = "fusion", feature = "router"))]
mod run;

use burn::backend::ir::ScalarIr;
use burn::tensor::IntDType;

use self::argument::Argument;
#[cfg(feature = "fusion")]
pub(crate) use self::record::execute;
#[cfg(feature = "router")]
#[cfg_attr(docsrs, doc(cfg(feature = "router")))]
pub use self::record::register_spectral_ops;
#[cfg(any(feature = "autodiff", feature = "fusion", feature = "router"))]
pub(crate) use self::run::{OperationOutputs, take};
use crate::options::{
    AdamOptions, FftOptions, LocalMaximaOptions, Logarithm, MelOptions, PeakLossOptions, WelchOptions,
};

/// Declares the operations: a constant with the name of each, the enum of all of them with their scalar arguments, and
/// both ways between that enum and recorded operations.
macro_rules! operations {
    ($(
        $(#[$doc:meta])*
        $constant:ident = $name:literal: $operation:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty),* $(,)? }
    )*) => {
        $(
            #[doc = concat!("Name of [`OpDescriptor::", stringify!($operation), "`].")]
            pub const $constant: &str = $name;
        )*

        /// Names of all operations, as they stand in recorded graphs.
        pub const NAMES: &[&str] = &[$($constant),*];

        /// One operation with its arguments that are not tensors.
        ///
        /// The variants are the methods of [`SpectralOps`](crate::SpectralOps); their tensors are the inputs of a
        /// [`CustomOpIr`](burn::backend::ir::CustomOpIr), in the order of the method's arguments and of the fields of
        /// structs.
        ///
        /// ```
        /// use firefly_ops::WelchOptions;
        /// use firefly_ops::descriptor::{OpDescriptor, WELCH_PSD};
        ///
        /// let options = WelchOptions::new(256, 2);
        /// let operation = OpDescriptor::WelchPsd { options };
        /// assert_eq!((operation.name(), operation.welch_options()), (WELCH_PSD, Some(options)));
        /// assert_eq!(OpDescriptor::parse(operation.name(), &operation.scalars()), Some(operation));
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[non_exhaustive]
        pub enum OpDescriptor {
            $($(#[$doc])* $operation { $($(#[$field_doc])* $field: $type),* }),*
        }

        impl OpDescriptor {
            /// The operation's name, as it stands in recorded graphs.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$operation { .. } => $constant),*
                }
            }

            /// The arguments that are not tensors, encoded.
            pub fn scalars(&self) -> Vec<ScalarIr> {
                let mut scalars = Vec::new();
                match self {
                    $(Self::$operation { $($field),* } => { $($field.encode(&mut scalars);)* })*
                }
                scalars
            }

            /// The operation called `name` with the scalars that [`scalars`](Self::scalars) encodes; `None` for any
            /// other.
            pub fn parse(name: &str, scalars: &[ScalarIr]) -> Option<Self> {
                let mut scalars = scalars.iter();
                let operation = match name {
                    $($constant => Self::$operation { $($field: Argument::decode(&mut scalars)?),* },)*
                    _ => return None,
                };
                scalars.next().is_none().then_some(operation)
            }
        }
    };
}

operations! {
    /// Welch power.
    WELCH_PSD = "firefly::welch_psd": WelchPsd {
        /// Parameters of the estimate.
        options: WelchOptions,
    }
    /// Gradients of [`WelchPsd`](Self::WelchPsd).
    WELCH_PSD_BACKWARD = "firefly::welch_psd_backward": WelchPsdBackward {
        /// Parameters of the estimate.
        options: WelchOptions,
    }
    /// Strongest bins of Welch power.
    WELCH_PEAKS = "firefly::welch_peaks": WelchPeaks {
        /// Parameters of the estimate.
        options: WelchOptions,
        /// Peaks per row.
        k: usize,
        /// Type of bin numbers.
        bins: IntDType,
    }
    /// Largest values of rows.
    TOP_K = "firefly::top_k": TopK {
        /// Values per row.
        k: usize,
        /// Type of positions.
        bins: IntDType,
    }
    /// Local maxima of rows, and the bases of their prominence.
    LOCAL_MAXIMA = "firefly::local_maxima": LocalMaxima {
        /// Conditions that the maxima meet.
        options: LocalMaximaOptions,
        /// Maxima per row.
        k: usize,
        /// Type of bin numbers.
        bins: IntDType,
    }
    /// Butterfly transform.
    BUTTERFLY = "firefly::butterfly": Butterfly {
        /// Whether there is a gate per butterfly; all are open otherwise.
        gated: bool,
    }
    /// Gradients of [`Butterfly`](Self::Butterfly).
    BUTTERFLY_BACKWARD = "firefly::butterfly_backward": ButterflyBackward {
        /// Whether there is a gate per butterfly; all are open otherwise.
        gated: bool,
    }
    /// Welch power through learned parameters.
    LEARNED_WELCH_PSD = "firefly::learned_welch_psd": LearnedWelchPsd {
        /// Parameters of the estimate.
        options: WelchOptions,
    }
    /// Gradients of [`LearnedWelchPsd`](Self::LearnedWelchPsd).
    LEARNED_WELCH_PSD_BACKWARD = "firefly::learned_welch_psd_backward": LearnedWelchPsdBackward {
        /// Parameters of the estimate.
        options: WelchOptions,
        /// Which inputs' gradients are computed, in the order of the fields of
        /// [`LearnedTensors`](crate::LearnedTensors).
        requires_grad: [bool; 6],
    }
    /// Strongest bins of Welch power through learned parameters.
    LEARNED_WELCH_PEAKS = "firefly::learned_welch_peaks": LearnedWelchPeaks {
        /// Parameters of the estimate.
        options: WelchOptions,
        /// Peaks per row.
        k: usize,
        /// Type of bin numbers.
        bins: IntDType,
    }
    /// Fourier transform of complex rows.
    COMPLEX_FFT = "firefly::complex_fft": ComplexFft {
        /// Length, direction and factors.
        options: FftOptions,
    }
    /// Fourier transform of the columns of complex matrices.
    COMPLEX_FFT_COLUMNS = "firefly::complex_fft_columns": ComplexFftColumns {
        /// Length, direction and factors.
        options: FftOptions,
    }
    /// One-sided Fourier transform of real rows.
    REAL_FFT = "firefly::real_fft": RealFft {
        /// Length, direction and factors.
        options: FftOptions,
    }
    /// Fourier transform of one-sided spectra to real rows.
    INVERSE_REAL_FFT = "firefly::inverse_real_fft": InverseRealFft {
        /// Length, direction and factors.
        options: FftOptions,
    }
    /// Mel spectra, or their logarithms.
    MEL = "firefly::mel": Mel {
        /// Frames and bands.
        options: MelOptions,
        /// The logarithm that is taken.
        logarithm: Option<Logarithm>,
    }
    /// Gradients of [`Mel`](Self::Mel).
    MEL_BACKWARD = "firefly::mel_backward": MelBackward {
        /// Frames and bands.
        options: MelOptions,
        /// The logarithm that was taken.
        logarithm: Option<Logarithm>,
        /// Which gradients are computed: of the signal, and of the window.
        requires_grad: [bool; 2],
    }
    /// Losses of power against target peaks.
    PEAK_LOSS = "firefly::peak_loss": PeakLoss {
        /// Parameters of the losses.
        options: PeakLossOptions,
    }
    /// Gradient of [`PeakLoss`](Self::PeakLoss).
    PEAK_LOSS_BACKWARD = "firefly::peak_loss_backward": PeakLossBackward {
        /// Parameters of the losses.
        options: PeakLossOptions,
    }
    /// Step of Adam or AdamW.
    ADAM_STEP = "firefly::adam_step": AdamStep {
        /// Number of the step, rates and decays.
        options: AdamOptions,
    }
    /// Spectral convolution.
    SPECTRAL_CONV = "firefly::spectral_conv": SpectralConv {}
    /// Gradients of [`SpectralConv`](Self::SpectralConv).
    SPECTRAL_CONV_BACKWARD = "firefly::spectral_conv_backward": SpectralConvBackward {
        /// Which inputs' gradients are computed, in the order of the fields of
        /// [`SpectralConvTensors`](crate::SpectralConvTensors).
        requires_grad: [bool; 3],
    }
    /// Causal convolution of rows with a kernel per channel.
    LONG_CONV = "firefly::long_conv": LongConv {
        /// Whether there is a gate per output; all are 1 otherwise.
        gated: bool,
    }
    /// Gradients of [`LongConv`](Self::LongConv).
    LONG_CONV_BACKWARD = "firefly::long_conv_backward": LongConvBackward {
        /// Whether there is a gate per output; all are 1 otherwise.
        gated: bool,
        /// Which inputs' gradients are computed, in the order of the fields of
        /// [`LongConvTensors`](crate::LongConvTensors).
        requires_grad: [bool; 3],
    }
}

impl OpDescriptor {
    /// Parameters of the Welch estimate that the operation computes, if it computes one.
    pub fn welch_options(&self) -> Option<WelchOptions> {
        match *self {
            Self::WelchPsd { options }
            | Self::WelchPeaks { options, .. }
            | Self::LearnedWelchPsd { options }
            | Self::LearnedWelchPeaks { options, .. } => Some(options),
            _ => None,
        }
    }
}

#[cfg(all(test, feature = "flex", feature = "router"))]
mod tests;
