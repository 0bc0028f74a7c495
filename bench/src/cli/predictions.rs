//! `firefly-bench predictions`: predicted and measured times of every captured graph.

use std::io::Write;
use std::path::PathBuf;

use clap::value_parser;
use firefly_app::device::DeviceChoice;
use firefly_app::number::{duration, significant};
use firefly_app::progress::StepProgress;
use firefly_app::table::{Align, TableLayout, TextTable, wrapped};

use super::ExitStatus;
use super::device_profile::device_profile;
use super::welch_options::PeaksGrid;
use crate::suites::predictions::{GOOD, PredictedGraph, measure, shares};

/// Options of `predictions`.
#[derive(Debug, Clone, clap::Args)]
pub struct PredictionsArgs {
    /// Sizes of the problems
    #[command(flatten)]
    pub grid: PeaksGrid,
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

/// Predicts and times the graphs of every problem, and prints a table to `out`.
///
/// # Errors
/// For arguments out of range, a device or profile that is not there, and output that can't be written.
pub fn run(arguments: &PredictionsArgs, out: &mut dyn Write) -> anyhow::Result<ExitStatus> {
    let problems = arguments.grid.problems("predictions")?;
    let name = arguments.device.name();
    let device = name.open()?;
    let (profile, source) = device_profile(name, arguments.profile.as_deref())?;
    let progress = StepProgress::new(arguments.quiet, problems.len());
    let mut graphs = Vec::new();
    for problem in &problems {
        progress.say(format!("n_fft {}, {}, batch {}", problem.options.n_fft, problem.tier, problem.batch));
        graphs.extend(measure(problem, &profile, &device, arguments.iters as usize)?);
        progress.advance(1);
    }
    progress.finish();
    let layout = TableLayout::of_stdout(arguments.wide);
    write!(out, "{}", table(&graphs).render_in(layout))?;
    let Some([of_median, of_fastest]) = shares(&graphs) else { return Ok(ExitStatus::NothingMeasured) };
    let line = format!(
        "{source} profile of {}: of {} graphs {:.0} % predicted within × {GOOD} of the measured median, {:.0} % of the \
         fastest tenth of the samples",
        profile.name,
        graphs.len(),
        100.0 * of_median,
        100.0 * of_fastest
    );
    writeln!(out, "\n{}", wrapped(&line, layout.width).join("\n"))?;
    Ok(ExitStatus::Passed)
}

/// Table with a row per graph, in groups by problem.
fn table(graphs: &[PredictedGraph]) -> TextTable {
    let mut table = TextTable::default()
        .column("n_fft", Align::Right)
        .column("tier", Align::Left)
        .columns(["batch", "k"], Align::Right)
        .grouped(4)
        .column("graph", Align::Left)
        .columns(["predicted", "measured", "predicted / measured"], Align::Right)
        .wide("p10 – p90", Align::Right);
    for graph in graphs {
        let PredictedGraph { problem, name, predicted, measured } = graph;
        let sizes = [problem.options.n_fft.to_string(), problem.tier.to_string()];
        let counts = [problem.batch.to_string(), problem.k.to_string(), name.to_string()];
        let times = [duration(*predicted), duration(measured.median), significant(graph.ratio(), 3)];
        let spread = format!("{} – {}", duration(measured.p10), duration(measured.p90));
        table.row(sizes.into_iter().chain(counts).chain(times).chain([spread]));
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
}
