//! Work that is compiled for each register type, and the stack frame it runs in.

use crate::cpu::isa::register::Register;

/// Work of one task, compiled for each register type.
///
/// `run` and everything it calls must be `#[inline(always)]`, closures included: a function that is not inlined is
/// compiled without the set's instructions, and every operation in it becomes a call. On x86-64 the test
/// `kernels_call_nothing_that_should_be_inlined` guards this.
pub(in crate::cpu) trait Kernel {
    fn run<V: Register>(self, token: V::Token);
}

/// A local of this type aligns its function's stack frame to cache lines, and with it the registers that the compiler
/// spills there, most of which would straddle two lines otherwise.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[repr(align(64))]
#[expect(dead_code, reason = "only its size and alignment count")]
pub(in crate::cpu::isa) struct LineAligned([u8; 64]);

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
impl LineAligned {
    #[inline(always)]
    pub const fn new() -> Self {
        Self([0; 64])
    }
}
