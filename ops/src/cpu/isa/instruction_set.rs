//! The instruction sets that kernels are compiled for, and which of them runs.

use std::cell::Cell;
use std::sync::OnceLock;

/// Instruction set that a kernel is compiled for. Each includes those before it.
///
/// ```
/// use firefly_ops::instruction_sets::InstructionSet;
///
/// let best = InstructionSet::detected();
/// assert!(InstructionSet::available().any(|set| set == best));
/// // Calls within the closure use plain Rust.
/// assert_eq!(InstructionSet::Portable.force(InstructionSet::current), InstructionSet::Portable);
/// assert_eq!(InstructionSet::current(), best);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstructionSet {
    /// Plain Rust, which every processor runs; 4 lanes.
    Portable,
    /// NEON; 4 lanes.
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// SIMD of WebAssembly, which a module is compiled with or without; 4 lanes.
    #[cfg(target_feature = "simd128")]
    Simd128,
    /// AVX2 and FMA; 8 lanes.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F, DQ, BW and VL; 16 lanes.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

thread_local! {
    static FORCED: Cell<Option<InstructionSet>> = const { Cell::new(None) };
}

#[cfg_attr(not(feature = "testing"), allow(dead_code, reason = "controls for tests and benchmarks"))]
impl InstructionSet {
    /// Every set, least first.
    #[cfg(target_arch = "x86_64")]
    pub const ALL: &[Self] = &[Self::Portable, Self::Avx2, Self::Avx512];
    /// Every set, least first.
    #[cfg(target_arch = "aarch64")]
    pub const ALL: &[Self] = &[Self::Portable, Self::Neon];
    /// Every set, least first.
    #[cfg(target_feature = "simd128")]
    pub const ALL: &[Self] = &[Self::Portable, Self::Simd128];
    /// Every set, least first.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128")))]
    pub const ALL: &[Self] = &[Self::Portable];

    /// The best set this processor has.
    pub fn detected() -> Self {
        static DETECTED: OnceLock<InstructionSet> = OnceLock::new();
        *DETECTED.get_or_init(detect)
    }

    /// The sets this processor has, least first.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|&set| set <= Self::detected())
    }

    /// The set that calls from this thread use: the detected one, unless [`InstructionSet::force`] says otherwise.
    pub fn current() -> Self {
        FORCED.get().unwrap_or_else(Self::detected)
    }

    /// Whether calls from this thread use a forced set.
    pub(in crate::cpu) fn is_forced() -> bool {
        FORCED.get().is_some()
    }

    /// For tests and benchmarks, runs `body` with this set on this thread, or the detected one if this is not there.
    pub fn force<R>(self, body: impl FnOnce() -> R) -> R {
        self.min(Self::detected()).choose(body)
    }

    /// Runs `body`, in which [`current`](Self::current) is this set, whatever the processor has. Kernels are dispatched
    /// to detected sets in any case, so this is for what is chosen without running one.
    pub(in crate::cpu) fn choose<R>(self, body: impl FnOnce() -> R) -> R {
        struct Restore(Option<InstructionSet>);
        impl Drop for Restore {
            fn drop(&mut self) {
                FORCED.set(self.0);
            }
        }
        let _restore = Restore(FORCED.replace(Some(self)));
        body()
    }

    /// The name in reports: `portable`, `neon`, `simd128`, `avx2` or `avx512`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "aarch64")]
            Self::Neon => "neon",
            #[cfg(target_feature = "simd128")]
            Self::Simd128 => "simd128",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "avx512",
        }
    }
}

impl std::fmt::Display for InstructionSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(target_arch = "x86_64")]
fn detect() -> InstructionSet {
    use crate::cpu::isa::avx2::Avx2Token;
    use crate::cpu::isa::avx512::Avx512Token;
    if Avx512Token::detect().is_some() {
        InstructionSet::Avx512
    } else if Avx2Token::detect().is_some() {
        InstructionSet::Avx2
    } else {
        InstructionSet::Portable
    }
}

#[cfg(target_feature = "simd128")]
fn detect() -> InstructionSet {
    InstructionSet::Simd128
}

#[cfg(target_arch = "aarch64")]
fn detect() -> InstructionSet {
    if crate::cpu::isa::neon::NeonToken::detect().is_some() { InstructionSet::Neon } else { InstructionSet::Portable }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128")))]
fn detect() -> InstructionSet {
    InstructionSet::Portable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forced_set_ends_with_its_scope() {
        let before = InstructionSet::current();
        for set in InstructionSet::available() {
            assert_eq!(set.force(InstructionSet::current), set);
        }
        let nested = InstructionSet::Portable.force(|| {
            InstructionSet::detected().force(|| ());
            InstructionSet::current()
        });
        assert_eq!(nested, InstructionSet::Portable);
        assert_eq!(InstructionSet::current(), before);
        let greatest = InstructionSet::ALL[InstructionSet::ALL.len() - 1];
        assert_eq!(greatest.force(InstructionSet::current), InstructionSet::detected());
    }
}
