//! Ways to transform, and the catalogue of them.

mod backward;
mod burn_stock;
mod copy;
mod forward;
mod from_host;
mod rustfft;

use backward::Backward;
use burn_stock::BurnStock;
use copy::CopyInput;
use forward::Forward;
use from_host::FromHost;
use rustfft::{RustFftInPlace, RustFftOutOfPlace};

use super::coefficients::Network;
use super::problem::TransformProblem;
use crate::harness::strategy::Strategy;

/// Every strategy, in the order of the table's rows.
pub fn catalogue() -> Vec<Box<dyn Strategy<TransformProblem>>> {
    vec![
        Box::new(Forward(Network::Exact)),
        Box::new(FromHost),
        Box::new(Forward(Network::Open)),
        Box::new(Forward(Network::Soft)),
        Box::new(Forward(Network::Hard)),
        Box::new(Backward),
        Box::new(RustFftInPlace),
        Box::new(RustFftOutOfPlace),
        Box::new(BurnStock),
        Box::new(CopyInput),
    ]
}
