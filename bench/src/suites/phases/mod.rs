//! From a transform whose spectrum is read back to one fused kernel, phase by phase.

mod host_tail;
mod plan;
mod replay;
mod strategies;

use std::sync::Arc;

use firefly_framework::profile::DeviceProfile;

use crate::harness::strategy::Strategy;
use crate::suites::peaks::PeaksProblem;

pub use plan::Phase;

/// Every phase, in order, decided and predicted by what a device costs.
pub fn catalogue(costs: DeviceProfile) -> Vec<Box<dyn Strategy<PeaksProblem>>> {
    let costs = Arc::new(costs);
    let of = |phase| Box::new(strategies::PhaseStrategy::new(phase, costs.clone())) as Box<dyn Strategy<PeaksProblem>>;
    Phase::ALL.map(of).into()
}
