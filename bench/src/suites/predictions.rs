//! Predictions suite: predicted and measured times of captured graphs and of the zoo's models.

use std::hint::black_box;
use std::time::{Duration, Instant};

use burn::tensor::{Device, TensorData};
use firefly_framework::cost::Prediction;
use firefly_framework::graph::{Graph, GraphError};
use firefly_framework::movement::{MovementOptions, count};
use firefly_framework::profile::DeviceProfile;
use firefly_framework::rewrite::register_costs;
use firefly_models::zoo::{self, Settings};

use super::models::PeaksModel;
use super::peaks::{FrameInputs, PeaksProblem};
use super::phases::{Phase, replay};
use super::zoo_models::{inputs, recordable};
use crate::harness::routine::RoutineError;
use crate::harness::statistics::Percentiles;
use crate::harness::timing::TurnOrder;
use crate::harness::verification::CaseError;

/// Factor of the measured time within which a prediction of a graph is good.
pub const GOOD: f64 = 2.0;
/// Least time of the untimed runs that precede a timed one.
const CONDITIONING: Duration = Duration::from_micros(500);

/// Predicted and measured time of a graph.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictedGraph {
    /// Name of the phase or model.
    pub name: &'static str,
    /// Predicted nanoseconds, from inputs on the device to results in host memory.
    pub predicted: f64,
    /// Measured nanoseconds.
    pub measured: Percentiles,
}

impl PredictedGraph {
    /// Predicted time divided by the measured median.
    pub fn ratio(&self) -> f64 {
        self.predicted / self.measured.median
    }
}

/// Shares of graphs whose predicted time is within a factor of [`GOOD`] of the measured median, and of the fastest
/// tenth of the samples; none of no graphs.
pub fn shares<'a>(graphs: impl Iterator<Item = &'a PredictedGraph> + Clone) -> Option<[f64; 2]> {
    let of_median = share_within(GOOD, graphs.clone().map(PredictedGraph::ratio))?;
    Some([of_median, share_within(GOOD, graphs.map(|graph| graph.predicted / graph.measured.p10))?])
}

/// Share of ratios of predicted to measured time that are within a factor; none of no ratios.
pub fn share_within(factor: f64, ratios: impl IntoIterator<Item = f64>) -> Option<f64> {
    let ratios: Vec<f64> = ratios.into_iter().collect();
    let within = ratios.iter().filter(|ratio| ratio.max(1.0 / **ratio) <= factor).count();
    (!ratios.is_empty()).then(|| within as f64 / ratios.len() as f64)
}

/// Predicts and times the graphs of a problem: those of the fusion phases as traced, and those of the models of peaks.
/// Graphs that the device can't replay are left out. The graphs take turns for `iterations`.
///
/// # Errors
/// For a problem that is out of range, and a device that fails.
pub fn measure_peaks(
    problem: &PeaksProblem,
    profile: &DeviceProfile,
    device: &Device,
    iterations: usize,
) -> anyhow::Result<Vec<PredictedGraph>> {
    let frames = FrameInputs::generate(problem, 0, 1, device);
    let mut calls = Vec::new();
    for (name, graph) in peaks_graphs(problem)? {
        match replay(&graph, device) {
            Ok(run) => {
                let frames = frames.tensors()[0].clone();
                calls.push(TimedCall::new(name, &graph, profile, move || Ok(run(frames.clone())?)));
            }
            Err(
                CaseError::Unsupported(_) | CaseError::Routine(RoutineError::Graph(GraphError::UnknownOperation(_))),
            ) => (),
            Err(error) => return Err(error.into()),
        }
    }
    in_turn(&calls, iterations)
}

/// Predicts and times models of the zoo on a batch, as their users call them. Models that can't be recorded are left
/// out. The models take turns for `iterations`.
///
/// # Errors
/// For an unknown name, and a device that fails.
pub fn measure_zoo(
    names: &[&'static str],
    batch: usize,
    profile: &DeviceProfile,
    device: &Device,
    iterations: usize,
) -> anyhow::Result<Vec<PredictedGraph>> {
    let mut calls = Vec::new();
    for name in names {
        let Some(recorded) = recordable(name)? else { continue };
        let graph = recorded.capture(batch)?;
        let model = zoo::create(name, &Settings::new(), device)?;
        let inputs = inputs(&model, batch, device);
        let run = move || {
            let outputs = model.try_forward(inputs.clone())?;
            Ok(outputs.into_iter().map(|output| output.into_data()).collect())
        };
        calls.push(TimedCall::new(name, &graph, profile, run));
    }
    in_turn(&calls, iterations)
}

/// The graphs of phases and models of peaks by name.
fn peaks_graphs(problem: &PeaksProblem) -> Result<Vec<(&'static str, Graph)>, GraphError> {
    let phases = Phase::ALL.into_iter().map(|phase| Ok((phase.name(), phase.graph(problem)?)));
    let models = PeaksModel::ALL.into_iter().map(|model| Ok((model.name(), model.graph(problem)?)));
    phases.chain(models).collect()
}

/// Computation with its predicted time.
struct TimedCall {
    name: &'static str,
    predicted: f64,
    run: Box<dyn Fn() -> anyhow::Result<Vec<TensorData>>>,
}

impl TimedCall {
    fn new(
        name: &'static str,
        graph: &Graph,
        profile: &DeviceProfile,
        run: impl Fn() -> anyhow::Result<Vec<TensorData>> + 'static,
    ) -> Self {
        let mut options = MovementOptions::default();
        register_costs(&mut options.costs);
        let predicted = Prediction::of_graph(&count(graph, &options), profile).total();
        Self { name, predicted, run: Box::new(run) }
    }

    /// Runs, and touches every result: an accelerator may copy it when its bytes are first accessed.
    fn read(&self) -> anyhow::Result<()> {
        (self.run)()?.iter().for_each(|output| _ = black_box(output.as_bytes()));
        Ok(())
    }
}

/// Times computations in an order that is drawn anew each time.
fn in_turn(calls: &[TimedCall], iterations: usize) -> anyhow::Result<Vec<PredictedGraph>> {
    let mut samples = vec![Vec::with_capacity(iterations); calls.len()];
    let mut order = TurnOrder::new(calls.len(), 0);
    for _ in 0..iterations {
        for &which in order.draw() {
            let begin = Instant::now();
            loop {
                calls[which].read()?;
                if begin.elapsed() >= CONDITIONING {
                    break;
                }
            }
            let start = Instant::now();
            calls[which].read()?;
            samples[which].push(start.elapsed().as_nanos() as f64);
        }
    }
    let timed = calls.iter().zip(samples);
    Ok(timed
        .filter_map(|(TimedCall { name, predicted, .. }, samples)| {
            Some(PredictedGraph { name, predicted: *predicted, measured: Percentiles::of(samples)? })
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use firefly_framework::profile::Preset;
    use firefly_models::Tier;

    use super::*;

    #[test]
    fn every_graph_is_predicted_and_timed() {
        let problem = PeaksProblem::new(64, Tier::Fast, 5, 4);
        let found = measure_peaks(&problem, &Preset::Cpu.profile(), &Device::flex(), 2).unwrap();
        assert_eq!(found.len(), Phase::ALL.len() + PeaksModel::ALL.len());
        assert!(found.iter().all(|graph| graph.predicted > 0.0 && graph.measured.median > 0.0), "{found:?}");
    }

    #[test]
    fn models_that_can_be_recorded_are_predicted_and_timed() {
        let names = ["fits_tiny", "timesnet_tiny", "fnet_tiny"];
        let found = measure_zoo(&names, 2, &Preset::Cpu.profile(), &Device::flex(), 2).unwrap();
        assert_eq!(found.iter().map(|graph| graph.name).collect::<Vec<_>>(), ["fits_tiny", "fnet_tiny"]);
        assert!(found.iter().all(|graph| graph.predicted > 0.0 && graph.measured.median > 0.0), "{found:?}");
    }

    #[test]
    fn ratios_and_their_inverses_count_equally() {
        assert_eq!(share_within(2.0, [1.0, 0.5, 2.0, 0.4, 2.1, 1.9]), Some(4.0 / 6.0));
        assert_eq!(share_within(2.0, []), None);
    }
}
