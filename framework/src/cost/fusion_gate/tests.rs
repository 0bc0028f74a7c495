//! Decisions by score and slowdown limit, and their form as text and JSON.

use firefly_ops::WelchOptions;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::graph::{Graph, Operation};
use crate::movement::{MovementOptions, count};
use crate::picker::PeaksSize;
use crate::profile::{LatencyTable, Preset};
use crate::published;

/// Spectrum and peaks of two segments of 256 samples, by the published graphs.
fn movements(batch: usize) -> [DataMovement; 2] {
    published::movements(&PeaksSize { options: WelchOptions::new(256, 2), batch, k: 16 })
}

fn decide(preset: Preset, batch: usize) -> FusionDecision {
    let [spectrum, peaks] = movements(batch);
    FusionDecision::new(&preset.profile(), spectrum, peaks, batch as u64)
}

#[test]
fn a_benefit_counts_what_the_host_reads() {
    for preset in Preset::ALL {
        // What the device moves is traffic, on every device.
        assert_eq!(decide(preset, 8192).benefit.read_back, 32_505_856);
    }
    let metal = decide(Preset::Metal, 8192);
    assert_eq!(metal.benefit, Benefit { launches: -1, syncs: -1, read_back: 32_505_856, traffic: -34_603_008 });
}

#[test]
fn a_smaller_output_saves_read_back() {
    let dense = DataMovement { launches: 2, syncs: 1, host_output: 8192, traffic: 16_384 };
    let fused = DataMovement { launches: 1, syncs: 1, host_output: 512, traffic: 16_384 };
    for preset in Preset::ALL {
        let decision = FusionDecision::new(&preset.profile(), dense, fused, 8);
        assert!(decision.benefit.read_back > 0 && decision.benefit.launches >= 0);
    }
}

#[test]
fn the_slowdown_limit_forbids_what_the_score_allows() {
    // The score passes any minimum that is far below zero; the slowdown limit still applies.
    let device = DeviceProfile { min_gain: -1e12, ..Preset::Cuda.profile() };
    let [dense, _] = movements(8192);
    let slow = DataMovement { traffic: 100 * dense.traffic, ..dense };
    assert!(FusionDecision::new(&device, dense, slow, 2047).fuse());
    let decision = FusionDecision::new(&device, dense, slow, 2048);
    assert!(!decision.fuse());
    assert!(decision.slowdown.is_some_and(|check| !check.passed() && check.limit.batch == 2048));
}

#[test]
fn measured_operations_decide_whatever_the_data_movement() {
    let chain = |operations: &[Operation]| {
        let mut graph = Graph::default();
        let mut value = graph.input("x", &[64], burn::tensor::DType::F32);
        for operation in operations {
            value = graph.apply(operation.clone(), &[value], &[64], burn::tensor::DType::F32);
        }
        graph.set_outputs(&[value]);
        count(&graph, &MovementOptions::default())
    };
    let (before, after) =
        (chain(&[Operation::MultiplyScalar(2.0), Operation::SquareRoot]), chain(&[Operation::Power(0.5)]));
    let decide = |measured: &[(&str, f64)]| {
        let table = |&(name, time): &(&str, f64)| {
            (name.to_string(), LatencyTable::new("traffic", vec![1.0], vec![time]).unwrap())
        };
        let operations = measured.iter().map(table).collect();
        FusionDecision::of_graphs(&DeviceProfile { operations, ..Preset::Cpu.profile() }, &before, &after, 1)
    };
    // One launch less.
    assert!(decide(&[]).fuse() && !decide(&[]).is_measured());
    let names: Vec<&str> = before.nodes.iter().chain(&after.nodes).map(|node| node.kind.as_str()).collect();
    let [first, second, fused] = names[..] else { panic!("{names:?}") };
    let slow = decide(&[(first, 1000.0), (second, 1000.0), (fused, 2500.0)]);
    assert!(!slow.fuse() && (slow.gain() + 500.0).abs() < 1e-6, "{}", slow.explain());
    let fast = decide(&[(first, 1000.0), (second, 1000.0), (fused, 500.0)]);
    assert!(fast.fuse() && fast.explain().contains("1500 ns are saved"), "{}", fast.explain());
}

#[test]
fn an_explanation_has_every_term() {
    let text = decide(Preset::Metal, 8192).explain();
    for part in [
        "fuse on metal",
        "DataMovement { launches: 3, syncs: 0, host_output: 33554432, traffic: 184549376 }",
        "DataMovement { launches: 4, syncs: 1, host_output: 1048576, traffic: 219152384 }",
        "read_back: 32505856.0, host_penalty: 2000000.0",
        "at least 1000 ns are required",
        "at most 1.10 is allowed from batch 2048",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

proptest! {
    /// A decision as JSON reads back unchanged; with some characters replaced it parses or is an error.
    #[test]
    fn decisions_survive_json_and_edits(edits in vec((any::<prop::sample::Index>(), any::<char>()), 0..8)) {
        let decision = decide(Preset::Cuda, 8192);
        let text = serde_json::to_string(&decision).unwrap();
        prop_assert_eq!(&serde_json::from_str::<FusionDecision>(&text).unwrap(), &decision);
        let mut characters: Vec<char> = text.chars().collect();
        for (index, character) in edits {
            let index = index.index(characters.len());
            characters[index] = character;
        }
        let edited: String = characters.into_iter().collect();
        if let Ok(decision) = serde_json::from_str::<FusionDecision>(&edited) {
            prop_assert!(decision.explain().contains("score"));
        }
    }
}
