//! Strategies of the peaks suite.

mod from_host;
mod host_transforms;
mod learned;
mod on_device;

pub use from_host::from_host;
pub use on_device::firefly;

use super::inputs::FrameInputs;
use super::problem::PeaksProblem;
use crate::baselines::copy;
use crate::harness::strategy::BenchStrategy;

/// Every strategy, in the order of the table's rows; trained models only with a number of training steps.
pub fn catalogue(train_steps: Option<usize>, seed: u64) -> Vec<BenchStrategy<PeaksProblem>> {
    let mut catalogue = vec![
        on_device::firefly(),
        on_device::auto(),
        from_host::from_host(false),
        from_host::from_host(true),
        on_device::psd_top_k(),
        on_device::burn_stock(),
        host_transforms::rustfft(),
        host_transforms::realfft(),
        copy::strategy(|inputs: &FrameInputs| inputs.host().iter().map(|set| vec![&set[..]]).collect()),
    ];
    catalogue.extend(train_steps.map(|steps| learned::learned(steps, seed)));
    catalogue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_catalogue_are_unique() {
        let all = catalogue(Some(1), 0);
        let mut names: Vec<_> = all.iter().map(|strategy| strategy.info().name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len());
    }
}
