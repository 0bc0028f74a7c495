//! The `fusion-phases` command as a user runs it.

use firefly_bench::harness::{CaseRecord, PhaseTraffic};
use firefly_bench::report::schema::BenchReport;
use firefly_framework::cost::FusionDecision;
use firefly_framework::device::{DeviceId, fingerprint};
use firefly_framework::profile::{DeviceProfile, Preset, save};

use crate::common::run;

fn movement(case: &CaseRecord) -> &PhaseTraffic {
    let measured = case.measured().unwrap_or_else(|| panic!("{}: {}", case.label(), case.outcome.remark()));
    measured.traffic.as_ref().unwrap()
}

#[test]
fn every_phase_is_verified_counted_predicted_and_decided_on() {
    let folder = tempfile::tempdir().unwrap();
    let (json, profile) = (folder.path().join("phases.json"), folder.path().join("cpu.toml"));
    let costs = DeviceProfile { fingerprint: fingerprint(DeviceId::CPU), min_gain: 1e5, ..Preset::Metal.profile() };
    save(&costs, &profile).unwrap();
    let grid = ["--n-fft", "256", "--batch", "5,8192", "--k", "16", "--threads", "2", "--iters", "2", "--warmup", "0"];
    let rest = [
        "--device",
        "cpu",
        "--wide",
        "--explain",
        "--profile",
        profile.to_str().unwrap(),
        "--json",
        json.to_str().unwrap(),
    ];
    let output = run("fusion-phases", &[&grid[..], &rest].concat());
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains("predicted / measured") && shown.contains("read-back saved"), "{shown}");
    assert!(shown.contains("median milliseconds over batch") && shown.contains("The gate fuses"), "{shown}");

    let cases = BenchReport::read(&json).unwrap().cases;
    let names: Vec<&str> = cases.iter().map(|case| case.strategy.as_str()).collect();
    assert_eq!(names, ["baseline", "phase-1", "phase-2", "phase-3", "phase-5"].repeat(2));
    for (batch, phases) in [5, 8192].into_iter().zip(cases.chunks(5)) {
        let [baseline, blocks, peaks, compiled, native] = [0, 1, 2, 3, 4].map(|place| movement(&phases[place]));
        // Of each of two segments, 256 complex values; 16 peaks of a bin and a power.
        assert_eq!((baseline.bytes_read, blocks.bytes_read), (batch * 2 * 256 * 8, batch * 2 * 256 * 8));
        assert!([peaks, compiled, native].iter().all(|moved| moved.bytes_read == batch * 16 * 8));
        for moved in [baseline, blocks, peaks, compiled, native] {
            assert_eq!(moved.io.host_output, moved.bytes_read);
            assert!(moved.predicted_ns >= moved.io.launches as f64 && moved.peak_bytes > 0);
        }
        assert!(baseline.bytes_read >= 32 * peaks.bytes_read);
        assert!(baseline.saved.is_none() && baseline.decision.is_none());
        assert!(blocks.saved.is_some_and(|saved| saved.launches == 1 && saved.read_back == 0));
        // Under these costs, a small batch gains too little.
        let fuse = |moved: &PhaseTraffic| moved.decision.as_ref().map(FusionDecision::fuse);
        assert_eq!((fuse(compiled), compiled.io.launches < peaks.io.launches), (Some(batch > 5), batch > 5));
        assert_eq!(fuse(native), Some(batch > 5));
        for (place, case) in phases.iter().enumerate() {
            let speed = &case.measured().unwrap().speed;
            let than: Vec<&str> = speed.iter().map(|speed| speed.baseline.as_str()).collect();
            assert_eq!(than, &["baseline", "the one before"][..if place == 0 { 1 } else { 2 }]);
        }
    }
}

#[test]
fn phases_are_chosen_and_quiet_prints_results_only() {
    let output = run(
        "fusion-phases",
        &["--n-fft", "64", "--batch", "3", "--k", "4", "--strategy", "phase-5,phase-2", "--iters", "1", "--quiet"],
    );
    assert!(output.status.success() && output.stderr.is_empty());
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("  strategy"));
}

#[test]
fn another_device_predicts_and_the_share_of_good_predictions_is_printed() {
    let grid = ["--n-fft", "64", "--batch", "3,4", "--k", "4", "--strategy", "baseline,phase-5", "--iters", "1"];
    let output = run("fusion-phases", &[&grid[..], &["--target", "rocm"]].concat());
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && shown.contains("times predicted by the preset costs of rocm"), "{shown}");
    assert!(shown.contains("% of 4 cases predicted within × 2 of the measured median"), "{shown}");
    assert!(shown.contains("times as fast as the baseline over batch: n_fft 64, segments 2, k 4"), "{shown}");
}

#[test]
fn bad_input_is_an_error() {
    for (arguments, expected) in [
        (["--n-fft", "100"], "`n_fft` is 100"),
        (["--profile", "/nowhere/cpu.toml"], "there is no such file"),
        (["--strategy", "phase-4"], "did you mean `phase-"),
    ] {
        let output = run("fusion-phases", &arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(expected), "{error}");
    }
    let output = run("fusion-phases", &["--batch", "0"]);
    assert_eq!(output.status.code(), Some(2));
}
