//! Reports of the bench: any text is a report or an error.

use std::fs;

use firefly_bench::report::schema::BenchReport;
use firefly_fuzz::{Edit, edited};

#[test]
fn reports_are_read_or_refused() {
    let valid = serde_json::to_vec(&serde_json::json!({
        "format": 3,
        "tool": {"name": "firefly-bench", "version": "0.1.0", "build": "release"},
        "date": 1_790_000_000,
        "host": {"cpu": "a processor", "cores": 2, "instruction_sets": ["avx2"], "os": "linux", "arch": "x86_64"},
        "command": {"name": "welch-peaks", "options": {"batch": [1, 2]}},
        "facts": {"window": "hann"},
        "cases": [{
            "problem": {"n_fft": 256, "batch": 1},
            "strategy": "firefly",
            "device": "cpu",
            "instruction_set": "avx2",
            "threads": 1,
            "competes": true,
            "outcome": {"status": "failed", "error": "wrong"}
        }]
    }))
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    fs::write(&path, &valid).unwrap();
    BenchReport::read(&path).unwrap();
    bolero::check!().with_type::<Vec<Edit>>().for_each(|edits| {
        fs::write(&path, edited(&valid, edits)).unwrap();
        let _ = BenchReport::read(&path);
    });
}
