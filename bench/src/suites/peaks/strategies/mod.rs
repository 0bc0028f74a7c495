//! Ways to find peaks, and the catalogue of them.

mod auto;
mod burn_stock;
mod copy;
mod firefly;
mod from_host;
mod host_transforms;
mod learned;
mod psd_top_k;

use auto::Auto;
use burn_stock::BurnStock;
use copy::CopyInput;
pub use firefly::Firefly;
pub use from_host::FromHost;
use host_transforms::{RealFft, RustFft};
use learned::Learned;
use psd_top_k::PsdTopK;

use super::problem::PeaksProblem;
use crate::harness::strategy::Strategy;

/// Every strategy, in the order of the table's rows; that of learned models if they are trained for so many steps.
pub fn catalogue(train_steps: Option<usize>, seed: u64) -> Vec<Box<dyn Strategy<PeaksProblem>>> {
    let mut catalogue: Vec<Box<dyn Strategy<PeaksProblem>>> = vec![
        Box::new(Firefly),
        Box::new(Auto),
        Box::new(FromHost { pinned: false }),
        Box::new(FromHost { pinned: true }),
        Box::new(PsdTopK),
        Box::new(BurnStock),
        Box::new(RustFft),
        Box::new(RealFft),
        Box::new(CopyInput),
    ];
    if let Some(steps) = train_steps {
        catalogue.push(Box::new(Learned::new(steps, seed)));
    }
    catalogue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_catalogue_are_unique() {
        let all = catalogue(Some(1), 0);
        let mut names: Vec<_> = all.iter().map(|strategy| strategy.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len());
    }
}
