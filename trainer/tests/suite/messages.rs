//! Snapshots of the overview and of error messages, and every example of the help runs as printed.

use std::path::Path;

use crate::common::{errors, firefly_train, run, small_config, text};
use insta::assert_snapshot;

#[test]
fn overview() {
    let output = run(&["--help"]);
    assert!(output.status.success(), "{}", errors(&output));
    assert_snapshot!("help", String::from_utf8(output.stdout).unwrap());
}

#[test]
fn every_example_of_the_help_runs_as_printed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::rename(small_config(folder.path()), folder.path().join("run.toml")).unwrap();
    std::fs::write(folder.path().join("recording.csv"), "1\n2\n".repeat(200)).unwrap();
    let mut examples = 0;
    for command in ["", "eval", "sweep", "new", "predict"] {
        let command: Vec<&str> = [command, "--help"].into_iter().filter(|word| !word.is_empty()).collect();
        let help = String::from_utf8(run(&command).stdout).unwrap();
        for example in help.lines().filter_map(|line| line.strip_prefix("  firefly train ")) {
            let arguments: Vec<&str> = example.split_whitespace().collect();
            let output = firefly_train(&arguments).current_dir(folder.path()).output().unwrap();
            assert!(output.status.success(), "firefly train {example}: {}", errors(&output));
            examples += 1;
        }
    }
    assert_eq!(examples, 7);
}

/// Standard error of commands that fail, with the folder's path replaced.
fn messages(folder: &Path, commands: &[Vec<&str>]) -> String {
    let mut text = String::new();
    for arguments in commands {
        let output = run(arguments);
        assert!(!output.status.success(), "{arguments:?} was accepted");
        text += &format!("$ firefly-train {}\n{}\n", arguments.join(" "), errors(&output));
    }
    text.replace(folder.to_str().unwrap(), "/tmp")
}

#[test]
fn errors_of_configurations() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let config = text(&config);
    let out = folder.path().join("run");
    let with = |option: &'static str, value: &'static str| vec![config, "--out", text(&out), option, value];
    let commands = [
        vec![],
        vec!["no-such.toml"],
        vec![config, "--setting", "x"],
        vec![config, config],
        with("--set", "training.bacth=4"),
        with("--set", "training.batch=0"),
        with("--set", "training.steps=many"),
        with("--set", "model.k=18"),
        with("--set", "model.n_fft=101"),
        with("--set", "model.window=\"han\""),
        with("--set", "nonsense"),
        with("--set", "data.synthetic.snr_db=[9.0, 1.0]"),
        with("--set", "training.learn=[\"gain\"]"),
        with("--device", "gpu"),
        with("--device", "cpu:1"),
        with("--steps", "-3"),
    ];
    assert_snapshot!(messages(folder.path(), &commands));
    assert!(!out.exists(), "a run that can't start leaves no folder behind");
}

#[test]
fn errors_of_recordings() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let (config, data) = (text(&config), folder.path().join("data"));
    let out = folder.path().join("run");
    std::fs::create_dir_all(data.join("empty")).unwrap();
    std::fs::create_dir_all(data.join("broken")).unwrap();
    std::fs::write(data.join("broken/a.wav"), "no sound").unwrap();
    let on = |set: &'static str| vec![config, "--out", text(&out), "--data", text(&data), "--set", set];
    let commands = [
        on("data.recordings.train=\"absent\""),
        on("data.recordings.train=\"empty\""),
        on("data.recordings.train=\"broken\""),
        on("data.recordings={train=\"broken\", test=\"broken\"}"),
    ];
    assert_snapshot!(messages(folder.path(), &commands));
    assert!(!out.exists(), "a run that can't start leaves no folder behind");
}

#[test]
fn errors_of_folders_and_sweeps() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let config = text(&config);
    let (finished, other, new) =
        (folder.path().join("finished"), folder.path().join("other"), folder.path().join("new"));
    let output = run(&[config, "--out", text(&finished), "--steps", "2"]);
    assert!(output.status.success(), "{}", errors(&output));
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("notes.txt"), "mine").unwrap();
    let commands = [
        vec![config, "--out", text(&finished)],
        vec![config, "--out", text(&other)],
        vec![config, "--out", text(&new), "--resume"],
        vec![config, "--out", text(&finished), "--resume", "--steps", "3"],
        vec!["eval", text(&other)],
        vec!["eval", text(&finished), "--data", "tone"],
        vec!["sweep", config, "--out", text(&new), "--over", "loss.price"],
        vec!["sweep", config, "--out", text(&new), "--over", "loss.price=0.1,0.1"],
        vec!["sweep", config, "--out", text(&new), "--over", "loss.price="],
        vec!["sweep", config, "--out", text(&new), "--over", "training.learn=[[\"gain\"],[\"taper\"]]"],
        vec!["sweep", config, "--out", text(&new), "--over", "model.k=4,8"],
        vec!["sweep", config, "--out", text(&new), "--over", "seed=1,2", "--set", "seed=3"],
    ];
    assert_snapshot!(messages(folder.path(), &commands));
    assert!(!new.exists(), "a command that fails leaves no folder behind");
}
