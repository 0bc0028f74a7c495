//! The `layers` command as a user runs it.

use firefly_bench::harness::CaseOutcome;
use firefly_bench::report::schema::BenchReport;

use crate::common::run;

#[test]
fn every_layer_is_verified_and_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("layers.json");
    let convolutions = ["--batch", "3", "--channels", "5", "--n", "24,7x9,4x3x6", "--modes", "2,50", "--gated"];
    let spectra = ["--samples", "500", "--n-fft", "48", "--hop", "12", "--mels", "7", "--k", "5"];
    let measure = ["--iters", "2", "--warmup", "1", "--json", path.to_str().unwrap()];
    let output = run("layers", &[&convolutions[..], &spectra, &measure].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let report = BenchReport::read(&path).unwrap();
    // Six spectral convolutions, and one of each other layer, by five strategies.
    assert_eq!(report.cases.len(), 55);
    for case in &report.cases {
        let CaseOutcome::Measured(measured) = &case.outcome else { panic!("{}: {:?}", case.label(), case.outcome) };
        let found = &measured.verification;
        assert!(found.error <= found.tolerance, "{}", case.label());
        // What rounds in f32 differs from the reference: one that reports no error at all was not compared.
        let rounds = case.strategy != "memcpy" && !case.label().contains("top-k");
        assert!(!rounds || found.error > 0.0, "{}", case.label());
        assert!(found.rows > 0 || case.strategy == "memcpy", "{}", case.label());
        assert!(measured.speed_over("separate").is_some(), "{}", case.label());
    }
}

#[test]
fn wrong_arguments_are_explained() {
    for (arguments, reason) in [
        (["--layer", "attention"], "possible values: spectral-conv, long-conv, log-mel"),
        (["--modes", "0"], "0 is not accepted; numbers start at 1"),
        (["--strategy", "fused"], "known are firefly, firefly-queued, firefly-kernels, separate"),
    ] {
        let output = run("layers", &arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(reason), "{output:?}");
    }
}

#[test]
fn more_values_than_a_row_has_are_refused() {
    let output = run("layers", &["--layer", "top-k", "--n", "8", "--k", "9", "--iters", "2"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("k is 9, but must be at most the 8 values of a row"), "{output:?}");
}
