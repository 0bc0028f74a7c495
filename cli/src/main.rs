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
mod output_lock;
mod peak_values;
mod pipeline;
mod plot;
mod power_sums;
mod row_scales;
mod search;
mod segments;
mod summary;
mod table;
mod tracks;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use firefly_app::host::run_program;
use firefly_models::auto::traces_selections;
use tracing::Level;

/// End of the help: the exit status, and examples of the programs that the build has.
fn after_help() -> String {
    let programs = "\n  firefly train run.toml --steps 20\n  firefly bench fft --n 64 --batch 8 --iters 3 --warmup 1";
    format!(
        "Exit status: 0 if everything was done, 1 if a recording or a case failed, 2 if the command could not be carried \
         out.\n\nExamples:\n  firefly peaks recording.wav{}",
        if cfg!(all(feature = "train", feature = "bench")) { programs } else { "" }
    )
}

/// Strongest spectral lines, spectra and spectrograms of recordings.
#[derive(Parser)]
#[command(name = "firefly", version, after_help = after_help())]
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
    /// Averaged power spectrum of the envelope of a band of each channel
    Envelope(commands::envelope::EnvelopeArgs),
    /// Lines of the envelope at the rates of a bearing's faults
    Bearings(commands::bearings::BearingsArgs),
    /// Coherence, phase and transfer functions of pairs of channels
    Coherence(commands::coherence::CoherenceArgs),
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
    run_program(if traces_selections() { Level::INFO } else { Level::WARN }, run)
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {
        Command::Peaks(arguments) => commands::peaks::run(&arguments),
        Command::Spectrum(arguments) => commands::spectrum::run(arguments, None, None),
        Command::Envelope(arguments) => commands::envelope::run(arguments, None),
        Command::Bearings(arguments) => commands::bearings::run(arguments),
        Command::Coherence(arguments) => commands::coherence::run(arguments),
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
        Command::Bench(bench) => bench.run(),
    }
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;

    /// Characters of the longest line of a help text, that of `firefly train eval --data`.
    const MAX_LINE: usize = 397;

    /// Checks the printed help of a command at `path` and of those below it; returns how many there are.
    fn check_help(command: &clap::Command, path: &[&str]) -> usize {
        let path = [path, &[command.get_name()]].concat();
        let help = Cli::try_parse_from(path.iter().copied().chain(["--help"])).err().unwrap();
        assert_eq!(help.kind(), ErrorKind::DisplayHelp, "{path:?}: {help}");
        let help = help.to_string();
        assert!(command.get_about().is_some_and(|about| help.contains(&about.to_string())), "{path:?}: {help}");
        for line in help.lines() {
            assert!(
                line.chars().count() <= MAX_LINE,
                "{path:?}: a line of {} characters: {line}",
                line.chars().count()
            );
        }
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let name = argument.to_string();
            let is_described = argument.get_help().is_some_and(|text| !text.to_string().trim().is_empty());
            assert!(is_described, "{path:?}: {name} has no help");
            // Its name is followed by those of its values.
            let (_, below) = help.split_once(&name).unwrap_or_else(|| panic!("{path:?}: {name} is not in {help}"));
            let defaults: Vec<_> = argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
            if argument.get_action().takes_values() && !defaults.is_empty() {
                let default = format!("[default: {}]", defaults.join(" "));
                assert!(below.contains(&default), "{path:?}: {default} of {name} is not in {help}");
            }
        }
        let is_listed = |command: &&clap::Command| !command.is_hide_set() && command.get_name() != "help";
        command.get_subcommands().filter(is_listed).map(|command| 1 + check_help(command, &path)).sum()
    }

    #[test]
    fn the_help_of_every_command_describes_every_argument() {
        // Checks names of arguments, where the build has debug assertions.
        Cli::command().debug_assert();
        let mut program = Cli::command();
        program.build();
        let commands = check_help(&program, &[]);
        assert!(commands >= 5, "{commands} commands");
        #[cfg(all(feature = "train", feature = "bench"))]
        assert!(commands >= 5 + 6 + 15, "{commands} commands");
    }
}
