//! Runs that end early: by Ctrl-C, or because their validation stopped improving.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{errors, firefly_train, outcome, run, small_config, text};

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn ctrl_c_leaves_a_run_that_can_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let out = folder.path().join("interrupted");
    // More steps than the run takes before the signal arrives.
    let arguments = [text(&config), "--out", text(&out), "--steps", "1000000000"];
    let child = firefly_train(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while fs::metadata(out.join("metrics.jsonl")).map_or(0, |file| file.len()) == 0 {
        assert!(started.elapsed() < PATIENCE, "the run wrote no metrics");
        sleep(Duration::from_millis(1));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", errors(&output));
    assert!(errors(&output).contains("--resume"), "{}", errors(&output));
    assert!(!out.join("model").exists(), "an interrupted run has no model yet");
    assert!(fs::read_dir(out.join("checkpoints")).unwrap().next().is_some(), "no checkpoint");
}

/// Whether a process handles SIGINT itself.
#[cfg(target_os = "linux")]
fn handles_interrupts(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 0b10 != 0)
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_while_samples_are_solved_leaves_neither_a_run_nor_a_cache() {
    let folder = tempfile::tempdir().unwrap();
    let (out, cache) = (folder.path().join("run"), folder.path().join("cache"));
    let cache_setting = format!("data.generated.cache={}", text(&cache));
    let settings = ["data.generated.samples=200000", "data.generated.steps=20000", &cache_setting];
    let mut arguments = vec!["../configs/operator-tiny.toml", "--out", text(&out)];
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    let child = firefly_train(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while !handles_interrupts(child.id()) {
        assert!(started.elapsed() < PATIENCE, "the run listens for no signal");
        sleep(Duration::from_millis(1));
    }
    sleep(Duration::from_millis(500));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", errors(&output));
    assert!(errors(&output).contains("interrupted before the first step"), "{}", errors(&output));
    assert!(!out.exists() && !cache.exists(), "a run or a cache is left");
}

#[test]
fn a_run_that_stopped_early_keeps_its_best_model_when_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let out = folder.path().join("early");
    let options = ["--steps", "400", "--set", "schedule.patience=2", "--set", "training.learning_rate=0.5"];
    let mut arguments = vec![text(&config), "--out", text(&out)];
    arguments.extend(options);
    let output = run(&arguments);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(errors(&output).contains("stopped at step"), "{}", errors(&output));
    let stopped = outcome(&out);
    assert!(stopped.1.len() < 400 / 5, "it did not stop early");
    let best = fs::read(out.join("best/model.safetensors")).unwrap();
    assert!(best == stopped.0, "the finished model is the best one");
    arguments.push("--resume");
    let output = run(&arguments);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(outcome(&out) == stopped, "other bits");
}
