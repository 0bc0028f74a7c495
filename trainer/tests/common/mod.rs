//! What the trainer's tests share.
#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking, and says what it skips")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The recordings, or none with a message: the tests that need them are then skipped.
pub fn recordings() -> Option<PathBuf> {
    // Cargo runs tests in the folder of their package.
    let folder = env::var_os("FIREFLY_DATA").map_or_else(|| "../../shared/data".into(), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no recordings in {} (FIREFLY_DATA names another folder)", folder.display());
    None
}

/// A small configuration in `folder`, on synthetic signals.
pub fn small_config(folder: &Path) -> PathBuf {
    let path = folder.join("small.toml");
    let text = r#"
        seed = 3
        [model]
        n_fft = 32
        hop = 16
        k = 4
        segments = 8
        [data]
        synthetic_frames = 24
        [training]
        steps = 30
        batch = 8
        [loss]
        price = 0.1
        [schedule]
        log_every = 5
        validate_every = 10
        checkpoint_every = 7
    "#;
    fs::write(&path, text).unwrap();
    path
}

/// `firefly-train`, away from any recordings.
pub fn firefly_train(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firefly-train"));
    command.args(arguments).env_remove("FIREFLY_DATA");
    command
}

/// Runs it to its end.
pub fn run(arguments: &[&str]) -> Output {
    firefly_train(arguments).output().unwrap()
}

/// What it wrote to standard error.
pub fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The finished model and its metrics without times: what must not depend on how a run was interrupted.
pub fn outcome(run: &Path) -> (Vec<u8>, Vec<String>) {
    let weights = fs::read(run.join("model/model.safetensors")).unwrap();
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let timeless = |line: &str| line.split(",\"step_milliseconds\"").next().unwrap().to_string();
    (weights, metrics.lines().map(timeless).collect())
}
