//! Parameters of the operations as plain numbers: windows, gains, twiddles and gates.

use burn::tensor::{DType, Device, Tensor};
use firefly_ops::options::SegmentSet;
use firefly_ops::{ArgumentError, Peaks, WelchOptions, WelchWeights, welch_peaks, welch_psd};
use firefly_reference::butterfly::exact_twiddles;
use firefly_reference::learned::{LearnedValues, learned_welch_power};
use firefly_reference::window::{Symmetry, WindowShape, window};

use super::{definition, noise, rounded, tensor, uniform};

/// Parameters of the operations.
#[derive(Debug, Clone)]
pub struct WeightNumbers {
    pub window: Vec<f64>,
    pub gain: Vec<f64>,
    pub twiddles: Vec<f64>,
    pub gates: Vec<f64>,
}

/// The same as tensors.
#[derive(Debug, Clone)]
pub struct WeightTensors {
    pub window: Tensor<1>,
    pub gain: Tensor<2>,
    pub twiddles: Tensor<3>,
    pub gates: Tensor<2>,
}

impl WeightNumbers {
    /// A Hann window, a gain that changes nothing, and, for lengths that have butterflies, exact twiddles and open gates.
    pub fn exact(options: &WelchOptions) -> Self {
        let n = options.n_fft;
        let has_butterflies = n.is_power_of_two();
        Self {
            window: window(WindowShape::Hann, Symmetry::Periodic, n),
            gain: [0.0, 1.0, 0.0].repeat(options.bins()),
            twiddles: if has_butterflies { exact_twiddles(n) } else { Vec::new() },
            gates: if has_butterflies { vec![1.0; options.stages() * n / 2] } else { Vec::new() },
        }
    }

    /// Everything moved away from the exact, gates in (0, 1).
    pub fn perturbed(options: &WelchOptions, seed: u64) -> Self {
        let exact = Self::exact(options);
        let moved = |values: Vec<f64>, by: f64, seed: u64| -> Vec<f64> {
            let noise = noise(values.len(), seed);
            values.iter().zip(noise).map(|(value, noise)| value + by * noise).collect()
        };
        Self {
            window: moved(exact.window, 0.2, seed),
            gain: moved(exact.gain, 0.4, seed + 4),
            twiddles: moved(exact.twiddles, 0.3, seed + 1),
            gates: uniform(exact.gates.len(), 0.05..0.95, seed + 2),
        }
    }

    /// The same with a gain that takes products of neighbours.
    pub fn with_products(self, options: &WelchOptions, seed: u64) -> Self {
        let noise = noise(5 * options.bins(), seed);
        let exact = [0.0, 1.0, 0.0, 0.0, 0.0];
        Self { gain: noise.iter().enumerate().map(|(at, noise)| exact[at % 5] + 0.4 * noise).collect(), ..self }
    }

    /// Every number as f32 holds it.
    pub fn rounded(self) -> Self {
        Self {
            window: rounded(self.window),
            gain: rounded(self.gain),
            twiddles: rounded(self.twiddles),
            gates: rounded(self.gates),
        }
    }

    pub fn tensors(&self, options: &WelchOptions, device: &Device, dtype: DType) -> WeightTensors {
        let (n, stages, bins) = (options.n_fft, options.stages(), options.bins());
        WeightTensors {
            window: tensor(&self.window, [n], device, dtype),
            gain: tensor(&self.gain, [bins, self.gain.len() / bins], device, dtype),
            twiddles: tensor(&self.twiddles, [stages, n / 2, 2], device, dtype),
            gates: tensor(&self.gates, [stages, n / 2], device, dtype),
        }
    }

    /// Power of every row with window and gain, by the float64 definition.
    pub fn expected_power(&self, samples: &[f64], frame: usize, options: &WelchOptions) -> Vec<f64> {
        let exact = Self::exact(options);
        let is_open = |segment: usize| options.chosen.is_none_or(|set| set.indices().any(|index| index == segment));
        let weight = |segment| if is_open(segment) { 1.0 / options.averaged() as f64 } else { 0.0 };
        let weights: Vec<f64> = (0..options.segments).map(weight).collect();
        let (twiddles, gates, gain) = (&exact.twiddles, &exact.gates, &self.gain);
        let values = LearnedValues { twiddles, gates, segment_weights: &weights, gain };
        learned_welch_power(samples, frame, &self.window, &definition(options), &values)
    }
}

impl WeightTensors {
    /// Window and gain.
    pub fn weights(&self) -> WelchWeights {
        WelchWeights::new(self.window.clone()).with_gain(Some(self.gain.clone()))
    }
}

/// Power with a window and a gain.
pub fn gained_psd<const D: usize>(
    signal: Tensor<D>,
    parameters: &WeightTensors,
    options: &WelchOptions,
) -> Result<Tensor<D>, ArgumentError> {
    welch_psd(signal, parameters.weights(), options)
}

/// The strongest bins of power with a window and a gain.
pub fn gained_peaks<const D: usize>(
    signal: Tensor<D>,
    parameters: &WeightTensors,
    options: &WelchOptions,
    k: usize,
) -> Result<Peaks<D>, ArgumentError> {
    welch_peaks(signal, parameters.weights(), options, k)
}

/// The options with every `step`-th segment chosen, the first of them the last one below `step`, or with all.
pub fn every_segment(step: usize, options: &WelchOptions) -> WelchOptions {
    let step = step.min(options.segments);
    let chosen = (0..options.segments).filter(|segment| (segment + 1).is_multiple_of(step));
    options.with_chosen((step > 1).then(|| SegmentSet::new(chosen).expect("there are few segments")))
}
