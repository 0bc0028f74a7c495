//! Plan of a convolution, as plain data.

use crate::cache::Cache;
use crate::gpu::device::{DeviceLimit, DeviceLimitError, Limits, Result};
use crate::gpu::transform::cube_layout::{CubeLayout, MemoryOrder};
use crate::gpu::transform::launch_plan::{Filter, TransformLaunchPlan};
use crate::gpu::transform::plan::{convolution_lengths, whole_rows};
use crate::gpu::transform::plan_cache::planned;
use crate::gpu::transform::{TransformKind, TransformProblem};

/// Longest rows and kernels: samples are counted in 32 bits.
const MAX_SAMPLES: usize = 1 << 28;

/// Most pairs of a padded row of which a cube sums products in registers: two spectra and two sums. Of 16,384 pairs they
/// are twice the registers of an H100's processor, and other ways are faster; of 8,192 this one is.
const MAX_SUMMED_POINTS: u32 = 1 << 13;

/// Transforms of a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongConvPlan {
    /// Pairs of samples of a padded row.
    pub points: u32,
    /// The launch that does all of a row, where a cube holds it.
    pub in_cube: Option<TransformLaunchPlan>,
    /// Whether such a launch sums the products of rows' spectra, too: it holds two spectra and two sums in registers.
    pub sums_in_cube: bool,
}

impl LongConvPlan {
    /// The plan of rows of `n` samples and kernels of which `taps` taps count, made on the first call.
    ///
    /// # Errors
    /// The limit of the device that is too low for rows so long.
    pub fn of(n: usize, taps: usize, limits: &Limits) -> Result<Self> {
        static PLANS: Cache<(Limits, u32), LongConvPlan> = Cache::new();
        DeviceLimitError::unless(DeviceLimit::LaunchElements, n.max(taps), MAX_SAMPLES)?;
        let least = (n + taps - 1).div_ceil(2) as u32;
        PLANS.try_get((*limits, least), || Self::new(least, limits))
    }

    const fn by_steps(points: u32) -> Self {
        Self { points, in_cube: None, sums_in_cube: false }
    }

    /// The plan of at least so many pairs.
    fn new(least: u32, limits: &Limits) -> Result<Self> {
        let lengths = convolution_lengths(least);
        let in_cube = lengths
            .iter()
            .filter_map(|&points| CubeLayout::of(points, MemoryOrder::Rows, limits))
            .min_by_key(CubeLayout::cost);
        if let Some(layout) = in_cube {
            let launch = TransformLaunchPlan { filter: Filter::Spectra, ..whole_rows(layout, layout.n) };
            return Ok(Self { points: layout.n, in_cube: Some(launch), sums_in_cube: layout.n <= MAX_SUMMED_POINTS });
        }
        let transformed = |points: u32| {
            let points = points as usize;
            planned(limits, TransformProblem::pairs(points, false))
                .and(planned(limits, TransformProblem::new(points, TransformKind::Complex)))
        };
        match lengths.iter().find(|&&points| transformed(points).is_ok()) {
            Some(&points) => Ok(Self::by_steps(points)),
            None => {
                let points = least.next_power_of_two();
                transformed(points).map(|_| Self::by_steps(points))
            }
        }
    }
}

impl TransformProblem {
    /// Rows of `2 * points` samples to the spectra of their pairs.
    pub fn pairs(points: usize, is_padded: bool) -> Self {
        Self { is_padded, ..Self::new(2 * points, TransformKind::Pairs) }
    }
}

/// Samples that are multiplied by the factors, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FactorKind {
    /// No samples.
    None,
    /// The samples that are read.
    OfInput,
    /// The samples that are written.
    OfOutput,
}

/// A launch that convolves rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RowsPlan {
    /// Both transforms of a row.
    pub launch: TransformLaunchPlan,
    /// Samples of a row that is read.
    pub n: u32,
    /// Samples of a row that is written.
    pub written: u32,
    pub factors: FactorKind,
    pub is_reversed: bool,
    /// Whether results are added to what is in the output.
    pub is_added: bool,
}

/// Units of a launch that keep a device busy, about.
const BUSY_UNITS: usize = 1 << 18;

/// Blocks of a batch of `batch` elements, each of which one sequence per channel sums products of: enough for the
/// device to be busy, since a sum is written and read again per block.
pub fn blocks(batch: usize, channels: usize, units: u32) -> usize {
    BUSY_UNITS.div_ceil(channels * units as usize).clamp(1, batch)
}
