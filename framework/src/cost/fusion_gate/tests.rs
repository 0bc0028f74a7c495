//! Decisions of the published system, under its constants.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::profile::Preset;

const DENSE: DataMovement = DataMovement { launches: 3, syncs: 0, host_output: 33_554_432, traffic: 184_549_376 };
const HOST_TAIL: DataMovement = DataMovement { launches: 4, syncs: 1, host_output: 1_048_576, traffic: 219_152_384 };

/// Samples of 4 bytes of a frame's two segments, n 256.
const SEGMENT_BYTES: u64 = 2 * 256 * 4;
/// From this batch on, the fused operation is a kernel without a tail on the host.
const NATIVE_BATCH: u64 = 2048;

/// Two segments of 256 samples a row, windowed, completed to complex, transformed, and the spectrum read back.
fn dense(batch: u64) -> DataMovement {
    let samples = batch * SEGMENT_BYTES;
    // Window: two reads and a write; zeros appended: two reads, and a write of both; transform: complex to complex.
    DataMovement { launches: 3, syncs: 0, host_output: 2 * samples, traffic: (3 + 4 + 4) * samples }
}

/// The same with peaks found on the device, 16 a row.
fn fused(batch: u64, native: bool) -> DataMovement {
    let (spectrum, peaks) = (2 * batch * SEGMENT_BYTES, batch * 16 * 8);
    let dense = dense(batch);
    let syncs = u64::from(!(native && batch >= NATIVE_BATCH));
    DataMovement { launches: 4, syncs, host_output: peaks, traffic: dense.traffic + spectrum + peaks }
}

fn decide(preset: Preset, batch: u64, native: bool) -> FusionDecision {
    FusionDecision::new(&preset.profile(), dense(batch), fused(batch, native), batch)
}

#[test]
fn the_published_figures_are_these_profiles() {
    assert_eq!((dense(8192), fused(8192, false)), (DENSE, HOST_TAIL));
}

#[test]
fn a_tail_on_the_host_pays_on_metal_and_not_on_wgpu() {
    let metal = FusionDecision::new(&Preset::Metal.profile(), DENSE, HOST_TAIL, 8192);
    assert!(metal.fuse(), "{}", metal.explain());
    assert_eq!(metal.benefit, Benefit { launches: -1, syncs: -1, read_back: 32_505_856, traffic: -34_603_008 });
    assert_eq!(metal.score.host_penalty, 2e6);
    let wgpu = FusionDecision::new(&Preset::Wgpu.profile(), DENSE, HOST_TAIL, 8192);
    assert!(!wgpu.fuse(), "{}", wgpu.explain());
    assert_eq!(wgpu.benefit.read_back, 23_855_104);
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
fn metal_fuses_from_a_thousand_rows_on() {
    assert!(!decide(Preset::Metal, 256, false).fuse());
    for batch in [1024, 4096, 8192] {
        let decision = decide(Preset::Metal, batch, false);
        assert!(decision.fuse(), "batch {batch}: {}", decision.explain());
        assert_eq!(decision.slowdown.is_some(), batch >= 2048);
    }
}

#[test]
fn a_native_kernel_pays_on_wgpu_and_cuda() {
    for preset in [Preset::Wgpu, Preset::Cuda] {
        let decision = decide(preset, 8192, true);
        assert!(decision.fuse(), "{}", decision.explain());
        assert_eq!(decision.benefit.syncs, 0);
        assert!(decision.benefit.read_back > 0);
        assert_eq!(decision.score.host_penalty, 0.0);
        let limit = if preset == Preset::Cuda { 1.15 } else { 1.10 };
        assert_eq!(decision.slowdown.unwrap().limit.ratio, limit);
    }
}

#[test]
fn the_slowdown_limit_forbids_what_the_score_allows() {
    // The score passes any minimum that is far below zero; the slowdown limit still applies.
    let device = DeviceProfile { min_gain: -1e12, ..Preset::Cuda.profile() };
    let slow = DataMovement { traffic: 100 * DENSE.traffic, ..DENSE };
    assert!(FusionDecision::new(&device, DENSE, slow, 2047).fuse());
    let decision = FusionDecision::new(&device, DENSE, slow, 2048);
    assert!(!decision.fuse());
    assert!(decision.slowdown.is_some_and(|check| !check.passed() && check.limit.batch == 2048));
}

#[test]
fn an_explanation_has_every_term() {
    let text = decide(Preset::Metal, 8192, false).explain();
    for part in [
        "fuse on metal",
        "before: 3 launches, 0 syncs, 33554432 bytes to the host, 184549376 bytes of traffic",
        "after: 4 launches, 1 syncs, 1048576 bytes to the host, 219152384 bytes of traffic",
        "read-back 32505856 - host penalty 2000000",
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
        let decision = decide(Preset::Cuda, 8192, true);
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
