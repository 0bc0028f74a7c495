//! Training of learned estimates, a step at a time.

use burn::module::{Module, Param};
use burn::tensor::IndexingUpdateOp;
use firefly_models::learned_welch_peaks::Gates;
use firefly_models::{ArgumentError, LearnedWelchPeaks, LearnedWelchPeaksConfig, WelchPeaks, WelchPeaksConfig};
use firefly_ops::options::{AdamOptions, PeakLossOptions};
use firefly_ops::top_k;
use firefly_ops::training::{AdamState, PeakTargets, adam_step, peak_loss};
use wasm_bindgen::prelude::*;

use crate::learned::Learned;
use crate::{device, rows, run};

const NAME: &str = "training";
/// As the task `peaks` of `firefly train` has them: the temperature of the ranking loss in nepers, the weight of the
/// loss of log power, what is added to relative power, and what is added to a frame's mean power.
const TEMPERATURE: f64 = 0.3;
const LOG_POWER: f64 = 0.5;
const OFFSET: f64 = 1e-9;
const MIN_LEVEL: f64 = 1e-30;
/// Learning rate of the taper, of that of the gain.
const TAPER_RATE: f64 = 0.3;

/// Training of taper and gain of a learned estimate towards the peaks of all its candidate segments under a Hann window.
#[wasm_bindgen]
pub struct Training {
    model: LearnedWelchPeaks,
    gates: Gates,
    reference: WelchPeaks,
    taper: AdamState<1>,
    gain: AdamState<2>,
    steps: usize,
}

#[wasm_bindgen]
impl Training {
    /// The untrained estimate with two of `segments` candidate segments open, by their numbers.
    #[wasm_bindgen(constructor)]
    pub fn new(n_fft: usize, hop: usize, segments: usize, open: Vec<u32>, k: usize) -> Result<Training, JsError> {
        run(|| {
            let config = LearnedWelchPeaksConfig::new().with_n_fft(n_fft).with_hop(Some(hop)).with_segments(segments);
            let open = open.into_iter().map(|segment| segment as usize).collect();
            let config = config.with_open_segments(Some(open)).with_k(k);
            let exact = WelchPeaksConfig::new().with_n_fft(n_fft).with_hop(Some(hop)).with_segments(segments);
            let mut model = config.try_init(&device().autodiff())?;
            model.segment_logits = model.segment_logits.set_require_grad(false);
            Ok(Self {
                gates: model.hard_gates(),
                reference: exact.with_k(k).try_init(&device())?,
                taper: AdamState::zeros(model.taper.val().inner()),
                gain: AdamState::zeros(model.log_gain.val().inner()),
                steps: 0,
                model,
            })
        })
    }

    /// Samples of a frame.
    pub fn frame(&self) -> usize {
        self.model.options().frame()
    }

    /// Trains on rows of frames, and returns the loss before it.
    pub fn step(&mut self, signal: Vec<f32>, learning_rate: f64) -> Result<f64, JsError> {
        run(|| {
            let signal = rows(NAME, "signal", signal, self.model.options().frame())?;
            let k = self.model.config().k;
            let power = self.reference.try_psd(signal.clone())?;
            let bins = top_k(power.clone(), k)?.bins;
            // A frame without finite power has no peaks: its bins are −1 and add 0 to bin 0.
            let is_peak = bins.clone().greater_equal_elem(0).float();
            let peaks = power.zeros_like().scatter(1, bins.clamp_min(0), is_peak, IndexingUpdateOp::Add);
            let mean = power.clone().mean_dim(1) + MIN_LEVEL;
            let [peaks, power, mean] = [peaks, power, mean].map(|tensor| tensor.autodiff());
            let per_peak = 1.0 / (signal.dims()[0] * k) as f64;
            let options = PeakLossOptions::new(k).with_temperature(TEMPERATURE).with_offset(OFFSET);
            let options = options.with_weights([TEMPERATURE * per_peak, LOG_POWER * per_peak]);
            let estimate = self.model.try_psd(signal.autodiff(), &self.gates)?;
            let loss = peak_loss(estimate, PeakTargets::new(peaks, power, mean), &options)?.sum();
            let gradients = loss.backward();
            let loss = loss.inner().into_scalar::<f32>();
            let finite = "of finite samples, of which the loss is finite";
            let (taper, gain) = (self.model.taper.val().grad(&gradients), self.model.log_gain.val().grad(&gradients));
            let (true, Some(taper), Some(gain)) = (loss.is_finite(), taper, gain) else {
                return Err(ArgumentError::new(NAME, "signal", format_args!("with a loss of {loss}"), finite));
            };
            let rate = |share: f64| AdamOptions::new(learning_rate * share, self.steps + 1);
            let taper = adam_step(self.taper.clone(), taper, &rate(TAPER_RATE))?;
            let gain = adam_step(self.gain.clone(), gain, &rate(1.0))?;
            self.model.taper = Param::from_tensor(taper.parameter.clone().autodiff());
            self.model.log_gain = Param::from_tensor(gain.parameter.clone().autodiff());
            (self.taper, self.gain, self.steps) = (taper, gain, self.steps + 1);
            Ok(f64::from(loss))
        })
    }

    /// The estimate as it is now.
    pub fn learned(&self) -> Learned {
        Learned::of(self.model.valid())
    }
}
