//! The `firefly` program: spectral peaks, spectra and spectrograms of recordings, and the other programs as
//! subcommands.
//!
//! Exit status: 0 if everything was done, 1 if a recording or a case failed, 2 if the command could not be carried out.

#![warn(clippy::print_stderr)]

mod commands;
mod extension;
mod frames;
mod frequency_band;
mod job;
mod journal;
mod local_maxima;
mod model;
mod open_device;
mod options;
mod peak_values;
mod pipeline;
mod plot;
mod search;
mod source;
mod summary;
mod table;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use firefly_app::host::start_threads;
use firefly_app::streams::{COULD_NOT_RUN, StandardOutput, log_to_stderr, note, parse_arguments};
use firefly_models::traces_selections;
use tracing::Level;

/// Strongest spectral lines, spectra and spectrograms of recordings.
#[derive(Parser)]
#[command(
    name = "firefly",
    version,
    after_help = "Exit status: 0 if everything was done, 1 if a recording or a case failed, 2 if the command could not \
                  be carried out.\n\nExamples:\n  firefly peaks recording.wav\n  firefly train run.toml --steps 20\n  \
                  firefly bench fft --n 64 --batch 8 --iters 3 --warmup 1"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Strongest lines of every frame of every channel
    Peaks(commands::peaks::PeaksArgs),
    /// Averaged power spectrum of each channel
    Spectrum(commands::spectrum::SpectrumArgs),
    /// Power over time and frequency, with tracks of the peaks
    Spectrogram(commands::spectrogram::SpectrogramArgs),
    /// Devices: what is there, what the build supports, what is calibrated
    Devices(commands::devices::DevicesArgs),
    /// Server of this machine's devices for programs elsewhere
    #[cfg(feature = "remote")]
    Serve(commands::serve::ServeArgs),
    /// Server of this machine's devices, which this build lacks
    #[cfg(not(feature = "remote"))]
    #[command(hide = true)]
    Serve {
        #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Training of learned peaks, as the program firefly-train
    Train(firefly_trainer::cli::Cli),
    /// Verified measurements, as the program firefly-bench
    Bench(firefly_bench::cli::Cli),
}

fn main() -> ExitCode {
    log_to_stderr(if traces_selections() { Level::INFO } else { Level::WARN });
    let cli = match parse_arguments::<Cli>() {
        Ok(cli) => cli,
        Err(status) => return status,
    };
    run(cli).unwrap_or_else(|error| {
        note(format_args!("error: {error:#}"));
        ExitCode::from(COULD_NOT_RUN)
    })
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    start_threads()?;
    match cli.command {
        Command::Peaks(arguments) => commands::peaks::run(&arguments),
        Command::Spectrum(arguments) => commands::spectrum::run(&arguments),
        Command::Spectrogram(arguments) => commands::spectrogram::run(&arguments),
        Command::Devices(arguments) => commands::devices::run(&arguments),
        #[cfg(feature = "remote")]
        Command::Serve(arguments) => commands::serve::run(&arguments),
        #[cfg(not(feature = "remote"))]
        Command::Serve { .. } => anyhow::bail!("this build has no server of devices: build with --features remote"),
        Command::Train(train) => train.run(),
        Command::Bench(bench) => {
            let mut out = StandardOutput::default();
            let status = bench.run(&mut out)?;
            out.flush()?;
            Ok(ExitCode::from(status.code()))
        }
    }
}
