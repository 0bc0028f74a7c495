//! Calibration: measurement of a device's constants, of the crossovers of [strategies](crate::picker::Strategy), and of
//! the operations that graphs are made of.
//!
//! [`measure_constants`] times small programs on the device. [`measure_operations`] isolates each operation of the
//! caller's graphs, and a [`CrossoverGrid`] lists the problem sizes to time; both leave the timing itself to the caller,
//! who has the models and the device:
//!
//! ```
//! use firefly_framework::calibration::CrossoverGrid;
//! use firefly_framework::picker::Strategy;
//!
//! // A device that takes 100 µs per call, and a host that takes 1 µs per frame.
//! let grid = CrossoverGrid::full();
//! let times = grid.sizes().iter().map(|size| vec![100e3, 1e3 * size.batch as f64, 100e3]).collect::<Vec<_>>();
//! let crossovers = grid.crossovers(&[Strategy::Fused, Strategy::Host, Strategy::Learned], &times)?;
//! assert!((crossovers.at(256, 2, 16).unwrap().frames - 100.0).abs() < 1e-6);
//! # Ok::<_, firefly_framework::profile::InvalidMeasurement>(())
//! ```

mod crossovers;

use std::collections::{BTreeMap, HashSet};
use std::hint::black_box;
use std::time::Instant;

use burn::tensor::{Device, Tensor, TensorData};
use thiserror::Error;

use crate::graph::Graph;
use crate::movement::{MovementOptions, NodeMovement, count};
use crate::profile::{DeviceProfile, InvalidMeasurement, LatencyTable};
pub use crossovers::CrossoverGrid;

/// Error of a calibration.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CalibrationError {
    /// The device failed.
    #[error("the device failed: {0}")]
    Device(String),
    /// The measured times make no latency table.
    #[error("measured times: {0}")]
    Invalid(#[from] InvalidMeasurement),
}

/// Bytes of the tensors that bandwidths are measured with: larger than caches.
const LARGE_BYTES: usize = 256 << 20;
/// Bytes of the tensors of a rough measurement.
const ROUGH_BYTES: usize = 4 << 20;
/// Launches of the chain that the launch overhead is measured with.
const CHAIN: usize = 1000;
/// Number of elementwise operations in the test for lazy fusion, and the largest ratio of their time to that of a
/// single one at which they count as one kernel.
const MERGED: usize = 4;
const MERGED_RATIO: f64 = 2.0;
/// Number of runs whose median is taken, and of warm-up runs before them.
const RUNS: usize = 9;
const WARM_UP_RUNS: usize = 2;

/// The preset with measured values of its launch overhead, round trip, bandwidths of memory and link, and of whether
/// elementwise operations run as one kernel. A `rough` measurement uses small tensors; it is for tests.
///
/// # Errors
/// [`CalibrationError::Device`] if the device fails.
pub fn measure_constants(
    preset: DeviceProfile,
    device: &Device,
    rough: bool,
) -> Result<DeviceProfile, CalibrationError> {
    let one = Tensor::<1>::ones([1], device);
    let dispatch = median(|| {
        let start = Instant::now();
        let chain = (0..CHAIN).fold(one.clone(), |value, _| value + 1.0);
        read(chain)?;
        Ok(elapsed(start))
    })? / CHAIN as f64;
    let there_and_back = median(|| {
        let start = Instant::now();
        read(one.clone() + 1.0)?;
        Ok(elapsed(start))
    })?;
    let bytes = if rough { ROUGH_BYTES } else { LARGE_BYTES };
    // The tensor has no other owner, so that the operation writes in place: memory is moved, and none is allocated.
    let mut large = Tensor::<1>::ones([bytes / size_of::<f32>()], device);
    let mut adds = |count: usize| {
        median(|| {
            let tensor = std::mem::replace(&mut large, one.clone());
            device.sync().map_err(failed)?;
            let start = Instant::now();
            large = (0..count).fold(tensor, |tensor, _| tensor + 1.0);
            device.sync().map_err(failed)?;
            Ok(elapsed(start))
        })
    };
    let (add, several) = (adds(1)?, adds(MERGED)?);
    // A result that is computed before the clock starts, and has no other owner either.
    let link = median(|| {
        let result = large.clone() + 1.0;
        device.sync().map_err(failed)?;
        let start = Instant::now();
        read(result)?;
        Ok(elapsed(start))
    })?;
    // For tensors this large the round trip is negligible, and on a host there may be no other cost.
    let bandwidth = |bytes: usize, time: f64| bytes as f64 / (time - there_and_back).max(1.0);
    Ok(DeviceProfile {
        dispatch,
        roundtrip: (there_and_back - dispatch).max(0.0),
        memory_bandwidth: bandwidth(2 * bytes, add),
        link_bandwidth: bandwidth(bytes, link),
        merges_elementwise: several < MERGED_RATIO * add,
        ..preset
    })
}

/// Reads a tensor into host memory: accelerators copy it when its bytes are first accessed.
fn read(tensor: Tensor<1>) -> Result<TensorData, CalibrationError> {
    let data = tensor.try_into_data().map_err(failed)?;
    black_box(data.as_bytes());
    Ok(data)
}

fn failed(error: impl std::fmt::Debug) -> CalibrationError {
    CalibrationError::Device(format!("{error:?}"))
}

fn elapsed(start: Instant) -> f64 {
    start.elapsed().as_nanos() as f64
}

/// Median of the times that a few runs return, after warm-up runs.
fn median(mut run: impl FnMut() -> Result<f64, CalibrationError>) -> Result<f64, CalibrationError> {
    for _ in 0..WARM_UP_RUNS {
        run()?;
    }
    let mut times = (0..RUNS).map(|_| run()).collect::<Result<Vec<_>, _>>()?;
    times.sort_by(f64::total_cmp);
    Ok(times[RUNS / 2])
}

/// Approximate time of all repetitions of an operation, in nanoseconds.
const SPAN: f64 = 2e6;
/// Numbers of repetitions: a few, so that a device that compiles a sequence of operations into one kernel has few to
/// compile.
const REPEATS: [usize; 4] = [64, 16, 4, 1];

/// Measures each kind of operation in `graphs` alone, with the views through which it reads its inputs and at each size
/// that occurs, and adds a latency table per kind and views to `profile`.
///
/// `time` gets a graph of one operation, repeated, and returns the nanoseconds of a run, or `None` for an operation
/// that the device can't run, which stays unmeasured. `graphs` should have each model at several batches: latencies
/// between them are interpolated, and those beyond them extrapolated, linearly in the
/// [size](crate::movement::NodeMovement::latency_size) of an operation. `progress` gets the number of operations done
/// and of all before each one.
///
/// # Errors
/// The errors of `time`, and [`CalibrationError`] for times that make no table.
pub fn measure_operations<E: From<CalibrationError>>(
    profile: &mut DeviceProfile,
    graphs: &[Graph],
    mut progress: impl FnMut(usize, usize),
    mut time: impl FnMut(&Graph) -> Result<Option<f64>, E>,
) -> Result<(), E> {
    let pruned = |graph: &Graph| {
        let mut graph = graph.clone();
        graph.prune();
        graph
    };
    let graphs: Vec<Graph> = graphs.iter().map(pruned).collect();
    let operations = distinct_operations(&graphs);
    // Nanoseconds of each operation by its name and what its size is, by size.
    let mut latencies: BTreeMap<(String, &str), BTreeMap<u64, Vec<f64>>> = BTreeMap::new();
    for (done, (graph, index, moved)) in operations.iter().enumerate() {
        progress(done, operations.len());
        let [none, once] = [0, 1].map(|repeats| graph.measurement_graph(*index, repeats));
        let (Some(none), Some(once)) = (time(&none)?, time(&once)?) else { continue };
        let longest = SPAN / (once - none).max(1.0);
        let repeats = REPEATS.into_iter().find(|&repeats| repeats as f64 <= longest).unwrap_or(1);
        let Some(many) = time(&graph.measurement_graph(*index, 1 + repeats))? else { continue };
        let latency = ((many - once) / repeats as f64).max(1.0);
        let (axis, size) = moved.latency_size();
        for name in moved.latency_names() {
            latencies.entry((name, axis)).or_default().entry(size).or_default().push(latency);
        }
    }
    for ((name, over), by_size) in latencies {
        let (values, times) = by_size.iter().map(|(size, times)| (*size as f64, middle(times))).unzip();
        let table = LatencyTable::new(over, values, times).map_err(CalibrationError::from)?;
        profile.operations.insert(name, table);
    }
    Ok(())
}

/// The operations of `graphs` that are not views, each with its graph and its index in it; the same operation on the
/// same shapes once.
fn distinct_operations(graphs: &[Graph]) -> Vec<(&Graph, usize, NodeMovement)> {
    let mut known = HashSet::new();
    let mut operations = Vec::new();
    for graph in graphs {
        let moved = count(graph, &MovementOptions::default()).nodes;
        for (index, moved) in moved.into_iter().enumerate().filter(|(_, node)| !node.view) {
            let shapes: Vec<Vec<usize>> = moved.inputs.iter().map(|&at| graph.values()[at].shape.clone()).collect();
            if known.insert((moved.latency_names(), shapes, moved.shapes.clone())) {
                operations.push((graph, index, moved));
            }
        }
    }
    operations
}

/// Geometric mean of times: shapes with the same traffic may take different times.
fn middle(times: &[f64]) -> f64 {
    (times.iter().map(|time| time.ln()).sum::<f64>() / times.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::cost::Prediction;
    use crate::graph::Operation;
    use crate::profile::Preset;

    /// A device that takes 5 µs per run, and 1 µs per operation and a nanosecond for each byte it moves.
    fn time(graph: &Graph) -> f64 {
        let bytes = |node: &crate::graph::Node| -> u64 {
            node.inputs.iter().chain(&node.outputs).map(|id| graph.get(*id).bytes()).sum()
        };
        5e3 + graph.nodes().iter().map(|node| 1e3 + bytes(node) as f64).sum::<f64>()
    }

    fn model(batch: usize) -> Graph {
        let mut graph = Graph::default();
        let x = graph.input("x", &[batch, 16], DType::F32);
        let y = graph.input("y", &[batch, 16], DType::F32);
        let sum = graph.apply(Operation::Add, &[x, y], &[batch, 16], DType::F32);
        let scaled = graph.apply(Operation::MultiplyScalar(3.0), &[sum], &[batch, 16], DType::F32);
        graph.set_outputs(&[scaled]);
        graph
    }

    #[test]
    fn a_graph_is_predicted_from_its_measured_operations() {
        let mut profile = Preset::Cpu.profile();
        let options = MovementOptions::default();
        let graphs = [10, 1000].map(model);
        let timed = |graph: &Graph| Ok::<_, CalibrationError>(Some(time(graph)));
        measure_operations(&mut profile, &graphs, |_, _| (), timed).unwrap();
        assert_eq!(profile.operations.keys().collect::<Vec<_>>(), ["add", "multiply by scalar"]);
        for batch in [1, 100, 5000] {
            let graph = model(batch);
            let predicted = Prediction::of_graph(&count(&graph, &options), &profile).operations;
            assert!((predicted / (time(&graph) - 5e3) - 1.0).abs() < 1e-6, "{batch}: {predicted}");
        }
    }

    #[test]
    fn operations_that_can_not_run_stay_unmeasured() {
        let mut profile = Preset::Cpu.profile();
        let none = |_: &Graph| Ok::<_, CalibrationError>(None);
        measure_operations(&mut profile, &[model(4)], |_, _| (), none).unwrap();
        assert!(profile.operations.is_empty());
    }
}
