//! The task `estimation`: gates close by their price, adaptive estimates beside fixed ones, resuming and prediction.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{assert_resumes_to_the_same_bits, errors, evaluation, run, text};

/// Samples of a frame of the shipped configuration of seconds.
const FRAME: usize = 32;

fn config() -> PathBuf {
    PathBuf::from("../configs/estimation-tiny.toml")
}

/// Trains the configuration of seconds with settings into a folder.
fn train(out: &Path, settings: &[&str]) {
    let config = config();
    let mut arguments = vec![text(&config), "--out", text(out)];
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    let output = run(&arguments);
    assert!(output.status.success(), "{}", errors(&output));
}

/// The score of a model in a run's evaluation.
fn score(out: &Path, model: &str, score: &str) -> f64 {
    let rows = evaluation(out);
    let row = rows.iter().find(|row| row["name"] == model).unwrap_or_else(|| panic!("no {model} in {rows:?}"));
    row[score].as_f64().unwrap()
}

/// A file of a sine with a sample per line.
fn sine(folder: &Path, samples: usize) -> PathBuf {
    let path = folder.join("sine.csv");
    let samples = (0..samples).map(|index| format!("{}\n", (index as f64 * 0.7).sin()));
    fs::write(&path, samples.collect::<String>()).unwrap();
    path
}

/// Columns and rows of the predictions of a run for a file.
fn predicted(out: &Path, input: &Path) -> (String, Vec<Vec<String>>) {
    let table = out.join("predictions.csv");
    let output = run(&["predict", text(out), text(input), "--out", text(&table)]);
    assert!(output.status.success(), "{}", errors(&output));
    let table = fs::read_to_string(table).unwrap();
    let mut lines = table.lines();
    let columns = lines.next().unwrap().to_string();
    (columns, lines.map(|line| line.split(',').map(String::from).collect()).collect())
}

#[test]
fn a_price_closes_gates_and_a_greater_one_closes_more() {
    let folder = tempfile::tempdir().unwrap();
    let results = ["0", "3", "30"].map(|price| {
        let out = folder.path().join(price);
        train(&out, &[&format!("loss.price={price}.0")]);
        let of = |model: &str| [score(&out, model, "open_share"), score(&out, model, "rms_error_db")];
        assert_eq!(of("exact transform"), [1.0, 0.0]);
        of("learned")
    });
    assert!(results.windows(2).all(|pair| pair[1][0] < pair[0][0] && pair[1][1] > pair[0][1]), "{results:?}");
    assert!(results[2][0] < 0.5 * results[0][0], "{results:?}");
}

#[test]
fn a_run_with_random_gates_resumes_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let (config, out) = (config(), folder.path().join("run"));
    let arguments = [text(&config), "--out", text(&out), "--steps", "60", "--set", "schedule.checkpoint_every=20"];
    let output = run(&arguments);
    assert!(output.status.success(), "{}", errors(&output));
    assert_resumes_to_the_same_bits(&arguments, &out, 40);
}

#[test]
fn features_and_peaks_of_recordings_are_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let input = sine(folder.path(), 3 * FRAME + 5);
    for (features, columns, cells) in [("power", FRAME / 2 + 1, 3), ("log_mel", 6, 3), ("peaks", 3, 3 * 4)] {
        let out = folder.path().join(features);
        let settings = format!("{{ n_fft = 32, features = \"{features}\", bands = 6, k = 4 }}");
        let model = format!("model={{ name = \"learned_fft_tiny\", settings = {settings} }}");
        train(&out, &[&model, "training.steps=5"]);
        let (names, rows) = predicted(&out, &input);
        assert!(names.starts_with("file,channel,frame,"), "{names}");
        assert_eq!((names.split(',').count(), rows.len()), (3 + columns, cells), "{names}");
        assert_eq!(rows.last().unwrap()[2], "2", "three whole frames");
        if features == "peaks" {
            assert!(names.ends_with("rank,bin,power"), "{names}");
            assert_eq!(rows[0][4], "4", "the sine has 3.6 periods per frame");
            assert!(score(&out, "learned", "recall") > 0.9);
        }
        let json = out.join("noise.json");
        let again = run(&["eval", text(&out), "--data", "noise", "--json", text(&json)]);
        assert!(again.status.success(), "{}", errors(&again));
        let rows: Vec<serde_json::Value> = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
        let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
        assert_eq!((names, rows[1]["data_set"].as_str()), (vec!["exact transform", "learned"], Some("noise")));
    }
}

#[test]
fn adaptive_peaks_take_fewer_segments_at_a_greater_price_and_stand_beside_fixed_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let model = "model={ name = \"adaptive_welch_peaks_tiny\" }";
    let segments = ["0.0", "0.2"].map(|price| {
        let out = folder.path().join(price);
        train(&out, &[model, &format!("loss={{ price = {price} }}"), "training.steps=150"]);
        let names: Vec<String> = evaluation(&out).iter().map(|row| row["name"].as_str().unwrap().into()).collect();
        assert_eq!(names, ["1 segment", "2 segments", "3 segments", "4 segments", "learned"]);
        assert_eq!((score(&out, "4 segments", "recall"), score(&out, "4 segments", "segments")), (1.0, 4.0));
        assert!(score(&out, "learned", "recall") >= score(&out, "1 segment", "recall"));
        score(&out, "learned", "segments")
    });
    assert!(segments[1] < segments[0], "{segments:?}");
    let out = folder.path().join("0.0");
    let (names, rows) = predicted(&out, &sine(folder.path(), 200));
    assert_eq!(names, "file,channel,frame,rank,bin,power,segments");
    assert_eq!(rows.len(), 2 * 3, "two frames of 80 samples with three peaks");
    assert!(rows.iter().all(|row| ["1", "2", "4"].contains(&row[6].as_str())), "{rows:?}");
    assert!(fs::read_to_string(out.join("report.html")).unwrap().contains("Recall over segments"));
}

#[test]
fn silence_is_no_data_to_evaluate_on() {
    let folder = tempfile::tempdir().unwrap();
    let (out, silence) = (folder.path().join("run"), folder.path().join("silence"));
    let model = "model={ name = \"learned_fft_tiny\", settings = { n_fft = 32, features = \"log_mel\", bands = 6 } }";
    train(&out, &[model, "training.steps=2"]);
    fs::create_dir(&silence).unwrap();
    fs::write(silence.join("silence.csv"), "0\n".repeat(100)).unwrap();
    let output = run(&["eval", text(&out), "--data", text(&silence)]);
    assert!(errors(&output).contains("no frame has power"), "{}", errors(&output));
}

#[test]
fn keys_that_do_not_fit_the_model_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (config, out) = (config(), folder.path().join("run"));
    let error_of = |setting: &str| {
        let output = run(&[text(&config), "--out", text(&out), "--set", setting]);
        assert_eq!(output.status.code(), Some(2), "{setting}");
        errors(&output)
    };
    let error = error_of("model.settings.n_fft=100");
    assert!(error.contains("model.settings is") && error.contains("`n_fft` is 100"), "{error}");
    let error = error_of("model={ name = \"fits\" }");
    assert!(error.contains("model.name is fits, but must be one of adaptive_welch_peaks"), "{error}");
    assert!(error_of("loss.price=-1.0").contains("loss.price is -1, but must be from 0 to 1e6"));
    let error = error_of("model={ name = \"adaptive_welch_peaks_tiny\" }");
    assert!(error.contains("loss.floor is 0.01, but must be left out where the model is no learned_fft"), "{error}");
}
