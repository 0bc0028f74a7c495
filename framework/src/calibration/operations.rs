//! Latencies of the operations that graphs are made of.

use std::collections::{BTreeMap, HashSet};

use crate::graph::Graph;
use crate::movement::{MovementOptions, NodeMovement, count};
use crate::profile::{DeviceProfile, LatencyTable};

use super::CalibrationError;

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
