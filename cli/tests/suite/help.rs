//! Help texts: a snapshot of the overview, and every example in them runs as printed.

use std::fs;
use std::io::pipe;

use crate::common::{errors, firefly, run, samples, success, wav};
use insta::assert_snapshot;

/// A run of 30 steps on synthetic signals.
const RUN: &str = "\
[model]
n_fft = 32
hop = 16
k = 4
segments = 2
[data]
synthetic_frames = 16
[training]
batch = 4
[schedule]
validation_frames = 16
";

#[test]
fn every_example_of_the_help_runs_as_printed() {
    let folder = tempfile::tempdir().unwrap();
    wav(&folder.path().join("recording.wav"), 1, &samples(20_000));
    wav(&folder.path().join("recordings/a.wav"), 2, &samples(20_000));
    wav(&folder.path().join("recordings/more/b.wav"), 1, &samples(20_000));
    fs::write(folder.path().join("run.toml"), RUN).unwrap();
    let mut examples = 0;
    for command in ["", "peaks", "spectrum", "envelope", "bearings", "coherence", "spectrogram", "info", "devices"] {
        let command: Vec<&str> = command.split_whitespace().collect();
        let help = success(&[&command[..], &["--help"]].concat());
        let found: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("  firefly ")).collect();
        assert!(!found.is_empty(), "no example in the help of {command:?}");
        for example in found {
            let arguments: Vec<&str> = example.split_whitespace().collect();
            let mut program = firefly(&arguments);
            let output = program.current_dir(folder.path()).env_remove("FIREFLY_DATA").output().unwrap();
            assert!(output.status.success(), "firefly {example}: {}", errors(&output));
            examples += 1;
        }
    }
    assert!(examples >= 9);
    for output in
        ["peaks.parquet", "spectrum.svg", "coherence.html", "coherence.csv", "spectrogram.html", "runs/run/report.html"]
    {
        assert!(folder.path().join(output).is_file(), "{output}");
    }
    // The model of a run has peaks, too.
    let model = ["peaks", "recording.wav", "--model", "runs/run"];
    let output = firefly(&model).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    let [one, two] = ["cpu", "cpu:0,cpu:1"].map(|devices| {
        let arguments = [&model[..], &["--step", "2", "--device", devices, "--out", "learned.csv"]].concat();
        let output = firefly(&arguments).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", errors(&output));
        fs::read(folder.path().join("learned.csv")).unwrap()
    });
    assert!(one == two);
    let output = firefly(&[&model[..], &["--n-fft", "64"]].concat()).current_dir(folder.path()).output().unwrap();
    assert!(errors(&output).contains("--n-fft is set by the model of runs/run"), "{}", errors(&output));
}

#[test]
fn overview() {
    assert_snapshot!("help", success(&["--help"]));
}

#[test]
fn the_other_programs_are_subcommands() {
    assert!(success(&["train", "--help"]).contains("sweep"));
    assert!(success(&["bench", "--help"]).contains("welch-peaks"));
    assert!(success(&["bench", "fft", "--help"]).contains("Strategies:"));
}

#[test]
fn completions_and_manual_pages_name_every_option() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = success(&["completions", shell]);
        assert!(script.contains("firefly") && script.contains("local-maxima") && script.contains("json"), "{shell}");
    }
    let page = success(&["man"]);
    assert!(page.contains(".TH firefly 1") && page.contains("spectrogram"), "{page}");
    let page = success(&["man", "peaks"]);
    assert!(page.contains(".TH firefly") && page.contains("local\\-maxima"), "{page}");
    assert!(errors(&run(&["man", "peeks"])).contains("did you mean `peaks`?"));
}

#[test]
fn a_reader_that_is_gone_loses_no_output() {
    let folder = tempfile::tempdir().unwrap();
    let input = wav(&folder.path().join("x.wav"), 1, &samples(20_000));
    let out = folder.path().join("x.csv");
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let arguments = ["peaks", input.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let output = firefly(&arguments).stdout(writer.try_clone().unwrap()).stderr(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(out.is_file());
}
