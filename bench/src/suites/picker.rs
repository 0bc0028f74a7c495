//! `firefly-bench picker`: every strategy that the picker can select, and the picker itself, from frames on the device to
//! peaks in host memory; the regret of its choices.

use std::hint::black_box;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use burn::tensor::Device;
use firefly_app::number::duration;
use firefly_app::table::wrapped;
use firefly_framework::profile::DeviceProfile;
use firefly_models::auto::Strategy;
use firefly_models::{AutoWelchPeaks, AutoWelchPeaksConfig};
use firefly_ops::ArgumentError;

use super::comparison::{Comparison, MeasureOptions};
use super::models::PeaksModel;
use super::options::{PeaksGrid, device_profile};
use super::peaks::{PeaksProblem, SPECTRA, check_peaks, expected, facts, kernel_set, learned_rows, on_device};
use crate::harness::{BenchStrategy, CaseRecord, Percentiles, Problem, Selected, Verified, whole};
use crate::report::regret::Choices;

const DECISIONS: usize = 20;

#[derive(Debug, Clone, clap::Args)]
#[command(mut_arg("n_fft", |arg| arg.default_value("64,256,1024,4096")))]
#[command(mut_arg("batch", |arg| arg.default_value("1,8,64,512,4096,32768")))]
#[command(mut_arg("k", |arg| arg.default_value("4,16,64")))]
#[command(mut_arg("segments", |arg| arg.default_value("fast,reference")))]
#[command(mut_arg("iters", |arg| arg.default_value("15")), mut_arg("warmup", |arg| arg.default_value("2")))]
pub struct PickerArgs {
    #[command(flatten)]
    pub grid: PeaksGrid,
    /// Calibrated profile; the user's own, or a preset if there is none, unless given
    #[arg(long, value_name = "PATH")]
    pub profile: Option<PathBuf>,
    /// Largest input in MiB, from 0; larger ones are left out
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = whole::<usize>)]
    pub most_input: usize,
    /// Print every choice, not only the bad ones
    #[arg(long)]
    pub cases: bool,
    #[command(flatten)]
    pub measure: MeasureOptions,
}

pub fn run(arguments: &PickerArgs, out: &mut dyn Write) -> Result<Vec<CaseRecord>> {
    let PickerArgs { grid, profile, most_input, cases: shows_every, measure } = arguments;
    let name = measure.device.name();
    let profile = device_profile(name, profile.as_deref())?;
    let (problems, left_out): (Vec<PeaksProblem>, Vec<PeaksProblem>) =
        grid.problems().into_iter().partition(|problem| problem.spec().input_bytes() <= most_input << 20);
    let [first, again] = deciding_times(&problems, &profile, &name.open()?)?;
    let facts = facts().with("costs", profile.origin()).with("costs_of", profile.name.clone());
    let comparison = Comparison {
        command: "picker",
        heading: vec!["from frames on the device to peaks in host memory".into()],
        facts: facts.with("deciding_first_ns", first).with("deciding_again_ns", again),
        options: grid.parameters().with("most_input", *most_input),
        problems,
        columns: PeaksGrid::COLUMNS,
        catalogue: &catalogue(&profile),
        default_baseline: Strategy::Fused.name(),
    };
    let cases = comparison.measure(measure, out)?;
    let (choices, layout) = (Choices::of(&cases), measure.layout());
    if !choices.is_empty() {
        writeln!(out, "{}", choices.overview().render_in(layout))?;
        if let Some(shown) = choices.table(*shows_every) {
            writeln!(out, "{}", shown.render_in(layout))?;
        }
        let summary = format!("{} profile of {}: {}", profile.origin(), profile.name, choices.summary());
        writeln!(out, "{}", wrapped(&summary, layout.width).join("\n"))?;
    }
    writeln!(out, "deciding takes {} the first time, {} each later time", duration(first), duration(again))?;
    if !left_out.is_empty() {
        writeln!(out, "left out: {} problems of more than {most_input} MiB of input", left_out.len())?;
    }
    Ok(cases)
}

/// Median nanoseconds per decision on a problem that was not decided on before, and on one that was.
fn deciding_times(problems: &[PeaksProblem], profile: &DeviceProfile, device: &Device) -> Result<[f64; 2]> {
    let (mut first, mut again) = (Vec::new(), Vec::new());
    for problem in problems.iter().filter(|problem| problem.validate().is_ok()) {
        let model = model(problem, &Strategy::EXACT, profile, device).context("a valid problem")?;
        let timed = || {
            let start = Instant::now();
            black_box(model.select(problem.batch, problem.frame(), false));
            start.elapsed().as_nanos() as f64
        };
        first.push(timed());
        again.extend((0..DECISIONS).map(|_| timed()));
    }
    Ok([first, again].map(|times| Percentiles::of(times).map_or(0.0, |times| times.median)))
}

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
    let strategy = BenchStrategy::new(name, summary, move |problem: &PeaksProblem, inputs| {
        let device = inputs.device();
        let strategies = forced.as_ref().map_or(&Strategy::EXACT[..], std::slice::from_ref);
        let mut model = model(problem, strategies, &profile, device)?;
        let mut rows = expected(problem, inputs);
        if forced == Some(Strategy::Learned) {
            // Untrained, it runs as an exact estimate.
            let learned = PeaksModel::learned(problem).try_init(device)?;
            rows = learned_rows(&learned, inputs);
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

#[cfg(test)]
mod tests {
    use clap::Parser;
    use firefly_framework::device::{DeviceId, fingerprint};
    use firefly_framework::profile::{Preset, save};

    use super::*;
    use crate::report::schema::BenchReport;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        arguments: PickerArgs,
    }

    #[test]
    fn a_small_grid_is_measured_and_reported() {
        let folder = tempfile::tempdir().unwrap();
        let (json, profile) = (folder.path().join("picker.json"), folder.path().join("cpu.toml"));
        save(&DeviceProfile { fingerprint: fingerprint(DeviceId::CPU), ..Preset::Cpu.profile() }, &profile).unwrap();
        let mut list = vec![
            "picker", "--device", "cpu", "--n-fft", "64,250", "--batch", "1,8", "--k", "4,64", "--iters", "2",
            "--warmup", "0", "--quiet", "--cases",
        ];
        list.extend(["--json", json.to_str().unwrap(), "--profile", profile.to_str().unwrap()]);
        let mut out = Vec::new();
        let cases = run(&Cli::parse_from(list).arguments, &mut out).unwrap();
        assert_eq!(cases.len(), BenchReport::read(&json).unwrap().cases.len());
        // 2 lengths, 2 batches, 2 numbers of peaks and of segments: 16 problems of 3 cases.
        assert_eq!(cases.len(), 48);
        // n_fft 64 has fewer bins than 64.
        assert_eq!(cases.iter().filter(|case| case.measured().is_some()).count(), 36);
        let text = String::from_utf8(out).unwrap().replace('\n', " ");
        assert!(text.contains("calibrated profile of cpu: regret of 12 choices"), "{text}");
        assert!(text.contains("deciding takes") && text.contains("spectrum"), "{text}");
    }

    #[test]
    fn defaults_are_a_grid_of_its_own() {
        let defaults = Cli::parse_from(["picker"]).arguments;
        assert_eq!(defaults.grid.parameters().shown("n_fft"), "[64,256,1024,4096]");
        assert_eq!((defaults.measure.iters, defaults.measure.warmup), (15, 2));
    }
}
