//! Resuming: a run of every task and model of the zoo, and with every optimizer, ends in the same bits from each of its
//! checkpoints. Tasks, models, optimizers and schedules are those that are registered.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use burn::tensor::Device;
use firefly_app::device::DeviceName;
use firefly_trainer::config::{ModelChoice, Optimizer, RateSchedule, Resolved, RunConfig};
use firefly_trainer::progress::{Interrupter, Silent};
use firefly_trainer::run::train;
use firefly_trainer::run_folder::RunFolder;
use firefly_trainer::task::Task;
use firefly_trainer::tasks::TaskName;
use firefly_trainer::with_task;
use toml::{Table, Value};

/// Steps of a run, each with a checkpoint.
const STEPS: i64 = 4;
/// Sizes that are small in a test. A task has some of the keys.
const SMALL: &[(&str, i64)] = &[
    ("schedule.log_every", 1),
    ("schedule.validate_every", 2),
    ("schedule.validation_frames", 8),
    ("schedule.checkpoint_every", 1),
    ("schedule.keep_checkpoints", 100),
    ("training.batch", 4),
    ("model.n_fft", 32),
    ("model.hop", 16),
    ("model.k", 4),
    ("data.size", 8),
    ("data.samples", 512),
    ("data.patch", 4),
    ("data.n_fft", 64),
    ("data.synthetic_frames", 16),
    ("data.synthetic_examples", 16),
    ("data.synthetic_channels", 2),
    ("data.look_back", 24),
    ("data.horizon", 6),
    ("data.train_rows", 100),
    ("data.validation_rows", 40),
    ("data.test_rows", 40),
    ("data.generated.samples", 8),
    ("data.generated.test_samples", 2),
];

/// Sets a key of a configuration, if the configuration has it.
fn set(table: &mut Table, key: &str, value: Value) {
    let (sections, key) = key.rsplit_once('.').unwrap();
    let section = sections.split('.').try_fold(table, |table, name| table.get_mut(name)?.as_table_mut());
    if let Some(old) = section.and_then(|section| section.get_mut(key)) {
        *old = value;
    }
}

/// The configuration of a short run of a model, with other settings.
fn config<T: Task>(model: &str, settings: &[(&str, Value)], cache: &Path) -> RunConfig<T> {
    let mut config = RunConfig::<T> { name: "run".into(), ..RunConfig::default() };
    T::choose_model(&mut config, model).unwrap();
    let mut table = Table::try_from(config).unwrap();
    let training = table["training"].as_table_mut().unwrap();
    training.remove("epochs");
    training.insert("steps".into(), STEPS.into());
    // What takes long to solve is solved once.
    if let Some(generated) = table["data"].get_mut("generated") {
        let cache = cache.to_str().unwrap().into();
        generated.as_table_mut().unwrap().insert("cache".into(), cache);
    }
    for (key, value) in SMALL {
        set(&mut table, key, Value::from(*value));
    }
    for (key, value) in settings {
        set(&mut table, key, value.clone());
    }
    let config: RunConfig<T> = table.try_into().unwrap();
    config.validate().unwrap_or_else(|error| panic!("{model}: {error}"));
    config
}

/// The files of a run's model, and its metrics without times.
fn outcome(folder: &RunFolder) -> (BTreeMap<String, Vec<u8>>, Vec<String>) {
    let files = fs::read_dir(folder.model()).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap())
    });
    let metrics = fs::read_to_string(folder.metrics()).unwrap();
    let timeless = |line: &str| line.split(",\"step_milliseconds\"").next().unwrap().to_string();
    (files.collect(), metrics.lines().map(timeless).collect())
}

fn run<T: Task>(folder: &RunFolder, config: &RunConfig<T>, resume: bool) {
    let resolved = Resolved::new(config.clone(), &[DeviceName::CPU]);
    let rows = train(folder, &resolved, &[Device::flex()], resume, &Interrupter::new(), &mut Silent);
    let rows = rows.unwrap_or_else(|error| panic!("{}: {error:?}", folder.path().display()));
    assert!(rows.is_some(), "{} was interrupted", folder.path().display());
}

/// Copies a file, or a folder of files, if it is there.
fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        fs::copy(from, to).unwrap();
    } else if from.is_dir() {
        fs::create_dir(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            copy(&path, &to.join(path.file_name().unwrap()));
        }
    }
}

/// Trains a model, and once more from each checkpoint; `what` says what is trained.
fn prove<T: Task>(what: &str, model: &str, settings: &[(&str, Value)], cache: &Path) {
    let parent = tempfile::tempdir().unwrap();
    let config = config::<T>(model, settings, cache);
    let whole = RunFolder::new(parent.path().join("whole"));
    run(&whole, &config, false);
    let expected = outcome(&whole);
    assert_eq!(expected.1.len() as i64, STEPS, "{what}: a line of metrics for each step");
    assert!(!expected.0.is_empty(), "{what}: no model");
    for step in 1..STEPS {
        let resumed = RunFolder::new(parent.path().join(step.to_string()));
        fs::create_dir_all(resumed.checkpoints()).unwrap();
        copy(&whole.config(), &resumed.config());
        copy(&whole.metrics(), &resumed.metrics());
        // A killed process may leave a best model of a later step than the last checkpoint's.
        copy(&whole.best(), &resumed.best());
        let name = format!("step-{step:08}");
        copy(&whole.checkpoints().join(&name), &resumed.checkpoints().join(&name));
        run(&resumed, &config, true);
        assert!(outcome(&resumed) == expected, "{what}: other bits from step {step}");
    }
}

/// Models of a task that are small enough for tests, or all if it has none of them.
fn models<T: Task>() -> Vec<&'static str> {
    let all = <T::ModelSection as ModelChoice>::models();
    let tiny: Vec<_> = all.iter().copied().filter(|name| name.ends_with("_tiny")).collect();
    if tiny.is_empty() { all } else { tiny }
}

#[test]
fn every_model_of_every_task_resumes_to_the_same_bits_from_every_checkpoint() {
    let cache = tempfile::tempdir().unwrap();
    let mut proved = 0;
    for task in TaskName::ALL {
        with_task!(task, T => {
            for model in models::<T>() {
                prove::<T>(&format!("{task}, {model}"), model, &[], cache.path());
                proved += 1;
            }
        });
    }
    assert!(proved >= 20, "{proved} models");
}

#[test]
fn every_optimizer_and_schedule_resumes_to_the_same_bits_from_every_checkpoint() {
    let cache = tempfile::tempdir().unwrap();
    let mut tasks = TaskName::ALL.into_iter().cycle();
    for kind in Optimizer::ALL {
        for schedule in RateSchedule::ALL {
            let task = tasks.next().unwrap();
            let mut settings = vec![
                ("optimizer.kind", Value::try_from(kind).unwrap()),
                ("optimizer.schedule", Value::try_from(schedule).unwrap()),
                ("optimizer.warm_up", 1i64.into()),
                ("optimizer.weight_decay", 0.01f64.into()),
                ("optimizer.accumulate", 2i64.into()),
                ("optimizer.clip_norm", 0.5f64.into()),
                ("optimizer.clip_value", 0.1f64.into()),
                ("optimizer.average_decay", 0.9f64.into()),
            ];
            if kind == Optimizer::Sgd {
                settings.push(("optimizer.momentum", 0.9f64.into()));
                settings.push(("optimizer.nesterov", true.into()));
            }
            if schedule == RateSchedule::Step {
                settings.push(("optimizer.step_every", 2i64.into()));
            }
            with_task!(task, T => {
                let model = models::<T>()[0];
                prove::<T>(&format!("{task}, {kind:?}, {schedule:?}"), model, &settings, cache.path());
            });
        }
    }
}

#[test]
fn settings_that_change_a_run_on_the_way_resume_to_the_same_bits_from_every_checkpoint() {
    let cache = tempfile::tempdir().unwrap();
    // What is drawn, rounded, dropped or priced in the middle of a run. A task has some of the keys.
    let settings = [
        ("training.starts", 3i64.into()),
        ("training.learn", Value::Array(["taper", "segments", "gain"].map(Value::from).to_vec())),
        ("model.segments", 4i64.into()),
        ("training.round_after", 0.5f64.into()),
        ("loss.price", 0.1f64.into()),
        ("loss.smoothing", 0.1f64.into()),
        ("loss.spectral", 0.1f64.into()),
        ("loss.reconstruction", 0.5f64.into()),
        ("data.from", "examples".into()),
        ("data.symmetry", "square".into()),
        ("data.noise_snr_db", Value::Array(vec![0.0f64.into(), 20.0f64.into()])),
        ("data.speed", Value::Array(vec![0.9f64.into(), 1.1f64.into()])),
    ];
    for task in TaskName::ALL {
        with_task!(task, T => {
            let model = *models::<T>().last().unwrap();
            prove::<T>(&format!("{task}, {model}"), model, &settings, cache.path());
        });
    }
}
