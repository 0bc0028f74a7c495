//! The command line of `firefly-train`.

mod choices;
mod eval;
mod options;
mod predict;
mod stderr_progress;
mod train;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use firefly_app::host::run_program;
use firefly_app::streams::note_error;
use tracing::Level;

use crate::run::RunError;

/// Trains spectral models from a TOML configuration, and evaluates them beside what they are compared with.
#[derive(Parser)]
#[command(
    name = "firefly-train",
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Exit status: 0 if all went well, 1 if training broke down, 2 if the command could not be carried \
                  out, 130 if it was interrupted.\n\ndocs/guide/configuration.md has every key of a configuration.\n\n\
                  Examples:\n  \
                  firefly train run.toml --steps 20 --set loss.log_power=0.5\n  \
                  firefly train run.toml --n-fft 64 --batch 16 --peak-k 8 --steps 20"
)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    train: train::TrainArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Evaluates a finished run.
    #[command(after_help = "Examples:\n  firefly train eval runs/run\n  \
                      firefly train eval runs/run --data tones,noise --json rows.json")]
    Eval(eval::EvalArgs),
    /// Writes the model of a finished run as an ONNX file.
    #[command(after_help = "Example:\n  firefly train export runs/run --onnx model.onnx")]
    Export(predict::ExportArgs),
    /// Lists tasks, models and shipped configurations.
    List,
    /// Prints a configuration of a task with every key, its meaning and its default.
    #[command(after_help = "Example:\n  firefly train new peaks")]
    New(choices::NewArgs),
    /// Writes the outputs of a finished run's model for files, as CSV or as files of their own.
    #[command(after_help = "Example:\n  firefly train predict runs/run recording.csv --out peaks.csv")]
    Predict(predict::PredictArgs),
    /// Trains one run per value of a key and compares them on one page.
    #[command(after_help = "Example:\n  firefly train sweep run.toml --over loss.price=0,0.2 --steps 20")]
    Sweep(train::SweepArgs),
}

/// Parses the arguments and runs the command.
pub fn main() -> ExitCode {
    run_program(Level::WARN, Cli::run)
}

impl Cli {
    /// Runs the command. An error if it could not be carried out.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let done = match self.command {
            Some(Command::Eval(args)) => eval::run(&args),
            Some(Command::Export(args)) => predict::export(&args),
            Some(Command::List) => choices::list(),
            Some(Command::New(args)) => choices::new(&args),
            Some(Command::Predict(args)) => predict::run(&args),
            Some(Command::Sweep(args)) => train::run_sweep(&args),
            None => train::run(&self.train),
        };
        match done {
            // Training itself broke down, rather than its data, files or settings.
            Err(error) if error.downcast_ref::<RunError>().is_some_and(RunError::is_divergence) => {
                note_error(error.as_ref());
                Ok(ExitCode::FAILURE)
            }
            done => done,
        }
    }
}
