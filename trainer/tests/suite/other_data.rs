//! Finished runs and data that are not those of their training: changed since then, named by the user, or uneven; and
//! outputs that would replace data.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{errors, evaluation, run, text};

/// A table of three channels with a column of times, whose columns have the order of `titles`.
fn table(path: &Path, titles: &[&str], offset: f64, rows: impl IntoIterator<Item = usize>) {
    let value = |title: &str, row: usize| match title {
        "time" => row as f64,
        "load" => {
            offset + (row as f64 * std::f64::consts::TAU / 24.0).sin() + 0.1 * ((row * 7919 % 101) as f64 / 101.0)
        }
        "volt" => 230.0 + (row as f64 * 0.7).cos(),
        _ => 1e5 * (1.5 + (row as f64 * 0.2).sin()),
    };
    let line = |row| titles.iter().map(|title| value(title, row).to_string()).collect::<Vec<_>>().join(",") + "\n";
    fs::write(path, titles.join(",") + "\n" + &rows.into_iter().map(line).collect::<String>()).unwrap();
}

const TITLES: [&str; 4] = ["time", "load", "volt", "oil"];
const PERMUTED: [&str; 4] = ["time", "oil", "load", "volt"];

/// Trains a small model of forecasts on a table; what was said meanwhile.
fn train_forecaster(table: &Path, out: &Path, settings: &[&str]) -> String {
    let file = format!("data.file=\"{}\"", table.display());
    let mut arguments = vec!["../configs/forecasting-tiny.toml", "--out", text(out), "--steps", "20", "--set", &file];
    let small = ["data.train_rows=240", "data.validation_rows=80", "data.test_rows=80"];
    arguments.extend(small.iter().chain(settings).flat_map(|setting| ["--set", setting]));
    let output = run(&arguments);
    assert!(output.status.success(), "{}", errors(&output));
    errors(&output)
}

/// The cells of a run's predictions for a table, but for the file's name.
fn predicted(out: &Path, table: &Path) -> Vec<String> {
    let path = out.with_extension("csv");
    let output = run(&["predict", text(out), text(table), "--out", text(&path)]);
    assert!(output.status.success(), "{}", errors(&output));
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| line.split_once(',').unwrap().1.to_owned()).collect()
}

/// The rows of `train eval` of a run, and what was said meanwhile.
fn evaluated(out: &Path, options: &[&str]) -> (Vec<Value>, String) {
    let path = out.with_extension("json");
    let output = run(&[&["eval", text(out), "--json", text(&path)], options].concat());
    assert!(output.status.success(), "{}", errors(&output));
    (serde_json::from_slice(&fs::read(&path).unwrap()).unwrap(), errors(&output))
}

fn score(rows: &[Value], name: &str, score: &str) -> f64 {
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}"))[score].as_f64().unwrap()
}

#[test]
fn forecasts_need_no_training_table_and_find_columns_by_their_titles() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (live, same, permuted, renamed) =
        (path("live.csv"), path("same.csv"), path("permuted.csv"), path("renamed.csv"));
    table(&live, &TITLES, 0.0, 0..400);
    table(&same, &TITLES, 0.0, 0..400);
    table(&permuted, &PERMUTED, 0.0, 0..400);
    table(&renamed, &["time", "power", "volt", "oil"], 0.0, 0..400);
    let out = path("run");
    train_forecaster(&live, &out, &["model.settings={individual=true}"]);
    let forecast = predicted(&out, &same);
    assert_eq!(forecast[0], "row,load,volt,oil");
    let mse = score(&evaluation(&out), "learned", "mse");

    // The same values by other columns.
    assert_eq!(predicted(&out, &permuted), forecast);
    for data in [&same, &permuted] {
        assert_eq!(score(&evaluated(&out, &["--data", text(data)]).0, "learned", "mse"), mse, "{}", data.display());
    }
    let refused = run(&["eval", text(&out), "--data", text(&renamed)]);
    assert!(!refused.status.success() && errors(&refused).contains("renamed.csv: it has no column `load`"));

    table(&live, &PERMUTED, 50.0, 7..407);
    assert_eq!(predicted(&out, &same), forecast, "the training table has changed");
    fs::remove_file(&live).unwrap();
    assert_eq!(predicted(&out, &same), forecast, "the training table is gone");
    assert_eq!(score(&evaluated(&out, &["--data", text(&permuted)]).0, "learned", "mse"), mse);
}

#[test]
fn a_great_offset_does_not_change_forecasts() {
    let folder = tempfile::tempdir().unwrap();
    let of = |offset: f64| {
        let (data, out) = (folder.path().join(format!("{offset}.csv")), folder.path().join(format!("run{offset}")));
        table(&data, &TITLES[..2], offset, 0..400);
        train_forecaster(&data, &out, &[]);
        let values = predicted(&out, &data)[1..].to_vec();
        let value = |row: &String| row.split(',').nth(1).unwrap().parse::<f64>().unwrap() - offset;
        let rows = evaluation(&out);
        let scores = ["ridge regression", "learned"].map(|name| score(&rows, name, "mse"));
        (values.iter().map(value).collect::<Vec<_>>(), scores)
    };
    let (expected, scores) = of(0.0);
    for offset in [1e7, 1e9] {
        let (found, of_offset) = of(offset);
        assert!(expected.iter().zip(&found).all(|(a, b)| (a - b).abs() < 1e-3), "{found:?} and not {expected:?}");
        assert!(
            scores.iter().zip(&of_offset).all(|(a, b)| (a - b).abs() < 1e-3 * a),
            "{of_offset:?} and not {scores:?}"
        );
    }
}

#[test]
fn times_that_rows_do_not_follow_are_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let (data, out) = (folder.path().join("x.csv"), folder.path().join("run"));
    let noted = |rows: Vec<usize>, name: &str| {
        table(&data, &TITLES, 0.0, rows);
        let noted = train_forecaster(&data, &folder.path().join(name), &[]);
        let lines: Vec<_> = noted.lines().filter(|line| line.contains("are taken for evenly spaced")).collect();
        assert!(lines.len() <= 1, "{noted}");
        lines.concat()
    };
    assert_eq!(noted((0..400).collect(), "run"), "");
    let gap = noted((0..403).filter(|row| !(100..103).contains(row)).collect(), "gap");
    assert!(gap.contains("x.csv") && gap.contains("missing before row 101"), "{gap}");
    let output = run(&["predict", text(&out), text(&data), "--out", text(&folder.path().join("out.csv"))]);
    assert!(errors(&output).contains("missing before row 101"), "{}", errors(&output));
    let falling = noted((0..400).rev().collect(), "falling");
    assert!(falling.contains("not evenly spaced"), "{falling}");
}

#[test]
fn the_period_of_a_baseline_is_at_most_the_look_back() {
    let folder = tempfile::tempdir().unwrap();
    let (data, out) = (folder.path().join("x.csv"), folder.path().join("run"));
    table(&data, &TITLES, 0.0, 0..400);
    train_forecaster(&data, &out, &["data.look_back=10", "model.settings={cut_off=4}"]);
    let rows = evaluation(&out);
    assert!(
        rows.iter().any(|row| row["name"] == "last 10 rows") && !rows.iter().any(|row| row["name"] == "last 24 rows")
    );
}

/// Recordings of a label: tones of a frequency of its own, as many as `count`.
fn tones(folder: &Path, label: &str, count: usize) {
    fs::create_dir_all(folder).unwrap();
    let frequency = f64::from(label.as_bytes()[0] % 8 + 1) * 0.05;
    for number in 0..count as i32 {
        tone(&folder.join(format!("{label}_{number}.wav")), frequency, number..number + 512);
    }
}

/// A recording of these samples of a tone.
fn tone(path: &Path, frequency: f64, samples: Range<i32>) {
    let format = hound::SampleFormat::Float;
    let spec = hound::WavSpec { channels: 1, sample_rate: 8000, bits_per_sample: 32, sample_format: format };
    let mut wav = hound::WavWriter::create(path, spec).unwrap();
    samples.for_each(|sample| wav.write_sample((f64::from(sample) * frequency).sin() as f32).unwrap());
    wav.finalize().unwrap();
}

/// Trains a small classifier on folders in `folder`.
fn train_classifier(folder: &Path, out: &Path, settings: &[&str]) -> String {
    let data = format!("data.recordings={{ train = \"{0}/train\", test = \"{0}/test\" }}", folder.display());
    let mut arguments = vec!["../configs/classification-synthetic.toml", "--out", text(out), "--steps", "30"];
    let small = [&data, "data.samples=512", "model={ name = \"log_mel_tiny\" }"];
    arguments.extend(small.iter().chain(settings).flat_map(|setting| ["--set", setting]));
    let output = run(&arguments);
    assert!(output.status.success(), "{}", errors(&output));
    errors(&output)
}

#[test]
fn classes_of_an_evaluation_are_those_of_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let (train, test, out) = (folder.path().join("train"), folder.path().join("test"), folder.path().join("run"));
    for label in ["a", "b", "c"] {
        tones(&train, label, 8);
    }
    tones(&test, "b", 4);
    tones(&test, "c", 4);
    train_classifier(folder.path(), &out, &[]);
    let accuracy = score(&evaluation(&out), "learned", "accuracy");
    let change = |message: &str| {
        let refused = run(&["eval", text(&out)]);
        assert_eq!(refused.status.code(), Some(2), "{}", errors(&refused));
        assert!(errors(&refused).contains(message), "{}", errors(&refused));
        let (rows, said) = evaluated(&out, &["--data", text(&test)]);
        assert_eq!(score(&rows, "learned", "accuracy"), accuracy);
        assert!(said.contains("no most frequent class and linear classifier beside the models"), "{said}");
        assert_eq!(rows.len(), 1);
    };
    tones(&train, "aa", 3);
    change("training files have the labels a, aa, b, c, and had a, b, c");
    for label in ["a", "aa"] {
        (0..8).for_each(|number| drop(fs::remove_file(train.join(format!("{label}_{number}.wav")))));
    }
    change("training files have the labels b, c, and had a, b, c");
}

#[test]
fn baselines_of_other_data_are_those_of_the_training_data() {
    let folder = tempfile::tempdir().unwrap();
    let (train, test, out) = (folder.path().join("train"), folder.path().join("test"), folder.path().join("run"));
    tones(&train, "a", 4);
    tones(&train, "z", 12);
    tones(&test, "a", 2);
    tones(&test, "z", 6);
    train_classifier(folder.path(), &out, &[]);
    let (own, (other, _)) = (evaluation(&out), evaluated(&out, &["--data", text(&test)]));
    for name in ["most frequent class", "linear, log-mel bands", "learned"] {
        for of in ["accuracy", "balanced_accuracy"] {
            assert_eq!(score(&own, name, of), score(&other, name, of), "{name}, {of}");
        }
    }
    assert_eq!(score(&own, "most frequent class", "accuracy"), 0.75);
    // Each class of the examples counts once, whatever others the model has.
    fs::remove_dir_all(&test).unwrap();
    tones(&test, "z", 6);
    let (one, _) = evaluated(&out, &["--data", text(&test)]);
    assert_eq!(score(&one, "most frequent class", "balanced_accuracy"), 1.0);
}

#[test]
fn labels_that_are_whole_names_and_files_without_samples_are_said() {
    let folder = tempfile::tempdir().unwrap();
    for class in ["train/a", "train/b", "train/c", "test"] {
        fs::create_dir_all(folder.path().join(class)).unwrap();
        (0..4).for_each(|number| tone(&folder.path().join(format!("{class}/rec{number}.wav")), 0.1, 0..512));
    }
    tone(&folder.path().join("train/empty.wav"), 0.1, 0..0);
    let said = train_classifier(folder.path(), &folder.path().join("run"), &[]);
    assert!(said.contains("no file's name has data.separator, `_`: whole names are the labels"), "{said}");
    assert!(said.contains("1 of 13 recordings are left out: ") && said.contains("empty.wav"), "{said}");
}

#[test]
fn an_output_never_replaces_an_input() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (live, other, out) = (path("live.csv"), path("other.csv"), path("run"));
    table(&live, &TITLES, 0.0, 0..400);
    table(&other, &TITLES, 0.0, 0..400);
    train_forecaster(&live, &out, &[]);
    let model = out.join("model/model.safetensors");
    let refused = |arguments: &[&str], replaced: &Path| {
        let before = fs::read(replaced).unwrap();
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", errors(&output));
        assert!(
            errors(&output).contains("an input or a part of the run, and would be replaced"),
            "{}",
            errors(&output)
        );
        assert!(fs::read(replaced).unwrap() == before, "{arguments:?}");
    };
    let (run_folder, other) = (text(&out), text(&other));
    for replaced in
        [&live, &model, &out.join("config.toml"), &out.join("evaluation.json"), &out.join("model/channels.json")]
    {
        refused(&["eval", run_folder, "--json", text(replaced)], replaced);
        refused(&["export", run_folder, "--onnx", text(replaced)], replaced);
    }
    for replaced in [live.clone(), out.join("metrics.jsonl"), PathBuf::from(other)] {
        refused(&["predict", run_folder, other, "--out", text(&replaced)], &replaced);
        refused(&["eval", run_folder, "--data", other, "--json", text(&replaced)], &replaced);
    }
    // What earlier commands wrote is replaced, in the run's folder too.
    for _ in 0..2 {
        let onnx = out.join("model.onnx");
        let output = run(&["export", run_folder, "--onnx", text(&onnx)]);
        assert!(output.status.success(), "{}", errors(&output));
    }
}

#[test]
fn files_of_a_folder_of_recordings_are_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (train, test, out) = (folder.path().join("train"), folder.path().join("test"), folder.path().join("run"));
    for label in ["a", "b"] {
        tones(&train, label, 4);
        tones(&test, label, 2);
    }
    train_classifier(folder.path(), &out, &[]);
    for (replaced, data) in [(train.join("a_0.wav"), &[][..]), (test.join("b_1.wav"), &["--data", text(&test)])] {
        let output = run(&[&["eval", text(&out), "--json", text(&replaced)], data].concat());
        assert!(errors(&output).contains("would be replaced"), "{}", errors(&output));
        assert!(fs::read(&replaced).unwrap().starts_with(b"RIFF"));
    }
    // Outputs and inputs of other kinds.
    let input = text(&train);
    let refused = |input: &str, out_file: &str| errors(&run(&["predict", text(&out), input, "--out", out_file]));
    assert!(refused(input, "x.csv").contains("train: it is a folder: name the files in it"));
    assert!(refused(text(&train.join("a_0.wav")), "x.parquet").contains("the outputs are one table as CSV"));
}

#[test]
fn a_start_is_that_of_a_run_with_the_next_seed() {
    let folder = tempfile::tempdir().unwrap();
    let rmse = |seed: &str, starts: &str| {
        let out = folder.path().join(format!("{seed}-{starts}"));
        let (seed, starts) = (format!("seed={seed}"), format!("training.starts={starts}"));
        let mut arguments = vec!["../configs/transform-dct.toml", "--out", text(&out), "--steps", "1"];
        let settings = [&seed, &starts, "data.size=8", "training.round_after=1.0", "training.choose_after=1.0"];
        arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
        let output = run(&arguments);
        assert!(output.status.success(), "{}", errors(&output));
        score(&evaluation(&out), "learned", "rmse")
    };
    let alone = ["1", "2", "3"].map(|seed| rmse(seed, "1"));
    for starts in [2, 3] {
        let expected = alone[..starts].iter().copied().fold(f64::INFINITY, f64::min);
        let found = rmse("1", &starts.to_string());
        assert!((found - expected).abs() < 1e-6, "{starts} starts: {found}, and alone {alone:?}");
    }
}
