//! Burn's own transforms: rows of a power of two, complex ones forward only.

use burn::signal::{cfft, irfft, rfft};
use firefly_ops::Direction;

use super::tensors::{TensorParts, sets};
use crate::harness::device_routine::DeviceRoutine;
use crate::harness::routine::RoutineError;
use crate::harness::strategy::BenchStrategy;
use crate::harness::verification::Unsupported;
use crate::suites::fft::problem::{FftProblem, FftValues};
use crate::suites::fft::verify::check;

/// Burn's own `cfft`, `rfft` and `irfft`.
pub fn burn_signal() -> BenchStrategy<FftProblem> {
    BenchStrategy::new(
        "burn-signal",
        "Burn's own cfft, rfft or irfft on the device",
        |problem: &FftProblem, inputs, expected| {
            let (n, values, direction) = (problem.shape.last(), problem.values, problem.direction);
            let is_inverse = direction == Direction::Inverse;
            if problem.shape.dims().len() > 1 || !n.is_power_of_two() || (values == FftValues::Complex && is_inverse) {
                return Err(Unsupported::Transform { library: "burn-signal" }.into());
            }
            let call = move |mut parts: TensorParts<2>| {
                let im = if parts.len() == 2 { parts.pop() } else { None };
                let re = parts.pop().ok_or(RoutineError::NotRun)?;
                Ok(match (values, im) {
                    (FftValues::Complex, Some(im)) => <[_; 2]>::from(cfft(re, im, 1, None)).into(),
                    (FftValues::Real, Some(im)) => vec![irfft(re, im, 1, Some(n))],
                    (_, None) => <[_; 2]>::from(rfft(re, 1, None)).into(),
                })
            };
            // Burn divides inverse transforms by n.
            let scale = if is_inverse { n as f64 } else { 1.0 };
            let routine = DeviceRoutine::new(sets(problem, inputs), inputs.device(), call);
            check(problem, routine, scale, inputs, expected)
        },
    )
}
