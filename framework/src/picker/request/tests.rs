//! Selections on calibrated devices, and by the published rules on others.

use firefly_ops::WelchOptions;

use super::*;
use crate::picker::{Crossover, Crossovers};
use crate::profile::Preset;
use crate::published::PublishedStrategy;

const LEARNED: LearnedSize = LearnedSize { open: 2, all: 8, segments: 2, exact: true, products: true };

fn size(batch: usize) -> PeaksSize {
    PeaksSize { options: WelchOptions::new(256, 8), batch, k: 16 }
}

/// A request for eight segments with the candidates of a published name.
fn request<'a>(name: &str, device: &'a DeviceProfile, batch: usize) -> PeaksRequest<'a> {
    let row = PublishedStrategy::named(name).unwrap();
    let configured = if let [segments] = *row.segments { segments } else { 8 };
    PeaksRequest {
        size: PeaksSize { options: WelchOptions::new(256, configured), ..size(batch) },
        segments: if row.segments.len() > 1 { row.segments } else { &[] },
        strategies: row.strategies,
        by_thresholds: row.by_thresholds,
        frame: 1152,
        learned: (row.strategies == [Strategy::Learned]).then_some(LEARNED),
        ..PeaksRequest::new(size(batch), device)
    }
}

fn select(name: &str, preset: Preset, batch: usize) -> Selection {
    request(name, &preset.profile(), batch).select()
}

fn selected(name: &str, preset: Preset, batch: usize) -> (usize, Strategy) {
    let selected = select(name, preset, batch).selected;
    (selected.segments, selected.strategy)
}

/// A device whose host is faster for up to as many frames, 25 for eight segments and 200 for one, and on which eight
/// segments take 80 ns per frame, and 100 ns in a learned model.
fn calibrated(preset: Preset, few: Strategy) -> DeviceProfile {
    let row = |segments: usize| Crossover {
        n_fft: 256,
        segments,
        k: 16,
        few,
        frames: 200.0 / segments as f64,
        saved: 40e3,
        fused: 10.0 * segments as f64,
        learned: 12.5 * segments as f64,
    };
    DeviceProfile { crossovers: Crossovers::new([1, 2, 8].map(row).to_vec()).unwrap(), ..preset.profile() }
}

#[test]
fn a_calibrated_device_selects_by_its_crossover() {
    let device = calibrated(Preset::Cuda, Strategy::Host);
    let selected = |request: PeaksRequest<'_>| request.select().selected.strategy;
    assert_eq!([24, 25].map(|batch| selected(request("auto", &device, batch))), [Strategy::Host, Strategy::Fused]);
    // Uploading the peaks takes 20 µs and more, half of what the host saves.
    let keep = |batch| selected(PeaksRequest { keep_on_device: true, ..request("auto", &device, batch) });
    assert_eq!([12, 13].map(keep), [Strategy::Host, Strategy::Fused]);
    assert_eq!(selected(PeaksRequest { direct: true, ..request("auto", &device, 1) }), Strategy::Fused);
    // A strategy that is no candidate is not selected.
    assert_eq!(["fused", "ultra"].map(|name| selected(request(name, &device, 1))), [Strategy::Fused, Strategy::Host]);
    assert_eq!(selected(request("fast", &device, 10_000)), Strategy::Host);
    let text = request("auto", &device, 1000).select().explain();
    assert!(text.starts_with("reference fused of ") && text.contains("reference fused 80.0 µs"), "{text}");
    assert!(text.ends_with("; fused from 25 frames on"), "{text}");
}

#[test]
fn a_host_searches_spectra_where_that_was_measured_to_be_faster() {
    let device = calibrated(Preset::Cpu, Strategy::Spectrum);
    let of = |batch| request("auto", &device, batch).select().selected.strategy;
    assert_eq!([of(3), of(100)], [Strategy::Spectrum, Strategy::Fused]);
}

#[test]
fn a_calibrated_device_selects_the_fewest_segments_and_faster_learned_models() {
    let device = calibrated(Preset::Cuda, Strategy::Host);
    let of = |request: PeaksRequest<'_>| request.select().selected.to_string();
    assert_eq!(of(request("any", &device, 1000)), "ultra fused");
    assert_eq!(of(request("learned", &device, 1000)), "reference learned");
    // Two learned segments instead of eight exact ones; eight learned ones are slower.
    let all = |segments| PeaksRequest {
        strategies: &Strategy::ALL,
        learned: Some(LearnedSize { segments, ..LEARNED }),
        ..request("auto", &device, 1000)
    };
    assert_eq!([of(all(2)), of(all(8))], ["reference learned", "reference fused"]);
    let inexact = LearnedSize { exact: false, ..LEARNED };
    assert_eq!(of(PeaksRequest { learned: Some(inexact), ..all(2) }), "reference fused");
}

#[test]
fn auto_keeps_the_number_of_segments_at_every_batch() {
    for preset in Preset::ALL {
        for batch in [1, 100, 10_000, 1_000_000] {
            let Selection { selected, considered, .. } = select("auto", preset, batch);
            assert_eq!(selected.segments, 8);
            let least = considered.iter().filter_map(|candidate| candidate.nanoseconds).fold(f64::INFINITY, f64::min);
            assert!(selected.nanoseconds.unwrap() <= 1.1 * least);
        }
    }
}

#[test]
fn any_selects_the_cheapest_number_of_segments_that_the_frame_holds() {
    let device = Preset::Cpu.profile();
    let any = request("any", &device, 100);
    assert_eq!((any.select().selected.segments, any.select().considered.len()), (1, 6));
    let considered = |frame| PeaksRequest { frame, ..any }.select().considered;
    assert_eq!((considered(1151).len(), considered(384).len(), considered(383).len()), (4, 4, 2));
    // Too short for any: the operation itself reports it.
    assert_eq!(considered(255)[0].to_string(), "reference fused");
}

#[test]
fn gpus_without_a_calibration_follow_the_published_rules() {
    let considered = |name: &str, batch| -> Vec<String> {
        select(name, Preset::Cuda, batch).considered.iter().map(ToString::to_string).collect()
    };
    let any = considered("any", 8192);
    assert!(!any.iter().any(|name| name.contains("ultra") || name.contains("spectrum")), "{any:?}");
    assert!(any.contains(&"fast fused".to_string()) && any.contains(&"fast host".to_string()), "{any:?}");
    assert_eq!(considered("any", 64), ["ultra host", "fast host", "reference host"]);
    // A strategy selected by name runs, whatever the gate decides.
    assert_eq!(selected("learned", Preset::Cuda, 8).1, Strategy::Learned);
}

#[test]
fn published_thresholds_hold() {
    let by_thresholds = |preset, batch| selected("legacy", preset, batch);
    assert_eq!(by_thresholds(Preset::Cpu, 256).0, 1);
    assert_eq!(by_thresholds(Preset::Cpu, 257).0, 2);
    assert_eq!(by_thresholds(Preset::Cpu, 100_000).0, 2);
    assert_eq!(by_thresholds(Preset::Cuda, 128), (1, Strategy::Host));
    assert_eq!(by_thresholds(Preset::Cuda, 129), (2, Strategy::Host));
    assert_eq!(by_thresholds(Preset::Cuda, 8191), (2, Strategy::Host));
    assert_eq!(by_thresholds(Preset::Cuda, 8192), (2, Strategy::Fused));
    let device = Preset::Cuda.profile();
    let with = |open| {
        let learned = Some(LearnedSize { open, all: 100, segments: 8, exact: false, ..LEARNED });
        PeaksRequest { learned, ..request("legacy", &device, 8192) }.select().selected.strategy
    };
    assert_eq!((with(1), with(90)), (Strategy::Learned, Strategy::Fused));
}

#[test]
fn published_names_select_their_segments_and_strategy() {
    assert_eq!(selected("ultra", Preset::Cuda, 1000), (1, Strategy::Host));
    assert_eq!(selected("fast", Preset::Cuda, 1000), (2, Strategy::Host));
    assert_eq!(selected("fused", Preset::Cuda, 1000).0, 2);
    assert_eq!(selected("reference", Preset::Cuda, 1000).0, 8);
    assert_eq!(selected("learned", Preset::Cuda, 1000).1, Strategy::Learned);
}

#[test]
fn small_batches_stay_on_the_host_and_large_ones_go_to_the_gpu() {
    let of = |batch| PeaksRequest::new(size(batch), &Preset::Cuda.profile()).select().selected.strategy;
    assert_eq!([of(1), of(8192)], [Strategy::Host, Strategy::Fused]);
}

#[test]
fn peaks_kept_on_the_device_are_uploaded() {
    let device = Preset::Cuda.profile();
    let kept = PeaksRequest { keep_on_device: true, ..PeaksRequest::new(size(1000), &device) };
    assert!((kept.upload(Strategy::Host) - (20_000.0 + 128_000.0 / 50.0)).abs() < 1e-6);
    assert_eq!([kept.upload(Strategy::Fused), PeaksRequest::new(size(1), &device).upload(Strategy::Host)], [0.0, 0.0]);
}

#[test]
fn only_sparse_learned_models_are_candidates_without_a_calibration() {
    let device = Preset::Cuda.profile();
    let with = |batch, open| {
        let learned = Some(LearnedSize { open, all: 1000, exact: false, ..LEARNED });
        let request = PeaksRequest { learned, strategies: &Strategy::ALL, ..PeaksRequest::new(size(batch), &device) };
        let considered = request.select().considered;
        considered.iter().find(|candidate| candidate.strategy == Strategy::Learned).and_then(|found| found.nanoseconds)
    };
    assert_eq!((with(100_000, 250), with(100_000, 1000)), (None, None));
    let fused = published::fused(&size(100_000), &device, 1.0);
    assert!((with(100_000, 200).unwrap() / fused - 0.44).abs() < 1e-9);
}
