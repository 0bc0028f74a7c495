//! Launches without bounds checks, and the switch that gives every one of them its checked twin.

#[cfg(any(test, feature = "testing"))]
use std::sync::atomic::{AtomicBool, Ordering};

/// Launches a kernel: `launch!(kernel(client, cubes, units, arguments…))`.
///
/// Without bounds checks, so the call stands in an `unsafe` block whose reason says why every index is within its
/// buffer and every loop ends; with them where [`bounds_checked`] is true.
macro_rules! launch {
    ($($kernel:ident)::+ ($($argument:expr),* $(,)?)) => {
        if $crate::gpu::device::bounds_checked() {
            $($kernel)::+::launch($($argument),*)
        } else {
            $($kernel)::+::launch_unchecked($($argument),*)
        }
    };
}
pub(in crate::gpu) use launch;

#[cfg(any(test, feature = "testing"))]
static BOUNDS_CHECKS: AtomicBool = AtomicBool::new(false);

/// Whether kernels check their indices: an access out of bounds then reads 0 and writes nothing.
#[cfg(any(test, feature = "testing"))]
pub fn bounds_checked() -> bool {
    BOUNDS_CHECKS.load(Ordering::Relaxed)
}

/// Whether kernels check their indices: only in builds with the feature `testing`.
#[cfg(not(any(test, feature = "testing")))]
pub const fn bounds_checked() -> bool {
    false
}

/// Turns bounds checks in every kernel of the process on or off. Results do not depend on it, unless a kernel has an
/// access out of bounds.
#[cfg(any(test, feature = "testing"))]
pub fn set_bounds_checks(checked: bool) {
    BOUNDS_CHECKS.store(checked, Ordering::Relaxed);
}
