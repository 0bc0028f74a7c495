//! Snapshots of what users read: help texts and error messages.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

use clap::Parser;
use firefly_bench::cli::Cli;

const COMMANDS: [&str; 14] = [
    "welch-peaks",
    "fft",
    "butterfly",
    "layers",
    "fusion-phases",
    "e2e",
    "max-batch",
    "compare",
    "profile",
    "gate",
    "calibrate",
    "picker",
    "predictions",
    "report",
];

/// Exit status, standard output and error of the program.
fn run(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_firefly-bench")).args(arguments).output().unwrap();
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("$ firefly-bench {}\nexit status {}\n{out}{err}", arguments.join(" "), output.status.code().unwrap())
}

#[test]
fn help_names_every_command_and_option() {
    let commands = COMMANDS.iter().map(|command| run(&[command, "--help"]));
    let texts: Vec<String> = [run(&["--help"])].into_iter().chain(commands).collect();
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn wrong_arguments_are_explained() {
    let texts = [
        run(&["welch-peeks"]),
        run(&["welch-peaks", "--batsh", "1"]),
        run(&["welch-peaks", "--device", "cpu", "--strategy", "rustftt"]),
        run(&["welch-peaks", "--device", "cpu", "--strategy", "firefly,psd-topk", "--baseline", "rustfft"]),
        run(&["welch-peaks", "--instruction-set", "avx3"]),
        run(&["welch-peaks", "--device", "cpu", "--threads", "5000"]),
        run(&["welch-peaks", "--tier", "fats"]),
        run(&["welch-peaks", "--device", "cdua"]),
        run(&["welch-peaks", "--device", "gpu"]),
        run(&["welch-peaks", "--batch", "-1"]),
        run(&["welch-peaks", "--warmup", "-1"]),
        run(&["welch-peaks", "--seed", "-1"]),
        run(&["welch-peaks", "--strategy", "learned", "--train-steps", "0"]),
        run(&["welch-peaks", "--device", "cpu", "--strategy", "firefly", "--without", "firefly"]),
        run(&["welch-peaks", "--batch", "32..100"]),
        run(&["welch-peaks", "--batch", "32,,64"]),
        run(&["welch-peaks", "--n-fft", "100"]),
        run(&["welch-peaks", "--iters", "0"]),
        run(&["butterfly", "--open", "1.5"]),
        run(&["e2e", "--pipeline", "mell"]),
        run(&["profile", "stock-lop"]),
        run(&["profile", "welch-peaks", "--batch", "0"]),
        run(&["profile", "welch-peaks,welch-psd"]),
        run(&["profile", "stock-loop", "--host-operations", "signal::rftt"]),
        run(&["compare", "nowhere.json", "nowhere.json"]),
    ];
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn examples_of_the_help_parse() {
    for command in COMMANDS {
        let help = run(&[command, "--help"]);
        let example = help.lines().skip_while(|line| *line != "Example:").nth(1).unwrap_or_else(|| panic!("{help}"));
        let parsed = Cli::try_parse_from(example.split_whitespace());
        assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
        assert!(example.trim_start().starts_with(&format!("firefly-bench {command}")), "{example}");
    }
}
