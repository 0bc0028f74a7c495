//! `firefly-bench predictions`: predicted and measured times of captured graphs and of the zoo's models.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;

use anyhow::ensure;
use clap::value_parser;
use firefly_app::device::DeviceChoice;
use firefly_app::number::{duration, significant};
use firefly_app::progress::StepProgress;
use firefly_app::suggest;
use firefly_app::table::{Align, TableLayout, TextTable, wrapped};
use firefly_models::zoo;

use super::ExitStatus;
use super::device_profile::device_profile;
use super::welch_options::PeaksGrid;
use crate::harness::number_list::{NumberRange, numbers};
use crate::suites::peaks::PeaksProblem;
use crate::suites::predictions::{GOOD, PredictedGraph, measure_peaks, measure_zoo, shares};
use crate::suites::zoo_models::family_models;

/// Options of `predictions`.
#[derive(Debug, Clone, clap::Args)]
pub struct PredictionsArgs {
    /// Sizes of the problems
    #[command(flatten)]
    pub grid: PeaksGrid,
    /// Predict models of the zoo instead: those whose name contains FILTER, or else one of each family
    #[arg(long, value_name = "FILTER", num_args = 0..=1, default_missing_value = "")]
    #[arg(conflicts_with_all = ["n_fft", "batch", "k", "tier"])]
    pub zoo: Option<String>,
    /// Elements per call of a model of the zoo, from 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,4", allow_negative_numbers = true)]
    #[arg(requires = "zoo")]
    pub zoo_batch: Vec<NumberRange>,
    /// Device: auto (the first GPU that is built in and present, or else the CPU), cpu, ndarray, wgpu, vulkan,
    /// metal, cuda or rocm, with an index as in cuda:1
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: DeviceChoice,
    /// Calibrated profile (a file that `calibrate` wrote) to predict by; the user's own, or a preset if there is none,
    /// unless given
    #[arg(long, value_name = "PATH")]
    pub profile: Option<PathBuf>,
    /// Timed iterations from 1 to 100000
    #[arg(long, value_name = "N", default_value_t = 15, allow_negative_numbers = true)]
    #[arg(value_parser = value_parser!(u32).range(1..=100_000))]
    pub iters: u32,
    /// Show every column of the table, whatever the terminal's width
    #[arg(long)]
    pub wide: bool,
    /// Print the result only
    #[arg(long)]
    pub quiet: bool,
}

/// Predicts and times the graphs of every problem or model, and prints a table to `out`.
///
/// # Errors
/// For arguments out of range, a device or profile that is not there, and output that can't be written.
pub fn run(arguments: &PredictionsArgs, out: &mut dyn Write) -> anyhow::Result<ExitStatus> {
    let workloads = workloads(arguments)?;
    let name = arguments.device.name();
    let device = name.open()?;
    let (profile, source) = device_profile(name, arguments.profile.as_deref())?;
    let iterations = arguments.iters as usize;
    let progress = StepProgress::new(arguments.quiet, workloads.len());
    let mut results = Vec::new();
    for workload in workloads {
        progress.set_message(workload.to_string());
        let graphs = match &workload {
            Workload::Peaks(problem) => measure_peaks(problem, &profile, &device, iterations)?,
            Workload::Zoo { names, batch } => measure_zoo(names, *batch, &profile, &device, iterations)?,
        };
        results.push((workload, graphs));
        progress.advance(1);
    }
    progress.finish();
    let layout = TableLayout::of_stdout(arguments.wide);
    write!(out, "{}", table(&results).render_in(layout))?;
    let graphs = results.iter().flat_map(|(_, graphs)| graphs);
    let Some([of_median, of_fastest]) = shares(graphs.clone()) else { return Ok(ExitStatus::NothingMeasured) };
    let line = format!(
        "{source} profile of {}: of {} graphs {:.0} % predicted within × {GOOD} of the measured median, {:.0} % of the \
         fastest tenth of the samples",
        profile.name,
        graphs.count(),
        100.0 * of_median,
        100.0 * of_fastest
    );
    writeln!(out, "\n{}", wrapped(&line, layout.width).join("\n"))?;
    Ok(ExitStatus::Passed)
}

/// Graphs that are predicted and timed together.
enum Workload {
    /// The phases and models of a peaks problem.
    Peaks(PeaksProblem),
    /// Models of the zoo on a batch.
    Zoo { names: Vec<&'static str>, batch: usize },
}

impl Workload {
    /// Names and alignment of its columns in the table.
    fn columns(&self) -> &'static [(&'static str, Align)] {
        match self {
            Self::Peaks(_) => {
                &[("n_fft", Align::Right), ("tier", Align::Left), ("batch", Align::Right), ("k", Align::Right)]
            }
            Self::Zoo { .. } => &[("batch", Align::Right)],
        }
    }

    /// Values of its columns.
    fn cells(&self) -> Vec<String> {
        match self {
            Self::Peaks(PeaksProblem { options, tier, batch, k }) => {
                vec![options.n_fft.to_string(), tier.to_string(), batch.to_string(), k.to_string()]
            }
            Self::Zoo { batch, .. } => vec![batch.to_string()],
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.columns().iter().zip(self.cells()).map(|((name, _), value)| format!("{name} {value}"));
        f.write_str(&named.collect::<Vec<_>>().join(", "))
    }
}

/// The workloads that the arguments ask for.
fn workloads(arguments: &PredictionsArgs) -> anyhow::Result<Vec<Workload>> {
    let Some(filter) = &arguments.zoo else {
        return Ok(arguments.grid.problems("predictions")?.into_iter().map(Workload::Peaks).collect());
    };
    let names = if filter.is_empty() { family_models() } else { zoo::list(filter) };
    let hint = suggest::hint(filter, zoo::list(""));
    ensure!(!names.is_empty(), "--zoo: no model's name contains `{filter}`{hint}");
    Ok(numbers(&arguments.zoo_batch).into_iter().map(|batch| Workload::Zoo { names: names.clone(), batch }).collect())
}

/// Table with a row per graph, in groups by workload.
fn table(results: &[(Workload, Vec<PredictedGraph>)]) -> TextTable {
    let columns = results.first().map_or(&[][..], |(workload, _)| workload.columns());
    let mut table = TextTable::default();
    for (name, align) in columns {
        table = table.column(*name, *align);
    }
    table = table
        .grouped(columns.len())
        .column("graph", Align::Left)
        .columns(["predicted", "measured", "predicted / measured"], Align::Right)
        .wide("p10 – p90", Align::Right);
    for (workload, graphs) in results {
        for graph in graphs {
            let PredictedGraph { name, predicted, measured } = graph;
            let times = [duration(*predicted), duration(measured.median), significant(graph.ratio(), 3)];
            let spread = format!("{} – {}", duration(measured.p10), duration(measured.p90));
            table.row(workload.cells().into_iter().chain([name.to_string()]).chain(times).chain([spread]));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use firefly_framework::device::{DeviceId, fingerprint};
    use firefly_framework::profile::{DeviceProfile, Preset, save};

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        arguments: PredictionsArgs,
    }

    #[test]
    fn the_share_of_good_predictions_is_printed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cpu.toml");
        // A device on which everything takes longer than anything can.
        let slow = DeviceProfile { roundtrip: 1e15, fingerprint: fingerprint(DeviceId::CPU), ..Preset::Cpu.profile() };
        save(&slow, &path).unwrap();
        let grid = ["predictions", "--n-fft", "64", "--batch", "3", "--k", "4", "--iters", "1", "--quiet"];
        let command = Command::parse_from(grid.iter().chain(&["--device", "cpu", "--profile", path.to_str().unwrap()]));
        let mut out = Vec::new();
        assert_eq!(run(&command.arguments, &mut out).unwrap(), ExitStatus::Passed);
        let text = String::from_utf8(out).unwrap();
        let text = text.replace('\n', " ");
        assert!(text.contains("calibrated profile of cpu: of 12 graphs 0 % predicted"), "{text}");
    }

    #[test]
    fn models_of_the_zoo_are_predicted_by_their_names() {
        let run_with = |words: &[&str]| {
            let command =
                Command::parse_from(["predictions", "--device", "cpu", "--iters", "1", "--quiet"].iter().chain(words));
            let mut out = Vec::new();
            run(&command.arguments, &mut out).map(|_| String::from_utf8(out).unwrap())
        };
        let text = run_with(&["--zoo", "_tiny", "--zoo-batch", "2"]).unwrap();
        assert!(text.contains("fno2d_tiny") && !text.contains("timesnet_tiny"), "{text}");
        let error = run_with(&["--zoo", "fno9"]).unwrap_err().to_string();
        assert!(error.contains("no model's name contains `fno9`"), "{error}");
    }
}
