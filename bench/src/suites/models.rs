//! Models that are captured as graphs: those of peaks by name, and those of the zoo on inputs of their own.

use burn::tensor::{Device, Tensor, TensorData};
use firefly_framework::graph::{AnyTensor, Graph, GraphError, Input, capture};
use firefly_models::testing::{Formulation, StockWelchPeaks};
use firefly_models::zoo::{self, Settings, ZooError, ZooModel};
use firefly_models::{LearnedWelchPeaksConfig, Peaks};
use firefly_ops::options::validate_n_fft;
use firefly_ops::{ArgumentError, WelchOptions};

use super::peaks::PeaksProblem;

/// Model of peaks or of the power that they are searched in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeaksModel {
    WelchPeaks,
    WelchPsd,
    /// Learned peaks, untrained.
    Learned,
    Stock(Formulation),
}

impl PeaksModel {
    pub const NAMED: [(&str, Self); 7] = [
        ("welch-peaks", Self::WelchPeaks),
        ("welch-psd", Self::WelchPsd),
        ("learned-welch-peaks", Self::Learned),
        ("stock-loop", Self::Stock(Formulation::Loop)),
        ("stock-unfold", Self::Stock(Formulation::Unfold)),
        ("stock-reshape", Self::Stock(Formulation::Reshape)),
        ("stock-blocks", Self::Stock(Formulation::Blocks)),
    ];

    pub fn learned(problem: &PeaksProblem) -> LearnedWelchPeaksConfig {
        let WelchOptions { n_fft, segments, .. } = problem.options;
        LearnedWelchPeaksConfig::new().with_n_fft(n_fft).with_k(problem.k).with_segments(segments)
    }

    /// The model applied to frames `[batch, frame]`, as a graph: bins and power are its outputs, power alone of a
    /// spectrum.
    pub fn graph(self, problem: &PeaksProblem) -> Result<Graph, GraphError> {
        let refuse = |error: ArgumentError| GraphError::Model(error.to_string());
        problem.validate().map_err(refuse)?;
        if let Self::Stock(_) = self {
            // Burn's own transforms take powers of two.
            validate_n_fft("stock", "n_fft", problem.options.n_fft).map_err(refuse)?;
        }
        let input = [Input::new("signal", [problem.batch, problem.frame()])];
        let pair = |peaks: Peaks<2>| vec![peaks.bins.into(), peaks.power.into()];
        capture(&input, |signal: Tensor<2>, device: &Device| -> Result<Vec<AnyTensor>, ArgumentError> {
            Ok(match self {
                Self::WelchPeaks => pair(problem.exact_model(device)?.try_forward(signal)?),
                Self::WelchPsd => vec![problem.exact_model(device)?.try_psd(signal)?.into()],
                Self::Learned => {
                    let model = Self::learned(problem).try_init(device)?;
                    pair(model.try_forward(signal, &model.hard_gates())?)
                }
                Self::Stock(formulation) => {
                    pair(StockWelchPeaks::new(&problem.config(), formulation, device)?.forward(signal))
                }
            })
        })
    }
}

/// Names of the variants that are called as their family: one per family.
pub fn family_models() -> Vec<&'static str> {
    zoo::list("").into_iter().filter(|name| zoo::family(name).is_ok_and(|family| family == *name)).collect()
}

/// The untrained model `name` on the host.
pub fn untrained(name: &str) -> Result<ZooModel, ZooError> {
    zoo::create(name, &Settings::new(), &Device::flex())
}

/// Inputs of a batch on `device`: floats spread over −1 to 1, integers from 0 to 2.
pub fn inputs(model: &ZooModel, batch: usize, device: &Device) -> Vec<AnyTensor> {
    model.inputs(batch).iter().map(|input| AnyTensor::from_data(data(input), device)).collect()
}

fn data(input: &Input) -> TensorData {
    let spread = |index: usize| (index as u32).wrapping_mul(2_654_435_761) as f32 / (u32::MAX / 2) as f32 - 1.0;
    let is_float = input.dtype.is_float();
    let value = |index: usize| if is_float { spread(index) } else { (index % 3) as f32 };
    let values: Vec<f32> = (0..input.shape.iter().product()).map(value).collect();
    TensorData::new(values, input.shape.clone()).convert_dtype(input.dtype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_is_found_by_name_and_captured() {
        let problem = PeaksProblem::new(64, 2, 3, 4);
        for (name, model) in PeaksModel::NAMED {
            let graph = model.graph(&problem).unwrap();
            assert!(!graph.nodes().is_empty(), "{name}");
            assert_eq!(graph.outputs().len(), if model == PeaksModel::WelchPsd { 1 } else { 2 });
        }
    }

    #[test]
    fn a_problem_that_can_not_be_solved_says_why() {
        let error = |model: PeaksModel, problem| model.graph(&problem).unwrap_err().to_string();
        let few_bins = error(PeaksModel::WelchPeaks, PeaksProblem::new(8, 2, 3, 6));
        assert!(few_bins.contains("`k` is 6"), "{few_bins}");
        let stock = error(PeaksModel::Stock(Formulation::Unfold), PeaksProblem::new(100, 2, 3, 4));
        assert!(stock.contains("`n_fft` is 100"), "{stock}");
    }

    #[test]
    fn every_family_has_a_model_and_inputs_that_it_takes() {
        let names = family_models();
        assert!(names.len() >= 16 && names.contains(&"fno2d"), "{names:?}");
        for name in ["fnet_tiny", "welch_peaks_tiny"] {
            let model = untrained(name).unwrap();
            let outputs = model.try_forward(inputs(&model, 3, &Device::flex())).unwrap();
            assert!(outputs.iter().all(|output| output.dims()[0] == 3), "{name}");
        }
    }
}
