//! Resuming: a run of every task and model of the zoo, and with every optimizer, ends in the same bits from each of its
//! checkpoints. Tasks, models, optimizers and schedules are those that are registered. A run that is interrupted, or
//! killed while it writes a checkpoint or its results, does so too; the folder of a killed run is made from a finished
//! one, with those files that are written by then.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use firefly_app::device::DeviceName;
use firefly_trainer::config::{ModelChoice, Optimizer, RateSchedule, Resolved, RunConfig};
use firefly_trainer::progress::{Event, Interrupter, Progress, Silent};
use firefly_trainer::run::train;
use firefly_trainer::run_folder::RunFolder;
use firefly_trainer::task::Task;
use firefly_trainer::tasks::TaskName;
use firefly_trainer::tasks::peaks::PeaksTask;
use firefly_trainer::with_task;
use tempfile::TempDir;
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

/// The files in a folder by their names; none if it is not there.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let file = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap())
    };
    fs::read_dir(folder).into_iter().flatten().map(file).collect()
}

/// The files of a run's model, and its metrics without times.
fn outcome(folder: &RunFolder) -> (BTreeMap<String, Vec<u8>>, Vec<String>) {
    let metrics = fs::read_to_string(folder.metrics()).unwrap();
    let timeless = |line: &str| line.split(",\"step_milliseconds\"").next().unwrap().to_string();
    (files(&folder.model()), metrics.lines().map(timeless).collect())
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

/// Trains a model, and once more from each checkpoint; `what` says what is trained. Whether a model was kept that is not
/// the last one.
fn prove<T: Task>(what: &str, model: &str, settings: &[(&str, Value)], cache: &Path) -> bool {
    let parent = tempfile::tempdir().unwrap();
    let config = config::<T>(model, settings, cache);
    let whole = RunFolder::new(parent.path().join("whole"));
    run(&whole, &config, false);
    let expected = outcome(&whole);
    assert_eq!(expected.1.len() as i64, STEPS, "{what}: a line of metrics for each step");
    assert!(!expected.0.is_empty(), "{what}: no model");
    let best = files(&whole.best());
    assert!(best.is_empty() || best == expected.0, "{what}: the model is not the one that was kept as the best");
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
    let state = fs::read(whole.checkpoints().join(format!("step-{STEPS:08}/state.json"))).unwrap();
    let state: serde_json::Value = serde_json::from_slice(&state).unwrap();
    state["best_step"].as_i64().is_some_and(|best| best < STEPS)
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
    assert!(proved >= 19, "{proved} models");
}

#[test]
fn every_model_with_batch_statistics_keeps_those_of_its_best_step() {
    let cache = tempfile::tempdir().unwrap();
    let mut proved = 0;
    for task in TaskName::ALL {
        with_task!(task, T => {
            for model in models::<T>() {
                // Rates at which one of the models gets worse after its first validation; its average goes on.
                let settings = |rate: f64| [
                    ("optimizer.average_decay", 0.9f64.into()),
                    ("optimizer.schedule", "constant".into()),
                    ("training.learning_rate", rate.into()),
                ];
                if T::batch_statistics(&config::<T>(model, &settings(0.1), cache.path())).is_none() {
                    continue;
                }
                let kept = [0.1, 0.3].map(|rate| prove::<T>(model, model, &settings(rate), cache.path()));
                assert!(kept.contains(&true), "{model}: the last model is the best one");
                proved += 1;
            }
        });
    }
    assert!(proved >= 4, "{proved} models");
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

/// The files of a checkpoint with a moving average, in the order in which they are written.
fn files_of_checkpoint(step: usize) -> Vec<String> {
    let records = ["model", "optimizer", "scheduler", "average"].map(|name| format!("{name}-{step}.bpk"));
    records.into_iter().chain(["state.json".into(), "manifest.json".into()]).collect()
}

/// Names of the files in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A finished run of [`STEPS`] steps with a moving average and all of its checkpoints.
struct Finished {
    parent: TempDir,
    config: RunConfig<PeaksTask>,
    whole: RunFolder,
}

impl Finished {
    fn new(settings: &[(&str, Value)]) -> Self {
        let parent = tempfile::tempdir().unwrap();
        let settings = [&[("optimizer.average_decay", 0.9f64.into())][..], settings].concat();
        let config = config::<PeaksTask>(models::<PeaksTask>()[0], &settings, parent.path());
        let whole = RunFolder::new(parent.path().join("whole"));
        run(&whole, &config, false);
        Self { parent, config, whole }
    }

    fn checkpoint(&self, run: &RunFolder, step: usize) -> PathBuf {
        run.checkpoints().join(format!("step-{step:08}"))
    }

    /// The folder of a run that was killed in a step before it began to write the step's checkpoint.
    fn killed(&self, name: &str, step: usize) -> RunFolder {
        let killed = RunFolder::new(self.parent.path().join(name));
        fs::create_dir_all(killed.checkpoints()).unwrap();
        copy(&self.whole.config(), &killed.config());
        copy(&self.whole.best(), &killed.best());
        let metrics = fs::read_to_string(self.whole.metrics()).unwrap();
        fs::write(killed.metrics(), metrics.split_inclusive('\n').take(step).collect::<String>()).unwrap();
        for earlier in 1..step {
            copy(&self.checkpoint(&self.whole, earlier), &self.checkpoint(&killed, earlier));
        }
        killed
    }

    /// Resumes a run, which ends in the bits of the whole one and leaves no unfinished checkpoint.
    fn assert_resumes(&self, killed: &RunFolder) {
        run(killed, &self.config, true);
        assert!(outcome(killed) == outcome(&self.whole), "{}: other bits", killed.path().display());
        assert!(killed.is_complete());
        let checkpoints = names(&killed.checkpoints());
        assert!(checkpoints.iter().all(|name| name.starts_with("step-")), "{checkpoints:?}");
    }
}

#[test]
fn a_run_killed_anywhere_in_a_checkpoint_resumes_to_the_same_bits() {
    let finished = Finished::new(&[]);
    // The first checkpoint, before which there is none, and one behind others.
    for (step, is_cut) in [(1, false), (3, true)] {
        let (files, complete) = (files_of_checkpoint(step), finished.checkpoint(&finished.whole, step));
        let mut sorted = files.clone();
        sorted.sort();
        assert_eq!(names(&complete), sorted);
        for written in 0..=files.len() {
            let killed = finished.killed(&format!("step-{step}-{written}"), step);
            let partial = killed.checkpoints().join(format!(".partial-{step}"));
            fs::create_dir(&partial).unwrap();
            for file in &files[..written] {
                copy(&complete.join(file), &partial.join(file));
            }
            if is_cut && written > 0 {
                let last = fs::File::options().write(true).open(partial.join(&files[written - 1])).unwrap();
                last.set_len(last.metadata().unwrap().len() / 2).unwrap();
            }
            finished.assert_resumes(&killed);
        }
    }
    // An old checkpoint is renamed, then removed file by file.
    let files = files_of_checkpoint(1);
    for left in 0..=files.len() {
        let killed = finished.killed(&format!("removed-{left}"), 4);
        let removed = killed.checkpoints().join(".partial-step-00000001");
        fs::rename(finished.checkpoint(&killed, 1), &removed).unwrap();
        files[left..].iter().for_each(|file| fs::remove_file(removed.join(file)).unwrap());
        finished.assert_resumes(&killed);
    }
}

#[test]
fn a_run_killed_before_its_first_checkpoint_or_after_its_last_resumes_to_the_same_bits() {
    let finished = Finished::new(&[]);
    for has_metrics in [true, false] {
        let killed = finished.killed(&format!("first-{has_metrics}"), 1);
        fs::remove_dir(killed.checkpoints()).unwrap();
        if !has_metrics {
            fs::remove_file(killed.metrics()).unwrap();
            let _ = fs::remove_dir_all(killed.best());
        }
        finished.assert_resumes(&killed);
    }
    // What is written after the last checkpoint, the last first.
    let results: [fn(&RunFolder) -> PathBuf; 3] = [RunFolder::report, RunFolder::evaluation, RunFolder::model];
    for missing in 1..=results.len() {
        let killed = RunFolder::new(finished.parent.path().join(format!("without-{missing}")));
        copy(finished.whole.path(), killed.path());
        for result in &results[..missing] {
            let path = result(&killed);
            let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            removed.unwrap();
        }
        finished.assert_resumes(&killed);
    }
}

/// Observer that interrupts a run once a step is measured.
struct StopAfter {
    step: usize,
    interrupter: Interrupter,
}

impl Progress for StopAfter {
    fn on(&mut self, event: Event<'_>) {
        if matches!(event, Event::Measured { point, .. } if point.step == self.step) {
            self.interrupter.stop();
        }
    }
}

#[test]
fn a_run_interrupted_between_checkpoints_resumes_to_the_same_bits() {
    let finished = Finished::new(&[("schedule.checkpoint_every", 100i64.into())]);
    for step in 1..STEPS as usize - 1 {
        let interrupted = RunFolder::new(finished.parent.path().join(step.to_string()));
        let interrupter = Interrupter::new();
        let mut stop = StopAfter { step, interrupter: interrupter.clone() };
        let resolved = Resolved::new(finished.config.clone(), &[DeviceName::CPU]);
        let ended = train(&interrupted, &resolved, &[Device::flex()], false, &interrupter, &mut stop).unwrap();
        assert!(ended.is_none() && !interrupted.model().exists(), "an interrupted run has no model yet");
        assert_eq!(names(&interrupted.checkpoints()), [format!("step-{:08}", step + 1)]);
        finished.assert_resumes(&interrupted);
    }
}
