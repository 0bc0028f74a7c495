//! Peaks by a learned model: one that is trained for the problem first, or that of a training run.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use burn::tensor::{Device, TensorData};
use firefly_models::{LearnedWelchPeaks, Tier};
use firefly_ops::{ArgumentError, learned_welch_peaks};
use firefly_reference::learned::{LearnedValues, learned_welch_power};
use firefly_reference::peaks::top_k;
use firefly_trainer::run_folder::RunFolder;
use firefly_trainer::tasks::peaks::ephemeral::{TrainedPeaks, evaluate_ephemeral, train_ephemeral};
use firefly_trainer::tasks::peaks::{Parameters, PeaksConfig, PeaksTask};

use crate::harness::strategy::BenchStrategy;
use crate::harness::verification::{Accuracy, CaseError, Verified};
use crate::suites::peaks::expected::{ExpectedPeaks, definition};
use crate::suites::peaks::inputs::FrameInputs;
use crate::suites::peaks::memory;
use crate::suites::peaks::problem::{PeaksProblem, SYMMETRY, WINDOW};
use crate::suites::peaks::tensor_routine::{MemorySpace, TensorRoutine};
use crate::suites::peaks::verify::check_peaks;

/// [`LearnedWelchPeaks`] on the device.
///
/// The routine's output is compared with the float64 reference of the learned operation; that it finds other peaks than
/// the exact estimate is shown as recall, and it doesn't compete.
pub fn learned(models: Arc<TrainedModels>) -> BenchStrategy<PeaksProblem> {
    strategy(
        "learned",
        "Firefly's LearnedWelchPeaks module on the device: that of --run, or one trained for --train-steps on \
         synthetic signals; runs with one of these options or by name",
        models,
        |model, problem, inputs, expected| {
            let gates = model.hard_gates();
            let forward = move |signal| Ok(model.try_forward(signal, &gates)?);
            check_peaks(TensorRoutine::new(inputs, MemorySpace::Device, forward), problem, inputs, expected, true)
        },
    )
}

/// The same model, whose parameters are prepared once.
pub fn learned_compiled(models: Arc<TrainedModels>) -> BenchStrategy<PeaksProblem> {
    strategy(
        "learned_compiled",
        "the model of `learned` as one operation per call, whose parameters are made once",
        models,
        |model, problem, inputs, expected| {
            let gates = model.hard_gates();
            let (parameters, options, k) = (model.try_parameters(&gates)?, model.options_with(&gates), problem.k);
            let forward = move |signal| Ok(learned_welch_peaks(signal, parameters.clone(), &options, k)?);
            check_peaks(TensorRoutine::new(inputs, MemorySpace::Device, forward), problem, inputs, expected, true)
        },
    )
}

/// A strategy that computes the peaks of a learned model, and how it does.
fn strategy<F>(
    name: &'static str,
    summary: &'static str,
    models: Arc<TrainedModels>,
    check: F,
) -> BenchStrategy<PeaksProblem>
where
    F: for<'a> Fn(
            LearnedWelchPeaks,
            &PeaksProblem,
            &'a FrameInputs,
            &[ExpectedPeaks],
        ) -> Result<Verified<'a>, CaseError>
        + Send
        + Sync
        + 'static,
{
    BenchStrategy::new(name, summary, move |problem: &PeaksProblem, inputs, expected| {
        let (model, accuracy) = models.model(problem, inputs.device())?;
        let expected = learned_rows(&model, inputs, expected);
        let verified = check(model, problem, inputs, &expected)?;
        Ok(Verified { accuracy: Some(accuracy), ..verified })
    })
    .without_competing()
    .with_memory(memory::of_spectra)
    .by_name()
}

/// Origin of learned models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LearnedSource {
    /// With as many segments as the tier, window and gain trained for `steps` steps on synthetic frames made from
    /// `seed` towards the reference tier's peaks.
    Trained {
        /// Training steps.
        steps: usize,
        /// Seed of the frames.
        seed: u64,
    },
    /// The model in the folder of a training run.
    Run(PathBuf),
}

/// Learned models of the problems so far, each trained or loaded when it is first needed, with its number of training
/// steps.
pub struct TrainedModels {
    source: LearnedSource,
    trained: Mutex<Vec<(ModelKey, TrainedPeaks, usize)>>,
}

/// Properties that a model is trained for: `n_fft`, tier and K.
type ModelKey = (usize, Tier, usize);

impl TrainedModels {
    /// No model yet.
    pub fn new(source: LearnedSource) -> Self {
        Self { source, trained: Mutex::default() }
    }

    /// The model of a run for a problem; none where models are trained for the bench.
    ///
    /// # Errors
    /// As [`model`](Self::model).
    pub fn of_run(&self, problem: &PeaksProblem, device: &Device) -> Result<Option<LearnedWelchPeaks>, CaseError> {
        let is_run = matches!(self.source, LearnedSource::Run(_));
        is_run.then(|| Ok(self.model(problem, device)?.0)).transpose()
    }

    /// The model of a problem, and its accuracy on synthetic frames.
    ///
    /// # Errors
    /// [`CaseError::Training`] if it can't be trained or loaded, and for a model of a run that doesn't fit the problem.
    pub fn model(&self, problem: &PeaksProblem, device: &Device) -> Result<(LearnedWelchPeaks, Accuracy), CaseError> {
        let key = (problem.options.n_fft, problem.tier, problem.k);
        let mut known = self.trained.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|(other, ..)| *other == key).cloned();
        let (_, trained, train_steps) = match found {
            Some(found) => found,
            None => {
                let (trained, steps) = match &self.source {
                    LearnedSource::Trained { steps, seed } => (train(problem, *steps, *seed, device), *steps),
                    LearnedSource::Run(folder) => {
                        let folder = RunFolder::new(folder);
                        let resolved = folder.resolved::<PeaksTask>().map_err(training)?;
                        check_fits(&resolved.config, problem)?;
                        (load(&folder, &resolved.config, problem, device), resolved.config.training.steps)
                    }
                };
                known.push((key, trained.map_err(training)?, steps));
                known[known.len() - 1].clone()
            }
        };
        let TrainedPeaks { model, learned, exact } = trained;
        Ok((model, Accuracy { train_steps, recall: learned.recall, exact_recall: exact.recall }))
    }
}

fn training(error: impl Into<anyhow::Error>) -> CaseError {
    CaseError::Training(format!("{:#}", error.into()))
}

/// A model trained for a problem.
fn train(problem: &PeaksProblem, steps: usize, seed: u64, device: &Device) -> anyhow::Result<TrainedPeaks> {
    let mut config = PeaksConfig { seed, ..PeaksConfig::default() };
    config.model.n_fft = problem.options.n_fft;
    config.model.hop = problem.options.hop;
    config.model.segments = problem.options.segments;
    config.model.k = problem.k;
    (config.model.window, config.model.symmetry) = (WINDOW, SYMMETRY);
    config.training.steps = steps;
    config.training.learn = vec![Parameters::Taper, Parameters::Gain];
    // A validation takes longer than a short training.
    config.schedule.validate_every = steps;
    Ok(train_ephemeral(&config, problem.tier, device)?)
}

/// The model of a run, evaluated on synthetic frames.
fn load(
    folder: &RunFolder,
    run: &PeaksConfig,
    problem: &PeaksProblem,
    device: &Device,
) -> anyhow::Result<TrainedPeaks> {
    let (training, loss) = (run.training.clone(), run.loss.clone());
    let mut config = PeaksConfig { model: run.model.clone(), training, loss, ..PeaksConfig::default() };
    config.model.k = problem.k;
    let model = folder.load_model::<PeaksTask>(device)?.try_with_k(problem.k)?;
    Ok(evaluate_ephemeral(&config, model, problem.tier, device)?)
}

/// Checks that the model of a run finds the peaks of a problem, of whatever number.
fn check_fits(run: &PeaksConfig, problem: &PeaksProblem) -> Result<(), ArgumentError> {
    let (n_fft, frame) = (run.model.n_fft, run.model.learned().options().frame());
    if n_fft == problem.options.n_fft && frame <= problem.frame() {
        return Ok(());
    }
    let got = format!("{} and {} samples", problem.options.n_fft, problem.frame());
    let expected = format!("those of the run's model: {n_fft} and at least {frame} samples");
    Err(ArgumentError::new("learned", "n_fft and frame", got, expected))
}

/// The same rows as `exact`, with what the model makes of them in float64.
pub fn learned_rows(model: &LearnedWelchPeaks, inputs: &FrameInputs, exact: &[ExpectedPeaks]) -> Vec<ExpectedPeaks> {
    let gates = model.hard_gates();
    let (parameters, options) = (model.parameters(&gates), model.options_with(&gates));
    let [taper, twiddles, butterflies, weights, gain] = [
        wide(parameters.window.into_data()),
        wide(parameters.twiddles.into_data()),
        wide(parameters.gates.into_data()),
        wide(parameters.weights.into_data()),
        wide(parameters.gain.into_data()),
    ];
    let learned = LearnedValues { twiddles: &twiddles, gates: &butterflies, segment_weights: &weights, gain: &gain };
    let open = gates.blocks().and_then(|blocks| model.at_bins(blocks.clone(), 0.0, &gates));
    let open = open.map(|open| wide(open.into_data()));
    let is_searched = |bin: usize| match &open {
        Some(open) => open[bin] > 0.0,
        None => options.searched().contains(&bin),
    };
    let row = |exact: &ExpectedPeaks| {
        let mut frame: Vec<f64> = inputs.row(exact.set, exact.row).iter().map(|&sample| sample.into()).collect();
        for _ in 0..options.halvings {
            frame = frame.as_chunks::<2>().0.iter().map(|[a, b]| a + b).collect();
        }
        let mut power = learned_welch_power(&frame, frame.len(), &taper, &definition(&options), &learned);
        // What is not finite is never a peak.
        for (_, power) in power.iter_mut().enumerate().filter(|(bin, _)| !is_searched(*bin)) {
            *power = f64::NAN;
        }
        let (bins, _) = top_k(&power, options.bins(), model.config().k);
        ExpectedPeaks { set: exact.set, row: exact.row, power, bins }
    };
    exact.iter().map(row).collect()
}

fn wide(data: TensorData) -> Vec<f64> {
    data.convert::<f64>().iter::<f64>().collect()
}

#[cfg(test)]
mod tests {
    use firefly_app::device::DeviceName;
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
        (config.model.closed_blocks, config.model.halvings) = (Some(vec![]), Some(1));
        drop(run.start(&Resolved::new(config.clone(), &[DeviceName::CPU])).unwrap());
        let model = config.model.learned().init(&device);
        model.save(&run.model()).unwrap();
        let models = TrainedModels::new(LearnedSource::Run(run.path().into()));
        let (loaded, accuracy) = models.model(&PeaksProblem::new(32, Tier::Reference, 3, 4), &device).unwrap();
        assert_eq!((loaded.config(), accuracy.train_steps), (model.config(), 7));
        assert!(accuracy.recall > 0.0 && accuracy.recall <= 1.0 && accuracy.exact_recall > 0.99, "{accuracy:?}");
        let (other, _) = models.model(&PeaksProblem::new(32, Tier::Fast, 3, 5), &device).unwrap();
        assert_eq!((other.config().k, other.taper.val().into_data()), (5, loaded.taper.val().into_data()));
        for other in [(64, Tier::Fast, 4), (32, Tier::Ultra, 4)] {
            let (n_fft, tier, k) = other;
            let Err(error) = models.model(&PeaksProblem::new(n_fft, tier, 3, k), &device) else { panic!("{other:?}") };
            assert!(error.to_string().contains("those of the run's model: 32 and at least 48 samples"), "{error}");
        }
    }
}
