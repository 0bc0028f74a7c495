//! Picker suite: every strategy that the picker can select, and the picker itself, from frames on the device to peaks in
//! host memory.

use std::sync::Arc;

use burn::tensor::Device;
use firefly_framework::profile::DeviceProfile;
use firefly_models::auto::Strategy;
use firefly_models::{AutoWelchPeaks, AutoWelchPeaksConfig};
use firefly_ops::ArgumentError;

use super::models::PeaksModel;
use super::peaks::{PeaksProblem, SPECTRA, check_peaks, expected, kernel_set, learned_rows, on_device};
use crate::harness::{BenchStrategy, Selected, Verified};

/// Name of the picker's own choice.
pub const AUTO: &str = "auto";

/// Every strategy, forced, and then the picker, which decides by `profile`.
pub fn catalogue(profile: &DeviceProfile) -> Vec<BenchStrategy<PeaksProblem>> {
    let profile = Arc::new(profile.clone());
    let all = Strategy::ALL.map(Some).into_iter().chain([None]);
    all.map(|forced| strategy(forced, profile.clone())).collect()
}

/// The model of a problem that decides by `profile` among `strategies`.
pub fn model(
    problem: &PeaksProblem,
    strategies: &[Strategy],
    profile: &DeviceProfile,
    device: &Device,
) -> Result<AutoWelchPeaks, ArgumentError> {
    let auto = AutoWelchPeaksConfig::new().with_peaks(problem.config()).with_profile(Some(profile.clone()));
    auto.with_strategies(strategies.to_vec()).try_init(device)
}

/// A strategy that is forced, or the picker's choice.
fn strategy(forced: Option<Strategy>, profile: Arc<DeviceProfile>) -> BenchStrategy<PeaksProblem> {
    let (name, summary) = match forced {
        Some(strategy @ Strategy::Host) => (strategy.name(), "frames to the host, the operation there"),
        Some(strategy @ Strategy::Fused) => (strategy.name(), "one operation on the device"),
        Some(strategy @ Strategy::Spectrum) => (strategy.name(), "spectra and then peaks on the device"),
        Some(strategy @ Strategy::Learned) => (strategy.name(), "an untrained learned model on the device"),
        None => (AUTO, "what the picker selects by the device's profile"),
    };
    let strategy = BenchStrategy::new(name, summary, move |problem: &PeaksProblem, inputs, references| {
        let device = inputs.device();
        let strategies = forced.as_ref().map_or(&Strategy::EXACT[..], std::slice::from_ref);
        let mut model = model(problem, strategies, &profile, device)?;
        let mut rows = expected(problem, inputs, references);
        if forced == Some(Strategy::Learned) {
            // Untrained, it runs as an exact estimate.
            let learned = PeaksModel::learned(problem).try_init(device)?;
            rows = learned_rows(&learned, inputs, references);
            model = model.with_learned(learned);
        }
        let selected = model.select(problem.batch, problem.frame(), false).selected;
        let routine = on_device(inputs, move |signal| Ok(model.try_forward(signal)?)).reading_back();
        let verified = check_peaks(routine, problem, inputs, rows, true)?;
        let same_as = Some(selected.strategy.name().to_string());
        let choice = forced.is_none().then(|| Selected { choice: selected.to_string(), same_as });
        Ok(Verified { selected: choice, ..verified })
    })
    .with_forced_sets(kernel_set)
    .with_temporaries(SPECTRA);
    match forced {
        // On a host, there is no transfer to avoid.
        Some(Strategy::Host) => strategy.on_accelerators(),
        Some(Strategy::Learned) => strategy.without_competing().by_name(),
        _ => strategy,
    }
}
