//! An interrupted run resumes to the bits of an uninterrupted one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{errors, firefly_train, outcome, run, small_config, text};

const PATIENCE: Duration = Duration::from_secs(60);

/// The same weights to the bit, and the same metrics but for times.
fn assert_same(actual: &(Vec<u8>, Vec<String>), expected: &(Vec<u8>, Vec<String>)) {
    assert_eq!(actual.1.len(), expected.1.len(), "lines of metrics");
    for (actual, expected) in actual.1.iter().zip(&expected.1) {
        assert_eq!(actual, expected);
    }
    assert!(actual.0 == expected.0, "the weights differ");
}

/// The checkpoint that is being written, if only some of its files exist.
fn half_written(run: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(run.join("checkpoints")).ok()?;
    // A number follows; in the name of a checkpoint that is being removed, a name follows.
    let partial = |path: &PathBuf| {
        let step = path.file_name().and_then(|name| name.to_str()?.strip_prefix(".partial-")?.parse::<u32>().ok());
        step.is_some()
    };
    entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(partial)
        .find(|path| fs::read_dir(path).is_ok_and(|files| (1..4).contains(&files.count())))
}

#[test]
fn a_run_killed_between_the_files_of_a_checkpoint_resumes_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let every_step = ["--set", "schedule.checkpoint_every=1"];
    let whole = folder.path().join("whole");
    let output = run(&[&[text(&config), "--out", text(&whole)][..], &every_step].concat());
    assert!(output.status.success(), "{}", errors(&output));

    let started = Instant::now();
    let mut attempt = 0;
    let killed = loop {
        assert!(started.elapsed() < PATIENCE, "no run could be killed inside a checkpoint in {attempt} attempts");
        let out = folder.path().join(format!("killed-{attempt}"));
        attempt += 1;
        let mut arguments = vec![text(&config), "--out", text(&out)];
        arguments.extend(every_step);
        let mut child = firefly_train(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while child.try_wait().unwrap().is_none() {
            if half_written(&out).is_some() {
                child.kill().unwrap();
            }
        }
        // The checkpoint may have been completed before the signal arrived.
        if half_written(&out).is_some() && !out.join("model").exists() {
            break out;
        }
    };
    let mut arguments = vec![text(&config), "--out", text(&killed), "--resume"];
    arguments.extend(every_step);
    let output = run(&arguments);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(half_written(&killed).is_none(), "the partial checkpoint is removed");
    assert_same(&outcome(&killed), &outcome(&whole));
}

#[test]
fn a_run_killed_before_its_first_checkpoint_starts_again() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    // Long enough to be killed before the only checkpoint, at the last step.
    let long = ["--steps", "1000", "--set", "schedule.checkpoint_every=1000"];
    let whole = folder.path().join("whole");
    let output = run(&[&[text(&config), "--out", text(&whole)][..], &long].concat());
    assert!(output.status.success(), "{}", errors(&output));
    let out = folder.path().join("killed");
    let mut arguments = [&[text(&config), "--out", text(&out)][..], &long].concat();
    let mut child = firefly_train(&arguments).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    while !out.join("config.toml").exists() && started.elapsed() < PATIENCE {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!out.join("checkpoints").exists(), "it was killed before its first checkpoint");
    arguments.push("--resume");
    let output = run(&arguments);
    assert!(output.status.success(), "{}", errors(&output));
    assert_same(&outcome(&out), &outcome(&whole));
}

#[test]
fn ctrl_c_leaves_a_run_that_resumes_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    // Long enough to be interrupted. The schedule depends on the number of steps, which is the same in both runs.
    let long = ["--steps", "3000"];
    let out = folder.path().join("interrupted");
    let mut arguments = vec![text(&config), "--out", text(&out)];
    arguments.extend(long);
    let child = firefly_train(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while fs::metadata(out.join("metrics.jsonl")).is_ok_and(|file| file.len() == 0)
        || !out.join("metrics.jsonl").exists()
    {
        assert!(started.elapsed() < PATIENCE, "the run wrote no metrics");
        std::thread::yield_now();
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", errors(&output));
    assert!(errors(&output).contains("--resume"), "{}", errors(&output));
    assert!(!out.join("model").exists(), "an interrupted run has no model yet");

    arguments.push("--resume");
    let output = run(&arguments);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(errors(&output).contains("resuming at step"), "{}", errors(&output));
    let whole = folder.path().join("whole");
    let mut arguments = vec![text(&config), "--out", text(&whole)];
    arguments.extend(long);
    assert!(run(&arguments).status.success());
    assert_same(&outcome(&out), &outcome(&whole));
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
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_millis(500));
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
    assert_same(&outcome(&out), &stopped);
}
