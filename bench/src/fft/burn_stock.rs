//! Burn's own transform.

use burn::signal::cfft;

use super::expected::Expected;
use super::forward::{Run, check};
use super::input::Inputs;
use super::network::Network;
use super::problem::TransformProblem;
use crate::strategy::Strategy;
use crate::workload::{Refusal, Verified};

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
