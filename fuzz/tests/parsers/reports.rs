//! Reports of the bench: any text is a report of a command or an error.

use std::path::Path;

use firefly_bench::report::schema::AnyReport;
use firefly_fuzz::{Edit, edited};
use serde_json::{Value, json};

/// Target of reports of a command: the valid one is read, and edited ones are read or refused.
fn reports_are_read_or_refused(command: &str, valid: &Value) {
    let path = Path::new("report.json");
    let valid = serde_json::to_vec(valid).unwrap();
    assert_eq!(AnyReport::parse(path, &valid).unwrap().command(), command);
    bolero::check!().with_type::<Vec<Edit>>().for_each(|edits| {
        let _ = AnyReport::parse(path, &edited(&valid, edits));
    });
}

fn tool() -> Value {
    json!({"name": "firefly-bench", "version": "0.1.0", "build": "release"})
}

fn host() -> Value {
    json!({"cpu": "a processor", "cores": 2, "instruction_sets": ["avx2"], "os": "linux", "arch": "x86_64"})
}

#[test]
fn reports_of_strategies_are_read_or_refused() {
    reports_are_read_or_refused(
        "welch-peaks",
        &json!({
            "format": 4,
            "tool": tool(),
            "date": 1_790_000_000,
            "host": host(),
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
        }),
    );
}

#[test]
fn reports_of_profile_are_read_or_refused() {
    let moved = json!({"launches": 1, "syncs": 0, "host_output": 0, "traffic": 4096});
    let target = firefly_framework::profile::Preset::Cpu.profile();
    reports_are_read_or_refused(
        "profile",
        &json!({
            "format": 3,
            "tool": tool(),
            "model": "welch_peaks",
            "parameters": {"n_fft": 256},
            "target": target,
            "profile": {"nodes": [], "total": moved, "held_bytes": 0, "peak_bytes": 4096},
            "prediction": firefly_framework::cost::Prediction::new(
                &serde_json::from_value(moved.clone()).unwrap(),
                &target,
            ),
            "decisions": []
        }),
    );
}
