//! Plans of the kernels of mel spectra, as plain data.

use crate::gpu::device::{ALIGNMENT, DeviceLimit, DeviceLimitError, MAX_ELEMENTS};
use crate::gpu::segments::RowPadding;
use crate::gpu::transform::TransformLaunchPlan;
use crate::gpu::transform::cube_layout::CubeLayout;
use crate::options::{LogGuard, Logarithm, MelOptions, SignalPadding};
use crate::sample_type::SampleType;

/// Whether launches count the bands of `rows` rows.
///
/// # Errors
/// If the fewest rows of a launch have more bands than it counts.
pub fn check_bands(rows: usize, frames: usize, bands: usize) -> Result<(), DeviceLimitError> {
    let values = rows.min(ALIGNMENT).saturating_mul(frames).saturating_mul(bands);
    DeviceLimitError::unless(DeviceLimit::LaunchElements, values, MAX_ELEMENTS)
}

/// The padding of frames.
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
    /// The sum.
    Sum,
    /// The logarithm of the sum and an offset.
    OffsetLog,
    /// The logarithm of the sum, from a floor up.
    FloorLog,
}

/// Bands of frames, as kernels are compiled for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BandPlan {
    /// Samples of a frame.
    pub n: u32,
    /// Samples beyond the ends of a row.
    pub padding: RowPadding,
    /// Whether power is summed, or else amplitude.
    pub is_power: bool,
    /// The output as a function of a sum.
    pub form: BandForm,
}

impl BandPlan {
    /// The plan of a call.
    pub fn new(options: &MelOptions, logarithm: Option<&Logarithm>) -> Self {
        Self {
            n: options.stft.n_fft as u32,
            padding: padding(options),
            is_power: options.is_power(),
            form: match logarithm.map(|logarithm| logarithm.guard) {
                None => BandForm::Sum,
                Some(LogGuard::Offset(_)) => BandForm::OffsetLog,
                Some(LogGuard::Floor(_)) => BandForm::FloorLog,
            },
        }
    }

    /// Bins of a spectrum.
    pub const fn bins(&self) -> u32 {
        self.n / 2 + 1
    }
}

/// Bands in one launch: a frame is transformed, squared and summed within a cube.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FusedMelPlan {
    /// The transform of a frame.
    pub launch: TransformLaunchPlan,
    /// The bands.
    pub bands: BandPlan,
    /// Type of the samples.
    pub samples: SampleType,
}

impl FusedMelPlan {
    /// The plan whose transform is `launches`, if that is one launch without a convolution, of as many frames per cube
    /// as fit `shared` bytes of shared memory.
    pub fn of(launches: &[TransformLaunchPlan], bands: BandPlan, samples: SampleType, shared: usize) -> Option<Self> {
        let &[launch] = launches else { return None };
        let with = |sequences| {
            let layout = CubeLayout { sequences, ..launch.layout };
            Self { launch: TransformLaunchPlan { layout, ..launch }, bands, samples }
        };
        let most = if launch.is_filtered() { 0 } else { launch.layout.sequences };
        (1..=most).rev().map(with).find(|plan| plan.shared_bytes() <= shared)
    }

    /// Whether pairs of samples are transformed as complex values.
    pub const fn is_by_halves(&self) -> bool {
        self.bands.n.is_multiple_of(2)
    }

    /// Complex values of shared memory per cube.
    pub const fn exchange_len(&self) -> u32 {
        self.launch.layout.sequences * self.launch.layout.sequence_stride
    }

    /// Values from the magnitudes of a bin to those of the next: odd, so that they are on different banks.
    pub const fn bin_stride(&self) -> u32 {
        self.launch.layout.sequences | 1
    }

    /// Magnitudes in shared memory per cube.
    pub const fn magnitudes_len(&self) -> u32 {
        self.bands.bins() * self.bin_stride()
    }

    /// Bytes of shared memory per cube.
    const fn shared_bytes(&self) -> usize {
        4 * (2 * self.exchange_len() + self.magnitudes_len()) as usize
    }
}
