//! Strategies of the suite of butterfly transforms.

mod backward;
mod forward;
mod from_host;
mod rustfft;

use super::coefficients::Coefficients;
use super::problem::ButterflyProblem;
use crate::baselines::copy;
use crate::harness::strategy::BenchStrategy;

/// Every strategy, in the order of the table's rows.
pub fn catalogue() -> Vec<BenchStrategy<ButterflyProblem>> {
    vec![
        forward::forward(Coefficients::Exact),
        forward::many_calls(),
        forward::kernels(),
        from_host::from_host(),
        forward::forward(Coefficients::Open),
        forward::forward(Coefficients::Soft),
        forward::forward(Coefficients::Hard),
        backward::backward(),
        rustfft::rustfft(rustfft::Placement::InPlace),
        rustfft::rustfft(rustfft::Placement::OutOfPlace),
        forward::burn_stock(),
        copy::strategy(),
    ]
}
