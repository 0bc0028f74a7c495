//! The registers that rows fill, by lanes and rows.

use crate::cpu::isa::register::Register;
use crate::cpu::isa::{InstructionSet, Kernel, Width, dispatch, dispatch_two_rows};

/// Registers that rows fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filled {
    /// One row in sixteen lanes.
    Sixteen,
    /// Two rows in eight lanes each, or one where there are no such registers.
    Eight,
}

impl Filled {
    /// Runs `kernel` with `set` on such registers.
    pub fn dispatch(self, set: InstructionSet, kernel: impl Kernel) {
        match self {
            Self::Sixteen => dispatch(set, Width::Sixteen, kernel),
            Self::Eight => dispatch_two_rows(set, kernel),
        }
    }

    /// The shape of the registers that a kernel runs on, called from this thread.
    pub fn shape(self) -> RegisterShape {
        let mut shape = RegisterShape::default();
        self.dispatch(InstructionSet::current(), ShapeKernel(&mut shape));
        shape
    }
}

/// Lanes and rows of a register.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct RegisterShape {
    pub lanes: usize,
    pub rows: usize,
}

/// Kernel that finds the shape of its registers.
struct ShapeKernel<'a>(&'a mut RegisterShape);

impl Kernel for ShapeKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, _token: V::Token) {
        *self.0 = RegisterShape { lanes: V::LANES, rows: V::ROWS };
    }
}
