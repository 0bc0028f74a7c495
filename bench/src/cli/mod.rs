//! The subcommands, one file each: arguments, what is done with them, and the report.

pub mod calibrate;
pub mod compare;
pub mod comparison;
mod device_profile;
pub mod e2e;
pub mod fft;
pub mod fusion_phases;
pub mod max_batch;
pub mod options;
pub mod picker;
pub mod profile;
pub mod report;
pub mod values;
pub mod welch_options;
pub mod welch_peaks;

use std::io::Write;

use clap::{Parser, Subcommand};
use firefly_framework::profile::Preset;

use crate::harness::outcome::{CaseOutcome, CaseRecord};
use crate::harness::problem::Problem;
use crate::harness::strategy::BenchStrategy;
use crate::suites::{fft as transforms, peaks, phases, pipelines};

/// Verified measurements of Firefly's operations and models.
#[derive(Debug, Parser)]
#[command(
    name = "firefly-bench",
    version,
    after_help = "Exit status: 0 if all went well, 1 if a case failed or got slower, 2 if the command could not be carried out or \
                  nothing could be measured."
)]
pub struct Cli {
    /// Subcommand with its options.
    #[command(subcommand)]
    pub command: BenchCommand,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Strongest lines of Welch spectra: each strategy verified, then timed side by side
    #[command(after_help = strategies_help(&peaks::catalogue(1, 0)))]
    WelchPeaks(welch_peaks::WelchPeaksArgs),
    /// Complex transforms, exact and learned, forward and backward: each verified, then timed side by side
    #[command(after_help = strategies_help(&transforms::catalogue()))]
    Fft(fft::FftArgs),
    /// From a spectrum that is read back to one fused kernel, phase by phase: counted, predicted, measured, decided on
    #[command(after_help = strategies_help(&phases::catalogue(Preset::Cpu.profile())))]
    FusionPhases(fusion_phases::FusionPhasesArgs),
    /// Whole pipelines (power spectra, mel spectra, peaks) from host memory to host memory, side by side
    #[command(after_help = strategies_help(&pipelines::catalogue()))]
    E2e(e2e::E2eArgs),
    /// The largest batch that is safe in one call, what limits it, and proof by running it
    MaxBatch(max_batch::MaxBatchArgs),
    /// Changes from one report to another; exit status 1 if a case got slower or is no longer measured
    Compare(compare::CompareArgs),
    /// Data movement of a model, node by node, without running it; with --rewrite, also the savings of fusion
    Profile(profile::ProfileArgs),
    /// Measures the costs of a device, for the picker and for decisions on fusion
    Calibrate(calibrate::CalibrateArgs),
    /// Quality of the picker's predicted times, and regret of its choices
    Picker(picker::PickerArgs),
    /// Reports as one page: self-contained HTML with charts, or Markdown
    Report(report::ReportArgs),
}

impl Cli {
    /// Carries the command out; results go to `out`.
    ///
    /// # Errors
    /// If it could not be carried out.
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<ExitStatus> {
        match self.command {
            BenchCommand::WelchPeaks(arguments) => {
                let catalogue = peaks::catalogue(arguments.train_steps(), arguments.measure.seed);
                welch_peaks::run(&arguments, &catalogue, out)
            }
            BenchCommand::Fft(arguments) => fft::run(&arguments, &transforms::catalogue(), out),
            BenchCommand::FusionPhases(arguments) => fusion_phases::run(&arguments, out),
            BenchCommand::E2e(arguments) => e2e::run(&arguments, &pipelines::catalogue(), out),
            BenchCommand::MaxBatch(arguments) => max_batch::run(&arguments, out),
            BenchCommand::Compare(arguments) => compare::run(&arguments, out),
            BenchCommand::Profile(arguments) => profile::run(&arguments, out),
            BenchCommand::Calibrate(arguments) => calibrate::run(&arguments, out),
            BenchCommand::Picker(arguments) => picker::run(&arguments, out),
            BenchCommand::Report(arguments) => report::run(&arguments, out),
        }
    }
}

/// Result of a command that was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// No case failed.
    Passed,
    /// At least one case failed.
    Failed,
    /// No case could be run.
    NothingMeasured,
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

    /// The program's exit status.
    pub const fn code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 1,
            Self::NothingMeasured => 2,
        }
    }
}

/// List of a command's strategies for its help.
pub fn strategies_help<P: Problem>(catalogue: &[BenchStrategy<P>]) -> String {
    let lines = catalogue.iter().map(|strategy| format!("\n  {}: {}", strategy.info().name, strategy.info().summary));
    format!("Strategies:{}", lines.collect::<String>())
}
