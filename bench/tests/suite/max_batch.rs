//! The `max-batch` command as a user runs it.

use firefly_bench::harness::CaseOutcome;
use firefly_bench::report::schema::BenchReport;

use crate::common::run;

#[test]
fn a_bound_is_proven_as_far_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bounds.json");
    let grid = ["--n-fft", "8,256", "--k", "4,9", "--prove", "1", "--json", path.to_str().unwrap()];
    let output = run("max-batch", &grid);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{shown}");
    let cases = BenchReport::read(&path).unwrap().cases;
    assert_eq!(cases.len(), 4);
    for case in &cases {
        match &case.outcome {
            CaseOutcome::Bounded(limit) => {
                let frame = case.problem.count("frame").unwrap();
                assert_eq!(limit.bytes_per_row, 4 * frame + 12 * case.problem.count("k").unwrap());
                assert_eq!(limit.proven_batch, (1 << 20) / (4 * frame));
                assert!(limit.batch > limit.proven_batch && limit.verification.unwrap().rows > 0);
            }
            other => {
                assert!(other.remark().contains("`k` is 9") && case.problem.count("n_fft") == Some(8), "{other:?}")
            }
        }
    }
    assert!(shown.contains("unsupported: welch-peaks: `k` is 9"), "{shown}");
}

#[test]
fn a_device_that_is_not_there_is_an_error() {
    let output = run("max-batch", &["--device", "cuad"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("did you mean `cuda`?"));
}
