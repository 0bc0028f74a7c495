//! Strategies of the peaks suite.

mod fastbuf;
mod from_host;
mod host_transforms;
mod learned;
mod on_device;
mod published;

pub use from_host::from_host;
pub use learned::{LearnedSource, TrainedModels, learned_rows};
pub use on_device::firefly;

use std::sync::Arc;

use super::memory;
use super::problem::PeaksProblem;
use crate::baselines::copy;
use crate::harness::strategy::BenchStrategy;

/// Every strategy, in the order of the table's rows, with learned models of `source`.
pub fn catalogue(source: LearnedSource) -> Vec<BenchStrategy<PeaksProblem>> {
    let models = Arc::new(TrainedModels::new(source));
    let compared = [
        on_device::firefly(),
        on_device::many_calls(),
        on_device::kernels(),
        published::auto(&models),
        from_host::from_host(false),
        from_host::from_host(true),
        on_device::psd_top_k(),
        on_device::burn_stock(),
        host_transforms::rustfft(),
        host_transforms::realfft(),
        copy::strategy().with_memory(memory::of_copy),
        learned::learned(models.clone()),
        learned::learned_compiled(models.clone()),
    ];
    compared.into_iter().chain(published::others(&models)).chain([fastbuf::fastbuf()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_catalogue_are_unique() {
        let all = catalogue(LearnedSource::Trained { steps: 1, seed: 0 });
        let mut names: Vec<_> = all.iter().map(|strategy| strategy.info().name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len());
    }
}
