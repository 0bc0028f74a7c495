//! The command line of `firefly-train`: one file per command.

mod eval;
mod options;
mod outcome;
mod progress;
mod sweep;
mod table;
mod train;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Trains learned Welch peaks from a TOML configuration and compares them with the exact tiers.
#[derive(Parser)]
#[command(name = "firefly-train", version, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    train: train::TrainArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Evaluates a finished run.
    Eval(eval::EvalArgs),
    /// Trains one run per value of a key and compares them on one page.
    Sweep(sweep::SweepArgs),
}

/// Parses the arguments and runs the command.
pub fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(tracing::Level::WARN).init();
    let cli = Cli::parse();
    let result = match cli.command {
        Some(Command::Eval(args)) => eval::run(&args),
        Some(Command::Sweep(args)) => sweep::run(&args),
        None => train::run(&cli.train),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
