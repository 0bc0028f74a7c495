//! Snapshots of every table at 80, 100 and 160 columns.

use std::path::Path;

use firefly_app::table::{TableLayout, TextTable};
use firefly_bench::harness::{
    Accuracy, BatchLimit, CaseOutcome, CaseRecord, LimitedBy, Measured, ParameterMap, Percentiles, PhaseTraffic,
    Selected, SpeedRatio, Verification,
};
use firefly_bench::report::changes::ReportChanges;
use firefly_bench::report::crossover::{self, crossovers};
use firefly_bench::report::profile::{PROFILE_FORMAT, ProfileReport, explain};
use firefly_bench::report::regret::Choices;
use firefly_bench::report::schema::{BenchReport, Tool};
use firefly_bench::report::{terminal, traffic};
use firefly_framework::cost::{Benefit, FusionDecision, Prediction};
use firefly_framework::movement::{DataMovement, GraphMovement, NodeMovement};
use firefly_framework::profile::Preset;

/// Widths with and without the columns that `--wide` adds.
const LAYOUTS: [TableLayout; 3] = [
    TableLayout { width: 80, every_column: false },
    TableLayout { width: 100, every_column: false },
    TableLayout { width: 160, every_column: true },
];

/// The table that `render` makes of each layout. Without `--wide`, nothing is wider than the layout.
fn at_every_width(render: impl Fn(TableLayout) -> String) -> String {
    let text = |layout: TableLayout| {
        let text = render(layout);
        for line in text.lines() {
            assert!(layout.every_column || line.chars().count() <= layout.width, "{} columns: {line}", layout.width);
        }
        format!("{} columns{}\n{text}", layout.width, if layout.every_column { ", --wide" } else { "" })
    };
    LAYOUTS.map(text).join("\n")
}

fn rendered(table: &TextTable) -> String {
    at_every_width(|layout| table.render_in(layout))
}

/// A case of `batch` rows with these times and this speed.
fn case(strategy: &str, batch: u64, samples_ns: [u64; 3], ratio: [f64; 3]) -> CaseRecord {
    let verification = Verification { rows: 8, tolerance: 3e-6, error: 1.5e-7, ranking: None };
    let size = [batch as usize, 1664 * batch as usize];
    let measured = Measured::new(size, verification, 4, samples_ns.to_vec()).unwrap();
    let speed = |baseline: &str| SpeedRatio { baseline: baseline.into(), ratio: Percentiles::of(ratio).unwrap() };
    let measured = Measured { speed: vec![speed("rustfft"), speed("memcpy")], ..measured };
    let problem = ParameterMap::default().with("n_fft", 256).with("segments", 2).with("batch", batch).with("k", 16);
    CaseRecord {
        problem,
        strategy: strategy.into(),
        device: "cpu".into(),
        instruction_set: Some("avx512".into()),
        threads: 2,
        competes: true,
        outcome: CaseOutcome::Measured(Box::new(measured)),
    }
}

fn with(mut case: CaseRecord, change: impl FnOnce(&mut Measured)) -> CaseRecord {
    if let CaseOutcome::Measured(measured) = &mut case.outcome {
        change(measured);
    }
    case
}

fn cases() -> Vec<CaseRecord> {
    let failed = CaseOutcome::failed(
        "set 0, row 0: power 5.0009 at rank 0 is 5 in the reference: off by 1.8e-4 of the \
                                      row's maximum, 3.2e-6 is allowed",
    );
    let selected = Selected { choice: "fast fused".into(), same_as: Some("firefly".into()) };
    [32, 8192]
        .into_iter()
        .flat_map(|batch| {
            let times = |nanoseconds: [u64; 3]| nanoseconds.map(|time| time * batch / 32);
            [
                case("firefly", batch, times([8_911, 9_420, 10_433]), [4.1, 4.2, 4.3]),
                with(case("auto", batch, times([8_811, 9_320, 10_333]), [4.1, 4.25, 4.4]), |measured| {
                    measured.selected = Some(selected.clone());
                }),
                case("firefly-pinned", batch, times([12_000, 13_000, 14_000]), [2.5, 2.9, 3.1]),
                CaseRecord { outcome: failed.clone(), ..case("psd-topk", batch, [1; 3], [1.0; 3]) },
                case("rustfft", batch, times([37_000, 39_760, 41_810]), [1.0; 3]),
            ]
        })
        .collect()
}

#[test]
fn cases_of_a_comparison() {
    insta::assert_snapshot!(rendered(&terminal::table(&cases(), &["n_fft", "segments", "batch", "k"])));
}

#[test]
fn learned_cases_on_several_threads() {
    let mut cases = cases()[..2].to_vec();
    cases[1] = with(CaseRecord { threads: 1, ..cases[1].clone() }, |measured| {
        measured.accuracy = Some(Accuracy { train_steps: 200, recall: 0.867, exact_recall: 0.829 });
        measured.selected = None;
    });
    insta::assert_snapshot!(rendered(&terminal::table(&cases, &["n_fft", "segments", "batch", "k"])));
}

#[test]
fn crossovers_over_the_batch() {
    let found = crossovers(&cases(), "batch");
    insta::assert_snapshot!(at_every_width(|layout| crossover::render(
        &found,
        "batch",
        &["n_fft", "segments", "k"],
        layout
    )));
}

fn movement(launches: u64, host_output: u64, traffic: u64) -> DataMovement {
    DataMovement { launches, syncs: 0, host_output, traffic }
}

fn decision() -> FusionDecision {
    let [before, after] = [movement(9, 33_554_432, 219_152_384), movement(1, 1_048_576, 13_631_488)];
    FusionDecision::new(&Preset::Cuda.profile(), before, after, 8192)
}

#[test]
fn data_movement_of_phases() {
    let costs = Preset::Cuda.profile();
    let phase = |name: &str, io: DataMovement, is_baseline: bool| {
        with(case(name, 8192, [1_211_000, 1_320_000, 1_433_000], [1.0; 3]), |measured| {
            let prediction = Prediction::new(&io, &costs);
            let saved = Benefit { launches: 8, syncs: 0, read_back: 32_505_856, traffic: 205_520_896 };
            measured.traffic = Some(Box::new(PhaseTraffic {
                io,
                bytes_read: io.host_output,
                peak_bytes: 1 << 26,
                prediction,
                predicted_ns: prediction.total(),
                saved: (!is_baseline).then_some(saved),
                decision: (!is_baseline).then(decision),
            }));
        })
    };
    let cases = [
        phase("baseline", movement(9, 33_554_432, 219_152_384), true),
        phase("phase-5", movement(1, 1_048_576, 13_631_488), false),
    ];
    insta::assert_snapshot!(rendered(&traffic::table(&cases, &["n_fft", "segments", "batch", "k"])));
}

#[test]
fn an_explained_decision() {
    insta::assert_snapshot!(at_every_width(|layout| explain(&decision(), layout)));
}

#[test]
fn largest_batches() {
    let limit = BatchLimit {
        batch: 5_592_405,
        limited_by: LimitedBy::InputSize,
        bytes_per_row: 1728,
        free_bytes: Some(23 << 30),
        proven_batch: 43_690,
        verification: Some(Verification { rows: 256, tolerance: 3e-6, error: 1.5e-7, ranking: None }),
    };
    let bounded = CaseRecord { outcome: CaseOutcome::Bounded(limit), ..case("firefly", 1, [1; 3], [1.0; 3]) };
    let refused = CaseOutcome::unsupported("welch-peaks: `k` is 200, but must be from 1 to the number of bins, 129");
    let refused = CaseRecord { outcome: refused, ..bounded.clone() };
    insta::assert_snapshot!(rendered(&firefly_bench::cli::max_batch::table(&[bounded, refused])));
}

fn choices() -> Vec<CaseRecord> {
    BenchReport::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/picker.json")).unwrap().cases
}

#[test]
fn choices_of_the_picker() {
    let cases = choices();
    insta::assert_snapshot!(rendered(&Choices::of(&cases).table(true).unwrap()));
}

#[test]
fn the_picker_has_an_overview_and_the_cases_that_are_regretted() {
    let mut cases = choices();
    let overview = Choices::of(&cases).overview();
    let rows = overview.cells();
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[0], ["64", "2", "4", "0.0", "0.0"]);
    assert!(Choices::of(&cases).table(false).is_none());
    // The strategy that was not chosen takes two thirds of the time of the one that was.
    let chosen = cases[0].measured().unwrap().time_ns.median;
    cases[1] = with(cases[1].clone(), |measured| measured.time_ns.median = chosen / 1.5);
    let choices = Choices::of(&cases);
    assert_eq!(choices.overview().cells()[0], ["64", "2", "4", "12.5", "50.0"]);
    assert_eq!(choices.table(false).unwrap().cells().len(), 1);
    assert!(choices.summary().starts_with("regret of 16 choices 3.1 % on average, 50.0 % at worst"));
}

#[test]
fn changes_between_reports() {
    let report = |cases: Vec<CaseRecord>| {
        let json = serde_json::json!({
            "format": 4,
            "tool": { "name": "firefly-bench", "version": "0.1.0", "build": "release" },
            "date": 0,
            "host": { "cpu": null, "cores": 2, "instruction_sets": [], "os": "linux", "arch": "x86_64" },
            "command": { "name": "welch-peaks", "options": {} },
            "facts": {},
            "cases": cases,
        });
        serde_json::from_value::<BenchReport>(json).unwrap()
    };
    let mut after = cases();
    after[0] = case("firefly", 32, [28_911, 29_420, 30_433], [1.1; 3]);
    let changes = ReportChanges::new(&report(cases()), &report(after), 0.05, false);
    insta::assert_snapshot!(rendered(&changes.table));
}

#[test]
fn data_movement_of_a_graph() {
    let node = |operation: &str, view: bool, shape: &[usize], traffic: u64| NodeMovement {
        operation: operation.into(),
        kind: operation.into(),
        views: Vec::new(),
        inputs: vec![0],
        outputs: vec![1],
        shapes: vec![shape.to_vec()],
        dtypes: vec!["F32".into()],
        view,
        movement: DataMovement { launches: u64::from(!view), syncs: 0, host_output: 0, traffic },
        merged_traffic: traffic,
        multiply_adds: 0,
        weights: Vec::new(),
        live_bytes: 205_137_412,
    };
    let nodes = vec![
        node("unfold", true, &[8192, 2, 256], 0),
        node("multiply", false, &[8192, 2, 256], 33_555_456),
        node("signal::rfft", false, &[8192, 2, 129], 33_685_504),
    ];
    let total = nodes.iter().map(|node| node.movement).sum();
    let target = Preset::Cuda.profile();
    let report = ProfileReport {
        format: PROFILE_FORMAT,
        tool: Tool::this(),
        model: "stock-unfold".into(),
        parameters: ParameterMap::default().with("n_fft", 256).with("batch", 8192),
        prediction: Prediction::new(&total, &target),
        target,
        profile: GraphMovement { nodes, total, held_bytes: 12_583_936, peak_bytes: 205_137_412 },
        decisions: Vec::new(),
    };
    insta::assert_snapshot!(rendered(&report.table()));
}
