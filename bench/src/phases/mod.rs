//! From a transform whose spectrum is read back to one fused kernel, phase by phase.

mod host_tail;
mod pieces;
mod plan;
mod replay;
mod strategy;

use std::sync::Arc;

use firefly_framework::cost::DeviceProfile;

use crate::peaks::PeaksProblem;
use crate::strategy::Strategy;

pub use plan::Phase;

/// Every phase, in order, decided and predicted by what a device costs.
pub fn catalogue(costs: DeviceProfile) -> Vec<Box<dyn Strategy<PeaksProblem>>> {
    let costs = Arc::new(costs);
    let of = |phase| Box::new(strategy::PhaseStrategy::new(phase, costs.clone())) as Box<dyn Strategy<PeaksProblem>>;
    Phase::ALL.map(of).into()
}
