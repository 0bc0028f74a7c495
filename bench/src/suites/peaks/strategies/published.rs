//! Peaks by the picker, and by the published names of ways to compute them.

use std::sync::Arc;

use firefly_models::{AutoWelchPeaksConfig, PublishedStrategy, Strategy};
use firefly_ops::ArgumentError;

use super::learned::{TrainedModels, learned_rows};
use super::on_device::{FIREFLY, kernel_set};
use crate::harness::strategy::BenchStrategy;
use crate::harness::verification::{CaseError, Selected, Verified};
use crate::suites::peaks::exact_module::config;
use crate::suites::peaks::expected::expected_at;
use crate::suites::peaks::memory;
use crate::suites::peaks::problem::PeaksProblem;
use crate::suites::peaks::tensor_routine::{MemorySpace, TensorRoutine};
use crate::suites::peaks::verify::check_peaks;

/// [`AutoWelchPeaks`](firefly_models::AutoWelchPeaks) with the candidates of a published name.
///
/// Its output is compared with the float64 reference of the tier that it selects, which may use less of a frame than
/// the problem's. Only one whose tier is always the problem's takes part in the search for the fastest. Where the name
/// has learned models as candidates, that of `--run` is one.
fn published(name: &'static str, summary: &'static str, models: &Arc<TrainedModels>) -> BenchStrategy<PeaksProblem> {
    let models = models.clone();
    let strategy = BenchStrategy::new(name, summary, move |problem: &PeaksProblem, inputs, expected| {
        let auto = AutoWelchPeaksConfig::new().with_peaks(config(problem)).with_published(name)?;
        let has_learned = auto.strategies.contains(&Strategy::Learned);
        let mut model = auto.with_keep_on_device(true).try_init(inputs.device())?;
        let learned = if has_learned { models.of_run(problem, inputs.device())? } else { None };
        if let Some(learned) = &learned {
            model = model.with_learned(learned.clone());
        }
        let selected = model.select(problem.batch, problem.frame(), false).selected;
        let needed = PeaksProblem::new(problem.options.n_fft, selected.tier, 1, problem.k).frame();
        if needed > problem.frame() {
            let expected = format!("at a --tier whose frames have at least {needed} samples");
            return Err(ArgumentError::new("welch-peaks", "strategy", name, expected).into());
        }
        let same_as = (selected.strategy == Strategy::Fused && selected.tier == problem.tier).then(|| FIREFLY.into());
        let routine = TensorRoutine::new(inputs, MemorySpace::Device, move |signal| Ok(model.try_forward(signal)?));
        let other = match learned {
            Some(learned) if selected.strategy == Strategy::Learned => Some(learned_rows(&learned, inputs, expected)),
            _ if selected.tier == problem.tier => None,
            _ => Some(expected_at(selected.tier, problem, inputs, expected).map_err(CaseError::mismatch)?),
        };
        let verified = check_peaks(routine, problem, inputs, other.as_ref().unwrap_or(expected), true)?;
        Ok(Verified { selected: Some(Selected { choice: selected.to_string(), same_as }), ..verified })
    })
    .with_forced_sets(kernel_set)
    .with_memory(memory::of_spectra);
    match PublishedStrategy::named(name) {
        Ok(row) if row.tiers.is_empty() && !row.by_thresholds => strategy,
        Ok(row) => strategy.also_called(row.names).without_competing().by_name(),
        Err(_) => strategy.without_competing().by_name(),
    }
}

/// The picker.
pub fn auto(models: &Arc<TrainedModels>) -> BenchStrategy<PeaksProblem> {
    published("auto", "Firefly's AutoWelchPeaks module: the tier by the method predicted fastest", models)
}

/// Strategies by other published names.
pub fn others(models: &Arc<TrainedModels>) -> [BenchStrategy<PeaksProblem>; 6] {
    let published = |name, summary| published(name, summary, models);
    [
        published("any", "AutoWelchPeaks: the fastest of all tiers and methods, and of the model of --run"),
        published("legacy", "AutoWelchPeaks by the published thresholds on the batch"),
        published("ultra", "AutoWelchPeaks: one segment of each frame, on the host"),
        published("fast", "AutoWelchPeaks: two segments of each frame, on the host"),
        published("fused", "AutoWelchPeaks: two segments of each frame, on the device"),
        published("reference", "AutoWelchPeaks: eight segments of each frame"),
    ]
}

#[cfg(test)]
mod tests {
    use firefly_models::PUBLISHED_STRATEGIES;

    use crate::suites::peaks::{LearnedSource, catalogue};

    #[test]
    fn every_published_name_and_alias_is_a_strategy() {
        let catalogue = catalogue(LearnedSource::Trained { steps: 1, seed: 0 });
        for name in PUBLISHED_STRATEGIES.iter().flat_map(|row| row.names) {
            let found = catalogue.iter().filter(|strategy| strategy.info().is_called(name)).count();
            assert!(found == 1 || (found == 2 && *name == "rustfft"), "{name}: {found}");
        }
    }
}
