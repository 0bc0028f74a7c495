//! Parameters of a learned Welch estimate as plain numbers.

use burn::tensor::{DType, Device};
use firefly_ops::{LearnedParameters, WelchOptions};
use firefly_reference::butterfly::exact_twiddles;
use firefly_reference::learned::LearnedValues;
use firefly_reference::window::{Symmetry, WindowShape, window};

use super::{noise, rounded, tensor, uniform};

/// The numbers behind [`LearnedParameters`], in its order.
#[derive(Debug, Clone)]
pub struct LearnedNumbers {
    pub window: Vec<f64>,
    pub twiddles: Vec<f64>,
    pub gates: Vec<f64>,
    pub weights: Vec<f64>,
    pub gain: Vec<f64>,
}

impl LearnedNumbers {
    /// Parameters that make the estimate Welch's with a Hann window.
    pub fn exact(options: &WelchOptions) -> Self {
        let n = options.n_fft;
        Self {
            window: window(WindowShape::Hann, Symmetry::Periodic, n),
            twiddles: exact_twiddles(n),
            gates: vec![1.0; options.stages() * n / 2],
            weights: vec![1.0 / options.segments as f64; options.segments],
            gain: [0.0, 1.0, 0.0].repeat(options.bins()),
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
            twiddles: moved(exact.twiddles, 0.3, seed + 1),
            gates: uniform(exact.gates.len(), 0.05..0.95, seed + 2),
            weights: uniform(options.segments, 0.2..1.0, seed + 3),
            gain: moved(exact.gain, 0.4, seed + 4),
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
            twiddles: rounded(self.twiddles),
            gates: rounded(self.gates),
            weights: rounded(self.weights),
            gain: rounded(self.gain),
        }
    }

    /// The parameters as the operations take them.
    pub fn tensors(&self, options: &WelchOptions, device: &Device, dtype: DType) -> LearnedParameters {
        let (n, stages, bins) = (options.n_fft, options.stages(), options.bins());
        LearnedParameters::new(
            tensor(&self.window, [n], device, dtype),
            tensor(&self.twiddles, [stages, n / 2, 2], device, dtype),
            tensor(&self.gates, [stages, n / 2], device, dtype),
            tensor(&self.weights, [options.segments], device, dtype),
            tensor(&self.gain, [bins, self.gain.len() / bins], device, dtype),
        )
    }

    /// The parameters as the float64 reference takes them.
    pub fn reference(&self) -> LearnedValues<'_> {
        LearnedValues { twiddles: &self.twiddles, gates: &self.gates, segment_weights: &self.weights, gain: &self.gain }
    }
}
