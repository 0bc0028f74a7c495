//! Every shipped configuration runs on generated data where that is wanted, and every key is documented.

use std::collections::BTreeMap;
use std::fs;

use crate::common::{errors, run, shipped_configs, small_config, text};
use firefly_trainer::config::reference::keys;
use firefly_trainer::config::{RunConfig, load};
use firefly_trainer::data::RecordingsConfig;
use firefly_trainer::run_folder::RunFolder;
use firefly_trainer::shipped::CONFIGURATIONS;
use firefly_trainer::task::Task;
use firefly_trainer::tasks::TaskName;
use firefly_trainer::tasks::classification::ClassificationConfig;
use firefly_trainer::tasks::denoising::DenoisingConfig;
use firefly_trainer::tasks::forecasting::ForecastingConfig;
use firefly_trainer::tasks::operator::{FieldFiles, OperatorConfig};
use firefly_trainer::tasks::peaks::{PeaksConfig, PeaksTask};
use firefly_trainer::tasks::transform::TransformConfig;
use firefly_trainer::with_task;
use toml::{Table, Value};

/// Settings of a shipped or new configuration whose generated data take long, for data that take seconds.
fn smaller(name: &str) -> Vec<&'static str> {
    let settings: &[&str] = match name {
        "denoising" | "denoising-speech" => &["data.synthetic_examples=8", "data.samples=2000", "training.batch=2"],
        "operator-burgers" | "operator-darcy3d" => &["data.generated.samples=8", "data.generated.test_samples=2"],
        _ => &[],
    };
    settings.iter().flat_map(|setting| ["--set", setting]).collect()
}

#[test]
fn every_shipped_configuration_runs_on_synthetic_signals() {
    let folder = tempfile::tempdir().unwrap();
    for config in shipped_configs() {
        let name = config.file_stem().unwrap().to_string_lossy().into_owned();
        let out = folder.path().join(&name);
        let content = fs::read_to_string(&config).unwrap();
        let names_files = ["[data.recordings]", "[data.files]", "\nfile = "].iter().any(|key| content.contains(key));
        let arguments = [text(&config), "--out", text(&out), "--steps", "3"];
        let generated = ["--data", "synthetic"];
        if names_files {
            let refused = run(&arguments);
            assert_eq!(refused.status.code(), Some(2), "{name}");
            assert!(errors(&refused).contains("is not in this folder: --data DIR"), "{name}: {}", errors(&refused));
        }
        let output = run(&[&arguments[..], if names_files { &generated } else { &[] }, &smaller(&name)].concat());
        assert!(output.status.success(), "{name}: {}", errors(&output));
        assert!(out.join("report.html").exists(), "{name}");
    }
}

/// Every key of a table by its path, with its value as TOML.
fn flatten(table: &Table, section: &str, keys: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        match value {
            Value::Table(inner) => flatten(inner, &format!("{section}{key}."), keys),
            value => _ = keys.insert(format!("{section}{key}"), value.to_string()),
        }
    }
}

/// Checks that the guide has every key of a task with its default. `without` are keys that a configuration may leave
/// out, with what the guide says of them.
fn assert_documented<T: Task>(config: RunConfig<T>, without: &[(&str, &str)]) {
    let mut expected = BTreeMap::new();
    flatten(&Table::try_from(config).unwrap(), "", &mut expected);
    // The guide has the default of a file that names no task.
    expected.insert("task".into(), "\"peaks\"".into());
    expected.insert("devices".into(), "none".into());
    expected.extend(without.iter().map(|(key, default)| (key.to_string(), default.to_string())));
    let documented = keys(T::NAME).into_iter().map(|key| match key.section.as_str() {
        "" => (key.key, key.default),
        section => (format!("{section}.{}", key.key), key.default),
    });
    assert_eq!(documented.collect::<BTreeMap<_, _>>(), expected, "{}", T::NAME);
}

#[test]
fn the_guide_has_every_key_with_its_default() {
    let mut config = PeaksConfig::default();
    config.data.recordings = Some(RecordingsConfig::new("bearing"));
    let of_model = [
        ("model.open_segments", "all"),
        ("model.gains", "one per bin"),
        ("model.band", "all bins"),
        ("model.taper", "window"),
        ("model.neighbour_gain", "0.018"),
        ("model.product_weight", "none"),
    ];
    let recordings = [
        ("data.recordings.train", "none"),
        ("data.recordings.test", "none"),
        ("data.recordings.test_suffixes", "none"),
        ("data.recordings.test_contains", "none"),
    ];
    let sources = ("data.sources", "none");
    let times = [("loss.price_device", "none"), ("loss.segment_times", "none")];
    assert_documented(config, &[&of_model[..], &recordings, &[sources], &times].concat());
    let length = [("training.steps", "none"), ("training.epochs", "10")];
    let settings = ("model.settings", "none");
    let mut config = ClassificationConfig::default();
    config.data.recordings = Some(RecordingsConfig::new("speech"));
    assert_documented(config, &[&length[..], &recordings, &[settings]].concat());
    let mut config = DenoisingConfig::default();
    config.data.recordings = Some(RecordingsConfig::new("speech"));
    assert_documented(config, &[&length[..], &recordings, &[settings, ("data.noise_folder", "none")]].concat());
    let mut config = OperatorConfig::default();
    config.data.files = Some(FieldFiles::new("fields.npz"));
    let files = [("data.files.x", "none"), ("data.files.y", "none"), ("data.generated.cache", "none")];
    assert_documented(config, &[&length[..], &[settings], &files].concat());
    assert_documented(TransformConfig::default(), &[&length[..], &[settings]].concat());
    assert_documented(ForecastingConfig::default(), &[&length[..], &[settings, ("data.file", "none")]].concat());
}

#[test]
fn new_configurations_have_every_key_and_are_trained() {
    let folder = tempfile::tempdir().unwrap();
    for task in TaskName::ALL {
        let output = run(&["new", task.as_str()]);
        assert!(output.status.success(), "{task}: {}", errors(&output));
        let template = String::from_utf8(output.stdout).unwrap();
        for key in keys(task) {
            let is_there = |line: &str| line.trim_start_matches("# ").starts_with(&format!("{} =", key.key));
            assert!(template.lines().any(is_there), "{task}: no {} in\n{template}", key.key);
        }
        let path = folder.path().join(format!("{task}.toml"));
        fs::write(&path, &template).unwrap();
        with_task!(task, T => {
            let loaded = load::<T>(&path, &["name=\"\"".into()], None).unwrap();
            assert_eq!(loaded, RunConfig { name: task.to_string(), ..RunConfig::<T>::default() }, "{task}");
        });
        let out = folder.path().join(task.as_str());
        let output = run(&[&[text(&path), "--out", text(&out), "--steps", "2"][..], &smaller(task.as_str())].concat());
        assert!(output.status.success(), "{task}: {}", errors(&output));
    }
    let unknown = run(&["new", "peeks"]);
    assert!(errors(&unknown).contains("did you mean `peaks`?"), "{}", errors(&unknown));
    let other = run(&["new", "peaks", "--model", "fits"]);
    assert!(errors(&other).contains("--model is fits, but must be learned_welch_peaks"), "{}", errors(&other));
}

#[test]
fn tasks_models_and_configurations_are_listed() {
    let output = run(&["list"]);
    assert!(output.status.success(), "{}", errors(&output));
    let list = String::from_utf8(output.stdout).unwrap();
    for task in TaskName::ALL {
        assert!(list.contains(task.as_str()), "no {task} in\n{list}");
    }
    let mut files: Vec<String> =
        shipped_configs().iter().map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    files.sort();
    assert_eq!(CONFIGURATIONS.map(|shipped| shipped.name.to_string()).to_vec(), files);
    for shipped in CONFIGURATIONS {
        assert!(list.contains(&shipped.path()) && !shipped.purpose().is_empty(), "{}", shipped.name);
    }
}

#[test]
fn the_ranking_loss_is_weighted() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let first_ranking = |name: &str, options: &[&str]| {
        let out = folder.path().join(name);
        let output = run(&[&[text(&config), "--out", text(&out), "--steps", "5"], options].concat());
        assert!(output.status.success(), "{}", errors(&output));
        let metrics = fs::read_to_string(out.join("metrics.jsonl")).unwrap();
        let point: serde_json::Value = serde_json::from_str(metrics.lines().next().unwrap()).unwrap();
        ["ranking", "log_power", "loss", "price"].map(|term| point[term].as_f64().unwrap())
    };
    // At a learning rate that changes no parameter, the terms of two runs differ by the weight alone.
    let still = ["--set", "training.learning_rate=1e-30"];
    let [whole, log_power, ..] = first_ranking("whole", &still);
    let [half, same, loss, price] = first_ranking("half", &[&still[..], &["--peak-weight", "0.5"]].concat());
    assert!(whole > 0.0 && (half - whole / 2.0).abs() < 1e-6 * whole, "{half} for half of {whole}");
    assert_eq!(same, log_power);
    assert!((loss - half - same - price).abs() < 1e-6 * loss);
    let [none, ..] = first_ranking("none", &[&still[..], &["--ranking", "0"]].concat());
    assert_eq!(none, 0.0);
}

#[test]
fn options_stand_for_keys() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    let resolved = |name: &str, options: &[&str]| {
        let out = folder.path().join(name);
        let output = run(&[&[text(&config), "--out", text(&out), "--steps", "2"], options].concat());
        assert!(output.status.success(), "{}", errors(&output));
        RunFolder::new(out).resolved::<PeaksTask>().unwrap().config
    };
    let config = resolved("all", &["--n-fft", "64", "--peak-k", "6", "--batch", "5", "--peak-weight", "2"]);
    assert_eq!((config.model.n_fft, config.model.hop, config.model.k), (64, 32, 6));
    assert_eq!((config.training.batch, config.training.steps, config.loss.ranking), (5, 2, 2.0));
    let config = resolved("hop", &["--n-fft", "64", "--set", "model.hop=48", "-k", "3"]);
    assert_eq!((config.model.n_fft, config.model.hop, config.model.k), (64, 48, 3));
}
