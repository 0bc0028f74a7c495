//! Burn's own transform.

use burn::signal::cfft;

use super::forward::Run;
use crate::harness::strategy::Strategy;
use crate::harness::verification::{Refusal, Verified};
use crate::suites::fft::coefficients::Network;
use crate::suites::fft::expected::Expected;
use crate::suites::fft::inputs::Inputs;
use crate::suites::fft::problem::TransformProblem;
use crate::suites::fft::verify::check;

/// `burn::signal::cfft` on tensors that are on the device already; what it computes stays there.
pub struct BurnStock;

impl Strategy<TransformProblem> for BurnStock {
    fn name(&self) -> &'static str {
        "burn-stock"
    }

    fn summary(&self) -> &'static str {
        "Burn's own cfft on the device"
    }

    fn verify<'a>(
        &self,
        _problem: &TransformProblem,
        inputs: &'a Inputs,
        expected: &Expected,
    ) -> Result<Verified<'a>, Refusal> {
        check(Network::Exact, Run::new(inputs, |[re, im]| Ok(cfft(re, im, 1, None))), inputs, expected)
    }
}
