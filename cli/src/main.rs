//! The `firefly` program: spectral peaks, spectra and spectrograms of recordings, and the other programs as
//! subcommands.
//!
//! Exit status: 0 if everything was done, 1 if a recording or a case failed, 2 if the command could not be carried out.

#![warn(clippy::print_stderr)]

mod commands;
mod device;

mod job;
mod journal;
mod labels;
mod lines;
mod local_maxima;
mod model;
mod options;
mod peak_values;
mod pipeline;
mod plot;
mod row_scales;
mod search;
mod segments;

mod summary;
mod table;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use firefly_app::files::fail_at_size_limit;
use firefly_app::host::start_threads;
use firefly_app::streams::{COULD_NOT_RUN, log_to_stderr, note_error, parse_arguments};
use firefly_models::auto::traces_selections;
use tracing::Level;

/// Examples of the programs that the build has as subcommands.
#[cfg(all(feature = "train", feature = "bench"))]
macro_rules! help_of_programs {
    () => {
        "\n  firefly train run.toml --steps 20\n  firefly bench fft --n 64 --batch 8 --iters 3 --warmup 1"
    };
}
#[cfg(not(all(feature = "train", feature = "bench")))]
macro_rules! help_of_programs {
    () => {
        ""
    };
}

/// Strongest spectral lines, spectra and spectrograms of recordings.
#[derive(Parser)]
#[command(
    name = "firefly",
    version,
    after_help = concat!(
        "Exit status: 0 if everything was done, 1 if a recording or a case failed, 2 if the command could not be carried \
         out.\n\nExamples:\n  firefly peaks recording.wav",
        help_of_programs!()
    )
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
    /// Recordings: channels, sample rate, length, and omitted parts
    Info(commands::info::InfoArgs),
    /// Devices: what is there, what the build supports, what is calibrated
    Devices(commands::devices::DevicesArgs),
    /// Completions of the command line for a shell, on standard output
    #[command(hide = true)]
    Completions(commands::completions::CompletionsArgs),
    /// Manual page, on standard output
    #[command(hide = true)]
    Man(commands::completions::ManArgs),
    /// Server of this machine's devices for programs elsewhere
    #[cfg(feature = "remote")]
    Serve(commands::serve::ServeArgs),
    /// Server of this machine's devices, which this build lacks
    #[cfg(not(feature = "remote"))]
    #[command(hide = true)]
    Serve(Missing),
    /// Training of learned peaks, as the program firefly-train
    #[cfg(feature = "train")]
    Train(firefly_trainer::cli::Cli),
    /// Training of models, which this build lacks
    #[cfg(not(feature = "train"))]
    #[command(hide = true)]
    Train(Missing),
    /// Verified measurements, as the program firefly-bench
    #[cfg(feature = "bench")]
    Bench(firefly_bench::cli::Cli),
    /// Verified measurements, which this build lacks
    #[cfg(not(feature = "bench"))]
    #[command(hide = true)]
    Bench(Missing),
}

/// Arguments of a subcommand that the build lacks.
#[cfg(not(all(feature = "remote", feature = "train", feature = "bench")))]
#[derive(clap::Args)]
struct Missing {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<std::ffi::OsString>,
}

fn main() -> ExitCode {
    log_to_stderr(if traces_selections() { Level::INFO } else { Level::WARN });
    let cli = match parse_arguments::<Cli>() {
        Ok(cli) => cli,
        Err(status) => return status,
    };
    run(cli).unwrap_or_else(|error| {
        note_error(error.as_ref());
        ExitCode::from(COULD_NOT_RUN)
    })
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    fail_at_size_limit();
    start_threads()?;
    match cli.command {
        Command::Peaks(arguments) => commands::peaks::run(&arguments),
        Command::Spectrum(arguments) => commands::spectrum::run(&arguments),
        Command::Spectrogram(arguments) => commands::spectrogram::run(&arguments),
        Command::Info(arguments) => commands::info::run(&arguments),
        Command::Devices(arguments) => commands::devices::run(&arguments),
        Command::Completions(arguments) => commands::completions::completions(&arguments, Cli::command()),
        Command::Man(arguments) => commands::completions::manual(&arguments, Cli::command()),
        #[cfg(feature = "remote")]
        Command::Serve(arguments) => commands::serve::run(&arguments),
        #[cfg(not(feature = "remote"))]
        Command::Serve(_) => anyhow::bail!("this build has no server of devices: build with --features remote"),
        #[cfg(feature = "train")]
        Command::Train(train) => train.run(),
        #[cfg(not(feature = "train"))]
        Command::Train(_) => anyhow::bail!("this build trains no models: build with --features train"),
        #[cfg(not(feature = "bench"))]
        Command::Bench(_) => anyhow::bail!("this build measures nothing: build with --features bench"),
        #[cfg(feature = "bench")]
        Command::Bench(bench) => {
            use std::io::Write;

            use firefly_app::streams::StandardOutput;

            let mut out = StandardOutput::default();
            let status = bench.run(&mut out)?;
            out.flush()?;
            Ok(ExitCode::from(status.code()))
        }
    }
}
