//! Snapshots of what users read: the overview and error messages.

use clap::Parser;
use firefly_bench::cli::Cli;

use crate::common::output_of;

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
fn transcript(arguments: &[&str]) -> String {
    let output = output_of(arguments);
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("$ firefly-bench {}\nexit status {}\n{out}{err}", arguments.join(" "), output.status.code().unwrap())
}

#[test]
fn overview() {
    insta::assert_snapshot!("help", transcript(&["--help"]));
}

#[test]
fn wrong_arguments_are_explained() {
    let texts = [
        transcript(&["welch-peeks"]),
        transcript(&["welch-peaks", "--batsh", "1"]),
        transcript(&["welch-peaks", "--device", "cpu", "--strategy", "rustftt"]),
        transcript(&["welch-peaks", "--device", "cpu", "--strategy", "firefly,psd-topk", "--baseline", "rustfft"]),
        transcript(&["welch-peaks", "--instruction-set", "avx3"]),
        transcript(&["welch-peaks", "--device", "cpu", "--threads", "5000"]),
        transcript(&["welch-peaks", "--segments", "fats"]),
        transcript(&["welch-peaks", "--device", "cdua"]),
        transcript(&["welch-peaks", "--device", "gpu"]),
        transcript(&["welch-peaks", "--batch", "-1"]),
        transcript(&["welch-peaks", "--warmup", "-1"]),
        transcript(&["welch-peaks", "--seed", "-1"]),
        transcript(&["welch-peaks", "--strategy", "learned", "--train-steps", "0"]),
        transcript(&["welch-peaks", "--device", "cpu", "--strategy", "firefly", "--without", "firefly"]),
        transcript(&["welch-peaks", "--batch", "32..100"]),
        transcript(&["welch-peaks", "--batch", "32,,64"]),
        transcript(&["fusion-phases", "--n-fft", "100"]),
        transcript(&["welch-peaks", "--iters", "0"]),
        transcript(&["butterfly", "--open", "1.5"]),
        transcript(&["e2e", "--pipeline", "mell"]),
        transcript(&["profile", "stock-lop"]),
        transcript(&["profile", "welch-peaks", "--batch", "0"]),
        transcript(&["profile", "welch-peaks,welch-psd"]),
        transcript(&["profile", "stock-loop", "--host-operations", "signal::rftt"]),
        transcript(&["compare", "nowhere.json", "nowhere.json"]),
    ];
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn examples_of_the_help_parse() {
    for command in COMMANDS {
        let help = transcript(&[command, "--help"]);
        let example = help.lines().skip_while(|line| *line != "Example:").nth(1).unwrap_or_else(|| panic!("{help}"));
        let parsed = Cli::try_parse_from(example.split_whitespace());
        assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
        assert!(example.trim_start().starts_with(&format!("firefly-bench {command}")), "{example}");
    }
}
