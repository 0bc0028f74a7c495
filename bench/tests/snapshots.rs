//! Snapshots of what users read: help texts, error messages and tables.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

use firefly_bench::harness::outcome::{CaseOutcome, CaseRecord, Measured, SpeedRatio};
use firefly_bench::harness::parameters::ParameterMap;
use firefly_bench::harness::problem::WorkSize;
use firefly_bench::harness::statistics::Spread;
use firefly_bench::harness::verification::Verification;
use firefly_bench::report::terminal;

const COMMANDS: [&str; 10] =
    ["welch-peaks", "fft", "fusion-phases", "e2e", "max-batch", "compare", "profile", "calibrate", "picker", "report"];

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
        run(&["welch-peaks", "--strategy", "rustftt"]),
        run(&["welch-peaks", "--strategy", "firefly,psd-topk", "--baseline", "rustfft"]),
        run(&["welch-peaks", "--instruction-set", "avx3"]),
        run(&["welch-peaks", "--threads", "5000"]),
        run(&["welch-peaks", "--tier", "fats"]),
        run(&["welch-peaks", "--device", "cdua"]),
        run(&["welch-peaks", "--batch", "32..100"]),
        run(&["welch-peaks", "--batch", "32,,64"]),
        run(&["welch-peaks", "--n-fft", "100"]),
        run(&["welch-peaks", "--iters", "0"]),
        run(&["fft", "--open", "1.5"]),
        run(&["e2e", "--pipeline", "mell"]),
        run(&["profile", "stock-lop"]),
        run(&["profile", "stock-loop", "--host-operations", "signal::rftt"]),
        run(&["compare", "nowhere.json", "nowhere.json"]),
    ];
    insta::assert_snapshot!(texts.join("\n"));
}

/// A case of `batch` rows with these times and this speed.
fn case(strategy: &str, batch: u64, samples_ns: [u64; 3], ratio: [f64; 3]) -> CaseRecord {
    let verification = Verification { rows: 8, tolerance: 3e-6, error: 1.5e-7, ranking: None };
    let size = WorkSize { rows: batch as usize, useful_bytes: 1664 * batch as usize };
    let measured = Measured::new(size, verification, 4, samples_ns.to_vec()).unwrap();
    let speed = |baseline: &str| SpeedRatio { baseline: baseline.into(), ratio: Spread::of(ratio).unwrap() };
    let measured = Measured { speed: vec![speed("rustfft"), speed("memcpy")], ..measured };
    let problem = ParameterMap::default().with("n_fft", 256).with("tier", "fast").with("batch", batch).with("k", 16);
    CaseRecord {
        problem,
        strategy: strategy.into(),
        device: "cpu".into(),
        instruction_set: Some("avx2".into()),
        threads: 2,
        competes: true,
        outcome: CaseOutcome::Measured(Box::new(measured)),
    }
}

#[test]
fn tables_are_wrapped_to_the_terminal() {
    let failed = CaseOutcome::failed("set 0, row 0: bin 7 comes twice");
    let cases = [
        case("firefly", 1024, [411_000, 420_000, 433_000], [4.1, 4.2, 4.3]),
        case("rustfft", 1024, [1_700_000, 1_760_000, 1_810_000], [1.0, 1.0, 1.0]),
        CaseRecord { outcome: failed, ..case("psd-topk", 1024, [1, 1, 1], [1.0, 1.0, 1.0]) },
    ];
    let table = terminal::table(&cases, &["n_fft", "tier", "batch", "k"]);
    let texts: Vec<String> =
        [None, Some(160), Some(80)].map(|width| format!("{width:?}\n{}", table.render_to(width))).into();
    insta::assert_snapshot!(texts.join("\n"));
}
