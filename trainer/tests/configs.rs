//! Every shipped configuration runs without recordings, on synthetic signals.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{errors, run, shipped_configs, text};

#[test]
fn every_shipped_configuration_runs_on_synthetic_signals() {
    let folder = tempfile::tempdir().unwrap();
    for config in shipped_configs() {
        let name = config.file_stem().unwrap().to_string_lossy().into_owned();
        let out = folder.path().join(&name);
        let output = run(&[text(&config), "--out", text(&out), "--steps", "3"]);
        assert!(output.status.success(), "{name}: {}", errors(&output));
        assert!(out.join("report.html").exists(), "{name}");
        let replaced = errors(&output).contains("training on synthetic signals");
        assert_eq!(replaced, !name.starts_with("synthetic"), "{name}: {}", errors(&output));
    }
}
