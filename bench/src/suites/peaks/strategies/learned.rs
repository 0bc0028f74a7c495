//! Peaks by a model that is trained for the problem first.

use std::sync::{Mutex, PoisonError};

use burn::tensor::{Device, TensorData};
use firefly_models::{LearnedWelchPeaks, Tier};
use firefly_reference::learned::{LearnedValues, learned_welch_power};
use firefly_reference::peaks::top_k;
use firefly_trainer::config::{Parameters, RunConfig};
use firefly_trainer::ephemeral::{Trained, train_ephemeral};

use crate::harness::strategy::BenchStrategy;
use crate::harness::verification::{Accuracy, CaseError, Verified};
use crate::suites::peaks::expected::{ExpectedPeaks, definition};
use crate::suites::peaks::inputs::FrameInputs;
use crate::suites::peaks::memory;
use crate::suites::peaks::problem::{PeaksProblem, SYMMETRY, WINDOW};
use crate::suites::peaks::tensor_routine::{MemorySpace, TensorRoutine};
use crate::suites::peaks::verify::check_peaks;

/// [`LearnedWelchPeaks`] with as many segments as the tier, its window and gain trained on synthetic signals towards
/// the reference tier's peaks.
///
/// The routine's output is compared with the float64 reference of the learned operation; that it finds other peaks than
/// the exact estimate is shown as recall, and it doesn't compete. Each model is trained for `steps` steps when it is
/// first needed, on frames made from `seed`.
pub fn learned(steps: usize, seed: u64) -> BenchStrategy<PeaksProblem> {
    let models = TrainedModels::new(steps, seed);
    BenchStrategy::new(
        "learned",
        "Firefly's LearnedWelchPeaks module, trained for --train-steps on synthetic signals, on the device; runs with \
         --train-steps or by name",
        move |problem: &PeaksProblem, inputs, expected| {
            let (model, accuracy) = models.model(problem, inputs.device())?;
            let expected = learned_rows(&model, problem, inputs, expected);
            let gates = model.hard_gates();
            let routine =
                TensorRoutine::new(inputs, MemorySpace::Device, move |signal| Ok(model.try_forward(signal, &gates)?));
            let verified = check_peaks(routine, problem, inputs, &expected, true)?;
            Ok(Verified { accuracy: Some(accuracy), ..verified })
        },
    )
    .without_competing()
    .with_memory(memory::of_spectra)
    .by_name()
    .also_called(&["learned_compiled"])
}

/// Models trained so far, each when it is first needed.
pub struct TrainedModels {
    steps: usize,
    seed: u64,
    trained: Mutex<Vec<(Key, Trained)>>,
}

/// Properties that a model is trained for: `n_fft`, tier and K.
type Key = (usize, Tier, usize);

impl TrainedModels {
    /// No model yet; each will be trained for `steps` steps on frames made from `seed`.
    pub fn new(steps: usize, seed: u64) -> Self {
        Self { steps, seed, trained: Mutex::default() }
    }

    /// The model of a problem, and its accuracy.
    ///
    /// # Errors
    /// [`CaseError::Training`] if it can't be trained.
    pub fn model(&self, problem: &PeaksProblem, device: &Device) -> Result<(LearnedWelchPeaks, Accuracy), CaseError> {
        let trained = self.get(problem, device).map_err(|error| CaseError::Training(format!("{error:#}")))?;
        let Trained { model, learned, exact } = trained;
        Ok((model, Accuracy { train_steps: self.steps, recall: learned.recall, exact_recall: exact.recall }))
    }

    fn get(&self, problem: &PeaksProblem, device: &Device) -> anyhow::Result<Trained> {
        let key = (problem.options.n_fft, problem.tier, problem.k);
        let mut trained = self.trained.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, model)) = trained.iter().find(|(other, _)| *other == key) {
            return Ok(model.clone());
        }
        let mut config = RunConfig { seed: self.seed, ..RunConfig::default() };
        config.model.n_fft = problem.options.n_fft;
        config.model.hop = problem.options.hop;
        config.model.segments = problem.options.segments;
        config.model.k = problem.k;
        (config.model.window, config.model.symmetry) = (WINDOW, SYMMETRY);
        config.training.steps = self.steps;
        config.training.learn = vec![Parameters::Taper, Parameters::Gain];
        // A validation takes longer than a short training.
        config.schedule.validate_every = self.steps;
        let model = train_ephemeral(&config, problem.tier, device)?;
        trained.push((key, model.clone()));
        Ok(model)
    }
}

/// The same rows as `exact`, with what the model makes of them in float64.
pub fn learned_rows(
    model: &LearnedWelchPeaks,
    problem: &PeaksProblem,
    inputs: &FrameInputs,
    exact: &[ExpectedPeaks],
) -> Vec<ExpectedPeaks> {
    let gates = model.hard_gates();
    let weights = gates.segments().clone() / gates.segments().clone().sum();
    let [taper, twiddles, gates, weights, gain] = [
        wide(model.taper.val().into_data()),
        wide(model.twiddles.val().into_data()),
        wide(gates.butterflies().clone().into_data()),
        wide(weights.into_data()),
        wide(model.log_gain.val().exp().into_data()),
    ];
    let learned = LearnedValues { twiddles: &twiddles, gates: &gates, segment_weights: &weights, gain: &gain };
    let row = |exact: &ExpectedPeaks| {
        let frame: Vec<f64> = inputs.row(exact.set, exact.row).iter().map(|&sample| sample.into()).collect();
        let power = learned_welch_power(&frame, frame.len(), &taper, &definition(&problem.options), &learned);
        let (bins, _) = top_k(&power, problem.options.bins(), problem.k);
        ExpectedPeaks { set: exact.set, row: exact.row, power, bins }
    };
    exact.iter().map(row).collect()
}

fn wide(data: TensorData) -> Vec<f64> {
    data.convert::<f64>().iter::<f64>().collect()
}
