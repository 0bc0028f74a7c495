//! The `fft` command as a user runs it.

use firefly_bench::harness::CaseOutcome;
use firefly_bench::report::schema::BenchReport;

use crate::common::run;

/// The cases of a command that measures.
fn cases(arguments: &[&str]) -> BenchReport {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fft.json");
    let output =
        run("fft", &[arguments, &["--iters", "2", "--warmup", "1", "--json", path.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    BenchReport::read(&path).unwrap()
}

#[test]
fn every_transform_is_verified_and_measured() {
    let both = ["--values", "complex,real", "--direction", "forward,inverse"];
    let report = cases(&[&["--n", "16,45,251", "--batch", "1,21"][..], &both].concat());
    // 3 lengths, 2 batches, 2 kinds of values, 2 directions, 7 strategies.
    assert_eq!(report.cases.len(), 168);
    for case in &report.cases {
        let measured = match &case.outcome {
            CaseOutcome::Measured(measured) => measured,
            CaseOutcome::Unsupported { reason } => {
                let stock = case.strategy == "burn-signal" && case.problem.shown("n") != "16"
                    || case.problem.shown("direction") == "inverse";
                let real = case.strategy == "rustfft-out" && case.problem.shown("values") == "real";
                assert!((stock || real) && reason.contains("has no such transform"), "{}: {reason}", case.label());
                continue;
            }
            other => panic!("{}: {other:?}", case.label()),
        };
        let found = &measured.verification;
        assert!(found.rows as u64 >= case.problem.count("batch").unwrap(), "{}", case.label());
        assert!(found.error <= found.tolerance, "{}", case.label());
        // A transform rounds: one that reports no error at all was not compared.
        assert!(case.strategy == "memcpy" || found.error > 0.0, "{}", case.label());
        assert!(measured.speed_over("rustfft").is_some(), "{}", case.label());
    }
}

#[test]
fn transforms_have_up_to_three_dimensions() {
    let both = ["--values", "complex,real", "--direction", "forward,inverse", "--strategy", "firefly,firefly-backward"];
    let report = cases(&[&["--n", "4x6,5x3,2x3x4", "--points", "200"][..], &both].concat());
    assert_eq!(report.cases.len(), 24);
    for case in &report.cases {
        let CaseOutcome::Measured(measured) = &case.outcome else { panic!("{}: {:?}", case.label(), case.outcome) };
        assert!(measured.verification.error > 0.0, "{}", case.label());
        assert_eq!(case.problem.count("batch"), Some(if case.problem.shown("n") == "5x3" { 13 } else { 8 }));
    }
}

#[test]
fn wrong_arguments_are_explained() {
    for (arguments, reason) in [
        (["--n", "2x2x2x2"], "`2x2x2x2` has more than three dimensions"),
        (["--n", "12x"], "an item of the list is empty"),
        (["--values", "quaternion"], "possible values: complex, real"),
        (
            ["--strategy", "fftw"],
            "known are firefly, firefly-queued, firefly-kernels, firefly-in-place, firefly-backward",
        ),
    ] {
        let output = run("fft", &arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(reason), "{output:?}");
    }
    let output = run("fft", &["--n", "1048576", "--batch", "65536", "--iters", "1", "--quiet"]);
    assert_eq!(output.status.code(), Some(2), "nothing was measured");
    assert!(String::from_utf8_lossy(&output.stdout).contains("batch is 65536, but must be at most 1024"));
}
