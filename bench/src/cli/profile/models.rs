//! Models that can be looked at without being run, by name.

use std::str::FromStr;

use burn::tensor::{Device, Tensor};
use firefly_framework::graph::{Graph, GraphError, Input, capture};
use firefly_models::testing::{Formulation, StockWelchPeaks};
use firefly_models::{LearnedWelchPeaksConfig, Peaks, WelchPeaksConfig};

use crate::cli::lists::{self, ListError};
use crate::suites::peaks::PeaksProblem;

/// A model of the zoo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// Exact peaks by one operation.
    WelchPeaks,
    /// Exact spectra by one operation.
    WelchPsd,
    /// Learned peaks, as they are before training.
    Learned,
    /// Exact peaks by stock operations.
    Stock(Formulation),
}

impl Model {
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

    /// The name users type.
    pub fn name(self) -> String {
        match self {
            Self::WelchPeaks => "welch-peaks".into(),
            Self::WelchPsd => "welch-psd".into(),
            Self::Learned => "learned-welch-peaks".into(),
            Self::Stock(formulation) => format!("stock-{}", formulation.name()),
        }
    }

    /// The model applied to frames `[batch, frame]`, as a graph: bins and power are its outputs, power alone of a spectrum.
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
        let pair = |peaks: Peaks| (peaks.bins, peaks.power);
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

impl FromStr for Model {
    type Err = ListError;

    fn from_str(text: &str) -> Result<Self, ListError> {
        let names = Self::ALL.map(Self::name);
        let places = lists::named(text, "model", &names.each_ref().map(String::as_str))?;
        Ok(Self::ALL[places[0]])
    }
}

#[cfg(test)]
mod tests {
    use firefly_models::Tier;

    use super::*;

    #[test]
    fn every_model_is_found_by_name_and_captured() {
        let problem = PeaksProblem::new(64, Tier::Fast, 3, 4);
        for model in Model::ALL {
            assert_eq!(model.name().parse(), Ok(model));
            let graph = model.graph(&problem).unwrap();
            assert!(!graph.nodes().is_empty(), "{}", model.name());
            assert_eq!(graph.outputs().len(), if model == Model::WelchPsd { 1 } else { 2 });
        }
        assert!("stock-lop".parse::<Model>().unwrap_err().to_string().contains("did you mean `stock-loop`?"));
    }

    #[test]
    fn a_problem_that_can_not_be_solved_says_why() {
        let error = Model::WelchPeaks.graph(&PeaksProblem::new(100, Tier::Fast, 3, 4)).unwrap_err().to_string();
        assert!(error.contains("`n_fft` is 100"), "{error}");
    }
}
