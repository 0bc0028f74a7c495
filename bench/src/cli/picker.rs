//! `firefly-bench picker`: how well times are predicted, and what the choices that follow from them cost.

use std::hint::black_box;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::value_parser;
use firefly_app::device::DeviceName;
use firefly_app::files::{ensure_writable, write_atomically};
use firefly_models::{AutoWelchPeaks, Selection, Strategy};
use serde::Serialize;

use super::Verdict;
use super::device_profile::device_profile;
use crate::cli::lists::Counts;
use crate::cli::peaks_grid::{Tiers, check_lengths};
use crate::harness::format::{digits, duration};
use crate::harness::host::Host;
use crate::harness::statistics::Spread;
use crate::methods::{Effort, methods_of, model, time_in_rounds};
use crate::report::json::now;
use crate::report::schema::Tool;
use crate::report::table::{Side, Table};
use crate::suites::peaks::{PeaksProblem, grid};

/// A prediction is good within this factor of the measured time.
const GOOD: f64 = 1.5;
/// Version of the JSON format; it changes when a reader would have to.
const FORMAT: u32 = 2;
/// Times a known shape is decided on again, to see how long that takes.
const DECISIONS: usize = 20;

/// The options. Lists are separated by commas; lists of numbers also take ranges of powers of two, as in 32..8192.
#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// Samples of a segment: powers of two from 8 to 65536
    #[arg(long, value_name = "LIST", default_value = "64,256,1024,4096")]
    pub n_fft: Counts,
    /// Frames of a call
    #[arg(long, value_name = "LIST", default_value = "1,8,64,512,4096,32768")]
    pub batch: Counts,
    /// Peaks of each frame
    #[arg(long, value_name = "LIST", default_value = "4,16,64")]
    pub k: Counts,
    /// Segments used of each frame: ultra (1), fast (2), reference (8)
    #[arg(long, value_name = "LIST", default_value = "fast,reference")]
    pub tier: Tiers,
    /// The device: cpu, ndarray, wgpu, vulkan, metal or cuda, with an index as in cuda:1
    #[arg(long, default_value = "cpu")]
    pub device: DeviceName,
    /// A calibrated profile; the user's own, or a preset if there is none, unless given
    #[arg(long, value_name = "PATH")]
    pub profile: Option<PathBuf>,
    /// Larger inputs are left out, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    pub most_input: usize,
    /// Milliseconds to measure each case for in a round, at least three runs of each method
    #[arg(long, value_name = "MS", default_value_t = 15)]
    pub time: u64,
    /// How often the whole grid is gone through
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = value_parser!(u32).range(1..=100))]
    pub rounds: u32,
    /// Write the figures there, as JSON
    #[arg(long, value_name = "PATH")]
    pub json: Option<PathBuf>,
    /// Print the result only
    #[arg(long)]
    pub quiet: bool,
}

/// One problem.
#[derive(Debug, Clone, Serialize)]
struct Case {
    n_fft: usize,
    tier: String,
    batch: usize,
    k: usize,
    chosen: &'static str,
    /// Of every method: predicted nanoseconds, and measured ones.
    methods: Vec<(&'static str, f64, Spread)>,
    /// Predicted by measured time of the chosen method: by its median, and by its fastest tenth.
    prediction: f64,
    prediction_p10: f64,
    /// How much longer the chosen method takes than the fastest: 0 if it is the fastest.
    regret: f64,
}

#[derive(Debug, Serialize)]
struct Report {
    format: u32,
    tool: Tool,
    date: u64,
    host: Host,
    device: String,
    profile: String,
    /// Share of cases predicted within a factor of 1.5 of the median, and of the fastest tenth of the samples.
    predicted_well: f64,
    predicted_well_p10: f64,
    mean_regret: f64,
    worst_regret: f64,
    /// Nanoseconds that it took to decide, the first time for each problem.
    deciding_first_ns: Spread,
    /// And each later time.
    deciding_again_ns: Spread,
    /// Problems left out, with the reason.
    left_out: Vec<String>,
    cases: Vec<Case>,
}

/// Measures every method over a grid and compares with what the picker predicts and chooses.
///
/// # Errors
/// For a device or profile that is not there, and methods that fail or don't agree.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Verdict> {
    check_lengths(&arguments.n_fft, "picker")?;
    let device = arguments.device.open()?;
    let name = arguments.device.to_string();
    if let Some(path) = &arguments.json {
        ensure_writable(path).with_context(|| format!("--json {}", path.display()))?;
    }
    let (profile, source) = device_profile(arguments.device, arguments.profile.as_deref())?;

    let mut left_out = Vec::new();
    let mut problems = grid(&arguments.n_fft.0, &arguments.tier.0, &arguments.batch.0, &arguments.k.0);
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
    let methods = methods_of(arguments.device.kind());
    let effort = Effort { rounds: arguments.rounds as usize, time: Duration::from_millis(arguments.time) };
    let samples = time_in_rounds(&problems, methods, &profile, &device, effort, arguments.quiet)?;
    let mut deciding = Deciding::default();
    let mut cases = Vec::new();
    for (problem, samples) in problems.iter().zip(samples) {
        let choice = deciding.choose(&model(problem, None, &profile, &device)?, problem);
        let predicted = |strategy: Strategy| {
            let considered = choice.considered.iter().find(|candidate| candidate.strategy == strategy);
            considered.map_or(f64::NAN, |candidate| candidate.nanoseconds)
        };
        let spread = |samples: Vec<f64>| Spread::of(samples).context("nothing was timed");
        let measured = samples.into_iter().map(spread).collect::<anyhow::Result<Vec<_>>>()?;
        let chosen = choice.selected.strategy;
        let place = methods.iter().position(|method| *method == chosen).context("a method that was not measured")?;
        let fastest = measured.iter().map(|spread| spread.median).fold(f64::INFINITY, f64::min);
        cases.push(Case {
            n_fft: problem.options.n_fft,
            tier: problem.tier.to_string(),
            batch: problem.batch,
            k: problem.k,
            chosen: chosen.name(),
            prediction: predicted(chosen) / measured[place].median,
            prediction_p10: predicted(chosen) / measured[place].p10,
            regret: measured[place].median / fastest - 1.0,
            methods: methods.iter().zip(&measured).map(|(m, spread)| (m.name(), predicted(*m), *spread)).collect(),
        });
    }

    let count = cases.len() as f64;
    let good = |prediction: fn(&Case) -> f64| {
        let ratios = cases.iter().map(prediction);
        ratios.filter(|ratio| ratio.max(1.0 / ratio) <= GOOD).count() as f64 / count
    };
    let report = Report {
        format: FORMAT,
        tool: Tool::this(),
        date: now(),
        host: Host::detect(),
        device: name,
        profile: source.to_string(),
        predicted_well: good(|case| case.prediction),
        predicted_well_p10: good(|case| case.prediction_p10),
        mean_regret: cases.iter().map(|case| case.regret).sum::<f64>() / count,
        worst_regret: cases.iter().map(|case| case.regret).fold(0.0, f64::max),
        deciding_first_ns: Spread::of(deciding.first).context("nothing was decided")?,
        deciding_again_ns: Spread::of(deciding.again).context("nothing was decided")?,
        left_out,
        cases,
    };
    show(&report, out)?;
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(&report)? + "\n";
        write_atomically(path, text.as_bytes()).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(Verdict::Passed)
}

/// Nanoseconds that deciding takes.
#[derive(Default)]
struct Deciding {
    first: Vec<f64>,
    again: Vec<f64>,
}

impl Deciding {
    /// What a model that has not decided yet chooses, for the first time and a few more.
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

fn show(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut table = Table::default()
        .column("n_fft", Side::Right)
        .column("tier", Side::Left)
        .column("batch", Side::Right)
        .column("k", Side::Right)
        .column("chosen", Side::Left);
    for (method, ..) in report.cases.iter().take(1).flat_map(|case| &case.methods) {
        table = table.column(*method, Side::Right);
    }
    table = table.column("predicted / measured", Side::Right).column("regret, %", Side::Right);
    for case in &report.cases {
        let times = case.methods.iter().map(|(_, _, spread)| duration(spread.median));
        let sizes = [case.n_fft.to_string(), case.tier.clone(), case.batch.to_string(), case.k.to_string()];
        let rest = [digits(case.prediction), format!("{:.1}", 100.0 * case.regret)];
        table.row(sizes.into_iter().chain([case.chosen.to_string()]).chain(times).chain(rest));
    }
    write!(out, "{}", table.render())?;
    writeln!(
        out,
        "\n{} profile of {}: of {} cases {:.0} % predicted within × {GOOD} of the median, {:.0} % of the fastest tenth of the \
         samples; regret {:.1} % on average, {:.1} % at worst",
        report.profile,
        report.device,
        report.cases.len(),
        100.0 * report.predicted_well,
        100.0 * report.predicted_well_p10,
        100.0 * report.mean_regret,
        100.0 * report.worst_regret
    )?;
    let [first, again] = [report.deciding_first_ns, report.deciding_again_ns];
    writeln!(
        out,
        "deciding takes {} the first time (p90 {}), {} each later time (p90 {})",
        duration(first.median),
        duration(first.p90),
        duration(again.median),
        duration(again.p90)
    )?;
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
        arguments: Arguments,
    }

    #[test]
    fn a_small_grid_is_measured_and_reported() {
        let folder = tempfile::tempdir().unwrap();
        let (json, profile) = (folder.path().join("picker.json"), folder.path().join("cpu.toml"));
        save(&DeviceProfile { fingerprint: fingerprint(DeviceId::CPU), ..Preset::Cpu.profile() }, &profile).unwrap();
        let mut list = vec![
            "picker", "--n-fft", "64,256", "--batch", "1,8", "--k", "4,64", "--time", "0", "--rounds", "2", "--quiet",
        ];
        list.extend(["--json", json.to_str().unwrap(), "--profile", profile.to_str().unwrap()]);
        let mut out = Vec::new();
        assert_eq!(run(&Cli::parse_from(list).arguments, &mut out).unwrap(), Verdict::Passed);
        let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
        // n_fft 64 has fewer bins than 64.
        assert_eq!(report["cases"].as_array().unwrap().len(), 12);
        assert_eq!(report["left_out"].as_array().unwrap().len(), 4);
        assert!(report["mean_regret"].as_f64() <= report["worst_regret"].as_f64());
        assert!(String::from_utf8(out).unwrap().contains("calibrated profile of cpu"));
    }
}
