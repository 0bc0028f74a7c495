//! Firefly's operations as nodes of a graph: made for a rewrite, and read for their cost.

use burn::tensor::IntDType;
use firefly_ops::descriptor::{LEARNED_WELCH_PEAKS, LEARNED_WELCH_PSD, OpDescriptor, WELCH_PEAKS, WELCH_PSD};
use firefly_ops::{Direction, FftOptions, Logarithm, MelOptions, WelchOptions};

use crate::graph::{Operation, ScalarIr};

/// `welch_psd` as a node: signal and window to power.
pub fn welch_psd_operation(options: WelchOptions) -> Operation {
    let descriptor = OpDescriptor::WelchPsd { options };
    Operation::Custom { name: descriptor.name().into(), scalars: descriptor.scalars() }
}

/// `welch_peaks` as a node: signal and window to bins, of type `bins`, and power.
pub fn welch_peaks_operation(options: WelchOptions, k: usize, bins: IntDType) -> Operation {
    let descriptor = OpDescriptor::WelchPeaks { options, k, bins };
    Operation::Custom { name: descriptor.name().into(), scalars: descriptor.scalars() }
}

/// `mel` or `log_mel` as a node: signal and window to bands.
pub fn mel_operation(options: MelOptions, logarithm: Option<Logarithm>) -> Operation {
    let descriptor = OpDescriptor::Mel { options, logarithm };
    Operation::Custom { name: descriptor.name().into(), scalars: descriptor.scalars() }
}

/// Length of an operation that is the forward transform of rows, real or complex, without factors.
pub fn row_transform_length(name: &str, scalars: &[ScalarIr]) -> Option<usize> {
    match OpDescriptor::parse(name, scalars)? {
        OpDescriptor::RealFft { options } | OpDescriptor::ComplexFft { options } => {
            let plain = FftOptions::new(options.length, Direction::Forward);
            (options == plain).then_some(options.length)
        }
        _ => None,
    }
}

/// The transform of complex rows, or of the columns of complex matrices, without factors.
pub fn complex_fft_operation(points: usize, direction: Direction, of_columns: bool) -> Operation {
    let options = FftOptions::new(points, direction);
    let descriptor =
        if of_columns { OpDescriptor::ComplexFftColumns { options } } else { OpDescriptor::ComplexFft { options } };
    Operation::Custom { name: descriptor.name().into(), scalars: descriptor.scalars() }
}

/// `spectral_conv` as a node: input and both parts of the weights to the output.
pub fn spectral_conv_operation() -> Operation {
    let descriptor = OpDescriptor::SpectralConv {};
    Operation::Custom { name: descriptor.name().into(), scalars: descriptor.scalars() }
}

/// Whether an operation is the butterfly transform without gates.
pub fn is_open_butterfly(name: &str, scalars: &[ScalarIr]) -> bool {
    OpDescriptor::parse(name, scalars) == Some(OpDescriptor::Butterfly { gated: false })
}

/// The operations that estimate the spectrum of their first input.
pub const ESTIMATES: [&str; 4] = [WELCH_PSD, WELCH_PEAKS, LEARNED_WELCH_PSD, LEARNED_WELCH_PEAKS];

/// Options of an operation of [`ESTIMATES`].
pub fn welch_options(name: &str, scalars: &[ScalarIr]) -> Option<WelchOptions> {
    OpDescriptor::parse(name, scalars)?.welch_options()
}
