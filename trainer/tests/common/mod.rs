//! Helpers of the trainer's tests.
#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A small configuration in `folder`, on synthetic signals.
pub fn small_config(folder: &Path) -> PathBuf {
    let path = folder.join("small.toml");
    fs::write(&path, include_str!("small.toml")).unwrap();
    path
}

/// `firefly-train` without a folder of recordings.
pub fn firefly_train(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firefly-train"));
    command.args(arguments).env_remove("FIREFLY_DATA");
    command
}

/// Runs it to its end.
pub fn run(arguments: &[&str]) -> Output {
    firefly_train(arguments).output().unwrap()
}

/// The text on standard error.
pub fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The shipped configurations.
pub fn shipped_configs() -> Vec<PathBuf> {
    let mut configs: Vec<PathBuf> = fs::read_dir("../configs").unwrap().map(|entry| entry.unwrap().path()).collect();
    configs.sort();
    assert!(configs.len() >= 3, "{configs:?}");
    configs
}

/// The rows of a run's evaluation.
pub fn evaluation(run: &Path) -> Vec<serde_json::Value> {
    serde_json::from_slice(&fs::read(run.join("evaluation.json")).unwrap()).unwrap()
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The finished model and its metrics without times, which do not depend on interruptions.
pub fn outcome(run: &Path) -> (Vec<u8>, Vec<String>) {
    let weights = fs::read(run.join("model/model.safetensors")).unwrap();
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let timeless = |line: &str| line.split(",\"step_milliseconds\"").next().unwrap().to_string();
    (weights, metrics.lines().map(timeless).collect())
}

/// Checks that a finished run whose last checkpoint, model and report are gone resumes at `step` to the same bits.
pub fn assert_resumes_to_the_same_bits(arguments: &[&str], out: &Path, step: usize) {
    let whole = outcome(out);
    fs::remove_dir_all(out.join("model")).unwrap();
    fs::remove_file(out.join("report.html")).unwrap();
    let mut checkpoints: Vec<PathBuf> =
        fs::read_dir(out.join("checkpoints")).unwrap().map(|entry| entry.unwrap().path()).collect();
    checkpoints.sort();
    fs::remove_dir_all(checkpoints.last().unwrap()).unwrap();
    let output = run(&[arguments, &["--resume"]].concat());
    assert!(output.status.success(), "{}", errors(&output));
    assert!(errors(&output).contains(&format!("resuming at step {step}")), "{}", errors(&output));
    assert!(outcome(out) == whole, "other bits");
}

/// The ONNX file of a finished run as text, of which its names can be read.
pub fn exported(out: &Path) -> String {
    let path = out.join("model.onnx");
    let output = run(&["export", text(out), "--onnx", text(&path)]);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(errors(&output).contains("model of any batch written to"), "{}", errors(&output));
    String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
}
