//! One rule on captured graphs, and replays of what it leaves.

use burn::backend::Flex;
use burn::tensor::TensorData;
use firefly_framework::graph::{CustomOperations, Graph, Replay};
use firefly_framework::profile::{DeviceProfile, Preset};
use firefly_framework::rewrite::{Rewriter, Rewritten, Rule};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

pub fn rewrite(rule: Rule, graph: &Graph, device: &DeviceProfile) -> Rewritten {
    Rewriter::new(&[rule]).run(graph, device)
}

/// The outputs of a graph for noise as its inputs.
pub fn run(graph: &Graph) -> Vec<f64> {
    let mut random = StdRng::seed_from_u64(1);
    let custom = CustomOperations::<Flex>::spectral_and_fourier();
    let mut replay = Replay::new(graph, &Default::default(), &custom).unwrap();
    let inputs = graph.inputs().iter().map(|&input| {
        let shape = graph.get(input).shape.clone();
        let values: Vec<f32> = (0..shape.iter().product()).map(|_| random.random_range(-1.0..1.0)).collect();
        TensorData::new(values, shape)
    });
    let outputs = replay.run(inputs.collect()).unwrap();
    outputs.iter().flat_map(|output| output.try_to_vec_as::<f64>().unwrap()).collect()
}

pub fn names(graph: &Graph) -> Vec<String> {
    graph.nodes().iter().map(|node| node.operation.name().into_owned()).collect()
}

/// Asserts that two graphs have the same outputs, up to a share of the largest.
pub fn assert_same_outputs(label: &str, before: &Graph, after: &Graph, tolerance: f64) {
    let (before, after) = (run(before), run(after));
    assert_eq!(before.len(), after.len());
    let largest = before.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    for (before, after) in before.iter().zip(&after) {
        assert!((before - after).abs() <= tolerance * largest, "{label}: {before} became {after}");
    }
}

/// Asserts that the rule finds nothing in a graph.
pub fn assert_left_alone(label: &str, rule: Rule, graph: &Graph) {
    let rewritten = rewrite(rule, graph, &Preset::Cpu.profile());
    assert!(rewritten.outcomes.is_empty(), "{label}: {}", rewritten.explain());
    assert_eq!(rewritten.graph.nodes().len(), graph.nodes().len(), "{label}");
}
