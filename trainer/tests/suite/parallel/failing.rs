//! A task whose device fails in a step: the task `peaks`, whose loss panics as a lost device of Burn does.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use burn::tensor::Device;
use firefly_app::device_list::DeviceList;
use firefly_models::LearnedWelchPeaks;
use firefly_trainer::config::{ConfigError, HeldValues, Resolved, RunConfig, Sections, load};
use firefly_trainer::data::DataConfig;
use firefly_trainer::fit::FitError;
use firefly_trainer::metrics::{StepLoss, Validation};
use firefly_trainer::progress::{Interrupter, Monitor, Silent};
use firefly_trainer::run::{RunError, train};
use firefly_trainer::run_folder::RunFolder;
use firefly_trainer::task::{
    BatchShare, LoadedModel, MetricCurve, ModelError, OpenRun, Placed, Predictions, ReportParts, Task, TaskError,
};
use firefly_trainer::tasks::TaskName;
use firefly_trainer::tasks::peaks::{LossSection, ModelSection, PeaksData, PeaksRow, PeaksTask, TrainingSection};

use crate::common::{errors, run, small_config, text};

/// Index of the first row of the share that fails, per 1,000, and the step after which it does.
static FAILURE: AtomicUsize = AtomicUsize::new(usize::MAX);

#[derive(Debug, Clone, PartialEq)]
struct Failing;

/// The same configuration of the task `peaks`.
fn peaks(config: &RunConfig<Failing>) -> RunConfig<PeaksTask> {
    let RunConfig { name, task, seed, devices, model, data, training, optimizer, loss, schedule } = config.clone();
    RunConfig { name, task, seed, devices, model, data, training, optimizer, loss, schedule }
}

impl Sections for Failing {
    const NAME: TaskName = TaskName::Peaks;

    type ModelSection = ModelSection;
    type DataSection = DataConfig;
    type TrainingSection = TrainingSection;
    type LossSection = LossSection;

    fn validate(config: &RunConfig<Self>) -> Result<(), ConfigError> {
        PeaksTask::validate(&peaks(config))
    }

    fn held_values(config: &RunConfig<Self>) -> Vec<HeldValues> {
        PeaksTask::held_values(&peaks(config))
    }
}

impl Task for Failing {
    const TERMS: &'static [(&'static str, &'static str)] = PeaksTask::TERMS;
    const CURVES: &'static [MetricCurve] = PeaksTask::CURVES;

    type Model = LearnedWelchPeaks;
    type Data = PeaksData;
    type Row = PeaksRow;

    fn open(config: &RunConfig<Self>, device: &Device, monitor: &Monitor<'_>) -> Result<PeaksData, TaskError> {
        PeaksTask::open(&peaks(config), device, monitor)
    }

    fn init(run: &OpenRun<'_, Self>, device: &Device) -> Result<LearnedWelchPeaks, TaskError> {
        let OpenRun { config, data } = *run;
        PeaksTask::init(&OpenRun { config: &peaks(config), data }, device)
    }

    fn freeze(model: LearnedWelchPeaks, config: &RunConfig<Self>) -> LearnedWelchPeaks {
        PeaksTask::freeze(model, &peaks(config))
    }

    fn loss(
        run: &OpenRun<'_, Self>,
        model: &LearnedWelchPeaks,
        share: &BatchShare,
        step: usize,
    ) -> Result<StepLoss, TaskError> {
        let OpenRun { config, data } = *run;
        let failure = FAILURE.load(Ordering::Relaxed);
        assert!(share.rows.start * 1000 + step != failure, "can't allocate 42 bytes");
        PeaksTask::loss(&OpenRun { config: &peaks(config), data }, model, share, step)
    }

    fn measure(run: &OpenRun<'_, Self>, model: &LearnedWelchPeaks) -> Result<Validation, TaskError> {
        let OpenRun { config, data } = *run;
        PeaksTask::measure(&OpenRun { config: &peaks(config), data }, model)
    }

    fn save(model: &LearnedWelchPeaks, config: &RunConfig<Self>, folder: &Path) -> Result<(), ModelError> {
        PeaksTask::save(model, &peaks(config), folder)
    }

    fn load(_: &Path, _: &RunConfig<Self>, _: &Device) -> Result<LoadedModel<Self>, ModelError> {
        unreachable!("the run never ends")
    }

    fn evaluate(_: &OpenRun<'_, Self>, _: &[(String, LearnedWelchPeaks)]) -> Result<Vec<PeaksRow>, TaskError> {
        unreachable!("the run never ends")
    }

    fn evaluate_on(
        _: &RunConfig<Self>,
        _: &str,
        _: &[(String, LearnedWelchPeaks)],
        _: &Device,
    ) -> Result<Vec<PeaksRow>, TaskError> {
        unreachable!("the run never ends")
    }

    fn predict(
        _: &RunConfig<Self>,
        _: &mut [Placed<LearnedWelchPeaks>],
        _: &[PathBuf],
    ) -> Result<Predictions, TaskError> {
        unreachable!("the run never ends")
    }

    fn report(_: &OpenRun<'_, Self>, _: &LearnedWelchPeaks, _: &[PeaksRow]) -> Result<ReportParts, TaskError> {
        unreachable!("the run never ends")
    }
}

#[test]
fn a_device_that_fails_ends_the_run_with_a_message_and_a_checkpoint_that_resumes_on_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    // Of 8 rows on two devices, the second device begins at row 4.
    for (name, devices, first_row, failed) in [
        ("second", "cpu,cpu:1", 4, "cpu (2 of 2)"),
        ("first", "cpu,cpu:1", 0, "cpu (1 of 2)"),
        ("only", "cpu", 0, "cpu"),
    ] {
        let out = folder.path().join(name);
        FAILURE.store(first_row * 1000 + 10, Ordering::Relaxed);
        let list: DeviceList = devices.parse().unwrap();
        let settings = ["name=\"small\"".to_string()];
        let resolved = Resolved::new(load::<Failing>(&config, &settings, None).unwrap(), &list.names().unwrap());
        let run_folder = RunFolder::new(&out);
        let devices = list.open().unwrap();
        let ended = train(&run_folder, &resolved, &devices, false, &Interrupter::new(), &mut Silent);
        let error = ended.unwrap_err();
        assert!(matches!(&error, RunError::Fit(FitError::Device { step: 10, saved: Some(10), .. })), "{error:?}");
        assert_eq!(
            error.to_string(),
            format!(
                "device {failed} failed after step 10: can't allocate 42 bytes; the checkpoint of step 10 holds the \
                 run: --resume continues it, on other devices too"
            )
        );
        let output = run(&[text(&config), "--out", text(&out), "--resume", "--device", "cpu"]);
        assert!(output.status.success(), "{}", errors(&output));
        assert!(errors(&output).contains("resuming at step 10"), "{}", errors(&output));
    }
    // A run that fails in its first step has nothing to save.
    FAILURE.store(0, Ordering::Relaxed);
    let resolved = Resolved::new(load::<Failing>(&config, &[], None).unwrap(), &["cpu"]);
    let run_folder = RunFolder::new(folder.path().join("early"));
    let ended = train(&run_folder, &resolved, &[Device::flex()], false, &Interrupter::new(), &mut Silent);
    assert!(
        ended.unwrap_err().to_string().ends_with("the run has no checkpoint yet: --resume starts it at its first step")
    );
}
