//! The only macro that launches kernels without bounds checks.

/// Launches a kernel: `launch!(device, kernel(client, cubes, units, arguments…))`.
///
/// The launch has no bounds checks, unless [`GpuDevice::bounds_checks`](super::GpuDevice::bounds_checks) is set. The
/// call is therefore in an `unsafe` block, whose comment says why every index is within its buffer and every loop ends.
/// `tests/bounds.rs` fails for a kernel whose results were not compared with and without them.
macro_rules! launch {
    ($device:expr, $($kernel:ident)::+ ($($argument:expr),* $(,)?)) => {{
        #[cfg(test)]
        $crate::gpu::tests::launched::record(stringify!($($kernel)::+), $device.bounds_checks);
        if $device.bounds_checks {
            $($kernel)::+::launch($($argument),*)
        } else {
            $($kernel)::+::launch_unchecked($($argument),*)
        }
    }};
}
pub(in crate::gpu) use launch;
