//! Published figures and decisions, reached from the published graphs.

use burn::tensor::DType::F32;
use firefly_ops::WelchOptions;

use super::*;
use crate::graph::{Graph, Operation, ValueId};
use crate::movement::{MovementOptions, count};
use crate::picker::{Crossover, Crossovers};

/// The operation that the host runs on every device without a native kernel.
const PEAKS: &str = "WelchPeaks";

/// Segments windowed, completed to complex values in block layout, and transformed; the spectrum is the output.
fn spectrum_graph(size: &PeaksSize) -> Graph {
    let mut graph = Graph::default();
    let spectrum = add_spectrum(&mut graph, size);
    graph.set_outputs(&[spectrum]);
    graph
}

/// The same, with peaks found in the spectrum; the peaks are the output.
fn fused_graph(size: &PeaksSize) -> Graph {
    let mut graph = Graph::default();
    let spectrum = add_spectrum(&mut graph, size);
    // K pairs of a bin and a power per frame.
    let peaks = graph.apply(custom(PEAKS), &[spectrum], &[size.batch, 2 * size.k], F32);
    graph.set_outputs(&[peaks]);
    graph
}

fn add_spectrum(graph: &mut Graph, size: &PeaksSize) -> ValueId {
    let (rows, n) = (size.batch * size.options.segments, size.options.n_fft);
    let segments = graph.input("segments", &[rows, n], F32);
    let zeros = graph.input("zeros", &[rows, n], F32);
    let windowed = graph.apply(Operation::Subtract, &[segments, segments], &[rows, n], F32);
    let complex = graph.apply(Operation::Concatenate { axis: 1 }, &[windowed, zeros], &[rows, 2 * n], F32);
    graph.apply(custom("fft"), &[complex], &[rows, 2 * n], F32)
}

fn custom(name: &str) -> Operation {
    Operation::Custom { name: name.into(), scalars: Vec::new() }
}

fn size(batch: usize, segments: usize) -> PeaksSize {
    PeaksSize { options: WelchOptions::new(256, segments), batch, k: 16 }
}

fn breakdown_on(preset: Preset, batch: usize) -> Breakdown {
    breakdown(&preset.profile(), batch, 256, 16, None)
}

/// A device that has no native kernel: the fused operation keeps its tail on the host.
fn with_host_tail(preset: Preset) -> DeviceProfile {
    let mut profile = preset.profile();
    profile.peaks.native_from = None;
    profile
}

fn assert_near(actual: f64, expected: f64) {
    assert!((actual / expected - 1.0).abs() < 1e-9, "{actual} is not {expected}");
}

#[test]
fn the_published_graphs_have_the_published_movement() {
    let size = size(8192, 2);
    let u = 8192 * 2 * 256 * 4;
    let [spectrum, fused] = movements(&size);
    let options = MovementOptions::default().with_host_operations(vec![PEAKS.into()]);
    assert_eq!(
        [spectrum_graph(&size), fused_graph(&size)].map(|graph| count(&graph, &options).total),
        [spectrum, fused]
    );
    assert_eq!(spectrum, DataMovement { launches: 3, syncs: 0, host_output: 2 * u, traffic: 11 * u });
    assert_eq!(spectrum, DataMovement { launches: 3, syncs: 0, host_output: 33_554_432, traffic: 184_549_376 });
    assert_eq!(fused, DataMovement { launches: 4, syncs: 1, host_output: 1_048_576, traffic: 219_152_384 });
    // A native kernel has no host tail.
    assert_eq!(decide(&size, &Preset::Cuda.profile()).after.0, DataMovement { syncs: 0, ..fused });
}

#[test]
fn a_transform_of_eight_rows_reads_its_spectrum_back() {
    let size = PeaksSize { options: WelchOptions::new(512, 1), batch: 8, k: 16 };
    let total = count(&spectrum_graph(&size), &MovementOptions::default()).total;
    assert_eq!(total.host_output, 8 * 512 * 2 * 4);
    assert!(total.launches >= 3);
}

#[test]
fn peaks_are_smaller_than_their_spectrum() {
    let size = PeaksSize { options: WelchOptions::new(256, 1), batch: 2, k: 16 };
    let [spectrum, fused] = movements(&size);
    assert_eq!(fused.host_output, 2 * 16 * 2 * 4);
    assert!(fused.host_output < fused.traffic && fused.host_output < spectrum.host_output);
}

#[test]
fn metal_fuses_from_a_thousand_rows_on() {
    assert!(!breakdown_on(Preset::Metal, 256).decision.fuse());
    for batch in [1024, 4096, 8192] {
        let breakdown = breakdown_on(Preset::Metal, batch);
        assert!(breakdown.decision.fuse(), "batch {batch}: {}", breakdown.decision.explain());
        assert_eq!(breakdown.decision.slowdown.is_some(), batch >= 2048);
    }
    assert_eq!(breakdown_on(Preset::Metal, 8192).decision.score.host_penalty, 2e6);
}

#[test]
fn a_calibrated_host_has_the_measured_time_of_its_kernel_on_both_paths() {
    let row = |segments: usize| Crossover {
        n_fft: 256,
        segments,
        k: 16,
        few: Strategy::Fused,
        frames: 1.0,
        saved: 1.0,
        fused: 100.0 * segments as f64,
        learned: 1.0,
    };
    let crossovers = Crossovers::new([1, 2].map(row).to_vec()).unwrap();
    let times = |preset: Preset| {
        let profile = DeviceProfile { crossovers: crossovers.clone(), ..preset.profile() };
        let breakdown = breakdown(&profile, 32, 256, 16, None);
        ["ultra", "fast", "fused"].map(|path| breakdown.estimate(path).unwrap().nanoseconds.round())
    };
    assert_eq!(times(Preset::Cpu), [3_200.0, 6_400.0, 6_400.0]);
    // A GPU's kernel is none of its host's.
    assert_ne!(times(Preset::Cuda)[1], 6_400.0);
}

#[test]
fn a_native_kernel_pays_on_gpus_of_their_own_memory() {
    for preset in [Preset::Wgpu, Preset::Cuda, Preset::Rocm] {
        let breakdown = breakdown_on(preset, 8192);
        assert!(breakdown.decision.saves_enough() && breakdown.decision.fuse(), "{}", breakdown.decision.explain());
        let benefit = breakdown.decision.benefit;
        assert_eq!((benefit.syncs, benefit.read_back), (0, 32_505_856));
        let limit = if preset == Preset::Wgpu { 1.10 } else { 1.15 };
        assert_eq!(breakdown.decision.slowdown.unwrap().limit.ratio, limit);
    }
}

#[test]
fn a_host_tail_pays_on_metal_and_not_on_wgpu() {
    let metal = decide(&size(8192, 2), &with_host_tail(Preset::Metal));
    assert!(metal.fuse(), "{}", metal.explain());
    let wgpu = decide(&size(8192, 2), &with_host_tail(Preset::Wgpu));
    assert!(!wgpu.fuse(), "{}", wgpu.explain());
    assert_eq!((wgpu.benefit.syncs, wgpu.benefit.read_back), (-1, 32_505_856));
}

#[test]
fn the_greatest_slowdown_is_of_the_scaled_time() {
    // On Metal the operation is estimated at 7.5 times its data movement; a device that is slower still does not fuse.
    let profile = Preset::Metal.profile();
    let size = size(8192, 2);
    let ratio = fused(&size, &profile, 1.0) / block(&size, &profile);
    assert_near(decide(&size, &profile).slowdown.unwrap().ratio, ratio);
    let slow = DeviceProfile { compute_factor: 7.5 * 1.2 / ratio, ..profile };
    let decision = decide(&size, &slow);
    assert!(decision.saves_enough() && !decision.fuse(), "{}", decision.explain());
    // Below the batch of the limit it decides nothing.
    assert!(decide(&PeaksSize { batch: 2047, ..size }, &slow).fuse());
}

#[test]
fn the_fused_estimate_is_scaled_clamped_and_has_a_floor() {
    // 12,000 ns of latency, 219,152,384 bytes at 200 B/ns, and peaks of 1,048,576 bytes at the same, times 7.5.
    let metal = Preset::Metal.profile();
    let io = 12_000.0 + 219_152_384.0 / 200.0 + 1_048_576.0 / 200.0;
    assert_near(fused(&size(8192, 2), &metal, 1.0), 7.5 * io);
    assert_near(fused(&size(8192, 2), &metal, 0.5), 7.5 * 0.5 * io);
    assert_near(fused(&size(8192, 2), &metal, 0.01), 7.5 * 0.25 * io);
    assert_near(fused(&size(8192, 2), &metal, 3.0), 7.5 * io);
    // CUDA: scaled down, a quarter of the traffic is read back, and the host's tail waits for the device.
    let cuda = Preset::Cuda.profile();
    let io = 48_000.0 + 219_152_384.0 / 800.0 + (1_048_576.0 + 219_152_384.0 / 4.0) / 50.0;
    assert_near(fused(&size(8192, 2), &cuda, 1.0), 0.43 * io);
    // Small batches: at least the least time where the scale is below 1, that on top of the movement above.
    assert_eq!(fused(&size(511, 2), &cuda, 1.0), 400_000.0);
    assert!(fused(&size(512, 2), &cuda, 1.0) < 400_000.0);
    let io = Prediction::new(&movements(&size(8, 2))[1], &metal).total();
    assert_near(fused(&size(8, 2), &metal, 1.0), io + 400_000.0);
    let cpu = Preset::Cpu.profile();
    let io = Prediction::new(&movements(&size(8, 2))[1], &cpu).total();
    assert_near(fused(&size(8, 2), &cpu, 1.0), io);
}

#[test]
fn the_block_path_has_a_cost_per_peak_on_gpus() {
    let cuda = Preset::Cuda.profile();
    let io = 26_000.0 + 184_549_376.0 / 800.0 + (33_554_432.0 + 184_549_376.0 / 4.0) / 50.0;
    assert_near(block(&size(8192, 2), &cuda), 0.72 * io + 80.0 * 8192.0 * 16.0);
    let cpu = Preset::Cpu.profile();
    assert_near(block(&size(8192, 2), &cpu), 150.0 + 184_549_376.0 / 50.0 + 33_554_432.0 / 50.0);
}

#[test]
fn estimates_of_host_paths_grow_when_compared_with_a_gpu() {
    let growth = |preset: Preset, batch| {
        let size = size(batch, 2);
        host(&size, &preset.profile()) / host(&size, &Preset::Cpu.profile())
    };
    for preset in Preset::ALL {
        assert_near(growth(preset, 512), 1.0);
    }
    assert_near(growth(Preset::Metal, 2048), 1.0 + 0.22 * 4f64.ln());
    assert_near(growth(Preset::Metal, 8192), (1.0 + 0.22 * 16f64.ln()) * (1.0 + 1.15 * 2.0));
    for preset in [Preset::Cuda, Preset::Rocm] {
        assert_near(growth(preset, 4096), (1.0 + 0.15 * 8f64.ln()) * (1.0 + 0.85));
    }
    assert_near(growth(Preset::Wgpu, 8192), 1.0 + 0.12 * 16f64.ln());
    // Two transforms and a search per frame, at 50 ns each, and 50 bytes per ns.
    let bytes = 100.0 * (2.0 * 256.0 * 12.0 + 128.0);
    assert_near(host(&size(100, 2), &Preset::Cpu.profile()), 100.0 * 3.0 * 50.0 + (bytes + 100.0 * 128.0) / 50.0);
}

#[test]
fn the_presets_have_the_published_constants() {
    let factors = [Preset::Metal, Preset::Cuda, Preset::Rocm, Preset::Wgpu, Preset::Cpu]
        .map(|preset| preset.profile().compute_factor);
    assert_eq!(factors, [7.5, 0.43, 0.43, 2.2, 1.0]);
    for preset in Preset::ALL {
        assert_eq!(is_viable(&preset.profile()), preset != Preset::Cpu);
    }
    let [cuda, rocm] = [Preset::Cuda, Preset::Rocm].map(Preset::profile);
    assert_eq!(DeviceProfile { name: "cuda".into(), ..rocm }, cuda);
}

#[test]
fn a_breakdown_picks_the_least_of_what_is_considered() {
    let considered = |preset, batch| -> Vec<&str> {
        let breakdown = breakdown_on(preset, batch);
        let names = breakdown.estimates.iter().filter(|estimate| estimate.considered);
        names.map(|estimate| estimate.path).collect()
    };
    assert_eq!(considered(Preset::Cpu, 8192), ["ultra", "fast"]);
    assert_eq!(considered(Preset::Cuda, 128), ["ultra", "fast"]);
    assert_eq!(considered(Preset::Cuda, 129), ["fast"]);
    assert_eq!(considered(Preset::Cuda, 8192), ["fast", "fused"]);
    assert_eq!(breakdown_on(Preset::Cpu, 8192).pick, "ultra");
    assert_eq!(breakdown_on(Preset::Cuda, 8192).pick, "fused");
    assert_eq!(breakdown_on(Preset::Cuda, 1024).pick, "fast");
    for preset in Preset::ALL {
        for batch in [1, 300, 3000, 30_000] {
            let breakdown = breakdown_on(preset, batch);
            let picked = breakdown.estimate(breakdown.pick).unwrap();
            let least = |other: &PathEstimate| !other.considered || other.nanoseconds >= picked.nanoseconds;
            assert!(picked.considered && breakdown.estimates.iter().all(least));
        }
    }
}
