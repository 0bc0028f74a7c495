//! Predictions suite: predicted and measured times of every captured graph of a problem.

use std::hint::black_box;
use std::time::{Duration, Instant};

use burn::tensor::{Device, Tensor, TensorData};
use firefly_framework::cost::Prediction;
use firefly_framework::graph::{Graph, GraphError};
use firefly_framework::movement::{MovementOptions, count};
use firefly_framework::profile::DeviceProfile;
use firefly_framework::rewrite::register_costs;

use super::models::PeaksModel;
use super::peaks::{FrameInputs, PeaksProblem};
use super::phases::{GraphRunner, Phase, replay};
use crate::harness::routine::RoutineError;
use crate::harness::statistics::Spread;
use crate::harness::timing::TurnOrder;
use crate::harness::verification::CaseError;

/// Factor of the measured time within which a prediction of a graph is good.
pub const GOOD: f64 = 2.0;
/// Least time of the untimed runs that precede a timed one.
const CONDITIONING: Duration = Duration::from_micros(500);

/// Predicted and measured time of a graph.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictedGraph {
    /// The problem.
    pub problem: PeaksProblem,
    /// Name of the phase or model.
    pub name: &'static str,
    /// Predicted nanoseconds, from frames on the device to results in host memory.
    pub predicted: f64,
    /// Measured nanoseconds.
    pub measured: Spread,
}

impl PredictedGraph {
    /// Predicted time divided by the measured median.
    pub fn ratio(&self) -> f64 {
        self.predicted / self.measured.median
    }
}

/// Shares of graphs whose predicted time is within a factor of [`GOOD`] of the measured median, and of the fastest
/// tenth of the samples; none of no graphs.
pub fn shares(graphs: &[PredictedGraph]) -> Option<[f64; 2]> {
    let of_median = share_within(GOOD, graphs.iter().map(PredictedGraph::ratio))?;
    Some([of_median, share_within(GOOD, graphs.iter().map(|graph| graph.predicted / graph.measured.p10))?])
}

/// Share of ratios of predicted to measured time that are within a factor; none of no ratios.
pub fn share_within(factor: f64, ratios: impl IntoIterator<Item = f64>) -> Option<f64> {
    let ratios: Vec<f64> = ratios.into_iter().collect();
    let within = ratios.iter().filter(|ratio| ratio.max(1.0 / **ratio) <= factor).count();
    (!ratios.is_empty()).then(|| within as f64 / ratios.len() as f64)
}

/// Predicts and times the graphs of a problem: those of the fusion phases as traced, and those of the models. Graphs
/// that the device can't replay are left out. The graphs take turns for `iterations`.
///
/// # Errors
/// For a problem that is out of range, and a device that fails.
pub fn measure(
    problem: &PeaksProblem,
    profile: &DeviceProfile,
    device: &Device,
    iterations: usize,
) -> anyhow::Result<Vec<PredictedGraph>> {
    let mut options = MovementOptions::default();
    register_costs(&mut options.costs);
    let mut runners: Vec<(&'static str, f64, GraphRunner)> = Vec::new();
    for (name, graph) in graphs(problem)? {
        match replay(&graph, device) {
            Ok(run) => runners.push((name, Prediction::of_graph(&count(&graph, &options), profile).total(), run)),
            Err(
                CaseError::Unsupported(_) | CaseError::Routine(RoutineError::Graph(GraphError::UnknownOperation(_))),
            ) => (),
            Err(error) => return Err(error.into()),
        }
    }
    let inputs = FrameInputs::generate(problem, 0, 1, device);
    let frames = &inputs.tensors()[0];
    let mut samples = vec![Vec::with_capacity(iterations); runners.len()];
    let mut order = TurnOrder::new(runners.len(), 0);
    for _ in 0..iterations {
        for &which in order.draw() {
            let run = || read(&runners[which].2, frames);
            let begin = Instant::now();
            loop {
                run()?;
                if begin.elapsed() >= CONDITIONING {
                    break;
                }
            }
            let start = Instant::now();
            run()?;
            samples[which].push(start.elapsed().as_nanos() as f64);
        }
    }
    let timed = runners.into_iter().zip(samples);
    Ok(timed
        .filter_map(|((name, predicted, _), samples)| {
            Some(PredictedGraph { problem: *problem, name, predicted, measured: Spread::of(samples)? })
        })
        .collect())
}

/// The graphs of phases and models by name.
fn graphs(problem: &PeaksProblem) -> Result<Vec<(&'static str, Graph)>, GraphError> {
    let phases = Phase::ALL.into_iter().map(|phase| Ok((phase.name(), phase.graph(problem)?)));
    let models = PeaksModel::ALL.into_iter().map(|model| Ok((model.name(), model.graph(problem)?)));
    phases.chain(models).collect()
}

/// Runs a graph, and touches every result: an accelerator may copy it when its bytes are first accessed.
fn read(run: &GraphRunner, frames: &Tensor<2>) -> Result<(), RoutineError> {
    let outputs: Vec<TensorData> = run(frames.clone())?;
    outputs.iter().for_each(|output| _ = black_box(output.as_bytes()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use firefly_framework::profile::Preset;
    use firefly_models::Tier;

    use super::*;

    #[test]
    fn every_graph_is_predicted_and_timed() {
        let problem = PeaksProblem::new(64, Tier::Fast, 5, 4);
        let found = measure(&problem, &Preset::Cpu.profile(), &Device::flex(), 2).unwrap();
        assert_eq!(found.len(), Phase::ALL.len() + PeaksModel::ALL.len());
        assert!(found.iter().all(|graph| graph.predicted > 0.0 && graph.measured.median > 0.0), "{found:?}");
    }

    #[test]
    fn ratios_on_either_side_count_alike() {
        assert_eq!(share_within(2.0, [1.0, 0.5, 2.0, 0.4, 2.1, 1.9]), Some(4.0 / 6.0));
        assert_eq!(share_within(2.0, []), None);
    }
}
