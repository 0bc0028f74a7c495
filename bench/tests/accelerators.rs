//! The bench on accelerators: each that this build has and the machine offers; without one, that the error says so.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking and says what it skipped")]

use std::process::Command;

use firefly_bench::harness::outcome::Outcome;
use firefly_bench::report::schema::Report;

/// Runs a command on every device, and gives each report's cases that the device ran.
fn on_every_device(command: &str, arguments: &[&str], check: impl Fn(&str, &Report)) {
    let folder = tempfile::tempdir().unwrap();
    for device in ["cpu", "wgpu", "vulkan", "metal", "cuda"] {
        let path = folder.path().join(format!("{device}.json"));
        let rest = ["--device", device, "--iters", "2", "--warmup", "1", "--json", path.to_str().unwrap()];
        let output = Command::new(env!("CARGO_BIN_EXE_firefly-bench"))
            .arg(command)
            .args([arguments, &rest].concat())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.code() == Some(2) {
            let built = format!("device `{device}` is not in this build: build again with `--features {device}`");
            let there = format!("device `{device}` is not on this machine");
            assert!(device != "cpu" && (said.contains(&built) || said.contains(&there)), "{device}: {said}");
            println!("skipped: {said}");
            continue;
        }
        assert!(output.status.success(), "{device}: {said}{}", String::from_utf8_lossy(&output.stdout));
        check(device, &Report::read(&path).unwrap());
    }
}

/// That each strategy has been verified and timed on the device.
fn assert_measured(device: &str, report: &Report, strategies: &[&str]) {
    let ran: Vec<&str> = report.cases.iter().map(|case| case.strategy.as_str()).collect();
    assert_eq!(ran, strategies, "{device}");
    for case in &report.cases {
        let Outcome::Measured(measured) = &case.outcome else { panic!("{}: {:?}", case.label(), case.outcome) };
        assert!(case.device == device && measured.verification.rows > 0, "{}", case.label());
        assert!(measured.verification.error > 0.0 && measured.verification.error <= measured.verification.tolerance);
    }
}

#[test]
fn peaks_are_timed_on_the_device_and_from_host_memory() {
    let strategies = ["firefly", "firefly-host", "firefly-pinned"];
    let names = strategies.join(",");
    let grid = ["--n-fft", "64", "--batch", "70", "--k", "4", "--strategy", &names];
    on_every_device("welch-peaks", &grid, |device, report| assert_measured(device, report, &strategies));
}

#[test]
fn transforms_are_timed_on_the_device_and_from_host_memory() {
    let grid = ["--n", "64", "--batch", "5", "--strategy", "firefly,firefly-host"];
    on_every_device("fft", &grid, |device, report| assert_measured(device, report, &["firefly", "firefly-host"]));
}

#[test]
fn pipelines_are_timed_from_host_memory() {
    let grid = ["--n-fft", "64", "--batch", "5", "--k", "4", "--strategy", "firefly"];
    on_every_device("e2e", &grid, |device, report| assert_measured(device, report, &["firefly"; 3]));
}
