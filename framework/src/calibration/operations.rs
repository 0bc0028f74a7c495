//! Latencies of the operations that graphs are made of.

use std::collections::{BTreeMap, HashSet};

use crate::graph::Graph;
use crate::movement::{MovementOptions, count};
use crate::profile::{AxisInterpolation, DeviceProfile, LatencyAxis, LatencyTable};

use super::CalibrationError;

/// Nanoseconds that the repetitions of an operation take together, about.
const SPAN: f64 = 2e6;
/// Most repetitions.
const MOST_REPEATS: usize = 64;

/// Measures each kind of operation in `graphs`, alone, through the views that it reads through, and at each size that
/// occurs, and puts a latency table per kind and views into `profile`.
///
/// `time` gets a graph of one operation, repeated, and returns the nanoseconds of a run; none for an operation that the
/// device can't run, which stays unmeasured. Give it graphs of one model at several batches: latencies between them are
/// interpolated, and those beyond them extrapolated, linearly in the
/// [size](crate::movement::NodeMovement::latency_size) of an operation.
///
/// # Errors
/// The errors of `time`, and [`CalibrationError`] for times that make no table.
pub fn measure_operations<E: From<CalibrationError>>(
    profile: &mut DeviceProfile,
    graphs: &[Graph],
    options: &MovementOptions,
    mut time: impl FnMut(&Graph) -> Result<Option<f64>, E>,
) -> Result<(), E> {
    // Nanoseconds of each operation by its name and what its size is, by size.
    let mut latencies: BTreeMap<(String, &str), BTreeMap<u64, Vec<f64>>> = BTreeMap::new();
    let mut measured = HashSet::new();
    for graph in graphs {
        let mut graph = graph.clone();
        graph.prune();
        for (index, moved) in count(&graph, options).nodes.into_iter().enumerate().filter(|(_, node)| !node.view) {
            let shapes: Vec<Vec<usize>> = moved.inputs.iter().map(|&at| graph.values()[at].shape.clone()).collect();
            let (names, (axis, size)) = (moved.latency_names(), moved.latency_size());
            if !measured.insert((names.clone(), shapes, moved.shapes)) {
                continue;
            }
            let [none, once] = [0, 1].map(|repeats| graph.isolated(index, repeats));
            let (Some(none), Some(once)) = (time(&none)?, time(&once)?) else { continue };
            let repeats = ((SPAN / (once - none).max(1.0)) as usize).clamp(1, MOST_REPEATS);
            let Some(many) = time(&graph.isolated(index, 1 + repeats))? else { continue };
            let latency = ((many - once) / repeats as f64).max(1.0);
            for name in names {
                latencies.entry((name, axis)).or_default().entry(size).or_default().push(latency);
            }
        }
    }
    for ((name, axis), by_size) in latencies {
        let (values, times) = by_size.iter().map(|(size, times)| (*size as f64, middle(times))).unzip();
        let axis = LatencyAxis { name: axis.into(), interpolation: AxisInterpolation::Linear, values };
        let table = LatencyTable::new(vec![axis], times).map_err(CalibrationError::from)?;
        profile.operations.insert(name, table);
    }
    Ok(())
}

/// Geometric mean: shapes of the same traffic may take different times.
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
        measure_operations(&mut profile, &graphs, &options, timed).unwrap();
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
        measure_operations(&mut profile, &[model(4)], &MovementOptions::default(), none).unwrap();
        assert!(profile.operations.is_empty());
    }
}
