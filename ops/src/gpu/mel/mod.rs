//! Mel spectra: bands of the power or amplitude of frames, and their logarithms.
//!
//! What kernels are compiled for is plain data here; `kernel` is device code, and `launch` sparse filters in device
//! memory, the forward pass and the gradients.

mod kernel;
mod launch;
#[cfg(test)]
pub(super) mod tests;

use crate::gpu::device::{ALIGNMENT, DeviceLimit, DeviceLimitError, MAX_ELEMENTS, Result};
use crate::gpu::segments::{FramePlan, RowPadding};
use crate::options::{LogGuard, Logarithm, MelOptions, SignalPadding};
pub use launch::{MelCall, mel, mel_backward};

/// Whether launches count the bands of `rows` rows.
///
/// # Errors
/// If the fewest rows of a launch have more bands than it counts.
pub fn check_bands(rows: usize, frames: usize, bands: usize) -> Result<()> {
    let values = rows.min(ALIGNMENT).saturating_mul(frames).saturating_mul(bands);
    DeviceLimitError::unless(DeviceLimit::LaunchElements, values, MAX_ELEMENTS)
}

fn padding(options: &MelOptions) -> RowPadding {
    match options.stft.pad {
        _ if options.stft.padding() == 0 => RowPadding::None,
        SignalPadding::Reflect => RowPadding::Reflect,
        SignalPadding::Edge => RowPadding::Edge,
        SignalPadding::Circular => RowPadding::Circular,
        SignalPadding::Constant(_) => RowPadding::Constant,
    }
}

/// Output of a band, as a function of its sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BandForm {
    Sum,
    /// The logarithm of the sum and an offset.
    OffsetLog,
    /// The logarithm of the sum, from a floor up.
    FloorLog,
}

/// Bands of frames, as kernels are compiled for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BandPlan {
    /// The frames whose power or amplitude is summed.
    pub frame: FramePlan,
    /// The output as a function of a sum.
    pub form: BandForm,
}

impl BandPlan {
    pub fn new(options: &MelOptions, logarithm: Option<&Logarithm>) -> Self {
        Self {
            frame: FramePlan { n: options.stft.n_fft as u32, padding: padding(options), is_power: options.is_power() },
            form: match logarithm.map(|logarithm| logarithm.guard) {
                None => BandForm::Sum,
                Some(LogGuard::Offset(_)) => BandForm::OffsetLog,
                Some(LogGuard::Floor(_)) => BandForm::FloorLog,
            },
        }
    }
}
