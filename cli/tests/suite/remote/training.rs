//! Training on a server's device.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::server::{ServerProcess, without_token};
use crate::common::{errors, samples, text, wav};

/// Limit of a run that has lost its server.
const PATIENCE: Duration = Duration::from_secs(60);

/// The small configuration of the trainer's tests in `folder`.
pub fn configuration(folder: &Path) -> PathBuf {
    let path = folder.join("small.toml");
    fs::write(&path, include_str!("../../../../trainer/tests/common/small.toml")).unwrap();
    path
}

/// Waits until a run has written a checkpoint.
pub fn wait_for_checkpoint(run: &Path) {
    let started = Instant::now();
    // A name that begins with a point is that of a checkpoint that is being written.
    let is_complete = |entry: &fs::DirEntry| !entry.file_name().to_string_lossy().starts_with('.');
    let has_checkpoint = || {
        fs::read_dir(run.join("checkpoints")).is_ok_and(|mut entries| entries.any(|entry| is_complete(&entry.unwrap())))
    };
    while !has_checkpoint() {
        assert!(started.elapsed() < PATIENCE, "no checkpoint was written");
        sleep(Duration::from_millis(20));
    }
}

/// Losses of a run, in the order in which they were logged.
fn losses(run: &Path) -> Vec<f64> {
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let loss = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["loss"].as_f64().unwrap();
    metrics.lines().map(loss).collect()
}

#[test]
fn a_model_trains_to_the_loss_of_local_devices() {
    let folder = tempfile::tempdir().unwrap();
    let config = configuration(folder.path());
    let servers = [ServerProcess::start(), ServerProcess::start()];
    let both = servers.each_ref().map(ServerProcess::device).join(",");
    let losses_on = |devices: &str| {
        let out = folder.path().join(devices.len().to_string());
        let output =
            without_token(&["train", text(&config), "--device", devices, "--out", text(&out)]).output().unwrap();
        assert!(output.status.success(), "{}", errors(&output));
        losses(&out)
    };
    for (here, there) in [("cpu", servers[0].device()), ("cpu,cpu:1", &both)] {
        let (local, remote) = (losses_on(here), losses_on(there));
        assert_eq!(local.len(), remote.len());
        assert!(local.len() >= 6, "{local:?}");
        for (local, remote) in local.iter().zip(&remote) {
            assert!((local - remote).abs() <= 1e-5 * local.abs(), "{local} on {here}, {remote} on {there}");
        }
    }
}

#[test]
fn predictions_are_those_of_a_local_device() {
    let folder = tempfile::tempdir().unwrap();
    let (config, run) = (configuration(folder.path()), folder.path().join("run"));
    let recording = wav(&folder.path().join("a.wav"), 1, &samples(20_000));
    let output = without_token(&["train", text(&config), "--device", "cpu", "--out", text(&run)]).output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    let servers = [ServerProcess::start(), ServerProcess::start()];
    let both = servers.each_ref().map(ServerProcess::device).join(",");
    let [local, remote, several] = ["cpu", servers[0].device(), &both].map(|device| {
        let out = folder.path().join("out.csv");
        let arguments = ["train", "predict", text(&run), text(&recording), "--out", text(&out), "--device", device];
        let output = without_token(&arguments).output().unwrap();
        assert!(output.status.success(), "{}", errors(&output));
        fs::read(out).unwrap()
    });
    assert!(local == remote && local == several);
    assert!(local.iter().filter(|byte| **byte == b'\n').count() > 100);
}

#[test]
fn a_run_whose_server_is_killed_ends_with_a_checkpoint_that_resumes_here() {
    let folder = tempfile::tempdir().unwrap();
    let (config, out) = (configuration(folder.path()), folder.path().join("run"));
    let mut server = ServerProcess::start();
    let arguments = ["train", text(&config), "--device", server.device(), "--out", text(&out), "--steps", "1500"];
    let training = without_token(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_checkpoint(&out);
    server.kill();
    let killed = Instant::now();
    let output = training.wait_with_output().unwrap();
    assert!(killed.elapsed() < PATIENCE, "{:?}", killed.elapsed());
    let message = errors(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains(&format!("device {} failed after step", server.device())), "{message}");
    assert!(message.contains("can't be reached"), "{message}");
    assert!(message.contains("--resume continues it"), "{message}");

    let arguments = ["train", text(&config), "--device", "cpu", "--out", text(&out), "--steps", "1500", "--resume"];
    let output = without_token(&arguments).output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    assert_eq!(losses(&out).len(), 300);
}
