//! Commands on every device of this build: verified and measured there.
//!
//! A test on a device that is missing is ignored with the reason, or fails if the variable `FIREFLY_REQUIRE` contains
//! `devices` and the build has an accelerator that the machine lacks, or none at all.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::env;
use std::process::{Command, ExitCode};

use firefly_app::device::DeviceName;
use firefly_bench::harness::CaseOutcome;
use firefly_bench::report::schema::BenchReport;
use libtest_mimic::{Arguments, Completion, Trial};

const DEVICES: [&str; 5] = ["cpu", "wgpu", "vulkan", "metal", "cuda"];

/// A command, its arguments, and the strategies of its cases.
struct MeasuredCommand {
    name: &'static str,
    command: &'static str,
    arguments: &'static [&'static str],
    strategies: &'static [&'static str],
}

const MEASUREMENTS: [MeasuredCommand; 4] = [
    MeasuredCommand {
        name: "peaks_are_timed_one_by_one_and_in_flight_and_from_host_memory",
        command: "welch-peaks",
        arguments: &[
            "--n-fft",
            "64",
            "--batch",
            "70",
            "--k",
            "4",
            "--strategy",
            "firefly,firefly-queued,firefly-kernels,firefly-host,firefly-pinned",
        ],
        strategies: &["firefly", "firefly-queued", "firefly-kernels", "firefly-host", "firefly-pinned"],
    },
    MeasuredCommand {
        name: "transforms_are_timed_on_the_device_one_by_one_and_in_flight",
        command: "fft",
        arguments: &[
            "--n",
            "60",
            "--batch",
            "5",
            "--values",
            "real",
            "--strategy",
            "firefly,firefly-queued,firefly-kernels",
        ],
        strategies: &["firefly", "firefly-queued", "firefly-kernels"],
    },
    MeasuredCommand {
        name: "butterflies_are_timed_one_by_one_and_in_flight_and_from_host_memory",
        command: "butterfly",
        arguments: &["--n", "64", "--batch", "5", "--strategy", "firefly,firefly-queued,firefly-kernels,firefly-host"],
        strategies: &["firefly", "firefly-queued", "firefly-kernels", "firefly-host"],
    },
    MeasuredCommand {
        name: "pipelines_are_timed_from_host_memory",
        command: "e2e",
        arguments: &["--n-fft", "64", "--batch", "5", "--k", "4", "--strategy", "firefly"],
        strategies: &["firefly"; 3],
    },
];

fn main() -> ExitCode {
    let trials = MEASUREMENTS.iter().flat_map(|measurement| DEVICES.map(|device| trial(measurement, device)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn trial(measurement: &'static MeasuredCommand, device: &'static str) -> Trial {
    Trial::ignorable_test(format!("{}::{device}", measurement.name), move || {
        let opened = device.parse::<DeviceName>().unwrap().open();
        match opened.map_err(|error| error.to_string()) {
            Ok(_) => {
                measure(measurement, device);
                Ok(Completion::Completed)
            }
            Err(reason) if is_required(&reason) => Err(reason.into()),
            Err(reason) => Ok(Completion::ignored_with(reason)),
        }
    })
}

fn is_required(reason: &str) -> bool {
    let any = cfg!(any(feature = "wgpu", feature = "vulkan", feature = "metal", feature = "cuda", feature = "rocm"));
    let required = env::var("FIREFLY_REQUIRE").is_ok_and(|names| names.split(',').any(|name| name.trim() == "devices"));
    required && !(any && reason.contains("is not in this build"))
}

/// Runs a command on a device, and checks that every case was verified and timed there.
fn measure(measurement: &MeasuredCommand, device: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let rest = ["--device", device, "--iters", "2", "--warmup", "1", "--json", path.to_str().unwrap()];
    let output = Command::new(env!("CARGO_BIN_EXE_firefly-bench"))
        .arg(measurement.command)
        .args([measurement.arguments, &rest].concat())
        .output()
        .unwrap();
    let [said, shown] = [&output.stderr, &output.stdout].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success(), "{said}{shown}");
    let report = BenchReport::read(&path).unwrap();
    let ran: Vec<&str> = report.cases.iter().map(|case| case.strategy.as_str()).collect();
    assert_eq!(ran, measurement.strategies);
    for case in &report.cases {
        // Hosts have no clock of their own, and drivers of graphics need not have one.
        let has_no_clock = matches!(&case.outcome, CaseOutcome::Unsupported { reason } if reason.contains("no clock"));
        if case.strategy == "firefly-kernels" && (device == "cpu" || (device != "cuda" && has_no_clock)) {
            assert!(has_no_clock, "{:?}", case.outcome);
            continue;
        }
        let CaseOutcome::Measured(measured) = &case.outcome else { panic!("{}: {:?}", case.label(), case.outcome) };
        assert!(case.device == device && measured.verification.rows > 0, "{}", case.label());
        assert!(measured.verification.error > 0.0 && measured.verification.error <= measured.verification.tolerance);
    }
}
