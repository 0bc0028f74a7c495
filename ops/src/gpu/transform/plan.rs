//! A transform of any length, split into launches: plain data, made from a device's limits.
//!
//! - Lengths whose prime factors are small and whose values fit the shared memory of a cube take one launch.
//! - Longer ones are split in two factors: n₁ columns are transformed, multiplied by twiddles, and transformed as rows
//!   (the four-step algorithm; D. H. Bailey, "FFTs in external or hierarchical memory", 1990).
//! - Others are a convolution with a chirp, of a length m ≥ 2n − 1 that is one of the former (L. I. Bluestein, "A
//!   linear filtering approach to the computation of discrete Fourier transform", 1970): one launch where m fits a
//!   cube.
//!
//! Real rows of an even number of points are transformed as complex rows of half as many, the pairs of their samples,
//! so that no row takes part in another's.

use super::cube_layout::{CubeLayout, LEAST_MIRRORED_COLUMNS, MemoryOrder, is_smooth};
use super::launch_plan::{Barrier, Filter, Fold, RowForm, SequenceAccess, TransformLaunchPlan, TwiddleStore};
use crate::gpu::device::{DeviceLimit, DeviceLimitError, Limits, Result};

/// Longest transform: lengths of convolutions are counted in 32 bits.
const MAX_POINTS: usize = 1 << 29;

/// Kind of a transform: its rows before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransformKind {
    /// Complex rows to complex rows.
    Complex,
    /// Real rows to half spectra.
    RealForward,
    /// Real rows to the lowest bins of half spectra, as many as rows that are written have.
    LowestBins,
    /// Half spectra to real rows.
    RealInverse,
    /// Real rows of an even number of points to their cosine transforms of type II.
    Cosine,
    /// Coefficients of such rows to the transposed transform, type III.
    CosineTransposed,
    /// Real rows of an even number of points to the complex spectra of their pairs of samples.
    Pairs,
    /// As many complex columns of matrices to complex columns.
    Columns(u32),
    /// Complex columns of matrices to the modes that are kept of them.
    ColumnsToModes(ColumnModes),
    /// Complex columns of matrices from their modes, all other bins being 0.
    ModesToColumns(ColumnModes),
}

/// Columns of matrices, and the modes that are kept of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ColumnModes {
    pub columns: u32,
    /// Modes: the lowest ⌈modes/2⌉ bins, then the highest ⌊modes/2⌋.
    pub modes: u32,
}

impl TransformKind {
    /// Points of the complex transform that computes a transform of `points`: half, of real rows of an even number.
    const fn complex_points(self, points: u32) -> u32 {
        if self.is_by_halves(points) { points / 2 } else { points }
    }

    /// Whether pairs of samples are transformed as complex values.
    const fn is_by_halves(self, points: u32) -> bool {
        let is_real = matches!(self, Self::RealForward | Self::LowestBins | Self::RealInverse | Self::Pairs);
        (is_real || self.is_cosine()) && points.is_multiple_of(2)
    }

    const fn is_cosine(self) -> bool {
        matches!(self, Self::Cosine | Self::CosineTransposed)
    }

    /// The columns of a transform of columns; of all modes, 0.
    const fn columns(self) -> Option<ColumnModes> {
        match self {
            Self::Columns(columns) => Some(ColumnModes { columns, modes: 0 }),
            Self::ColumnsToModes(columns) | Self::ModesToColumns(columns) => Some(columns),
            _ => None,
        }
    }

    /// The rows before and after; `conjugates` is that of the [problem](TransformProblem).
    const fn forms(self, points: u32, conjugates: bool) -> (RowForm, RowForm) {
        let (rows, spectra) = if self.is_by_halves(points) {
            (RowForm::SamplePairs, RowForm::PairSpectrum)
        } else {
            (RowForm::Real, RowForm::HalfSpectrum)
        };
        match self {
            Self::Complex | Self::Columns(_) if conjugates => (RowForm::Exchanged, RowForm::Exchanged),
            Self::Complex | Self::Columns(_) | Self::ColumnsToModes(_) | Self::ModesToColumns(_) => {
                (RowForm::Complex, RowForm::Complex)
            }
            Self::RealForward | Self::LowestBins | Self::Cosine => (rows, spectra),
            Self::RealInverse | Self::CosineTransposed => (spectra, rows),
            Self::Pairs => (RowForm::SamplePairs, RowForm::Complex),
        }
    }
}

/// A transform to be planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TransformProblem {
    pub points: usize,
    /// The rows before and after.
    pub kind: TransformKind,
    /// Whether rows that are read may be too short: what they lack is 0.
    pub is_padded: bool,
    /// Whether half spectra are conjugated where they are read or written, and parts of complex rows are exchanged:
    /// the other sign of the exponent.
    pub conjugates: bool,
}

impl TransformProblem {
    /// A transform of rows that are long enough.
    pub const fn new(points: usize, kind: TransformKind) -> Self {
        Self { points, kind, is_padded: false, conjugates: false }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransformPlan {
    /// The launches, each of which reads what the one before it wrote.
    pub launches: Vec<TransformLaunchPlan>,
    /// The fold of the spectra by a further launch.
    pub fold: Option<Fold>,
}

impl TransformPlan {
    /// The launches of a transform on a device.
    ///
    /// # Errors
    /// The limit of the device that is too low: a length that takes more than two factors.
    pub fn of(problem: TransformProblem, limits: &Limits) -> Result<Self> {
        DeviceLimitError::unless(DeviceLimit::LaunchElements, problem.points, MAX_POINTS)?;
        let (kind, points) = (problem.kind, problem.points as u32);
        let (source, sink) = kind.forms(points, problem.conjugates);
        let points = kind.complex_points(points);
        let launches = if let Some(columns) = kind.columns() {
            CubeLayout::of(points, MemoryOrder::Columns, limits)
                .map(|layout| vec![column_modes(layout, columns, matches!(kind, TransformKind::ModesToColumns(_)))])
        } else if !is_smooth(points) {
            bluestein(points, limits)
        } else if let Some(layout) = CubeLayout::of(points, MemoryOrder::Rows, limits) {
            Some(vec![whole_rows(layout, points)])
        } else {
            let mirrored = || four_step(points, MemoryOrder::MirroredColumns, limits).filter(folds_in_cube);
            let folded = if sink == RowForm::PairSpectrum { mirrored() } else { None };
            let launches = folded.or_else(|| four_step(points, MemoryOrder::Columns, limits));
            launches.map(Vec::from).or_else(|| bluestein(points, limits))
        };
        let Some(mut launches) = launches else {
            // The larger of two factors would have to fit.
            let (limit, needed) = (DeviceLimit::SharedMemory, 8 * u64::from(points.isqrt()));
            return Err(DeviceLimitError { limit, needed, available: limits.shared as u64 });
        };
        // A fold takes the mirror image of every bin: a whole row has it, and so does a cube that takes columns of bins
        // and the columns of their images.
        let is_whole = launches.last().is_some_and(|last| last.columns == 1);
        let in_cube = is_whole || launches.as_array().is_some_and(folds_in_cube);
        let fold = (sink == RowForm::PairSpectrum && !in_cube).then_some(Fold {
            points,
            conjugates: problem.conjugates,
            is_cut: kind == TransformKind::LowestBins,
            is_cosine: kind.is_cosine(),
        });
        for launch in &mut launches {
            launch.is_cosine = kind.is_cosine();
        }
        if let Some(first) = launches.first_mut() {
            (first.source, first.is_padded) = (source, problem.is_padded);
            first.conjugates = problem.conjugates && kind == TransformKind::RealInverse;
        }
        if let Some(last) = launches.last_mut() {
            last.sink = if fold.is_some() { RowForm::Complex } else { sink };
            last.conjugates |=
                problem.conjugates && matches!(kind, TransformKind::RealForward | TransformKind::LowestBins);
            last.is_cut = kind == TransformKind::LowestBins;
        }
        Ok(Self { launches, fold })
    }

    /// Complex values per row of scratch memory, and how many such rows are in use at once.
    pub fn scratch(&self) -> (usize, usize) {
        let launch = self.launches.first();
        let values = launch.map_or(0, |launch| (launch.layout.n * launch.columns) as usize);
        (values, (self.launches.len() - 1 + usize::from(self.fold.is_some())).min(2))
    }
}

/// A launch of complex rows whose sequences are whole rows.
pub fn whole_rows(layout: CubeLayout, points: u32) -> TransformLaunchPlan {
    TransformLaunchPlan {
        layout,
        barrier: Barrier::Cube,
        twiddles: TwiddleStore::Products,
        columns: 1,
        input: SequenceAccess::rows(layout.n),
        output: SequenceAccess::rows(layout.n),
        source: RowForm::Complex,
        sink: RowForm::Complex,
        points,
        is_padded: false,
        conjugates: false,
        is_cosine: false,
        chirps_input: false,
        chirps_output: false,
        filter: Filter::None,
        twiddle_root: 0,
        is_cut: false,
        input_modes: 0,
        output_modes: 0,
    }
}

/// A launch whose sequences are columns of matrices, with modes at its input or at its output.
fn column_modes(
    layout: CubeLayout,
    ColumnModes { columns, modes }: ColumnModes,
    at_input: bool,
) -> TransformLaunchPlan {
    let (input_modes, output_modes) = if at_input { (modes, 0) } else { (0, modes) };
    TransformLaunchPlan { twiddle_root: 0, input_modes, output_modes, ..columns_launch(layout, columns, layout.n) }
}

/// The two launches of a transform of n = n₁·n₂ points: columns j₂ of n₁ values, which stay where they are, then rows
/// k₁ of n₂ values, whose output k₂ is bin k₁ + n₁·k₂; the latter are the cubes' columns in `order`.
fn four_step(n: u32, order: MemoryOrder, limits: &Limits) -> Option<[TransformLaunchPlan; 2]> {
    // The two factors that are nearest to each other fit the most sequences into a cube. Where the second launch takes
    // twice as many, it has the smaller factor.
    let smaller = (1..=n.isqrt()).rev().find(|&factor| n.is_multiple_of(factor))?;
    let first = if order == MemoryOrder::MirroredColumns { n / smaller } else { smaller };
    let second = CubeLayout::of(n / first, order, limits)?;
    let first = CubeLayout::of(first, MemoryOrder::Columns, limits)?;
    let output = SequenceAccess::columns(first.n);
    let rows = TransformLaunchPlan { columns: first.n, output, ..whole_rows(second, n) };
    Some([columns_launch(first, second.n, n), rows])
}

/// Whether cubes of the second launch of [`four_step`] take enough columns to fold half spectra.
fn folds_in_cube([_, second]: &[TransformLaunchPlan; 2]) -> bool {
    second.layout.sequences >= LEAST_MIRRORED_COLUMNS
}

/// The first launch of [`four_step`].
fn columns_launch(layout: CubeLayout, columns: u32, points: u32) -> TransformLaunchPlan {
    let access = SequenceAccess::columns(columns);
    TransformLaunchPlan {
        columns,
        input: access,
        output: access,
        twiddle_root: layout.n * columns,
        ..whole_rows(layout, points)
    }
}

/// The launches of Bluestein's algorithm: x·chirp is convolved with the conjugate chirp, then multiplied by the chirp.
fn bluestein(points: u32, limits: &Limits) -> Option<Vec<TransformLaunchPlan>> {
    let least = 2 * points - 1;
    let in_cube = convolution_lengths(least)
        .into_iter()
        .filter_map(|m| CubeLayout::of(m, MemoryOrder::Rows, limits))
        .min_by_key(CubeLayout::cost);
    if let Some(layout) = in_cube {
        let launch = whole_rows(layout, points);
        return Some(vec![TransformLaunchPlan {
            chirps_input: true,
            chirps_output: true,
            filter: Filter::Chirp,
            ..launch
        }]);
    }
    // Columns, then rows, which are filtered and at once the first launch back, then columns back.
    convolution_lengths(least).into_iter().find_map(|m| {
        let [columns, rows] = four_step(m, MemoryOrder::Columns, limits)?;
        let (first, second) = (columns.layout, rows.layout);
        let whole = CubeLayout::of(second.n, MemoryOrder::Rows, limits)?;
        let forth = TransformLaunchPlan { chirps_input: true, points, ..columns };
        let filtered = TransformLaunchPlan {
            columns: first.n,
            filter: Filter::Chirp,
            twiddle_root: m,
            ..whole_rows(whole, points)
        };
        let back =
            TransformLaunchPlan { chirps_output: true, twiddle_root: 0, points, ..columns_launch(first, second.n, m) };
        Some(vec![forth, filtered, back])
    })
}

/// Lengths from `least` on whose transforms are fast, up to a fourth more, ascending.
pub fn convolution_lengths(least: u32) -> Vec<u32> {
    let most = u64::from(least) + u64::from(least) / 4 + 1;
    let mut lengths = Vec::new();
    for odd in [1u64, 3, 5, 7, 9, 15, 21, 25, 27, 35, 45, 49, 63, 75, 81, 105, 125] {
        let shift = (u64::from(least).div_ceil(odd)).next_power_of_two();
        if odd * shift <= most {
            lengths.push((odd * shift) as u32);
        }
    }
    lengths.sort_unstable();
    lengths
}
