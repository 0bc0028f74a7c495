//! Results of a measurement whose streams fail, whose memory is short, or that is interrupted.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use firefly_bench::harness::CaseOutcome;
use firefly_bench::report::schema::{BenchReport, write};

use crate::common::{firefly_bench, text};

const SMALL: [&str; 14] = [
    "welch-peaks",
    "--device",
    "cpu",
    "--n-fft",
    "64",
    "--batch",
    "8,16",
    "--k",
    "3",
    "--iters",
    "3",
    "--warmup",
    "1",
    "--quiet",
];

fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

/// Runs in a shell with limits.
fn limited(limits: &str, arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_firefly-bench");
    Command::new("bash")
        .args(["-c", &format!("{limits}; exec \"$0\" \"$@\""), program])
        .args(arguments)
        .output()
        .unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_report_is_written_whatever_becomes_of_the_streams() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let arguments = [&SMALL[..], &["--json", path.to_str().unwrap()]].concat();
    let status = firefly_bench(&arguments).stdout(full()).stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(2), "the table could not be written");
    assert_eq!(BenchReport::read(&path).unwrap().cases.len(), 14);
    std::fs::remove_file(&path).unwrap();

    // A reader that is gone before anything is written.
    let mut child = firefly_bench(&arguments).stdout(Stdio::piped()).stderr(full()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(BenchReport::read(&path).unwrap().complete);

    let status = firefly_bench(&["compare", "a", "b"]).stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(2));
    for command in [&["max-batch", "--device", "cpu", "--prove", "1"][..], &["profile", "stock-loop"]] {
        std::fs::remove_file(&path).unwrap();
        firefly_bench(&[command, &["--json", path.to_str().unwrap()]].concat()).stdout(full()).status().unwrap();
        assert!(path.exists(), "{command:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_is_not_replaced_by_a_report() {
    for path in ["/dev/full", "/dev/stdout"] {
        let output = firefly_bench(&[&SMALL[..], &["--json", path]].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("an output must be a file"), "{}", text(&output.stderr));
        assert!(!std::fs::symlink_metadata(path).unwrap().is_file());
    }
}

#[test]
fn a_measurement_that_is_interrupted_leaves_what_was_done() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let sizes = (1..200).map(|batch| batch.to_string()).collect::<Vec<_>>().join(",");
    let grid =
        ["welch-peaks", "--device", "cpu", "--n-fft", "8", "--k", "2", "--iters", "40", "--quiet", "--batch", &sizes];
    let mut child = firefly_bench(&[&grid[..], &["--json", path.to_str().unwrap()]].concat())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !path.exists() && start.elapsed() < Duration::from_secs(120) {
        sleep(Duration::from_millis(20));
    }
    // A shell in the background has its children ignore SIGINT; SIGTERM ends them too.
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let report = BenchReport::read(&path).unwrap();
    assert!(!report.complete && !report.cases.is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn a_case_that_is_interrupted_keeps_its_iterations() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let case = ["fft", "--device", "cpu", "--n", "64", "--batch", "8", "--strategy", "firefly", "--iters", "1000000"];
    let child = firefly_bench(&[&case[..], &["--quiet", "--json", path.to_str().unwrap()]].concat())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Ticks of processor time, a hundred per second: two seconds are more than it takes to begin the iterations, however
    // busy the machine is, and a small part of what all of them take.
    let ticks = || {
        let status = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
        let ticks =
            status.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().nth(11)?.parse::<u64>().ok());
        ticks.unwrap_or_default()
    };
    let start = Instant::now();
    while ticks() < 200 && start.elapsed() < Duration::from_secs(120) {
        sleep(Duration::from_millis(20));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output.stdout).contains("firefly"), "{}", text(&output.stdout));
    let report = BenchReport::read(&path).unwrap();
    let [case] = &report.cases[..] else { panic!("{:?}", report.cases) };
    assert!(!report.complete && (1..1_000_000).contains(&case.measured().unwrap().samples_ns.len()));
}

#[cfg(target_os = "linux")]
#[test]
fn problems_that_do_not_fit_into_memory_are_rows_and_the_others_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let grid = ["welch-peaks", "--device", "cpu", "--batch", "32,1048576", "--iters", "2", "--warmup", "1", "--quiet"];
    let output = limited("ulimit -v 4000000", &[&grid[..], &["--json", path.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for case in BenchReport::read(&path).unwrap().cases {
        match (&case.outcome, case.problem.count("batch")) {
            (CaseOutcome::Measured(_), Some(32)) => (),
            (CaseOutcome::Unsupported { reason }, Some(1_048_576)) => {
                assert!(reason.contains("inputs, results and temporaries take"), "{reason}")
            }
            (other, _) => panic!("{}: {}", case.label(), other.remark()),
        }
    }
    // Alone, it is a command that measured nothing.
    let alone = ["welch-peaks", "--device", "cpu", "--batch", "1048576", "--iters", "2", "--quiet"];
    assert_eq!(limited("ulimit -v 4000000", &alone).status.code(), Some(2));
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_the_size_of_files_is_an_error_and_leaves_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let output = limited("ulimit -f 1", &[&SMALL[..], &["--json", path.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("File too large"), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn too_many_threads_are_refused() {
    let output = firefly_bench(&SMALL).env("RAYON_NUM_THREADS", "100000").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("RAYON_NUM_THREADS is 100000, but must be a number from 1 to 1024"));
}

#[test]
fn a_date_beyond_the_calendar_becomes_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let [json, page] = ["report.json", "page.html"].map(|name| folder.path().join(name));
    assert!(
        firefly_bench(&[&SMALL[..], &["--json", json.to_str().unwrap()]].concat()).output().unwrap().status.success()
    );
    let report = BenchReport { date: u64::MAX, ..BenchReport::read(&json).unwrap() };
    write(&report, &json).unwrap();
    let output = firefly_bench(&["report", json.to_str().unwrap(), "--out", page.to_str().unwrap()]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(std::fs::read_to_string(&page).unwrap().contains("18446744073709551615 s after 1970-01-01"));
}

#[test]
fn a_refused_command_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/report.json");
    let output = firefly_bench(&[&SMALL[..], &["--threads", "2000", "--json", path.to_str().unwrap()]].concat())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(!Path::new(&folder.path().join("new")).exists());
}

#[test]
fn a_command_that_measured_nothing_fails() {
    for arguments in [
        &["welch-peaks", "--device", "cpu", "--batch", "8", "--k", "200", "--quiet"][..],
        &["butterfly", "--device", "cpu", "--n", "7", "--batch", "8", "--quiet"],
        &["layers", "--device", "cpu", "--layer", "log-mel,welch-psd", "--samples", "1", "--batch", "1", "--quiet"],
        &["layers", "--device", "cpu", "--layer", "top-k", "--n", "1", "--batch", "1", "--channels", "2", "--quiet"],
        &["welch-peaks", "--device", "cpu", "--batch", "9223372036854775808", "--quiet"],
    ] {
        let output = firefly_bench(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stdout));
    }
}
