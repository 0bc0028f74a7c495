//! The `firefly-bench` program. Exit status: 0 if every case that is supported was verified and measured, 1 if one
//! failed, 2 if the command could not be carried out.

use std::io::stdout;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use firefly_bench::commands::{Verdict, welch_peaks};
use firefly_bench::strategy;

/// Verified measurements of Firefly's operations and models.
#[derive(Parser)]
#[command(
    name = "firefly-bench",
    version,
    after_help = "Exit status: 0 if all went well, 1 if a case failed, 2 if the command could not be carried out."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Strongest lines of Welch spectra: each strategy checked, then timed side by side.
    WelchPeaks(welch_peaks::Arguments),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let verdict = match cli.command {
        Command::WelchPeaks(arguments) => welch_peaks::run(&arguments, &strategy::catalogue(), &mut stdout().lock()),
    };
    match verdict {
        Ok(Verdict::Passed) => ExitCode::SUCCESS,
        Ok(Verdict::Failed) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
