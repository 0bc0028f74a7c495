//! What the shipped configurations are shipped for, on the bearing recordings.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{errors, recordings, run, text};

/// Recall and open butterflies of the model that a shipped configuration trains.
fn learned(name: &str, data: &Path) -> (f64, f64) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("run");
    let config = PathBuf::from(format!("../configs/{name}.toml"));
    let output = run(&[text(&config), "--data", text(data), "--out", text(&place)]);
    assert!(output.status.success(), "{}", errors(&output));
    let rows: serde_json::Value = serde_json::from_slice(&fs::read(place.join("evaluation.json")).unwrap()).unwrap();
    let row = rows.as_array().unwrap().iter().find(|row| row["name"] == "learned").unwrap();
    (row["recall"].as_f64().unwrap(), row["butterflies_per_frame"].as_f64().unwrap())
}

#[test]
fn two_segments_learned_find_more_than_two_exact_ones() {
    let Some(data) = recordings() else { return };
    let (recall, butterflies) = learned("bearing-256", &data);
    assert!(recall >= 0.839 && butterflies <= 2048.0, "recall {recall} with {butterflies} butterflies");
}

#[test]
fn half_the_butterflies_find_more_than_one_exact_segment() {
    let Some(data) = recordings() else { return };
    let (recall, butterflies) = learned("bearing-256-half", &data);
    assert!(recall >= 0.755 && butterflies <= 1024.0, "recall {recall} with {butterflies} butterflies");
}
