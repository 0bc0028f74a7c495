//! One launch of a transform, as plain data: what its sequences are, what it reads, and what it writes.

use super::cube_layout::CubeLayout;

/// Units of a sequence below which their accesses to a row are too short for the memory: 64 bytes of f32.
const FEW_UNITS: u32 = 16;

/// Position of a launch's sequences: value i of column c is `column_stride`·c + `stride`·i values from a row's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SequenceAccess {
    /// Values from one column to the next.
    pub column_stride: u32,
    /// Values from one value of a sequence to the next.
    pub stride: u32,
}

impl SequenceAccess {
    /// Sequences whose values are consecutive.
    pub const fn rows(n: u32) -> Self {
        Self { column_stride: n, stride: 1 }
    }

    /// Sequences side by side: the same value of all `columns` is consecutive.
    pub const fn columns(columns: u32) -> Self {
        Self { column_stride: 1, stride: columns }
    }

    /// Whether adjacent units take the same value of adjacent sequences.
    pub const fn is_by_columns(self) -> bool {
        self.stride > 1
    }
}

/// Form of the rows that a launch reads or writes, as the complex rows of `points` values that it transforms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowForm {
    Complex,
    /// Complex rows whose parts are exchanged: of a transform that reads and writes them, the inverse one is computed.
    Exchanged,
    /// Real rows: imaginary parts are 0 where they are read, and left out where rows are written.
    Real,
    /// Half spectra of real rows of an odd number of points: bins beyond the middle are the conjugates of their mirror
    /// images where they are read, and left out where spectra are written.
    HalfSpectrum,
    /// Real rows of 2·points values: even samples are the real parts, odd samples the imaginary ones.
    SamplePairs,
    /// Half spectra of such rows, of points + 1 bins: the spectrum of the complex row is folded into it. In a cosine
    /// transform, its 2·points coefficients.
    PairSpectrum,
}

/// Factor of the spectra of sequences before they are transformed back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Filter {
    /// Sequences are transformed once.
    None,
    /// The transform of the conjugate chirp, which is in the table of the launch.
    Chirp,
    /// Spectra that the kernel reads from another buffer.
    Spectra,
}

/// The barrier that the units of a sequence wait at between passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Barrier {
    /// A plane's own barrier, where no sequence is spread over several planes.
    Plane,
    Cube,
}

/// Memory that units read a table from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TableStore {
    /// Registers, loaded once.
    Registers,
    /// Shared memory of the cube, loaded once.
    Shared,
    /// Device memory and its caches, at every use.
    Memory,
}

/// Twiddles of the inputs of short transforms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TwiddleStore {
    /// All of them are read from a table.
    Table(TableStore),
    /// Those of powers of two are read from a table in device memory; the others are products of these, so that a pass
    /// reads fewer values from the caches, which bound it.
    Products,
}

/// Fold of the spectrum of pairs of samples into the half spectrum of their row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fold {
    /// Pairs of samples.
    pub points: u32,
    /// Whether half spectra are conjugated.
    pub conjugates: bool,
    /// Whether the lowest bins alone are written.
    pub is_cut: bool,
    /// Whether coefficients of a cosine transform are written.
    pub is_cosine: bool,
}

impl Fold {
    /// N of the roots exp(−2πi·k/N) in the table: the twiddles are those of N = 2·points, and a cosine transform turns
    /// bins by a fourth of their angles.
    pub const fn root(self) -> u32 {
        if self.is_cosine { 8 * self.points } else { 2 * self.points }
    }
}

/// One launch: short sequences of every row, each transformed within a cube.
///
/// The plan determines the table that its kernel reads: twiddles of the passes, chirp, filter, outer twiddles and
/// twiddles of the fold, in this order, those that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TransformLaunchPlan {
    pub layout: CubeLayout,
    pub barrier: Barrier,
    pub twiddles: TwiddleStore,
    /// Sequences per row.
    pub columns: u32,
    pub input: SequenceAccess,
    pub output: SequenceAccess,
    pub source: RowForm,
    pub sink: RowForm,
    /// Points of the whole transform; values beyond are 0 on the way in and left out on the way out.
    pub points: u32,
    /// Whether rows that are read may be shorter than `points`: what they lack is 0.
    pub is_padded: bool,
    /// Whether half spectra are conjugated where they are read or written.
    pub conjugates: bool,
    /// Whether the transform is one of cosines: of real rows, the even samples come first, then the odd ones backwards,
    /// and in the place of half spectra there are coefficients.
    pub is_cosine: bool,
    /// Whether inputs are multiplied by the chirp (Bluestein's algorithm).
    pub chirps_input: bool,
    /// Whether outputs have their parts exchanged and are multiplied by the chirp.
    pub chirps_output: bool,
    /// The filter of a sequence that is transformed twice: its spectrum is multiplied and its parts are exchanged in
    /// between, so that the second transform is an inverse one with its parts exchanged.
    pub filter: Filter,
    /// N of the twiddles exp(−2πi·column·k/N) that outputs k are multiplied by; 0 for none.
    pub twiddle_root: u32,
    /// Whether the lowest bins of half spectra alone are written, as many as rows that are written have.
    pub is_cut: bool,
    /// Modes of a sequence that are read, if not all values: its other values are 0. 0 for all values.
    pub input_modes: u32,
    /// Modes of a sequence that are written, if not all values. 0 for all values.
    pub output_modes: u32,
}

impl TransformLaunchPlan {
    /// Whether a sequence is transformed twice.
    pub const fn is_filtered(&self) -> bool {
        !matches!(self.filter, Filter::None)
    }

    /// Passes of a sequence, those of both transforms where it is filtered.
    pub const fn passes(&self) -> u32 {
        let count = self.layout.radices.count();
        if self.is_filtered() { 2 * count } else { count }
    }

    /// Radix of a pass. The second transform has the radices in reverse: a unit goes on with the values that it has.
    pub const fn radix(&self, pass: u32) -> u32 {
        let count = self.layout.radices.count();
        self.layout.radices.radix(if pass < count { pass } else { 2 * count - 1 - pass })
    }

    /// Product of the radices of the earlier passes of the same transform.
    pub const fn before(&self, pass: u32) -> u32 {
        let count = self.layout.radices.count();
        let mut earlier = if pass < count { 0 } else { count };
        let mut before = 1;
        while earlier < pass {
            before *= self.radix(earlier);
            earlier += 1;
        }
        before
    }

    /// Short transforms of a pass per sequence: its inputs and its outputs, if it is the last, are that far apart.
    pub const fn span(&self, pass: u32) -> u32 {
        self.layout.n / self.radix(pass)
    }

    /// Offset in the table of the `radix × before` twiddles of pass `pass`, which the first of a transform lacks.
    pub const fn twiddles_at(&self, pass: u32) -> u32 {
        let (mut at, mut earlier) = (0, 0);
        while earlier < pass {
            let before = self.before(earlier);
            at += if before > 1 { before * self.radix(earlier) } else { 0 };
            earlier += 1;
        }
        at
    }

    /// Offset in the table of the chirp: `points` values.
    pub const fn chirp_at(&self) -> u32 {
        self.twiddles_at(self.passes())
    }

    /// Offset in the table of the filter, those of a column side by side.
    pub const fn filter_at(&self) -> u32 {
        self.chirp_at() + if self.chirps_input || self.chirps_output { self.points } else { 0 }
    }

    /// Points of the filter in the table.
    pub const fn filter_len(&self) -> u32 {
        if matches!(self.filter, Filter::Chirp) { self.columns * self.layout.n } else { 0 }
    }

    /// Offset in the table of the outer twiddles.
    pub const fn outer_twiddles_at(&self) -> u32 {
        self.filter_at() + self.filter_len()
    }

    /// N of the twiddles exp(−2πi·k/N) that fold a spectrum; 0 for none.
    pub const fn fold_root(&self) -> u32 {
        let folds = matches!(self.source, RowForm::PairSpectrum) || matches!(self.sink, RowForm::PairSpectrum);
        if folds { self.fold().root() } else { 0 }
    }

    /// The fold of a launch that reads or writes half spectra of pairs.
    pub const fn fold(&self) -> Fold {
        Fold { points: self.points, conjugates: self.conjugates, is_cut: self.is_cut, is_cosine: self.is_cosine }
    }

    /// Offset in the table of the twiddles of the fold.
    pub const fn fold_twiddles_at(&self) -> u32 {
        self.outer_twiddles_at() + roots_len(self.twiddle_root)
    }

    /// Values in the table, at least one.
    pub const fn table_len(&self) -> u32 {
        let len = self.fold_twiddles_at() + roots_len(self.fold_root());
        // A buffer is never empty.
        if len == 0 { 1 } else { len }
    }

    /// A launch with the same table, whatever rows it reads and writes.
    pub const fn table_key(&self) -> Self {
        let access = SequenceAccess::rows(1);
        let source = if self.fold_root() > 0 { RowForm::PairSpectrum } else { RowForm::Complex };
        let sink = RowForm::Complex;
        let rows = Self { input: access, output: access, source, sink, is_padded: false, conjugates: false, ..*self };
        let is_cosine = self.is_cosine && self.fold_root() > 0;
        let modes = Self { is_cosine, is_cut: false, input_modes: 0, output_modes: 0, ..rows };
        Self { barrier: Barrier::Cube, twiddles: TwiddleStore::Products, ..modes }
    }

    /// Whether the half spectra that are read are unfolded through the exchange memory: those of whole rows.
    pub const fn unfolds_in_cube(&self) -> bool {
        matches!(self.source, RowForm::PairSpectrum) && self.columns == 1 && !self.chirps_input
    }

    /// Whether a cube's sequences are columns of bins and those of their mirror images, which a fold takes together.
    pub const fn mirrors_columns(&self) -> bool {
        matches!(self.sink, RowForm::PairSpectrum) && self.columns > 1
    }

    /// The column that a cube takes together with the first one. The first one is its own mirror image, and so is the
    /// middle one of an even number, which is taken with it; of an odd number, the first one is taken twice.
    pub const fn with_first_column(&self) -> u32 {
        if self.columns.is_multiple_of(2) { self.columns / 2 } else { 0 }
    }

    /// Sequences that are transformed per row.
    pub const fn sequences_per_row(&self) -> u32 {
        if self.mirrors_columns() { self.columns.next_multiple_of(2) } else { self.columns }
    }

    /// Whether the values that are read go through the exchange memory, so that adjacent units read adjacent values
    /// also where a sequence has few units: those of whole rows.
    pub const fn stages_input(&self) -> bool {
        let is_whole = self.columns == 1 && self.input.stride == 1 && self.input_modes == 0 && !self.chirps_input;
        is_whole && self.layout.units < FEW_UNITS && !matches!(self.source, RowForm::PairSpectrum)
    }

    /// Whether the values that are written go through the exchange memory for the same reason.
    pub const fn stages_output(&self) -> bool {
        let is_whole = self.columns == 1 && self.output.stride == 1 && self.output_modes == 0 && !self.chirps_output;
        is_whole && self.layout.units < FEW_UNITS && !matches!(self.sink, RowForm::PairSpectrum)
    }

    /// Whether the exchange memory is in use before the first pass.
    pub const fn loads_through_exchange(&self) -> bool {
        self.unfolds_in_cube() || self.stages_input()
    }

    /// Complex values of shared memory per cube, at least one.
    pub const fn exchange_len(&self) -> u32 {
        let stores = matches!(self.sink, RowForm::PairSpectrum) || self.stages_output();
        let exchanges = self.passes() > 1 || stores || self.loads_through_exchange();
        if exchanges { self.layout.sequences * self.layout.sequence_stride } else { 1 }
    }
}

/// Number of the finer of the roots of unity exp(−2πi·e/root), those of exponents e below it: a power of two near the
/// square root. Every root is the product of one of them and one whose exponent is a multiple of their number, so that
/// the table of a long transform stays small.
pub const fn fine_roots(root: u32) -> u32 {
    match root.checked_ilog2() {
        Some(log) => 1 << log.div_ceil(2),
        None => 0,
    }
}

/// Values of a table of roots: the finer ones, then the coarser ones. None of root 0.
pub const fn roots_len(root: u32) -> u32 {
    if root == 0 { 0 } else { fine_roots(root) + root.div_ceil(fine_roots(root)) }
}
