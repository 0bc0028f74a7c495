//! Peaks by a model that is trained for the problem first.

use std::sync::{Mutex, PoisonError};

use burn::tensor::{Device, TensorData};
use firefly_models::{LearnedWelchPeaks, Tier};
use firefly_reference::learned::{LearnedValues, learned_welch_power};
use firefly_reference::peaks::top_k;
use firefly_trainer::config::{Parameters, RunConfig};
use firefly_trainer::quick::{Trained, train};

use crate::harness::strategy::Strategy;
use crate::harness::verification::{Accuracy, Refusal, Verified};
use crate::suites::peaks::expected::{ExpectedRow, definition};
use crate::suites::peaks::inputs::Inputs;
use crate::suites::peaks::problem::{PeaksProblem, SYMMETRY, WINDOW};
use crate::suites::peaks::program::{Memory, Program};
use crate::suites::peaks::verify::check_peaks;

/// [`LearnedWelchPeaks`] with as many segments as the tier, its taper and gain trained on synthetic signals towards the
/// reference tier's peaks. Its output is compared with the float64 reference of the learned operation; that it finds other
/// peaks than the exact estimate is the point, and shown as recall.
pub struct Learned {
    /// Steps of training.
    pub steps: usize,
    /// What training frames are made from.
    pub seed: u64,
    trained: Mutex<Vec<(Key, Trained)>>,
}

/// What a model is trained for: `n_fft`, tier and K.
type Key = (usize, Tier, usize);

impl Learned {
    /// Models of so many steps; each is trained when it is first needed.
    pub fn new(steps: usize, seed: u64) -> Self {
        Self { steps, seed, trained: Mutex::default() }
    }

    fn model(&self, problem: &PeaksProblem, device: &Device) -> anyhow::Result<Trained> {
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
        // Validating and saving take longer than a short training.
        config.schedule.validate_every = self.steps;
        config.schedule.checkpoint_every = self.steps;
        let model = train(&config, problem.tier, device)?;
        trained.push((key, model.clone()));
        Ok(model)
    }
}

impl Strategy<PeaksProblem> for Learned {
    fn name(&self) -> &'static str {
        "learned"
    }

    fn summary(&self) -> &'static str {
        "Firefly's LearnedWelchPeaks module, trained for --train-steps on synthetic signals, on the device"
    }

    /// Its peaks are others.
    fn competes(&self) -> bool {
        false
    }

    fn verify<'a>(
        &self,
        problem: &PeaksProblem,
        inputs: &'a Inputs,
        expected: &Vec<ExpectedRow>,
    ) -> Result<Verified<'a>, Refusal> {
        let Trained { model, learned, exact } =
            self.model(problem, inputs.device()).map_err(|error| Refusal::Failed(format!("training: {error:#}")))?;
        let expected = learned_rows(&model, problem, inputs, expected);
        let gates = model.hard_gates();
        let program = Program::new(inputs, Memory::Device, move |signal| {
            model.try_forward(signal, &gates).map_err(|error| error.to_string())
        });
        let accuracy = Accuracy { train_steps: self.steps, recall: learned.recall, exact_recall: exact.recall };
        let verified = check_peaks(program, problem, inputs, &expected, true)?;
        Ok(Verified { accuracy: Some(accuracy), ..verified })
    }
}

/// The same rows as `exact`, with what the model makes of them in float64.
fn learned_rows(
    model: &LearnedWelchPeaks,
    problem: &PeaksProblem,
    inputs: &Inputs,
    exact: &[ExpectedRow],
) -> Vec<ExpectedRow> {
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
    let row = |exact: &ExpectedRow| {
        let frame: Vec<f64> = inputs.row(exact.set, exact.row).iter().map(|&sample| sample.into()).collect();
        let power = learned_welch_power(&frame, frame.len(), &taper, &definition(&problem.options), &learned);
        let (bins, _) = top_k(&power, problem.options.bins(), problem.k);
        ExpectedRow { set: exact.set, row: exact.row, power, bins }
    };
    exact.iter().map(row).collect()
}

fn wide(data: TensorData) -> Vec<f64> {
    data.convert::<f64>().iter::<f64>().collect()
}
