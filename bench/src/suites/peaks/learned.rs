//! Peaks by a learned model: one that is trained for the problem first, or that of a training run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, anyhow};
use burn::tensor::{Device, TensorData};
use firefly_models::{LearnedWelchPeaks, WelchPeaksConfig};
use firefly_ops::ArgumentError;
use firefly_reference::butterfly::exact_twiddles;
use firefly_reference::learned::{LearnedValues, learned_welch_power};
use firefly_trainer::run_folder::RunFolder;
use firefly_trainer::tasks::peaks::ephemeral::{TrainedPeaks, evaluate_ephemeral, train_ephemeral};
use firefly_trainer::tasks::peaks::{Parameters, PeaksConfig, PeaksTask};

use super::problem::{PeaksProblem, SYMMETRY, WINDOW, check_peaks, definition};
use super::{SPECTRA, on_device};
use crate::harness::{Accuracy, BenchStrategy, CaseError, CaseResult, ExpectedRow, Inputs, Verified};
use crate::suites::options::TrainOptions;

/// [`LearnedWelchPeaks`] on the device, or its estimate, whose parameters are `prepared` once.
///
/// The routine's output is compared with the float64 reference of the learned operation; that it finds other peaks than
/// the exact estimate is shown as recall, and it doesn't compete.
pub fn learned(models: Arc<TrainedModels>, prepared: bool) -> BenchStrategy<PeaksProblem> {
    let (name, summary) = if prepared {
        ("learned_compiled", "the model of `learned` as one operation per call, whose parameters are made once")
    } else {
        (
            "learned",
            "Firefly's LearnedWelchPeaks module on the device: that of --run, or one trained for --train-steps on \
             synthetic signals; runs with one of these options or by name",
        )
    };
    let is_asked = !prepared && models.options.is_asked();
    let strategy = BenchStrategy::new(name, summary, move |problem: &PeaksProblem, inputs| {
        let (model, accuracy) = models.model(problem, inputs.device())?;
        let (expected, gates) = (learned_rows(&model, inputs), model.hard_gates());
        let useful_bytes = Some(problem.useful_bytes(model.estimate(&gates).options()));
        let estimate = if prepared { Some(model.try_estimate(&gates)?) } else { None };
        let routine = on_device(inputs, move |signal| match &estimate {
            Some(estimate) => Ok(estimate.try_forward(signal)?),
            None => Ok(model.try_forward(signal, &gates)?),
        });
        let verified = check_peaks(routine, problem, inputs, expected, true)?;
        Ok(Verified { accuracy: Some(accuracy), useful_bytes, ..verified })
    })
    .without_competing()
    .with_temporaries(SPECTRA);
    if is_asked { strategy } else { strategy.by_name() }
}

/// Learned models of the problems so far, each trained or loaded when it is first needed, with its accuracy. Models that
/// are trained have as many segments as the problem, window and gain learned on synthetic frames towards the peaks of
/// eight segments.
pub struct TrainedModels {
    pub(super) options: TrainOptions,
    seed: u64,
    /// By `n_fft`, segments and K.
    trained: Mutex<HashMap<[usize; 3], (LearnedWelchPeaks, Accuracy)>>,
}

impl TrainedModels {
    /// No model yet.
    pub fn new(options: &TrainOptions, seed: u64) -> Self {
        Self { options: options.clone(), seed, trained: Mutex::default() }
    }

    /// The model of a problem, and its accuracy on synthetic frames.
    pub fn model(&self, problem: &PeaksProblem, device: &Device) -> CaseResult<(LearnedWelchPeaks, Accuracy)> {
        let key = [problem.options.n_fft, problem.options.averaged(), problem.k];
        let mut known = self.trained.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(&key) {
            return Ok(found.clone());
        }
        let (trained, train_steps) = match &self.options.run {
            None => (train(problem, self.options.steps(), self.seed, device), self.options.steps()),
            Some(folder) => {
                let folder = RunFolder::new(folder);
                let resolved = folder.resolved::<PeaksTask>().map_err(training)?;
                check_fits(&resolved.config, problem)?;
                (load(&folder, &resolved.config, problem, device), resolved.config.training.steps)
            }
        };
        let TrainedPeaks { model, learned, exact } = trained.map_err(training)?;
        let found = (model, Accuracy { train_steps, recall: learned.recall, exact_recall: exact.recall });
        known.insert(key, found.clone());
        Ok(found)
    }
}

fn training(error: impl Into<anyhow::Error>) -> CaseError {
    CaseError::Failed(anyhow!("training: {:#}", error.into()))
}

fn train(problem: &PeaksProblem, steps: usize, seed: u64, device: &Device) -> Result<TrainedPeaks> {
    let mut config = PeaksConfig { seed, ..PeaksConfig::default() };
    config.model.n_fft = problem.options.n_fft;
    config.model.hop = problem.options.hop;
    config.model.segments = problem.options.segments;
    config.model.open_segments = problem.options.chosen.map(Vec::from);
    config.model.k = problem.k;
    (config.model.window, config.model.symmetry) = (WINDOW, SYMMETRY);
    config.training.steps = steps;
    config.training.learn = vec![Parameters::Taper, Parameters::Gain];
    // A validation takes longer than a short training.
    config.schedule.validate_every = steps.clamp(1, 250);
    Ok(train_ephemeral(&config, &exact(&config, problem), device)?)
}

/// The model of a run, evaluated on synthetic frames.
fn load(folder: &RunFolder, run: &PeaksConfig, problem: &PeaksProblem, device: &Device) -> Result<TrainedPeaks> {
    let (training, loss) = (run.training.clone(), run.loss.clone());
    let mut config = PeaksConfig { model: run.model.clone(), training, loss, ..PeaksConfig::default() };
    config.model.k = problem.k;
    let model = folder.load_model::<PeaksTask>(device)?.try_with_k(problem.k)?;
    Ok(evaluate_ephemeral(&config, model, &exact(&config, problem), device)?)
}

/// The exact estimate of a problem's segments, otherwise as a configuration has it.
fn exact(config: &PeaksConfig, problem: &PeaksProblem) -> WelchPeaksConfig {
    config.model.exact(problem.options.averaged()).with_placement(problem.config().placement)
}

/// Checks that the model of a run finds the peaks of a problem, of whatever number.
fn check_fits(run: &PeaksConfig, problem: &PeaksProblem) -> Result<(), ArgumentError> {
    let (n_fft, frame) = (run.model.n_fft, run.model.learned().options().frame());
    let got = format!("{} and {} samples", problem.options.n_fft, problem.frame());
    let expected = format!("those of the run's model: {n_fft} and at least {frame} samples");
    let fits = n_fft == problem.options.n_fft && frame <= problem.frame();
    if fits { Ok(()) } else { Err(ArgumentError::new("learned", "n_fft and frame", got, expected)) }
}

/// Expected power of the rows that are compared by a model in float64; NaN at bins that it does not search.
pub fn learned_rows(model: &LearnedWelchPeaks, inputs: &Inputs) -> Arc<Vec<ExpectedRow>> {
    let gates = model.hard_gates();
    let (weights, options) = (model.estimate(&gates).weights().clone(), model.options());
    let (taper, gain) = (wide(weights.window.into_data()), weights.gain.map(|gain| wide(gain.into_data())));
    let (twiddles, butterflies) = match (&model.transform, gates.butterflies()) {
        (Some(transform), Some(gates)) => (wide(transform.twiddles.val().into_data()), wide(gates.clone().into_data())),
        _ => (exact_twiddles(options.n_fft), vec![1.0; options.stages() * options.n_fft / 2]),
    };
    let open = wide(gates.segments().clone().into_data());
    let weights: Vec<f64> = open.iter().map(|gate| gate / open.iter().sum::<f64>()).collect();
    let gain = gain.unwrap_or_else(|| [0.0, 1.0, 0.0].repeat(options.bins()));
    let learned = LearnedValues { twiddles: &twiddles, gates: &butterflies, segment_weights: &weights, gain: &gain };
    inputs.expected_rows("learned", |set, row| {
        let frame = inputs.row(set, row).remove(0);
        let mut power = learned_welch_power(&frame, frame.len(), &taper, &definition(&options), &learned);
        // What is not finite is never a peak.
        for (_, power) in power.iter_mut().enumerate().filter(|(bin, _)| !options.searched().contains(bin)) {
            *power = f64::NAN;
        }
        vec![power]
    })
}

fn wide(data: TensorData) -> Vec<f64> {
    data.convert::<f64>().iter::<f64>().collect()
}

#[cfg(test)]
mod tests {
    use firefly_app::device::DeviceName;
    use firefly_models::zoo::ZooModel;
    use firefly_trainer::config::Resolved;

    use super::*;

    #[test]
    fn a_run_gives_the_model_of_the_problems_that_it_fits() {
        let (folder, device) = (tempfile::tempdir().unwrap(), Device::flex());
        let run = RunFolder::new(folder.path().join("run"));
        let mut config = PeaksConfig::default();
        (config.model.n_fft, config.model.hop, config.model.segments, config.model.k) = (32, 16, 2, 4);
        config.training.steps = 7;
        config.training.learn = vec![Parameters::Gain];
        drop(run.start(&Resolved::new(config.clone(), &[DeviceName::CPU])).unwrap());
        let model = config.model.learned().init(&device);
        std::fs::create_dir_all(run.model()).unwrap();
        ZooModel::from(model.clone()).save(&run.model().join("model.safetensors")).unwrap();
        let models = TrainedModels::new(&TrainOptions { train_steps: None, run: Some(run.path().into()) }, 0);
        let (loaded, accuracy) = models.model(&PeaksProblem::new(32, 8, 3, 4), &device).unwrap();
        assert_eq!((loaded.config(), accuracy.train_steps), (model.config(), 7));
        assert!(accuracy.recall > 0.0 && accuracy.recall <= 1.0 && accuracy.exact_recall > 0.99, "{accuracy:?}");
        let (other, _) = models.model(&PeaksProblem::new(32, 2, 3, 5), &device).unwrap();
        assert_eq!((other.config().k, other.taper.val().into_data()), (5, loaded.taper.val().into_data()));
        for other in [(64, 2, 4), (32, 1, 4)] {
            let (n_fft, segments, k) = other;
            let Err(error) = models.model(&PeaksProblem::new(n_fft, segments, 3, k), &device) else {
                panic!("{other:?}")
            };
            assert!(error.to_string().contains("those of the run's model: 32 and at least 48 samples"), "{error}");
        }
    }
}
