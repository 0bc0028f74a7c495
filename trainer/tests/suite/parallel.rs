//! Several devices: results do not depend on their number, checkpoints are interchangeable, and a failure ends the run.
//!
//! They are replicas of the CPU, or those that `FIREFLY_TRAIN_DEVICES` names, such as `cuda:0,cuda:1`: at least two.

mod failing;

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{errors, outcome, run, small_config, text};
use safetensors::SafeTensors;

/// Largest difference of a weight after 100 steps on two or three devices, relative to the largest weight of its
/// tensor. On CUDA, Burn multiplies matrices in TF32, whose values have ten bits, and chooses kernels by the shape.
fn tolerance() -> f32 {
    if device_lists()[0].starts_with("cuda") { 2e-2 } else { 1e-3 }
}

/// The devices to train on: one, two, and so on.
fn device_lists() -> Vec<String> {
    let named = std::env::var("FIREFLY_TRAIN_DEVICES").unwrap_or_else(|_| "cpu,cpu:1,cpu:2".into());
    let names: Vec<&str> = named.split(',').collect();
    assert!(names.len() >= 2, "FIREFLY_TRAIN_DEVICES={named}");
    (1..=names.len()).map(|count| names[..count].join(",")).collect()
}

/// Name and values of a tensor of weights.
type Weights = (String, Vec<f32>);

/// Trains a configuration for 100 steps on devices into a folder.
fn train(config: &Path, devices: &str, out: &Path, extra: &[&str]) -> Vec<Weights> {
    let arguments = [text(config), "--device", devices, "--out", text(out), "--steps", "100"];
    let output = run(&[&arguments[..], extra].concat());
    assert!(output.status.success(), "{devices}: {}", errors(&output));
    weights(out)
}

/// The weights of a finished run.
fn weights(out: &Path) -> Vec<Weights> {
    let bytes = fs::read(out.join("model/model.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let mut weights: Vec<_> = file.tensors().into_iter().map(|(name, tensor)| (name, values(tensor.data()))).collect();
    weights.sort_by(|a, b| a.0.cmp(&b.0));
    weights
}

fn values(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

/// Largest difference between weights, relative to the largest weight of the tensor.
fn difference(a: &[Weights], b: &[Weights]) -> f32 {
    assert!(!a.is_empty() && a.iter().map(|(name, _)| name).eq(b.iter().map(|(name, _)| name)));
    let largest = |values: &[f32]| values.iter().fold(0f32, |largest, value| largest.max(value.abs()));
    let of = |((_, a), (_, b)): (&Weights, &Weights)| {
        assert_eq!(a.len(), b.len());
        let differences: Vec<f32> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        largest(&differences) / largest(a).max(f32::MIN_POSITIVE)
    };
    a.iter().zip(b).map(of).fold(0.0, f32::max)
}

/// Losses of a run by step.
fn losses(out: &Path) -> Vec<f64> {
    let loss = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["loss"].as_f64().unwrap();
    fs::read_to_string(out.join("metrics.jsonl")).unwrap().lines().map(loss).collect()
}

fn shipped(name: &str) -> PathBuf {
    PathBuf::from(format!("../configs/{name}.toml"))
}

#[test]
fn results_do_not_depend_on_the_number_of_devices() {
    let folder = tempfile::tempdir().unwrap();
    let quick = ["--set", "schedule.validate_every=100", "--set", "data.generated.solver_points=256"];
    let configs = [
        (small_config(folder.path()), vec!["--set", "optimizer.accumulate=2", "--set", "optimizer.clip_norm=1.0"]),
        (shipped("operator-tiny"), quick.to_vec()),
        (shipped("forecasting-tiny"), vec![]),
        (shipped("denoising-tiny"), vec![]),
        // Whose layers are used in another order than that of the module.
        (shipped("denoising-tiny"), vec!["--set", "model.settings.profile=true"]),
        (shipped("transform-dft-8"), vec!["--set", "data.from=\"examples\""]),
        (shipped("transform-dft-8"), vec![]),
    ];
    let lists = device_lists();
    for (number, (config, extra)) in configs.iter().enumerate() {
        let name = config.display();
        let out = |run: &str| folder.path().join(format!("{number}-{run}"));
        let trained = lists.iter().map(|devices| train(config, devices, &out(devices), extra)).collect::<Vec<_>>();
        let one = &trained[0];
        let again = train(config, &lists[1], &out("again"), extra);
        let initial = train(
            config,
            &lists[0],
            &out("initial"),
            &[&extra[..], &["--set", "training.learning_rate=1e-30"]].concat(),
        );
        assert!(difference(&initial, one) > 1e-2, "{name}: the run changes no weight");
        assert_eq!(trained[1], again, "{name}: the same devices give the same bits");
        let differences: Vec<f32> = trained[1..].iter().map(|others| difference(one, others)).collect();
        println!("{name}: {differences:?}");
        assert!(differences.iter().all(|difference| *difference < tolerance()), "{name}: {differences:?}");
        let losses: Vec<Vec<f64>> = lists.iter().map(|devices| losses(&out(devices))).collect();
        assert!(losses[0].len() > 4 && losses.iter().all(|of| of.len() == losses[0].len()));
        for others in &losses[1..] {
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= f64::from(tolerance()) * a.abs().max(1e-3);
            assert!(losses[0].iter().zip(others).all(close), "{name}: {losses:?}");
        }
    }
}

#[test]
fn the_configuration_names_the_devices_and_the_command_line_overrides_them() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let device = |name: &str, extra: &[&str]| {
        let out = folder.path().join(name);
        let output = run(&[&[text(&config), "--out", text(&out), "--steps", "2"], extra].concat());
        assert!(output.status.success(), "{}", errors(&output));
        let resolved = fs::read_to_string(out.join("config.toml")).unwrap();
        assert!(fs::read_to_string(out.join("report.html")).unwrap().contains("cpu"));
        resolved.lines().find(|line| line.starts_with("device =")).unwrap().to_string()
    };
    let two = ["--set", "devices=[\"cpu:0\", \"cpu:1\"]"];
    assert_eq!(device("list", &two), "device = \"cpu, cpu:1\"");
    assert_eq!(device("text", &["--set", "devices=\"cpu:0,cpu:1\""]), "device = \"cpu, cpu:1\"");
    assert_eq!(device("every", &["--set", "devices=cpu:*"]), "device = \"cpu\"");
    assert_eq!(device("option", &[&two[..], &["--device", "cpu"]].concat()), "device = \"cpu\"");
    assert_eq!(device("default", &[]), "device = \"cpu\"");
}

#[test]
fn devices_that_can_not_train_together_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let out = folder.path().join("run");
    let error_of = |config: &Path, extra: &[&str]| {
        let output = run(&[&[text(config), "--out", text(&out), "--steps", "2"], extra].concat());
        assert_eq!(output.status.code(), Some(2), "{extra:?}");
        errors(&output)
    };
    let error = error_of(&config, &["--device", "cpu,cpu:0"]);
    assert!(error.contains("device `cpu` is named twice"), "{error}");
    let error = error_of(&config, &["--set", "devices=[\"cpu:1\", \"cpu:1\"]"]);
    assert!(error.contains("device `cpu:1` is named twice"), "{error}");
    let error = error_of(&config, &["--set", "devices=[\"cpu\", \"cdua\"]"]);
    assert!(error.contains("devices: unknown device `cdua` (did you mean `cuda`?)"), "{error}");
    let error = error_of(&config, &["--device", "cpu,cuda"]);
    assert!(error.contains("of different kinds"), "{error}");
    let joining = shipped("classification-synthetic");
    let error = error_of(&joining, &["--device", "cpu,cpu:1", "--data", "synthetic"]);
    assert!(error.contains("devices is 2 devices, but must be a single device: "), "{error}");
    assert!(!out.exists(), "a run that can't start leaves no folder behind");
}

#[test]
fn a_device_without_rows_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let one_row = ["--set", "training.batch=1"];
    let lists = device_lists();
    let one = train(&config, &lists[0], &folder.path().join("one"), &one_row);
    let two = train(&config, &lists[1], &folder.path().join("two"), &one_row);
    assert!(difference(&one, &two) < tolerance(), "{}", difference(&one, &two));
}

#[test]
fn a_run_that_stopped_on_two_devices_resumes_on_one_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let average = ["--set", "optimizer.average_decay=0.9"];
    let lists = device_lists();
    let (single, pair) = (lists[0].as_str(), lists[1].as_str());
    let one = train(&config, single, &folder.path().join("one"), &average);
    for (name, first, second) in [("less", pair, single), ("more", single, pair)] {
        let out = folder.path().join(name);
        train(&config, first, &out, &average);
        let whole = outcome(&out);
        // The run as it was at its next to last checkpoint.
        fs::remove_dir_all(out.join("model")).unwrap();
        fs::remove_file(out.join("report.html")).unwrap();
        fs::remove_dir_all(out.join("checkpoints/step-00000100")).unwrap();
        let arguments = [text(&config), "--out", text(&out), "--steps", "100", "--resume", "--device", second];
        let output = run(&[&arguments[..], &average].concat());
        assert!(output.status.success(), "{}", errors(&output));
        let messages = errors(&output);
        assert!(messages.contains("resuming at step 98"), "{messages}");
        assert!(messages.contains("the run was started on "), "{messages}");
        let resumed = weights(&out);
        assert!(difference(&one, &resumed) < tolerance(), "{name}: {}", difference(&one, &resumed));
        assert_eq!(outcome(&out).1.len(), whole.1.len(), "lines of metrics");
    }
}

#[test]
fn predictions_do_not_depend_on_the_number_of_devices() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("tones.csv");
    let sample = |index: u32| format!("{}\n", (f64::from(index) * 0.3).sin() + (f64::from(index * index) * 0.01).cos());
    fs::write(&recording, (0..40_000).map(sample).collect::<String>()).unwrap();
    let peaks = small_config(folder.path());
    for (config, extra) in [(peaks, vec![]), (shipped("classification-synthetic"), vec!["--steps", "2"])] {
        let out = folder.path().join("run");
        let arguments = [&[text(&config), "--out", text(&out)][..], &extra].concat();
        let output = run(&arguments);
        assert!(output.status.success(), "{}", errors(&output));
        let predicted = |devices: &str| {
            let table = folder.path().join(format!("{devices}.csv"));
            let input = text(&recording);
            let output = run(&["predict", text(&out), input, input, "--out", text(&table), "--device", devices]);
            assert!(output.status.success(), "{}", errors(&output));
            fs::read_to_string(table).unwrap()
        };
        let one = predicted("cpu");
        assert!(one.lines().count() > 2, "{one}");
        assert_eq!(predicted("cpu,cpu:1"), one);
        assert_eq!(predicted("cpu:*"), one);
        fs::remove_dir_all(&out).unwrap();
    }
}
