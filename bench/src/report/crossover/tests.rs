//! Tests of crossovers, and the case that tests of other reports start from.

use super::*;
use crate::harness::{CaseOutcome, Measured, Selected, Verification};

/// A case of `batch` rows that took about so many nanoseconds.
pub(crate) fn case(strategy: &str, batch: u64, nanoseconds: [u64; 3]) -> CaseRecord {
    let verification = Verification { rows: 1, tolerance: 1e-6, error: 0.0, ranking: None };
    let measured = Measured::new([batch as usize, 8], verification, 1, nanoseconds.to_vec()).unwrap();
    CaseRecord {
        problem: ParameterMap::default().with("n_fft", 64).with("batch", batch),
        strategy: strategy.into(),
        device: "cpu".into(),
        instruction_set: None,
        threads: 1,
        competes: strategy != "other",
        outcome: CaseOutcome::Measured(Box::new(measured)),
    }
}

/// The same as [`case`], by the calls of another strategy.
fn same_as(original: &str, strategy: &str, batch: u64, nanoseconds: [u64; 3]) -> CaseRecord {
    let mut case = case(strategy, batch, nanoseconds);
    if let CaseOutcome::Measured(measured) = &mut case.outcome {
        measured.selected = Some(Selected { choice: "fused".into(), same_as: Some(original.into()) });
    }
    case
}

#[test]
fn every_time_is_there_and_the_fastest_is_named() {
    let cases = [
        case("a", 1, [10_000; 3]),
        case("b", 1, [20_000; 3]),
        case("a", 8, [30_000; 3]),
        case("b", 8, [33_000; 3]),
        case("a", 64, [500_000; 3]),
        case("b", 64, [400_000, 600_000, 100_000]),
        case("other", 64, [1, 1, 1]),
        case(COPY_BASELINE, 64, [1, 1, 1]),
    ];
    let found = crossovers(&cases, "batch");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].strategies.join(" "), found[0].apart.join(" ")), ("a b other".into(), "other".into()));
    let fastest: Vec<_> = found[0].rows.iter().map(|row| (row.size, row.fastest, row.is_clear)).collect();
    assert_eq!(fastest, [(1, 0, true), (8, 0, true), (64, 1, false)]);
    let text = render(&found, "batch", &["n_fft"], TableLayout { width: 100, every_column: false });
    assert!(text.contains("median milliseconds over batch: n_fft 64, device cpu, threads 1"), "{text}");
    assert!(text.contains("0.0100  0.0200"), "{text}");
    assert!(text.contains("1.25  no"), "{text}");
    assert!(text.contains("\nwithout a part in the search for the fastest: other\n"), "{text}");
}

#[test]
fn strategies_of_the_same_calls_are_one() {
    let cases = [
        case("a", 1, [12; 3]),
        same_as("a", "auto", 1, [10; 3]),
        case("b", 1, [20; 3]),
        case("a", 8, [30; 3]),
        same_as("a", "auto", 8, [29; 3]),
        case("b", 8, [15; 3]),
    ];
    let [found] = &crossovers(&cases, "batch")[..] else { panic!() };
    assert_eq!(found.strategies, ["a = auto", "b"]);
    let fastest: Vec<_> = found.rows.iter().map(|row| (row.fastest, row.lead)).collect();
    assert_eq!(fastest, [(0, Some(20.0 / 12.0)), (1, Some(2.0))]);
    // What differs at one size keeps its column, and wins only with calls of its own.
    let mixed = [&cases[..4], &[case("auto", 8, [14; 3]), case("b", 8, [15; 3])]].concat();
    let [found] = &crossovers(&mixed, "batch")[..] else { panic!() };
    assert_eq!(found.strategies, ["a", "auto", "b"]);
    let fastest: Vec<_> = found.rows.iter().map(|row| (row.fastest, row.lead)).collect();
    assert_eq!(fastest, [(0, Some(20.0 / 12.0)), (1, Some(15.0 / 14.0))]);
    // An instruction set that is known of one only makes no difference.
    let mut known = cases.clone();
    known.iter_mut().filter(|case| case.strategy == "a").for_each(|case| case.instruction_set = Some("avx2".into()));
    assert_eq!(crossovers(&known, "batch")[0].strategies, ["a = auto", "b"]);
    // Alone, it stands for itself.
    let alone: Vec<_> = cases.iter().filter(|case| case.strategy != "a").cloned().collect();
    assert_eq!(crossovers(&alone, "batch")[0].strategies, ["auto", "b"]);
}

#[test]
fn one_size_or_one_strategy_is_no_crossover() {
    assert_eq!(crossovers(&[case("a", 1, [1; 3]), case("b", 1, [2; 3])], "batch"), []);
    assert_eq!(crossovers(&[case("a", 1, [1; 3]), case("a", 2, [2; 3])], "batch"), []);
    assert_eq!(crossovers(&[case("a", 1, [1; 3]), case("b", 2, [2; 3])], "k"), []);
    let same = [1, 2].map(|batch| [case("a", batch, [2; 3]), same_as("a", "auto", batch, [1; 3])]).concat();
    assert_eq!(crossovers(&same, "batch"), []);
}
