//! Run folders with damaged, foreign or missing files, and sizes that do not fit into memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::common::{errors, firefly_train, outcome, run, small_config, text};

/// A finished run of 30 steps with checkpoints at 28 and 30.
struct Finished {
    folder: tempfile::TempDir,
    config: PathBuf,
}

impl Finished {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = small_config(folder.path());
        let finished = Self { folder, config };
        let output = run(&[text(&finished.config), "--out", text(&finished.path("whole"))]);
        assert!(output.status.success(), "{}", errors(&output));
        finished
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A copy of the run as a process that was killed after its last checkpoint leaves it.
    fn killed(&self, name: &str) -> PathBuf {
        let copy = self.path(name);
        copy_folder(&self.path("whole"), &copy);
        fs::remove_dir_all(copy.join("model")).unwrap();
        fs::remove_file(copy.join("report.html")).unwrap();
        copy
    }

    fn resume(&self, run_folder: &Path) -> Output {
        run(&[text(&self.config), "--out", text(run_folder), "--resume"])
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() {
            copy_folder(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}

fn flip_a_bit(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).unwrap();
}

fn assert_refused(output: &Output, parts: &[&str]) {
    let text = errors(output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    for part in parts {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
}

#[test]
fn a_damaged_checkpoint_is_set_aside_and_the_one_before_gives_the_same_bits() {
    let finished = Finished::new();
    let expected = outcome(&finished.path("whole"));
    let files = ["model-30.bpk", "optimizer-30.bpk", "scheduler-30.bpk", "state.json", "manifest.json"];
    for file in files {
        let out = finished.killed(&format!("damaged-{file}"));
        flip_a_bit(&out.join("checkpoints/step-00000030").join(file));
        let output = finished.resume(&out);
        assert!(output.status.success(), "{file}: {}", errors(&output));
        assert!(errors(&output).contains("the one before is used"), "{}", errors(&output));
        // A changed hash in the manifest is that of another file.
        let named = file == "manifest.json" || errors(&output).contains(file);
        assert!(named, "{}", errors(&output));
        assert!(errors(&output).contains("resuming at step 28"), "{}", errors(&output));
        assert!(out.join("checkpoints/damaged-00000030").exists());
        assert!(outcome(&out) == expected, "{file}: other bits");
    }
}

#[test]
fn files_of_another_step_or_kind_are_not_taken_for_a_checkpoints_own() {
    let finished = Finished::new();
    let expected = outcome(&finished.path("whole"));
    for (from, to) in [
        ("step-00000030/model-30.bpk", "step-00000030/optimizer-30.bpk"),
        ("step-00000030/optimizer-30.bpk", "step-00000030/scheduler-30.bpk"),
        ("step-00000028/optimizer-28.bpk", "step-00000030/optimizer-30.bpk"),
        ("step-00000028/state.json", "step-00000030/state.json"),
        ("step-00000028/manifest.json", "step-00000030/manifest.json"),
    ] {
        let out = finished.killed(&to.replace('/', "-"));
        fs::copy(out.join("checkpoints").join(from), out.join("checkpoints").join(to)).unwrap();
        let output = finished.resume(&out);
        assert!(output.status.success(), "{from}: {}", errors(&output));
        assert!(errors(&output).contains("resuming at step 28"), "{}", errors(&output));
        assert!(outcome(&out) == expected, "{from}: other bits");
        fs::remove_dir_all(out).unwrap();
    }
}

#[test]
fn a_run_without_an_undamaged_checkpoint_is_refused_and_left_as_it_is() {
    let finished = Finished::new();
    let out = finished.killed("lost");
    for step in [28, 30] {
        fs::remove_file(out.join(format!("checkpoints/step-000000{step}/state.json"))).unwrap();
    }
    assert_refused(&finished.resume(&out), &["none of the checkpoints", "state.json is missing", "--out"]);
    assert!(out.join("checkpoints/step-00000028").exists() && out.join("checkpoints/step-00000030").exists());
}

/// A kind of damage to a file, by its name.
type Damage = (&'static str, fn(&Path));

#[test]
fn damaged_metrics_do_not_stop_a_run() {
    let finished = Finished::new();
    let weights = outcome(&finished.path("whole")).0;
    let damages: [Damage; 3] = [
        ("missing", |path| fs::remove_file(path).unwrap()),
        ("cut", |path| fs::write(path, &fs::read(path).unwrap()[..300]).unwrap()),
        ("no text", |path| fs::write(path, b"\xff\xfe\n".repeat(1000)).unwrap()),
    ];
    for (name, damage) in damages {
        let out = finished.killed(name);
        damage(&out.join("metrics.jsonl"));
        let output = finished.resume(&out);
        assert!(output.status.success(), "{name}: {}", errors(&output));
        assert!(errors(&output).contains("metrics.jsonl is damaged"), "{name}: {}", errors(&output));
        assert!(outcome(&out).0 == weights, "{name}: other weights");
    }
}

#[test]
fn a_run_that_starts_over_says_so() {
    let finished = Finished::new();
    let out = finished.killed("no-checkpoints");
    fs::remove_dir_all(out.join("checkpoints")).unwrap();
    let output = finished.resume(&out);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(errors(&output).contains("no checkpoint yet"), "{}", errors(&output));
    assert!(outcome(&out) == outcome(&finished.path("whole")));
}

/// Replaces a text in a file; in the header of a model's file, whose length precedes it, and which then has no checksum.
fn replace(path: &Path, from: &str, to: &str) {
    let bytes = fs::read(path).unwrap();
    let start = if path.ends_with("model.safetensors") { 8 } else { 0 };
    let (length, rest) = bytes.split_at(start);
    let length = length.try_into().map_or(rest.len(), |length| u64::from_le_bytes(length) as usize);
    let (header, rest) = rest.split_at(length);
    let header = str::from_utf8(header).unwrap();
    assert!(header.contains(from), "{header}");
    let header = header.replacen(from, to, 1);
    let header = match header.split_once("\"sha256\":\"") {
        // Without the digits, a quotation mark and a comma.
        Some((before, behind)) => format!("{before}{}", &behind[66..]),
        None => header,
    };
    let length = (header.len() as u64).to_le_bytes();
    fs::write(path, [&length[..start], header.as_bytes(), rest].concat()).unwrap();
}

#[test]
fn a_model_of_another_configuration_is_not_evaluated() {
    let finished = Finished::new();
    let out = finished.path("whole");
    let (model, config) = (out.join("model/model.safetensors"), out.join("config.toml"));
    for (path, from, to, difference) in [
        (&model, r#"\"k\":4"#, r#"\"k\":2"#, "its k is 2, the run's 4"),
        (&model, r#"\"k\":4"#, r#"\"k\":8"#, "its k is 8, the run's 4"),
        (&model, r#"\"hop\":16"#, r#"\"hop\":8"#, "its hop is 8, the run's 16"),
        (&model, r#"\"power\""#, r#"\"spectrum\""#, "its scaling is \"spectrum\""),
        (&config, "window = \"hann\"", "window = \"blackman\"", "its window is \"hann\", the run's \"blackman\""),
        (&config, "n_fft = 32", "n_fft = 64", "its n_fft is 32, the run's 64"),
    ] {
        let before = fs::read(path).unwrap();
        replace(path, from, to);
        assert_refused(&run(&["eval", text(&out)]), &["is not the model of this run", difference]);
        fs::write(path, before).unwrap();
    }
    assert!(run(&["eval", text(&out)]).status.success());
}

#[test]
fn damaged_files_of_a_finished_run_are_said_to_be_damaged() {
    let finished = Finished::new();
    let out = finished.path("whole");
    let (model, config) = (out.join("model/model.safetensors"), out.join("config.toml"));
    let whole = fs::read(&model).unwrap();
    let refused = |part: &str| assert_refused(&run(&["eval", text(&out)]), &[part]);
    for length in [0, 100, whole.len() - 1] {
        fs::write(&model, &whole[..length]).unwrap();
        refused("model.safetensors: damaged or cut short: ");
    }
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    fs::write(&model, flipped).unwrap();
    refused("model.safetensors: damaged: its SHA-256 is not that of what was written");
    fs::write(&model, whole).unwrap();
    fs::write(&config, "x").unwrap();
    refused("config.toml: damaged: ");
}

#[test]
fn recordings_that_can_not_be_evaluated_leave_no_run() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let (data, out) = (folder.path().join("recordings"), folder.path().join("run"));
    fs::create_dir(&data).unwrap();
    for index in 0..4 {
        write_recording(&data.join(format!("{index}.wav")), 0.1 + 0.3 * index as f32);
    }
    let spec =
        hound::WavSpec { channels: 1, sample_rate: 8000, bits_per_sample: 16, sample_format: hound::SampleFormat::Int };
    let mut silent = hound::WavWriter::create(data.join("4-test.wav"), spec).unwrap();
    (0..4000).for_each(|_| silent.write_sample(0i16).unwrap());
    silent.finalize().unwrap();
    let sets = ["data.recordings.train=\"recordings\"", "data.recordings.test_suffixes=[\"test\"]"];
    let arguments =
        [text(&config), "--data", text(folder.path()), "--set", sets[0], "--set", sets[1], "--out", text(&out)];
    assert_refused(&run(&arguments), &["recordings (test files): no frame has power"]);
    assert!(!out.exists(), "a run that is refused for its data leaves a folder");
    write_recording(&data.join("4-test.wav"), 2.0);
    assert!(run(&arguments).status.success());
}

#[test]
fn sizes_that_do_not_fit_are_refused_before_they_are_allocated() {
    let finished = Finished::new();
    let out = finished.path("new");
    let frame = finished.path("frame.toml");
    fs::write(&frame, "[model]\nn_fft=65536\nhop=65536\nsegments=65536\n[training]\nsteps=1\n").unwrap();
    let refused = |set: &str, key: &str| {
        assert_refused(&run(&[text(&finished.config), "--out", text(&out), "--set", set]), &[key]);
    };
    assert_refused(&run(&[text(&frame), "--out", text(&out)]), &["model.segments is 65536"]);
    refused("model.hop=1099511627776", "model.hop is 1099511627776, but must be at most");
    refused("model.hop=4611686018427387904", "model.hop is");
    refused("training.batch=1048577", "training.batch is 1048577");
    refused("data.synthetic_frames=1000000000000000", "data.synthetic_frames is");
    refused("training.steps=9223372036854775807", "training.steps is");
    assert!(!out.exists(), "a run that can't start leaves no folder behind");

    let config = finished.path("whole").join("config.toml");
    let before = fs::read_to_string(&config).unwrap();
    for (from, to) in [
        ("hop = 16", "hop = 4611686018427387904"),
        ("synthetic_frames = 24", "synthetic_frames = 1000000000000000"),
        ("synthetic_frames = 24", "synthetic_frames = 4611686018427387904"),
    ] {
        fs::write(&config, before.replacen(from, to, 1)).unwrap();
        let key = to.split(' ').next().unwrap();
        assert_refused(&run(&["eval", text(&finished.path("whole"))]), &["config.toml: ", key]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_address_space_counts_as_memory() {
    let finished = Finished::new();
    let program = env!("CARGO_BIN_EXE_firefly-train");
    let command = format!(
        "ulimit -v 4000000; exec {program} {} --set data.synthetic_frames=1048576 --set model.segments=64 --out {}",
        text(&finished.config),
        text(&finished.path("new"))
    );
    let output = std::process::Command::new("sh").args(["-c", &command]).env_remove("FIREFLY_DATA").output().unwrap();
    assert_refused(&output, &["data.synthetic_frames is 1048576, but must be small enough for"]);
}

#[test]
fn a_resumed_run_in_the_default_folder_is_the_one_that_was_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let train = |extra: &[&str]| {
        let arguments = [&[text(&config)][..], extra].concat();
        let output = firefly_train(&arguments).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", errors(&output));
        errors(&output)
    };
    let runs = folder.path().join("runs");
    train(&["--steps", "20"]);
    fs::remove_file(runs.join("small/report.html")).unwrap();
    train(&["--steps", "10"]);
    assert!(train(&["--steps", "20", "--resume"]).contains("resuming at step 20"));
    assert!(runs.join("small/report.html").exists());
    // A run that was removed leaves a gap.
    fs::remove_dir_all(runs.join("small")).unwrap();
    assert!(train(&["--steps", "10", "--resume"]).contains("resuming at step 10"));
    assert!(!runs.join("small").exists());
}

#[test]
fn a_sweep_whose_key_is_lost_continues() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let out = folder.path().join("sweep");
    let sweep = |over: &str| run(&["sweep", text(&config), "--over", over, "--steps", "4", "--out", text(&out)]);
    assert!(sweep("loss.price=0,0.2").status.success());
    for damaged in [&b"garbage"[..], b"\xff"] {
        fs::write(out.join("sweep.key"), damaged).unwrap();
        let output = sweep("loss.price=0,0.2");
        assert!(output.status.success(), "{}", errors(&output));
        assert_eq!(fs::read_to_string(out.join("sweep.key")).unwrap(), "loss.price");
    }
    assert_refused(&sweep("loss.log_power=0,0.2"), &["holds a sweep over loss.price"]);
    assert_refused(&sweep("name=\"a b\",\"a-b\""), &["would share the folder name--a-b-"]);
    assert_refused(&run(&["eval", text(&out)]), &["is the folder of a sweep", "price-0, price-0.2"]);
}

fn write_recording(path: &Path, frequency: f32) {
    let spec =
        hound::WavSpec { channels: 1, sample_rate: 8000, bits_per_sample: 16, sample_format: hound::SampleFormat::Int };
    let mut wav = hound::WavWriter::create(path, spec).unwrap();
    for i in 0..4000 {
        wav.write_sample((9000.0 * (frequency * i as f32).sin() + (i * 7919 % 2003) as f32) as i16).unwrap();
    }
    wav.finalize().unwrap();
}

#[test]
fn a_run_does_not_resume_on_other_recordings() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let (data, out) = (folder.path().join("recordings"), folder.path().join("run"));
    fs::create_dir(&data).unwrap();
    for index in 0..4 {
        write_recording(&data.join(format!("{index}.wav")), 0.1 + 0.3 * index as f32);
    }
    let set = "data.recordings.train=\"recordings\"";
    let arguments = [text(&config), "--data", text(folder.path()), "--set", set, "--out", text(&out)];
    let output = run(&arguments);
    assert!(output.status.success(), "{}", errors(&output));
    let resume = || run(&[&arguments[..], &["--resume"]].concat());
    assert!(resume().status.success());
    write_recording(&data.join("more.wav"), 2.0);
    assert_refused(&resume(), &["the recordings are not those that the run was started with"]);
    fs::remove_file(data.join("more.wav")).unwrap();
    assert!(resume().status.success());
    write_recording(&data.join("0.wav"), 0.11);
    assert_refused(&resume(), &["the recordings are not those that the run was started with"]);
}
