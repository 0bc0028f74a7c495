//! Models of peaks by name, captured as graphs.

use burn::tensor::{Device, Tensor};
use firefly_framework::graph::{Graph, GraphError, Input, capture};
use firefly_models::testing::{Formulation, StockWelchPeaks};
use firefly_models::{LearnedWelchPeaksConfig, Peaks, WelchPeaksConfig};

use super::peaks::PeaksProblem;

/// Model of peaks or of the power that they are searched in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeaksModel {
    /// Exact peaks by one operation.
    WelchPeaks,
    /// Exact spectra by one operation.
    WelchPsd,
    /// Learned peaks, untrained.
    Learned,
    /// Exact peaks by stock operations.
    Stock(Formulation),
}

impl PeaksModel {
    /// Every model.
    pub const ALL: [Self; 7] = [
        Self::WelchPeaks,
        Self::WelchPsd,
        Self::Learned,
        Self::Stock(Formulation::Loop),
        Self::Stock(Formulation::Unfold),
        Self::Stock(Formulation::Reshape),
        Self::Stock(Formulation::Blocks),
    ];

    /// Name that users type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WelchPeaks => "welch-peaks",
            Self::WelchPsd => "welch-psd",
            Self::Learned => "learned-welch-peaks",
            Self::Stock(Formulation::Loop) => "stock-loop",
            Self::Stock(Formulation::Unfold) => "stock-unfold",
            Self::Stock(Formulation::Reshape) => "stock-reshape",
            Self::Stock(Formulation::Blocks) => "stock-blocks",
        }
    }

    /// The model applied to frames `[batch, frame]`, as a graph: bins and power are its outputs, power alone of a
    /// spectrum.
    ///
    /// # Errors
    /// [`GraphError`] for a problem that the model can't be made for.
    pub fn graph(self, problem: &PeaksProblem) -> Result<Graph, GraphError> {
        problem.validate().map_err(|error| GraphError::Model(error.to_string()))?;
        let input = [Input::new("signal", [problem.batch, problem.frame()])];
        let exact = WelchPeaksConfig::new().with_n_fft(problem.options.n_fft).with_k(problem.k).with_tier(problem.tier);
        let learned = LearnedWelchPeaksConfig::new()
            .with_n_fft(problem.options.n_fft)
            .with_k(problem.k)
            .with_segments(problem.tier.segments());
        let pair = |peaks: Peaks<2>| (peaks.bins, peaks.power);
        match self {
            Self::WelchPeaks => capture(&input, |signal: Tensor<2>, device: &Device| {
                exact.try_init(device).and_then(|model| model.try_forward(signal)).map(pair)
            }),
            Self::WelchPsd => capture(&input, |signal: Tensor<2>, device: &Device| {
                exact.try_init(device).and_then(|model| model.try_psd(signal))
            }),
            Self::Learned => capture(&input, |signal: Tensor<2>, device: &Device| {
                learned.try_init(device).and_then(|model| model.try_forward(signal, &model.hard_gates())).map(pair)
            }),
            Self::Stock(formulation) => capture(&input, |signal: Tensor<2>, device: &Device| {
                StockWelchPeaks::new(&exact, formulation, device).map(|model| pair(model.forward(signal)))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use firefly_models::Tier;

    use super::*;

    #[test]
    fn every_model_is_found_by_name_and_captured() {
        let problem = PeaksProblem::new(64, Tier::Fast, 3, 4);
        for model in PeaksModel::ALL {
            let graph = model.graph(&problem).unwrap();
            assert!(!graph.nodes().is_empty(), "{}", model.name());
            assert_eq!(graph.outputs().len(), if model == PeaksModel::WelchPsd { 1 } else { 2 });
        }
    }

    #[test]
    fn a_problem_that_can_not_be_solved_says_why() {
        let error = PeaksModel::WelchPeaks.graph(&PeaksProblem::new(100, Tier::Fast, 3, 4)).unwrap_err().to_string();
        assert!(error.contains("`n_fft` is 100"), "{error}");
    }
}
