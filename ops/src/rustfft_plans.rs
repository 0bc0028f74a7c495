//! Transforms planned by rustfft and realfft, computed once per process.
//!
//! The planners are generic over the float type: a crate that calls one compiles all algorithms of rustfft again. These
//! functions are not generic, so Firefly's crates share one copy. Not covered by semantic versioning.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};

/// Float type with planned transforms: `f32` or `f64`.
pub trait Planned: FftNum {
    /// The transform of `n` complex values.
    fn plan(n: usize, direction: FftDirection) -> Arc<dyn Fft<Self>>;

    /// The one-sided transform of `n` real values.
    fn real_plan(n: usize) -> Arc<dyn RealToComplex<Self>>;

    /// The inverse of [`real_plan`](Self::real_plan).
    fn inverse_real_plan(n: usize) -> Arc<dyn ComplexToReal<Self>>;
}

macro_rules! planned {
    ($float:ty, $planner:ident, $real_planner:ident) => {
        static $planner: LazyLock<Mutex<FftPlanner<$float>>> = LazyLock::new(|| Mutex::new(FftPlanner::new()));
        static $real_planner: LazyLock<Mutex<RealFftPlanner<$float>>> =
            LazyLock::new(|| Mutex::new(RealFftPlanner::new()));

        impl Planned for $float {
            fn plan(n: usize, direction: FftDirection) -> Arc<dyn Fft<Self>> {
                $planner.lock().unwrap_or_else(PoisonError::into_inner).plan_fft(n, direction)
            }

            fn real_plan(n: usize) -> Arc<dyn RealToComplex<Self>> {
                $real_planner.lock().unwrap_or_else(PoisonError::into_inner).plan_fft_forward(n)
            }

            fn inverse_real_plan(n: usize) -> Arc<dyn ComplexToReal<Self>> {
                $real_planner.lock().unwrap_or_else(PoisonError::into_inner).plan_fft_inverse(n)
            }
        }
    };
}

planned!(f32, F32, REAL_F32);
planned!(f64, F64, REAL_F64);

/// The instruction set that rustfft, and realfft on top of it, chooses on this processor.
pub fn instruction_set() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx") && is_x86_feature_detected!("fma") {
        return "avx";
    } else if is_x86_feature_detected!("sse4.1") {
        return "sse4.1";
    }
    if cfg!(target_arch = "aarch64") { "neon" } else { "scalar" }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The planners themselves know only whether a set is there: the widest is chosen.
    #[test]
    fn the_instruction_set_is_the_planners() {
        let planned = if rustfft::FftPlannerAvx::<f32>::new().is_ok() {
            "avx"
        } else if rustfft::FftPlannerSse::<f32>::new().is_ok() {
            "sse4.1"
        } else if rustfft::FftPlannerNeon::<f32>::new().is_ok() {
            "neon"
        } else {
            "scalar"
        };
        assert_eq!(instruction_set(), planned);
    }
}
