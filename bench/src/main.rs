//! The `firefly-bench` program. Exit status: 0 if every case that is supported was verified and measured, 1 if one
//! failed, 2 if the command could not be carried out.

use std::io::{IsTerminal, stderr, stdout};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use firefly_bench::commands::{
    Verdict, calibrate, compare, e2e, fft, fusion_phases, max_batch, picker, profile, report, strategies_help,
    welch_peaks,
};
use firefly_bench::{e2e as pipelines, fft as transforms, peaks, phases};
use firefly_framework::cost::Preset;
use firefly_models::traces_choices;
use tracing_subscriber::filter::LevelFilter;

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
    /// Strongest lines of Welch spectra: each strategy checked, then timed side by side
    #[command(after_help = strategies_help(&peaks::catalogue(Some(1), 0)))]
    WelchPeaks(welch_peaks::Arguments),
    /// Complex transforms, exact and learned, forward and backward: each checked, then timed side by side
    #[command(after_help = strategies_help(&transforms::catalogue()))]
    Fft(fft::Arguments),
    /// From a spectrum that is read back to one fused kernel, phase by phase: counted, predicted, measured, decided on
    #[command(after_help = strategies_help(&phases::catalogue(Preset::Cpu.profile())))]
    FusionPhases(fusion_phases::Arguments),
    /// Whole pipelines (power spectra, mel spectra, peaks) from host memory to host memory, side by side
    #[command(after_help = strategies_help(&pipelines::catalogue()))]
    E2e(e2e::Arguments),
    /// The largest batch that is safe in one call, what limits it, and proof by running it
    MaxBatch(max_batch::Arguments),
    /// What got slower or faster from one report to another; exit status 1 if a case got slower or lost
    Compare(compare::Arguments),
    /// What a model moves, node by node, without running it; with --rewrite, also what fusing it would save
    Profile(profile::Arguments),
    /// Measures what a device costs, for the picker and for decisions on fusing
    Calibrate(calibrate::Arguments),
    /// How well the picker predicts times, and what its choices cost
    Picker(picker::Arguments),
    /// Reports as one self-contained HTML page with charts
    Report(report::Arguments),
}

fn main() -> ExitCode {
    let level = if traces_choices() { LevelFilter::INFO } else { LevelFilter::WARN };
    tracing_subscriber::fmt().with_writer(stderr).with_ansi(stderr().is_terminal()).with_max_level(level).init();
    let out = &mut stdout().lock();
    let verdict = match Cli::parse().command {
        Command::WelchPeaks(arguments) => {
            let catalogue = peaks::catalogue(arguments.train_steps, arguments.measuring.seed);
            welch_peaks::run(&arguments, &catalogue, out)
        }
        Command::Fft(arguments) => fft::run(&arguments, &transforms::catalogue(), out),
        Command::FusionPhases(arguments) => fusion_phases::run(&arguments, out),
        Command::E2e(arguments) => e2e::run(&arguments, &pipelines::catalogue(), out),
        Command::MaxBatch(arguments) => max_batch::run(&arguments, out),
        Command::Compare(arguments) => compare::run(&arguments, out),
        Command::Profile(arguments) => profile::run(&arguments, out),
        Command::Calibrate(arguments) => calibrate::run(&arguments, out),
        Command::Picker(arguments) => picker::run(&arguments, out),
        Command::Report(arguments) => report::run(&arguments, out),
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
