//! Ways to find peaks, and the catalogue of them.

mod auto;
mod burn_stock;
mod firefly;
mod from_host;
mod learned;
mod psd_top_k;

use firefly_ops::HostPeaks;

use super::copy::CopyInput;
use super::expected::ExpectedRow;
use super::input::Inputs;
use super::peers::{RealFft, RustFft};
use super::problem::PeaksProblem;
use super::verify::Verifier;
use crate::strategy::Strategy;
use crate::workload::{Produces, Refusal, Verified, run_and_check};

pub use auto::Auto;
pub use burn_stock::{BurnStock, StockPower};
pub use firefly::{Firefly, model as exact_model};
pub use from_host::FromHost;
pub use learned::Learned;
pub use psd_top_k::PsdTopK;

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

/// Runs a workload on every input set and compares its peaks with those expected; `orders_ties` if bins of exactly
/// equal power must come lower bin first, as Firefly's contract says.
///
/// # Errors
/// [`Refusal::Failed`] with the first thing that is wrong.
pub fn check_peaks<'a>(
    mut workload: Box<dyn Produces<HostPeaks> + 'a>,
    problem: &PeaksProblem,
    inputs: &Inputs,
    expected: &[ExpectedRow],
    orders_ties: bool,
) -> Result<Verified<'a>, Refusal> {
    let mut verifier = Verifier::new(problem, orders_ties);
    let checksums = run_and_check(workload.as_mut(), inputs.count(), |set, peaks| {
        verifier.check(peaks, expected.iter().filter(|row| row.set == set))
    })?;
    Ok(Verified::exact(workload, checksums, verifier.finish()))
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
