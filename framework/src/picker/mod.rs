//! Picker: the strategy that computes Welch peaks of a batch of frames on a device.
//!
//! On a calibrated device the measured [`Crossovers`] decide: one strategy for few frames, the fused operation for more.
//! On any other device the [published estimates](crate::published) decide.
//!
//! ```
//! use firefly_framework::picker::{PeaksRequest, PeaksSize, Strategy};
//! use firefly_framework::profile::Preset;
//! use firefly_ops::WelchOptions;
//!
//! let device = Preset::Cuda.profile();
//! let size = |batch| PeaksSize { options: WelchOptions::new(256, 2), batch, k: 16 };
//! let selected = |batch| PeaksRequest::new(size(batch), &device).select().selected.strategy;
//! assert_eq!((selected(8), selected(8192)), (Strategy::Host, Strategy::Fused));
//! ```

mod crossover;
mod request;
mod size;

pub use crossover::{Crossover, Crossovers};
pub use request::{Candidate, PeaksRequest, Selection};
pub(crate) use size::SAMPLE_BYTES;
pub use size::{LearnedSize, PeaksSize, Strategy};
