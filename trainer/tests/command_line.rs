//! Commands of `firefly-train`: their files, their output and their errors.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;

use common::{errors, run, small_config, text};

#[test]
fn a_run_leaves_a_complete_folder_that_can_be_evaluated_again() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let out = folder.path().join("run");
    let output = run(&[text(&config), "--out", text(&out)]);
    assert!(output.status.success(), "{}", errors(&output));
    let table = String::from_utf8(output.stdout).unwrap();
    for row in ["synthetic", "ultra", "fast", "reference", "learned", "recall"] {
        assert!(table.contains(row), "no {row} in:\n{table}");
    }
    for file in ["config.toml", "metrics.jsonl", "model/model.safetensors", "model/config.json", "evaluation.json"] {
        assert!(out.join(file).is_file(), "no {file}");
    }
    let resolved = fs::read_to_string(out.join("config.toml")).unwrap();
    assert!(resolved.contains("firefly = ") && resolved.contains("burn = ") && resolved.contains("seed = 3"));
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("<canvas") && page.contains("n_fft"));
    let steps: Vec<u64> = fs::read_to_string(out.join("metrics.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["step"].as_u64().unwrap())
        .collect();
    assert_eq!(steps, [5, 10, 15, 20, 25, 30]);
    let kept = fs::read_dir(out.join("checkpoints")).unwrap().count();
    assert_eq!(kept, 2, "the configured number of checkpoints");

    let json = folder.path().join("rows.json");
    let output = run(&["eval", text(&out), "--data", "tones,noise", "--json", text(&json)]);
    assert!(output.status.success(), "{}", errors(&output));
    let rows: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 8);
    assert_eq!(rows[2]["name"], "reference");
    assert_eq!(rows[2]["recall"], 1.0);
}

#[test]
fn a_folder_with_a_run_is_not_overwritten_and_another_configuration_is_not_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let out = folder.path().join("run");
    let arguments = [text(&config), "--out", text(&out), "--steps", "4"];
    assert!(run(&arguments).status.success());
    let again = run(&arguments);
    assert!(!again.status.success());
    assert!(errors(&again).contains("already holds a run"), "{}", errors(&again));
    let other = run(&[text(&config), "--out", text(&out), "--steps", "5", "--resume"]);
    assert!(errors(&other).contains("training.steps was 4, now it is 5"), "{}", errors(&other));
    // A complete run can be resumed: no step is left, and its outputs are written again.
    let nothing = run(&[&arguments[..], &["--resume"]].concat());
    assert!(nothing.status.success(), "{}", errors(&nothing));
    let nowhere = run(&[text(&config), "--out", text(&folder.path().join("new")), "--resume"]);
    assert!(errors(&nowhere).contains("no run to resume"), "{}", errors(&nowhere));
}

#[test]
fn wrong_arguments_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let out = folder.path().join("run");
    let error_of = |extra: &[&str]| {
        let output = run(&[&[text(&config), "--out", text(&out)][..], extra].concat());
        assert!(!output.status.success(), "{extra:?} was accepted");
        errors(&output)
    };
    assert!(error_of(&["--set", "training.bacth=4"]).contains("did you mean `batch`?"));
    assert!(error_of(&["--set", "training.batch=0"]).contains("training.batch is 0"));
    assert!(error_of(&["--set", "model.k=18"]).contains("from 1 to the number of bins, 17"));
    assert!(error_of(&["--set", "nonsense"]).contains("expected section.key=value"));
    assert!(error_of(&["--device", "gpu"]).contains("devices are auto, cpu"));
    #[cfg(not(feature = "cuda"))]
    assert!(error_of(&["--device", "cuda"]).contains("build again with `--features cuda`"));
    assert!(error_of(&["--data", "/nowhere", "--set", "data.recordings.train=\"x\""]).contains("/nowhere/x"));
    assert!(error_of(&["--set", "data.synthetic.snr_db=[9.0, 1.0]"]).contains("data: snr_db"));
    assert!(error_of(&["--set", "training.learn=[\"gain\"]"]).contains("loss.price is 0.1"));
    assert!(!out.exists(), "a run that can't start leaves no folder behind");
    let missing = run(&["no-such.toml"]);
    assert!(errors(&missing).contains("no-such.toml"), "{}", errors(&missing));
    let nothing = run(&["eval", text(folder.path())]);
    assert!(errors(&nothing).contains("holds no run"), "{}", errors(&nothing));
}

#[test]
fn a_sweep_compares_its_runs_on_one_page_and_repeats_no_complete_run() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let out = folder.path().join("sweep");
    let arguments = ["sweep", text(&config), "--over", "loss.price=0,0.2", "--steps", "6", "--out", text(&out)];
    let output = run(&arguments);
    assert!(output.status.success(), "{}", errors(&output));
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(table.contains("price 0 ") && table.contains("price 0.2"), "{table}");
    assert!(fs::read_to_string(out.join("report.html")).unwrap().contains("price 0.2"));
    let trained = fs::metadata(out.join("price-0/model/model.safetensors")).unwrap().modified().unwrap();
    assert!(run(&arguments).status.success());
    let again = fs::metadata(out.join("price-0/model/model.safetensors")).unwrap().modified().unwrap();
    assert_eq!(trained, again, "a complete run is not repeated");
}

#[test]
fn a_sweep_of_runs_that_can_not_be_compared_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let out = folder.path().join("sweep");
    let error_of = |over: &str, extra: &[&str]| {
        let arguments = [&["sweep", text(&config), "--out", text(&out), "--over", over][..], extra].concat();
        let output = run(&arguments);
        assert!(!output.status.success(), "{over} was accepted");
        errors(&output)
    };
    for over in ["model.k=4,8", "model.n_fft=32,64", "seed=1,2"] {
        assert!(error_of(over, &[]).contains("can't be compared"), "{over}");
    }
    assert!(error_of("loss.price=0.1,0.1", &[]).contains("twice"));
    assert!(error_of("training.steps=5,6", &["--steps", "4"]).contains("both swept over and set"));
    assert!(!out.exists());
    // A folder with other files is not touched.
    std::fs::create_dir_all(&out).unwrap();
    fs::write(out.join("report.html"), "mine").unwrap();
    assert!(error_of("loss.price=0,0.1", &[]).contains("not empty"));
    assert_eq!(fs::read_to_string(out.join("report.html")).unwrap(), "mine");
}

#[test]
fn a_folder_in_use_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let out = folder.path().join("run");
    let arguments = [text(&config), "--out", text(&out), "--steps", "4"];
    assert!(run(&arguments).status.success());
    let lock = fs::File::create(out.join(".lock")).unwrap();
    lock.lock().unwrap();
    let output = run(&[&arguments[..], &["--resume"]].concat());
    assert!(errors(&output).contains("another process is training"), "{}", errors(&output));
}

#[test]
fn silent_frames_do_not_count_in_an_evaluation() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let out = folder.path().join("run");
    assert!(run(&[text(&config), "--out", text(&out), "--steps", "4"]).status.success());
    let spec =
        hound::WavSpec { channels: 1, sample_rate: 8000, bits_per_sample: 16, sample_format: hound::SampleFormat::Int };
    let mut wav = hound::WavWriter::create(folder.path().join("half-silent.wav"), spec).unwrap();
    for i in 0..2880i32 {
        wav.write_sample(if i < 1440 { 0i16 } else { (i * i * 7919 % 20_011 - 10_005) as i16 }).unwrap();
    }
    wav.finalize().unwrap();
    let json = folder.path().join("rows.json");
    let output = run(&["eval", text(&out), "--data", text(folder.path()), "--json", text(&json)]);
    assert!(output.status.success(), "{}", errors(&output));
    let rows: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert!(rows[0]["median_power_error_db"].is_f64() && rows[0]["recall"].as_f64().unwrap() < 0.9, "{rows}");
}
