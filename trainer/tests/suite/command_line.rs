//! Commands of `firefly-train`: their files, their output and their errors.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::{errors, exported, run, small_config, text};

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
    for file in ["config.toml", "metrics.jsonl", "model/model.safetensors", "evaluation.json"] {
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
    // Of each data set, exact estimates of one to eight adjacent and two to seven spread segments, and the learned one.
    assert_eq!(rows.as_array().unwrap().len(), 2 * 15);
    assert_eq!(rows[7]["name"], "reference");
    assert_eq!(rows[7]["recall"], 1.0);
    assert_eq!([&rows[10]["name"], &rows[10]["kind"]], ["4 segments, spread", "spread"]);
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
    assert!(error_of(&["--set", "model.window=kaiser"]).contains("it needs parameters, as in { kaiser = "));
    assert!(error_of(&["--set", "nonsense"]).contains("expected section.key=value"));
    assert!(error_of(&["--device", "gpu"]).contains("devices are auto, cpu"));
    #[cfg(not(feature = "cuda"))]
    assert!(error_of(&["--device", "cuda"]).contains("build again with `--features cuda`"));
    assert!(error_of(&["--data", "/nowhere", "--set", "data.recordings.train=\"x\""]).contains("/nowhere/x"));
    assert!(error_of(&["--set", "data.synthetic.snr_db=[9.0, 1.0]"]).contains("data.synthetic.snr_db is"));
    assert!(error_of(&["--set", "training.learn=[\"gain\"]"]).contains("loss.price is 0.1"));
    assert!(!out.exists(), "a run that can't start leaves no folder behind");
    let missing = run(&["no-such.toml"]);
    assert!(errors(&missing).contains("no-such.toml"), "{}", errors(&missing));
    let command = run(&["run", text(&config)]);
    assert!(errors(&command).contains("run: there is no such file"), "{}", errors(&command));
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

/// Writes a recording of floats at 8 kHz.
fn write_wav(path: &Path, samples: impl IntoIterator<Item = f32>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let format = hound::SampleFormat::Float;
    let spec = hound::WavSpec { channels: 1, sample_rate: 8000, bits_per_sample: 32, sample_format: format };
    let mut wav = hound::WavWriter::create(path, spec).unwrap();
    samples.into_iter().for_each(|sample| wav.write_sample(sample).unwrap());
    wav.finalize().unwrap();
}

/// Samples that look random, within [-1, 1].
fn noise(length: i64) -> impl Iterator<Item = f32> {
    (0..length).map(|i| (i * i * 7919 % 20_011 - 10_005) as f32 / 10_006.0)
}

#[test]
fn a_recording_whose_power_overflows_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    for name in ["a", "b", "c"] {
        write_wav(&folder.path().join(format!("data/{name}.wav")), noise(2000));
    }
    let loud = noise(2000).enumerate().map(|(i, sample)| if i == 77 { 1e30 } else { sample });
    write_wav(&folder.path().join("data/loud.wav"), loud);
    let (out, data) = (folder.path().join("run"), text(folder.path()));
    let output = run(&[text(&config), "--out", text(&out), "--data", data, "--set", "data.recordings.train=data"]);
    let error = errors(&output);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("data/loud.wav: sample 77 of channel 0 is 1e30"), "{error}");
    assert!(!out.exists(), "a run that can't start leaves no folder behind");
}

#[test]
fn an_evaluation_takes_folders_with_commas_and_says_what_it_leaves_out() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let (out, data) = (folder.path().join("run"), folder.path().join("com,ma"));
    assert!(run(&[text(&config), "--out", text(&out), "--steps", "4"]).status.success());
    write_wav(&data.join("long.wav"), noise(2000));
    write_wav(&data.join("short.wav"), noise(100));
    let output = run(&["eval", text(&out), "--data", text(&data), "--data", "tones,noise"]);
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(["com,ma\n", "tones\n", "noise\n"].iter().all(|set| table.contains(set)), "{table}");
    assert!(errors(&output).contains("com,ma: 1 of 2 recordings are left out: "), "{}", errors(&output));
}

/// Evaluates a run on a recording of `bytes` of samples, a sparse file that no disk has to hold, under a limit of
/// `ulimit`.
#[cfg(target_os = "linux")]
fn evaluate_limited(folder: &Path, bytes: u32, limit: &str) -> Output {
    let config = small_config(folder);
    let (out, data) = (folder.join("run"), folder.join("data"));
    assert!(run(&[text(&config), "--out", text(&out), "--steps", "4"]).status.success());
    write_wav(&data.join("a.wav"), noise(2000));
    let path = data.join("b.wav");
    write_wav(&path, noise(2000));
    let mut header = fs::read(&path).unwrap();
    let start = header.windows(4).position(|name| name == b"data").unwrap();
    header.truncate(start + 8);
    header[start + 4..].copy_from_slice(&bytes.to_le_bytes());
    fs::write(&path, &header).unwrap();
    let length = header.len() as u64 + u64::from(bytes);
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
    let program = env!("CARGO_BIN_EXE_firefly-train");
    let limited = format!("ulimit {limit}; exec {program} eval {} --data {}", text(&out), text(&data));
    Command::new("sh").args(["-c", &limited]).output().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn recordings_that_do_not_fit_into_memory_are_evaluated() {
    let folder = tempfile::tempdir().unwrap();
    // 400 MB of samples, more than the limit.
    let output = evaluate_limited(folder.path(), 400_000_000, "-d 350000");
    assert!(output.status.success(), "{}", errors(&output));
}

#[cfg(target_os = "linux")]
#[test]
fn recordings_that_do_not_fit_into_the_address_space_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let output = evaluate_limited(folder.path(), 2_000_000_000, "-v 1500000");
    let error = errors(&output);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(
        error.contains("b.wav: it does not fit into memory, and a temporary file for its samples failed"),
        "{error}"
    );
}

#[test]
fn missing_data_are_refused_and_generated_data_replace_them_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("a.toml");
    fs::write(&config, "[model]\nn_fft = 64\nk = 4\n[data.recordings]\ntrain = \"data\"\n").unwrap();
    let out = folder.path().join("run");
    let train = |options: &[&str]| {
        let output = run(&[&[text(&config), "--out", text(&out), "--steps", "2"], options].concat());
        (output.status.code(), errors(&output))
    };
    for (options, missing) in [(&["--set", "data.recordings.train=typo"][..], "typo"), (&[], "data")] {
        let (code, error) = train(options);
        assert_eq!(code, Some(2), "{error}");
        assert!(
            error.contains(&format!("{missing} is not in this folder: --data DIR or FIREFLY_DATA names")),
            "{error}"
        );
    }
    assert!(!out.exists(), "a run that can't start leaves no folder behind");
    let (code, error) = train(&["--data", "synthetic"]);
    assert_eq!(code, Some(0), "{error}");
}

#[test]
fn silent_frames_do_not_count_in_an_evaluation() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let out = folder.path().join("run");
    assert!(run(&[text(&config), "--out", text(&out), "--steps", "4"]).status.success());
    write_wav(&folder.path().join("half-silent.wav"), std::iter::repeat_n(0.0, 1440).chain(noise(2880).skip(1440)));
    let json = folder.path().join("rows.json");
    let output = run(&["eval", text(&out), "--data", text(folder.path()), "--json", text(&json)]);
    assert!(output.status.success(), "{}", errors(&output));
    let rows: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert!(rows[0]["median_power_error_db"].is_f64() && rows[0]["recall"].as_f64().unwrap() < 0.9, "{rows}");
}

#[test]
fn predictions_of_recordings_are_written_as_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let (out, recording) = (folder.path().join("run"), folder.path().join("a.wav"));
    assert!(run(&[text(&config), "--out", text(&out), "--steps", "4"]).status.success());
    assert!(exported(&out).contains("[batch, k]: their power"));
    write_wav(&recording, noise(300));
    let table = folder.path().join("peaks.csv");
    let output = run(&["predict", text(&out), text(&recording), "--out", text(&table)]);
    assert!(output.status.success(), "{}", errors(&output));
    let table = fs::read_to_string(table).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    // Frames of 144 samples with four peaks each.
    assert_eq!((lines[0], lines.len()), ("file,channel,frame,rank,bin,power", 1 + 2 * 4));
    let powers: Vec<f64> = lines[1..5].iter().map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect();
    assert!(powers.windows(2).all(|pair| pair[0] >= pair[1] && pair[1] > 0.0), "{powers:?}");
    let missing = run(&["predict", text(&out), "nowhere.wav", "--out", text(&folder.path().join("other.csv"))]);
    assert!(errors(&missing).contains("nowhere.wav"), "{}", errors(&missing));
}
