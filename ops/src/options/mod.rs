//! Options of the operations: plain data, checked when an operation is called.
//!
//! ```
//! use firefly_ops::options::{Scaling, WelchOptions};
//!
//! let options = WelchOptions::new(256, 3).with_hop(64).with_scaling(Scaling::Spectrum);
//! assert_eq!((options.frame(), options.bins()), (384, 129));
//! let error = options.with_hop(0).validate("welch_psd").unwrap_err();
//! assert_eq!(error.to_string(), "welch_psd: `hop` is 0, but must be at least 1");
//! ```

/// Methods that return the options with another value of one field: `with_field(field: Type)`, or `as Some` of it.
macro_rules! with_fields {
    ($($(#[$attribute:meta])* $name:ident($field:ident: $type:ty $(as $variant:ident)?);)*) => {$(
        $(#[$attribute])*
        pub const fn $name(self, $field: $type) -> Self {
            Self { $field: $($variant)?($field), ..self }
        }
    )*};
}

mod dpss;
mod fft;
mod local_maxima;
mod mel;
mod segments;
mod stft;
mod training;
mod welch;
mod window;

pub use crate::api::mel_filters;
pub(crate) use dpss::prolate_sequence;
pub use fft::{ConvolveMode, Direction, FftForm, FftOptions, Norm};
pub use local_maxima::{Interpolation, LocalMaximaOptions};
pub use mel::{LogGuard, LogUnit, Logarithm, MelBands, MelNorm, MelOptions, MelScale, SpectrumKind};
pub use segments::{SegmentPlacement, SegmentSet};
pub use stft::{SignalPadding, StftOptions};
#[cfg(any(feature = "flex", feature = "ndarray"))]
pub(crate) use training::AdamCoefficients;
pub use training::{AdamOptions, PeakLossOptions, WeightDecay};
pub use welch::{
    Average, Band, Detrend, MAX_N_FFT, MAX_TOP_K_LENGTH, MIN_N_FFT, PowerSpectrumOptions, Scaling, WelchOptions,
    validate_n_fft,
};
pub(crate) use welch::{POWER_TAPS, PRODUCT_TAPS};
#[cfg(feature = "cube")]
pub(crate) use welch::{gain_taps, has_butterflies};
pub use window::{Window, WindowSymmetry};
