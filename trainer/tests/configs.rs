//! Every shipped configuration runs, on synthetic signals and on recordings where there are some.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::PathBuf;

use common::{errors, firefly_train, recordings, text};

fn shipped() -> Vec<PathBuf> {
    let mut configs: Vec<PathBuf> = fs::read_dir("../configs").unwrap().map(|entry| entry.unwrap().path()).collect();
    configs.sort();
    assert!(configs.len() >= 3, "{configs:?}");
    configs
}

#[test]
fn every_shipped_configuration_runs_for_a_few_steps() {
    let data = recordings();
    let folder = tempfile::tempdir().unwrap();
    for config in shipped() {
        let name = config.file_stem().unwrap().to_string_lossy().into_owned();
        for data in [None, data.as_deref()].into_iter().enumerate().filter(|(i, data)| *i == 0 || data.is_some()) {
            let place = folder.path().join(format!("{name}-{}", data.0));
            let mut arguments = vec![text(&config), "--out", text(&place), "--steps", "3"];
            arguments.extend(data.1.iter().flat_map(|data| ["--data", text(data)]));
            let output = firefly_train(&arguments).output().unwrap();
            assert!(output.status.success(), "{name}: {}", errors(&output));
            assert!(place.join("report.html").exists(), "{name}");
            let synthetic = errors(&output).contains("training on synthetic signals");
            assert_eq!(synthetic, data.1.is_none() && !name.starts_with("synthetic"), "{name}: {}", errors(&output));
        }
    }
}
