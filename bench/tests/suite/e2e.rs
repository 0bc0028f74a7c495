//! The `e2e` command as a user runs it.

use firefly_bench::harness::CaseOutcome;
use firefly_bench::report::schema::BenchReport;

use crate::common::run;

#[test]
fn every_pipeline_is_verified_and_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e2e.json");
    let grid = ["--n-fft", "16,256", "--batch", "1,9", "--segments", "ultra,reference", "--k", "5,7", "--mels", "12"];
    let rest = ["--device", "cpu", "--threads", "1", "--iters", "2", "--warmup", "0", "--json", path.to_str().unwrap()];
    let output = run("e2e", &[&grid[..], &rest].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let report = BenchReport::read(&path).unwrap();
    // 2 lengths, 2 batches, 2 numbers of segments; of each, 2 pipelines and the peaks for 2 numbers; 2 strategies.
    assert_eq!(report.cases.len(), 64);
    for case in &report.cases {
        let CaseOutcome::Measured(measured) = &case.outcome else { panic!("{}: {:?}", case.label(), case.outcome) };
        let found = &measured.verification;
        assert!(found.rows as u64 >= case.problem.count("batch").unwrap(), "{}", case.label());
        assert!(found.error > 0.0 && found.error <= found.tolerance, "{}", case.label());
        assert_eq!(found.ranking.is_some(), case.problem.shown("pipeline") == "peaks", "{}", case.label());
        assert!(measured.speed_over("burn-stock").is_some(), "{}", case.label());
    }
}

#[test]
fn learned_pipelines_are_trained_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learned.json");
    let grid = ["--n-fft", "16", "--batch", "9", "--k", "2", "--mels", "4", "--train-steps", "3"];
    let rest = ["--iters", "2", "--warmup", "0", "--json", path.to_str().unwrap()];
    let output = run("e2e", &[&grid[..], &rest].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let report = BenchReport::read(&path).unwrap();
    let learned: Vec<_> = report.cases.iter().filter(|case| case.strategy == "learned").collect();
    assert_eq!(learned.len(), 3);
    for case in learned {
        let measured = case.measured().unwrap_or_else(|| panic!("{}: {}", case.label(), case.outcome.remark()));
        assert_eq!(measured.accuracy.map(|found| found.train_steps), Some(3));
        assert!(measured.verification.error > 0.0 && !case.competes);
    }
}

#[test]
fn wrong_arguments_are_explained() {
    for (arguments, reason) in [
        (["--pipeline", "mell"], "a similar value exists: 'mel'"),
        (["--mels", "0"], "--mels is 0, but must be from 1 to 4096"),
        (["--sample-rate", "0"], "must be a positive number of hertz"),
        (["--run", "/nowhere/run"], "/nowhere/run"),
    ] {
        let output = run("e2e", &arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(reason), "{output:?}");
    }
}
