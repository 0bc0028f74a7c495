//! Suite of layers: each as one of Firefly's fused operations and from separate operations, forward and backward.

mod expected;
mod inputs;
mod layer;
mod log_mel;
mod long_conv;
mod power;
mod problem;
mod routine;
mod spectral_conv;
mod strategies;
mod top_k;

use std::convert::Infallible;

use burn::tensor::Device;

pub use expected::ExpectedOutputs;
pub use inputs::LayerInputs;
pub use problem::{
    LayerKind, LayerProblem, LogMelShape, LongConvShape, PowerSpectrumShape, SpectralConvShape, TopKShape,
    WelchPsdShape,
};
pub use strategies::catalogue;

use crate::harness::parameters::ParameterMap;
use crate::harness::problem::{Problem, ProblemError, WorkSize};

/// Largest input of a problem, in bytes.
const MAX_INPUT_BYTES: usize = 8 << 30;

impl Problem for LayerProblem {
    type Inputs = LayerInputs;
    type Expected = ExpectedOutputs;
    type ReferenceError = Infallible;

    fn parameters(&self) -> ParameterMap {
        let parameters = |layer: &str, shape: String| {
            ParameterMap::default().with("layer", layer).with("batch", self.batch()).with("shape", shape)
        };
        match self {
            Self::SpectralConv(_, layer) => {
                let modes: Vec<String> = layer.kept().iter().map(usize::to_string).collect();
                let shape = format!("{} channels, {}", layer.channels, layer.shape);
                parameters("spectral-conv", shape).with("modes", modes.join("x"))
            }
            Self::LongConv(_, layer) => {
                let gate = if layer.gated { ", gated" } else { "" };
                parameters("long-conv", format!("{} channels, {}{gate}", layer.channels, layer.n))
            }
            Self::LogMel(_, layer) => {
                let LogMelShape { samples, n_fft, hop, mels } = layer;
                let shape = format!("{samples} samples, n_fft {n_fft}, hop {hop}, {mels} mels");
                parameters("log-mel", shape)
            }
            Self::PowerSpectrum(_, layer) => {
                parameters("power-spectrum", format!("{} channels, {}", layer.channels, layer.n))
            }
            Self::WelchPsd(_, layer) => {
                let WelchPsdShape { samples, n_fft, hop } = layer;
                parameters("welch-psd", format!("{samples} samples, n_fft {n_fft}, hop {hop}"))
            }
            Self::TopK(_, layer) => {
                parameters("top-k", format!("{} channels, {}, k {}", layer.channels, layer.n, layer.k))
            }
        }
    }

    fn check(&self) -> Result<(), ProblemError> {
        if self.input_bytes() > MAX_INPUT_BYTES {
            let most = self.batch() / self.input_bytes().div_ceil(MAX_INPUT_BYTES);
            let expected = format!("at most about {most}, for an input of 8 GiB");
            return Err(ProblemError::OutOfRange { parameter: "batch", got: self.batch(), expected });
        }
        if let Self::TopK(_, layer) = self
            && layer.k > layer.n
        {
            let expected = format!("at most the {} values of a row", layer.n);
            return Err(ProblemError::OutOfRange { parameter: "k", got: layer.k, expected });
        }
        Ok(())
    }

    /// Every input is read once, and the result written once.
    fn size(&self) -> WorkSize {
        WorkSize { rows: self.batch(), useful_bytes: self.input_bytes() + self.output_len() * size_of::<f32>() }
    }

    fn input_memory(&self, most_sets: usize) -> usize {
        LayerInputs::memory(self, most_sets)
    }

    fn generate(&self, seed: u64, most_sets: usize, device: &Device) -> LayerInputs {
        LayerInputs::generate(self, seed, most_sets, device)
    }

    fn fits(&self, inputs: &LayerInputs) -> bool {
        inputs.fit(self)
    }

    fn expected(&self, _inputs: &LayerInputs, seed: u64) -> Result<ExpectedOutputs, Infallible> {
        Ok(ExpectedOutputs::new(self, seed))
    }
}
