//! The subcommands: their arguments and help, and those that do not compare strategies, one file each.

mod calibrate;
mod gate;
pub mod max_batch;
mod profile;
mod reports;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use firefly_app::streams::StandardOutput;
use firefly_framework::profile::Preset;

use crate::harness::{BenchStrategy, CaseOutcome, CaseRecord, INTERRUPTED, Problem, is_interrupted};
use crate::suites::options::TrainOptions;
use crate::suites::{butterfly, fft, layers, peaks, phases, picker, pipelines, predictions};

/// End of the program's own help.
const ABOUT: &str = "Example:
  firefly-bench welch-peaks --batch 32..8192

Exit status:
  0  done
  1  a case failed, got slower, is no longer measured, or is gone
  2  the command could not be carried out, or nothing could be measured
  130  interrupted: what was measured by then is kept

Environment:
  FIREFLY_TRACE=1          print every selection of the picker with its candidates
  FIREFLY_LEGACY_PICKER=1  let the strategy auto select by the published thresholds on the batch";

/// Verified measurements of Firefly's operations and models.
#[derive(Debug, Parser)]
#[command(name = "firefly-bench", version, after_help = ABOUT)]
pub struct Cli {
    #[command(subcommand)]
    command: BenchCommand,
}

#[derive(Debug, Subcommand)]
enum BenchCommand {
    /// Strongest lines of Welch spectra: each strategy verified, then timed side by side
    #[command(after_help = strategies_help(
        "firefly-bench welch-peaks --batch 32..8192 --k 4,16 --strategy auto,fused,rustfft --json peaks.json",
        &peaks::catalogue(&TrainOptions::default(), 0)
    ))]
    WelchPeaks(peaks::WelchPeaksArgs),
    /// Fourier transforms of any length, complex and real, in up to three dimensions: each verified, then timed side by
    /// side
    #[command(after_help = strategies_help(
        "firefly-bench fft --n 1000,251,128x128 --values real --direction forward,inverse --points 1048576",
        &fft::catalogue()
    ))]
    Fft(fft::FftArgs),
    /// Butterfly transforms, exact and learned, forward and backward: each verified, then timed side by side
    #[command(after_help = strategies_help(
        "firefly-bench butterfly --n 256..4096 --batch 1024 --threads 1,2 --json butterfly.json",
        &butterfly::catalogue()
    ))]
    Butterfly(butterfly::ButterflyArgs),
    /// Layers of spectral models (spectral and long convolutions, mel, power and Welch spectra, top-k), fused and from
    /// separate operations, forward and backward: each verified, then timed side by side
    #[command(after_help = strategies_help(
        "firefly-bench layers --layer spectral-conv --batch 32 --channels 64 --n 128x128 --modes 16",
        &layers::catalogue()
    ))]
    Layers(layers::LayersArgs),
    /// From a spectrum that is read back to one fused kernel, phase by phase: counted, predicted, measured, decided on
    #[command(after_help = strategies_help(
        "firefly-bench fusion-phases --batch 32,1024,8192 --explain",
        &phases::catalogue(Preset::Cpu.profile(), false)
    ))]
    FusionPhases(phases::FusionPhasesArgs),
    /// Whole pipelines (power spectra, mel spectra, peaks) from host memory to host memory, side by side
    #[command(after_help = strategies_help(
        "firefly-bench e2e --pipeline mel,peaks --batch 1024 --k 8,16 --train-steps 200",
        &pipelines::catalogue(&TrainOptions::default(), 0)
    ))]
    E2e(pipelines::E2eArgs),
    /// The largest batch that is safe in one call, what limits it, and proof by running it
    #[command(after_help = example("firefly-bench max-batch --n-fft 256,4096 --segments fast,reference --prove 256", true))]
    MaxBatch(max_batch::MaxBatchArgs),
    /// Changes from one report to another; exit status 1 if a case got slower or is no longer measured
    #[command(after_help = example("firefly-bench compare before.json after.json --threshold 0.1 --quiet", false))]
    Compare(reports::CompareArgs),
    /// Data movement of a model, node by node, without running it; with --rewrite, also the savings of fusion
    #[command(after_help = example("firefly-bench profile stock-unfold --rewrite --svg graph.svg", false))]
    Profile(profile::ProfileArgs),
    /// Estimates, score and decision of the fusion gate, for presets and calibrated profiles side by side
    #[command(after_help = example("firefly-bench gate --device cuda --batch 256..8192 --k 16", false))]
    Gate(gate::GateArgs),
    /// Measures the costs of a device, for the picker and for decisions on fusion
    #[command(after_help = example("firefly-bench calibrate --device cpu --rounds 5", false))]
    Calibrate(calibrate::CalibrateArgs),
    /// Regret of the picker's choices
    #[command(after_help = strategies_help(
        "firefly-bench picker --n-fft 256 --batch 1..4096 --k 16 --json picker.json",
        &picker::catalogue(&Preset::Cpu.profile())
    ))]
    Picker(picker::PickerArgs),
    /// Predicted and measured times of every captured graph: the fusion phases, as traced, and the models
    #[command(after_help = strategies_help(
        "firefly-bench predictions --device cpu --batch 32,1024,8192",
        &predictions::catalogue(&Preset::Cpu.profile())
    ))]
    Predictions(predictions::PredictionsArgs),
    /// Reports as one page: self-contained HTML with charts, or Markdown
    #[command(after_help = example("firefly-bench report peaks.json picker.json --out page.html", false))]
    Report(reports::ReportArgs),
}

impl Cli {
    /// Carries the command out; results go to standard output.
    pub fn run(self) -> Result<ExitCode> {
        let out = &mut StandardOutput::default();
        let of = |cases: Result<Vec<CaseRecord>>| Ok(ExitStatus::of(&cases?));
        let status = match self.command {
            BenchCommand::WelchPeaks(arguments) => {
                let catalogue = peaks::catalogue(&arguments.train, arguments.measure.seed);
                of(peaks::run(&arguments, &catalogue, out))
            }
            BenchCommand::Fft(arguments) => of(fft::run(&arguments, out)),
            BenchCommand::Butterfly(arguments) => of(butterfly::run(&arguments, out)),
            BenchCommand::Layers(arguments) => of(layers::run(&arguments, out)),
            BenchCommand::FusionPhases(arguments) => of(phases::run(&arguments, out)),
            BenchCommand::E2e(arguments) => of(pipelines::run(&arguments, out)),
            BenchCommand::Picker(arguments) => of(picker::run(&arguments, out)),
            BenchCommand::Predictions(arguments) => of(predictions::run(&arguments, out)),
            BenchCommand::MaxBatch(arguments) => max_batch::run(&arguments, out),
            BenchCommand::Compare(arguments) => reports::compare(&arguments, out),
            BenchCommand::Profile(arguments) => profile::run(&arguments, out),
            BenchCommand::Gate(arguments) => gate::run(&arguments, out),
            BenchCommand::Calibrate(arguments) => calibrate::run(&arguments, out),
            BenchCommand::Report(arguments) => reports::report(&arguments, out),
        }?;
        out.flush()?;
        let status = if is_interrupted() { ExitStatus::Interrupted } else { status };
        Ok(ExitCode::from(status as u8))
    }
}

/// Result of a command that was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// No case failed.
    Passed = 0,
    /// At least one case failed.
    Failed = 1,
    /// No case could be run.
    NothingMeasured = 2,
    /// The measurement was interrupted.
    Interrupted = INTERRUPTED as isize,
}

impl ExitStatus {
    /// [`Failed`](Self::Failed) if a case is; [`NothingMeasured`](Self::NothingMeasured) if none has a result.
    pub fn of(cases: &[CaseRecord]) -> Self {
        let any = |wanted: fn(&CaseOutcome) -> bool| cases.iter().any(|case| wanted(&case.outcome));
        if any(|outcome| matches!(outcome, CaseOutcome::Failed { .. })) {
            Self::Failed
        } else if any(|outcome| matches!(outcome, CaseOutcome::Measured(_) | CaseOutcome::Bounded(_))) {
            Self::Passed
        } else {
            Self::NothingMeasured
        }
    }
}

/// Forms of a list, for the help of commands that take some.
const LISTS: &str = "\
Lists are separated by commas. Lists of numbers also take ranges of powers of two: 32,100 or 32..8192 or 32-8192.";

/// An example for a command's help, after what its lists may be if it takes some.
fn example(command: &str, takes_lists: bool) -> String {
    let lists = if takes_lists { format!("{LISTS}\n\n") } else { String::new() };
    format!("{lists}Example:\n  {command}")
}

/// A command's help: lists, an example, and its strategies.
pub fn strategies_help<P: Problem>(command: &str, catalogue: &[BenchStrategy<P>]) -> String {
    let line = |strategy: &BenchStrategy<P>| {
        let BenchStrategy { name, aliases, summary, .. } = strategy;
        let others: Vec<&str> = aliases.iter().copied().filter(|alias| alias != name).collect();
        let others = if others.is_empty() { String::new() } else { format!(" (or {})", others.join(", ")) };
        format!("\n  {name}{others}: {summary}")
    };
    let strategies: String = catalogue.iter().map(line).collect();
    format!("{}\n\nStrategies:{strategies}", example(command, true))
}
