//! Predictions suite: captured graphs that are replayed, and models of the zoo, with their predicted times.

use std::path::Path;
use std::sync::Arc;

use burn::tensor::{Device, TensorData};
use firefly_app::device::DeviceName;
use firefly_framework::graph::{AnyTensor, GraphError};
use firefly_framework::movement::{MovementOptions, count};
use firefly_framework::profile::DeviceProfile;
use firefly_models::zoo::{self, ZooError};
use firefly_ops::ArgumentError;
use firefly_ops::options::validate_n_fft;

use super::models::{PeaksModel, inputs, recordable};
use super::peaks::{PeaksProblem, STOCK, check_peaks, expected, learned_rows, on_device};
use super::phases::{self, replay};
use crate::harness::{
    BenchStrategy, CaseError, Expectation, ParameterMap, PhaseTraffic, Problem, RoutineError, TensorRoutine,
    TensorSpec, Unsupported, Verified, check, check_memory, read, tolerance, whole_tensors,
};

/// Error allowed of a model of the zoo beside the same model on the host, relative to the largest value of a result:
/// matrix products of accelerators may round their factors to TF32, through several layers.
const ZOO_TOLERANCE: f64 = 1e-2;

/// The fusion phases as traced, and every model of peaks, replayed, predicted by the costs of a device.
pub fn catalogue(costs: &DeviceProfile) -> Vec<BenchStrategy<PeaksProblem>> {
    let shared = Arc::new(costs.clone());
    let models = PeaksModel::NAMED.map(|(name, model)| replayed(name, model, shared.clone()));
    phases::catalogue(costs.clone(), true).into_iter().chain(models).collect()
}

/// A model of peaks, captured and replayed. Its learned model is untrained.
fn replayed(name: &'static str, model: PeaksModel, costs: Arc<DeviceProfile>) -> BenchStrategy<PeaksProblem> {
    BenchStrategy::new(
        name,
        "a model of peaks, captured and replayed",
        move |problem: &PeaksProblem, inputs, references| {
            let graph = model.graph(problem).map_err(Unsupported::Graph)?;
            let traffic = PhaseTraffic::of_graph(&count(&graph, &MovementOptions::default()), &costs);
            let routine = on_device(inputs, replay(&graph, inputs.device())?).reading_back();
            let rows = match model {
                PeaksModel::Learned => {
                    let refuse = |error: ArgumentError| Unsupported::Graph(GraphError::Model(error.to_string()));
                    // The definition of learned estimates is one of butterflies.
                    validate_n_fft(name, "n_fft", problem.options.n_fft).map_err(refuse)?;
                    let learned = PeaksModel::learned(problem).try_init(&Device::flex()).map_err(refuse)?;
                    learned_rows(&learned, inputs, references)
                }
                _ => expected(problem, inputs, references),
            };
            let verified = if model == PeaksModel::WelchPsd {
                let (sizes, allowed) = ([1, problem.batch, problem.options.bins()], tolerance(problem.options.n_fft));
                check(routine, &Expectation::of_rows(rows, sizes, allowed), inputs)?
            } else {
                // Burn's sort leaves the order of equal powers open.
                check_peaks(routine, problem, inputs, rows, !model.is_stock())?
            };
            Ok(Verified { traffic: Some(Box::new(traffic)), ..verified })
        },
    )
    .with_temporaries(STOCK)
}

/// A batch for models of the zoo, whose inputs are of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZooBatch(pub usize);

impl Problem for ZooBatch {
    fn parameters(&self) -> ParameterMap {
        ParameterMap::default().with("batch", self.0)
    }

    fn rows(&self) -> usize {
        self.0
    }

    fn inputs(&self) -> Vec<TensorSpec> {
        Vec::new()
    }

    fn output_bytes(&self) -> usize {
        0
    }

    fn max_sets(&self) -> usize {
        1
    }
}

/// Models of the zoo as their users call them, without those that can't be captured.
pub fn zoo_catalogue(names: &[&'static str], costs: &DeviceProfile) -> Result<Vec<BenchStrategy<ZooBatch>>, ZooError> {
    let costs = Arc::new(costs.clone());
    let mut strategies = Vec::new();
    for name in names {
        if zoo::card(name)?.capture_unsupported.is_none() {
            strategies.push(of_zoo(name, costs.clone()));
        }
    }
    Ok(strategies)
}

/// A model of the zoo, compared with the same model on the host.
fn of_zoo(name: &'static str, costs: Arc<DeviceProfile>) -> BenchStrategy<ZooBatch> {
    BenchStrategy::new(name, "a model of the zoo, untrained", move |&ZooBatch(batch): &ZooBatch, sets, references| {
        let (device, host) = (sets.device(), Device::flex());
        let failed = |error: ZooError| CaseError::Routine(RoutineError::failed(error));
        let model = recordable(name).map_err(failed)?.ok_or(Unsupported::Replay)?;
        let moved = count(&model.capture(batch).map_err(failed)?, &MovementOptions::default());
        // On an accelerator, inputs alone are made in host memory.
        let is_on_host = DeviceName::of(device).kind().is_host();
        let bytes = if is_on_host { moved.peak_bytes } else { moved.held_bytes };
        check_memory(bytes as usize).map_err(Unsupported::from)?;
        let rows = references.whole::<CaseError>(name, || {
            let results = model.try_forward(inputs(&model, batch, &host))?;
            let floats = results.into_iter().filter(AnyTensor::is_float).collect::<Vec<_>>();
            let wide = |data: TensorData| data.convert::<f64>().try_to_vec::<f64>().map_err(RoutineError::failed);
            let values = read(floats)?.into_iter().map(wide).collect::<Result<_, _>>()?;
            Ok(whole_tensors(0, values).collect())
        })?;
        let bytes = model.to_bytes().map_err(failed)?;
        let model = zoo::from_bytes(Path::new(name), bytes, device).map_err(failed)?;
        let operands = inputs(&model, batch, device);
        let forward = move |operands| Ok(model.try_forward(operands)?);
        let routine = TensorRoutine::new(device, move |_| Ok(operands.clone()), forward).reading_back();
        let verified = check(routine, &Expectation::of_tensors(rows, batch, ZOO_TOLERANCE), sets)?;
        Ok(Verified { traffic: Some(Box::new(PhaseTraffic::of_graph(&moved, &costs))), ..verified })
    })
    .without_competing()
}
