//! Adjoints of linear operations, which are operations of the table themselves.

use super::OpDescriptor;
use crate::options::FftOptions;

impl OpDescriptor {
    /// The operation that takes gradients of the outputs to gradients of the inputs, for an operation that is linear in
    /// all of them; none for any other.
    ///
    /// Its outputs have as many values per row as the transform has points or bins, where the inputs may have been cut
    /// or padded.
    pub(crate) fn adjoint(&self) -> Option<Self> {
        let opposite = |options: FftOptions| FftOptions { direction: options.direction.opposite(), ..options };
        match *self {
            // Σ_k Re(conj(g_k) Σ_j x_j w^jk) = Σ_j Re(conj(Σ_k g_k w^-jk) x_j).
            Self::ComplexFft { options } => Some(Self::ComplexFft { options: opposite(options) }),
            Self::ComplexFftColumns { options } => Some(Self::ComplexFftColumns { options: opposite(options) }),
            // The sum over one side of the spectrum counts an interior bin once; the Hermitian sum counts it twice.
            Self::RealFft { options } => {
                let options = FftOptions { interior: 0.5 * options.interior, ..opposite(options) };
                Some(Self::InverseRealFft { options })
            }
            Self::InverseRealFft { options } => {
                let options = FftOptions { interior: 2.0 * options.interior, ..opposite(options) };
                Some(Self::RealFft { options })
            }
            _ => None,
        }
    }
}
