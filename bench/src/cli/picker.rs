//! `firefly-bench picker`: quality of predicted times, and regret of the choices that follow from them.

use std::hint::black_box;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::value_parser;
use firefly_app::device::DeviceChoice;
use firefly_app::files::{ensure_writable, write_atomically};
use firefly_app::table::{TableLayout, wrapped};
use firefly_framework::cost::MeasuredEstimate;
use firefly_models::{AutoWelchPeaks, Selection, Strategy, Tier};

use super::ExitStatus;
use super::device_profile::device_profile;
use super::values::{TIERS, named};
use super::welch_options::lengths;
use crate::harness::load::LoadProbe;
use crate::harness::machine::MachineInfo;
use crate::harness::number_list::{NumberRange, distinct, numbers, whole};
use crate::harness::statistics::Percentiles;
use crate::report::json::now;
use crate::report::picker_report::{GOOD, LOW_REGRET, PICKER_FORMAT, PickerCase, PickerReport};
use crate::report::schema::Tool;
use crate::suites::peaks::{PeaksProblem, grid};
use crate::suites::picker::{TimingBudget, Timings, model, strategies_of, time_in_rounds};
use crate::suites::predictions::share_within;

/// Number of repeated decisions per problem.
const DECISIONS: usize = 20;

/// Options of `picker`. Lists are separated by commas; lists of numbers also take ranges of powers of two, as in
/// 32..8192.
#[derive(Debug, Clone, clap::Args)]
pub struct PickerArgs {
    /// Samples per segment: powers of two from 8 to 65536
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "64,256,1024,4096",
        allow_negative_numbers = true
    )]
    pub n_fft: Vec<NumberRange>,
    /// Frames per call, from 1; their samples take at most 8 GiB
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "1,8,64,512,4096,32768",
        allow_negative_numbers = true
    )]
    pub batch: Vec<NumberRange>,
    /// Peaks per frame: from 1 to n_fft / 2 + 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "4,16,64", allow_negative_numbers = true)]
    pub k: Vec<NumberRange>,
    /// Segments used of each frame: ultra (1), fast (2), reference (8)
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "fast,reference")]
    #[arg(value_parser = named(TIERS))]
    pub tier: Vec<Tier>,
    /// Device: auto (the first GPU that is built in and present, or else the CPU), cpu, ndarray, wgpu, vulkan,
    /// metal, cuda or rocm, with an index as in cuda:1
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: DeviceChoice,
    /// Calibrated profile; the user's own, or a preset if there is none, unless given
    #[arg(long, value_name = "PATH")]
    pub profile: Option<PathBuf>,
    /// Largest input in MiB, from 0; larger ones are left out
    #[arg(long, value_name = "MIB", default_value_t = 1024, allow_negative_numbers = true)]
    #[arg(value_parser = whole::<usize>)]
    pub most_input: usize,
    /// Milliseconds per case and round, from 0; at least three runs of each method
    #[arg(long, value_name = "MS", default_value_t = 15, allow_negative_numbers = true)]
    #[arg(value_parser = whole::<u64>)]
    pub time: u64,
    /// Rounds over the whole grid, from 1 to 100
    #[arg(long, value_name = "N", default_value_t = 3, allow_negative_numbers = true)]
    #[arg(value_parser = value_parser!(u32).range(1..=100))]
    pub rounds: u32,
    /// Write the figures to this file, as JSON
    #[arg(long, value_name = "PATH")]
    pub json: Option<PathBuf>,
    /// Print every case, not only those that are predicted or chosen badly
    #[arg(long)]
    pub cases: bool,
    /// Show every column of the table, whatever the terminal's width
    #[arg(long)]
    pub wide: bool,
    /// Print the result only
    #[arg(long)]
    pub quiet: bool,
}

/// Measures every method over a grid and compares with what the picker predicts and chooses.
///
/// # Errors
/// For a device or profile that is not there, and methods that fail or don't agree.
pub fn run(arguments: &PickerArgs, out: &mut dyn Write) -> anyhow::Result<ExitStatus> {
    let lengths = lengths(&arguments.n_fft, "picker")?;
    let id = arguments.device.name();
    let device = id.open()?;
    let name = id.to_string();
    if let Some(path) = &arguments.json {
        ensure_writable(path).with_context(|| format!("--json {}", path.display()))?;
    }
    let (profile, source) = device_profile(id, arguments.profile.as_deref())?;

    let mut left_out = Vec::new();
    let mut problems =
        grid(&lengths, &distinct(arguments.tier.clone()), &numbers(&arguments.batch), &numbers(&arguments.k));
    problems.retain(|problem| {
        let large = problem.input_bytes() > arguments.most_input << 20;
        let reason = match problem.validate() {
            Err(error) => Some(error.to_string()),
            Ok(()) => large.then(|| format!("more than {} MiB of input", arguments.most_input)),
        };
        let label =
            format!("n_fft {}, {}, batch {}, k {}", problem.options.n_fft, problem.tier, problem.batch, problem.k);
        left_out.extend(reason.as_ref().map(|reason| format!("{label}: {reason}")));
        reason.is_none()
    });
    ensure!(!problems.is_empty(), "no case is left: {}", left_out.join("; "));
    let methods = strategies_of(id.kind());
    let estimates: Vec<_> = methods.iter().copied().map(MeasuredEstimate::Strategy).collect();
    let budget = TimingBudget { rounds: arguments.rounds as usize, time: Duration::from_millis(arguments.time) };
    let mut probe = LoadProbe::new(id.kind());
    let Timings { samples, load } =
        time_in_rounds(&problems, &estimates, &profile, &device, budget, &mut probe, arguments.quiet)?;
    let mut decision_times = DecisionTimes::default();
    let mut cases = Vec::new();
    for (problem, samples) in problems.iter().zip(samples) {
        let choice = decision_times.choose(&model(problem, None, &profile, &device)?, problem);
        let predicted = |strategy: Strategy| {
            let considered = choice.considered.iter().find(|candidate| candidate.strategy == strategy);
            considered.map(|candidate| candidate.nanoseconds)
        };
        let percentiles = |samples: Vec<f64>| Percentiles::of(samples).context("nothing was timed");
        let measured = samples.into_iter().map(percentiles).collect::<anyhow::Result<Vec<_>>>()?;
        let chosen = choice.selected.strategy;
        let place = methods.iter().position(|method| *method == chosen).context("a method that was not measured")?;
        let fastest = measured.iter().map(|time| time.median).fold(f64::INFINITY, f64::min);
        let prediction = predicted(chosen).unwrap_or(f64::NAN);
        cases.push(PickerCase {
            n_fft: problem.options.n_fft,
            tier: problem.tier.to_string(),
            batch: problem.batch,
            k: problem.k,
            chosen: chosen.name().into(),
            prediction: prediction / measured[place].median,
            prediction_p10: prediction / measured[place].p10,
            regret: measured[place].median / fastest - 1.0,
            methods: methods.iter().zip(&measured).map(|(m, time)| (m.name().into(), predicted(*m), *time)).collect(),
        });
    }

    let count = cases.len() as f64;
    let good = |prediction: fn(&PickerCase) -> f64| {
        let ratios = cases.iter().map(prediction);
        share_within(GOOD, ratios).unwrap_or(f64::NAN)
    };
    let report = PickerReport {
        format: PICKER_FORMAT,
        tool: Tool::this(),
        date: now(),
        host: MachineInfo::detect(),
        device: name,
        profile: source.to_string(),
        remark: load.remark(),
        predicted_well: good(|case| case.prediction),
        predicted_well_p10: good(|case| case.prediction_p10),
        mean_regret: cases.iter().map(|case| case.regret).sum::<f64>() / count,
        worst_regret: cases.iter().map(|case| case.regret).fold(0.0, f64::max),
        deciding_first_ns: Percentiles::of(decision_times.first).context("nothing was decided")?,
        deciding_again_ns: Percentiles::of(decision_times.again).context("nothing was decided")?,
        left_out,
        cases,
    };
    // The file before the table: a closed output loses no result.
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(&report)? + "\n";
        write_atomically(path, text.as_bytes()).with_context(|| format!("writing {}", path.display()))?;
    }
    show(&report, arguments.cases, TableLayout::of_stdout(arguments.wide), out)?;
    Ok(ExitStatus::Passed)
}

/// Nanoseconds per decision.
#[derive(Default)]
struct DecisionTimes {
    first: Vec<f64>,
    again: Vec<f64>,
}

impl DecisionTimes {
    /// The choice of a model that has not decided yet, timed the first time and [`DECISIONS`] times more.
    fn choose(&mut self, model: &AutoWelchPeaks, problem: &PeaksProblem) -> Arc<Selection> {
        let timed = || {
            let start = Instant::now();
            let choice = black_box(model.select(problem.batch, problem.frame(), false));
            (start.elapsed().as_nanos() as f64, choice)
        };
        let (first, choice) = timed();
        self.first.push(first);
        self.again.extend((0..DECISIONS).map(|_| timed().0));
        choice
    }
}

fn show(report: &PickerReport, every_case: bool, layout: TableLayout, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "{}", report.overview().render_in(layout))?;
    if every_case {
        writeln!(out, "{}", report.table().render_in(layout))?;
    } else if let Some(misses) = report.table_of_misses() {
        writeln!(out, "off by more than × {GOOD}, or regretted by more than {} %", 100.0 * LOW_REGRET)?;
        writeln!(out, "{}", misses.render_in(layout))?;
    }
    for line in report.summary() {
        writeln!(out, "{}", wrapped(&line, layout.width).join("\n"))?;
    }
    for problem in &report.left_out {
        writeln!(out, "left out: {problem}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use firefly_framework::device::{DeviceId, fingerprint};
    use firefly_framework::profile::{DeviceProfile, Preset, save};

    use super::*;

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
            "picker", "--device", "cpu", "--n-fft", "64,256", "--batch", "1,8", "--k", "4,64", "--time", "0",
            "--rounds", "2", "--quiet",
        ];
        list.extend(["--json", json.to_str().unwrap(), "--profile", profile.to_str().unwrap()]);
        let mut out = Vec::new();
        assert_eq!(run(&Cli::parse_from(list).arguments, &mut out).unwrap(), ExitStatus::Passed);
        let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
        // n_fft 64 has fewer bins than 64.
        assert_eq!(report["cases"].as_array().unwrap().len(), 12);
        assert_eq!(report["left_out"].as_array().unwrap().len(), 4);
        assert!(report["mean_regret"].as_f64() <= report["worst_regret"].as_f64());
        assert!(String::from_utf8(out).unwrap().contains("calibrated profile of cpu"));
    }
}
