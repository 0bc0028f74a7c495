//! Strategies of the suite of transforms.

mod backward;
mod burn_signal;
mod firefly;
mod realfft;
mod rustfft;
mod tensors;

use super::problem::FftProblem;
use crate::baselines::copy;
use crate::harness::strategy::BenchStrategy;

/// Every strategy, in the order of the table's rows.
pub fn catalogue() -> Vec<BenchStrategy<FftProblem>> {
    vec![
        firefly::one_call(),
        firefly::many_calls(),
        firefly::kernels(),
        firefly::in_place(),
        backward::backward(),
        rustfft::rustfft(rustfft::Placement::InPlace),
        rustfft::rustfft(rustfft::Placement::OutOfPlace),
        burn_signal::burn_signal(),
        copy::strategy(),
    ]
}
