//! Shapes of the products of complex matrices, one product per mode.

/// Positions of a matrix's rows of modes, in values: that of (i, j) is `row` · i + `column` · j.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strides {
    pub row: usize,
    pub column: usize,
}

impl Strides {
    /// Position of (i, j).
    #[inline(always)]
    pub fn at(&self, i: usize, j: usize) -> usize {
        self.row * i + self.column * j
    }

    /// Values of the memory that a matrix of `rows` by `columns` takes.
    pub fn span(&self, rows: usize, columns: usize, modes: usize) -> usize {
        if rows == 0 || columns == 0 { 0 } else { self.at(rows - 1, columns - 1) + modes }
    }
}

/// The products C\[i, j\] = Σ_t A\[i, t\] · B\[t, j\], or B's conjugate, of matrices at each of `modes` modes, the last
/// dimension of all three.
#[derive(Debug, Clone, Copy)]
pub(super) struct ModeProduct {
    /// Rows of A and C.
    pub rows: usize,
    /// Columns of B and C.
    pub columns: usize,
    /// Columns of A, rows of B.
    pub terms: usize,
    pub modes: usize,
    pub left: Strides,
    pub right: Strides,
    pub product: Strides,
    /// Whether B is conjugated.
    pub conjugates: bool,
}
