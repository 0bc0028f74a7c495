//! Every shipped configuration runs without recordings, on synthetic signals, and every key is documented.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;
use std::fs;

use common::{errors, run, shipped_configs, small_config, text};
use firefly_trainer::config::RunConfig;
use firefly_trainer::data::RecordingsConfig;
use firefly_trainer::run_folder::RunFolder;
use toml::{Table, Value};

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

/// Every key of a table by its path, with its value as TOML.
fn flatten(table: &Table, section: &str, keys: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        match value {
            Value::Table(inner) => flatten(inner, &format!("{section}{key}."), keys),
            value => _ = keys.insert(format!("{section}{key}"), value.to_string()),
        }
    }
}

/// The keys that the configuration reference documents, with their defaults.
fn documented() -> BTreeMap<String, String> {
    let reference = fs::read_to_string("../docs/guide/configuration.md").unwrap();
    let (mut section, mut keys) = (None, BTreeMap::new());
    for line in reference.lines() {
        if line == "## Top level" {
            section = Some(String::new());
        } else if let Some(rest) = line.trim_start_matches("## ").strip_prefix("`[") {
            section = rest.split_once("]`").map(|(name, _)| format!("{name}."));
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let Some(section) = &section
            && let ["", key, default, _, _, ""] = cells[..]
            && let Some(key) = key.strip_prefix('`').and_then(|key| key.strip_suffix('`'))
        {
            keys.insert(format!("{section}{key}"), default.trim_matches('`').to_string());
        }
    }
    keys
}

#[test]
fn the_configuration_reference_has_every_key_with_its_default() {
    let mut config = RunConfig::default();
    config.data.recordings = Some(RecordingsConfig::new("bearing"));
    let mut expected = BTreeMap::new();
    flatten(&Table::try_from(config).unwrap(), "", &mut expected);
    // Keys that a configuration may leave out.
    for (key, default) in [
        ("model.open_segments", "all"),
        ("data.recordings.train", "none"),
        ("data.recordings.test", "none"),
        ("data.recordings.test_suffixes", "none"),
    ] {
        expected.insert(key.into(), default.into());
    }
    assert_eq!(documented(), expected);
}

#[test]
fn the_ranking_loss_is_weighted() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let first_ranking = |name: &str, options: &[&str]| {
        let out = folder.path().join(name);
        let output = run(&[&[text(&config), "--out", text(&out), "--steps", "5"], options].concat());
        assert!(output.status.success(), "{}", errors(&output));
        let metrics = fs::read_to_string(out.join("metrics.jsonl")).unwrap();
        let point: serde_json::Value = serde_json::from_str(metrics.lines().next().unwrap()).unwrap();
        ["ranking", "log_power", "loss", "price"].map(|term| point[term].as_f64().unwrap())
    };
    // At a learning rate that changes no parameter, the terms of two runs differ by the weight alone.
    let still = ["--set", "training.learning_rate=1e-30"];
    let [whole, log_power, ..] = first_ranking("whole", &still);
    let [half, same, loss, price] = first_ranking("half", &[&still[..], &["--peak-weight", "0.5"]].concat());
    assert!(whole > 0.0 && (half - whole / 2.0).abs() < 1e-6 * whole, "{half} for half of {whole}");
    assert_eq!(same, log_power);
    assert!((loss - half - same - price).abs() < 1e-6 * loss);
    let [none, ..] = first_ranking("none", &[&still[..], &["--ranking", "0"]].concat());
    assert_eq!(none, 0.0);
}

#[test]
fn options_stand_for_keys() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let resolved = |name: &str, options: &[&str]| {
        let out = folder.path().join(name);
        let output = run(&[&[text(&config), "--out", text(&out), "--steps", "2"], options].concat());
        assert!(output.status.success(), "{}", errors(&output));
        RunFolder::new(out).resolved().unwrap().config
    };
    let config = resolved("all", &["--n-fft", "64", "--peak-k", "6", "--batch", "5", "--peak-weight", "2"]);
    assert_eq!((config.model.n_fft, config.model.hop, config.model.k), (64, 32, 6));
    assert_eq!((config.training.batch, config.training.steps, config.loss.ranking), (5, 2, 2.0));
    let config = resolved("hop", &["--n-fft", "64", "--set", "model.hop=48", "-k", "3"]);
    assert_eq!((config.model.n_fft, config.model.hop, config.model.k), (64, 48, 3));
}
