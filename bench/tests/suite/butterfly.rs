//! The `butterfly` command as a user runs it.

use firefly_bench::harness::CaseOutcome;
use firefly_bench::report::schema::BenchReport;

use crate::common::run;

#[test]
fn every_transform_is_verified_and_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("butterfly.json");
    let grid = ["--n", "8,64,1024", "--batch", "1,5,40", "--open", "0.3", "--threads", "1,2"];
    let output =
        run("butterfly", &[&grid[..], &["--iters", "2", "--warmup", "1", "--json", path.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let report = BenchReport::read(&path).unwrap();
    assert_eq!(report.command.name, "butterfly");
    // 3 lengths, 3 batches, 9 strategies, 2 numbers of threads.
    assert_eq!(report.cases.len(), 162);
    for case in &report.cases {
        let CaseOutcome::Measured(measured) = &case.outcome else { panic!("{}: {:?}", case.label(), case.outcome) };
        let found = &measured.verification;
        assert!(found.rows as u64 >= case.problem.count("batch").unwrap(), "{}", case.label());
        assert!(found.error <= found.tolerance && found.ranking.is_none(), "{}", case.label());
        // A transform rounds: one that reports no error at all was not compared.
        assert!(case.strategy == "memcpy" || found.error > 0.0, "{}", case.label());
        assert!(measured.speed_over("rustfft").is_some() && measured.speed_over("1 thread").is_some());
    }
}

#[test]
fn wrong_arguments_are_explained() {
    for (arguments, reason) in [
        (["--open", "1.5"], "--open is 1.5, but must be from 0 to 1"),
        (["--strategy", "fftw"], "known are firefly, firefly-queued, firefly-kernels, firefly-host"),
    ] {
        let output = run("butterfly", &arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(reason), "{output:?}");
    }
    let output = run("butterfly", &["--n", "12", "--batch", "1", "--iters", "1", "--quiet"]);
    assert_eq!(output.status.code(), Some(2), "nothing was measured");
    assert!(String::from_utf8_lossy(&output.stdout).contains("unsupported: n is 12, but must be a power of two"));
}
