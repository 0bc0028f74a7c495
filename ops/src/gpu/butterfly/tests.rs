//! Passes follow from limits alone, and keep adjacent units on different banks of shared memory.

use super::kernel::{shared_offset, unit_index};
use super::plan::{ButterflyLaunchPlan, forward_launch};
use super::{Propagation, launches};
use crate::gpu::device::{DeviceLimit, Limits};

const SMALL: Limits = Limits {
    plane: None,
    plane_barrier: false,
    units: 256,
    shared: 16 << 10,
    cubes: 65_535,
    processors: None,
    buffer: 128 << 20,
};
const LARGE: Limits = Limits { plane: Some(32), units: 1024, shared: 48 << 10, ..SMALL };

#[test]
fn every_length_is_split_into_launches_that_fit() {
    for limits in [SMALL, LARGE] {
        for log2_n in 3..=16 {
            for (propagation, gated) in
                [(Propagation::Forward, false), (Propagation::Forward, true), (Propagation::Backward, true)]
            {
                let launches = launches(log2_n, gated, &limits, propagation).unwrap_or_default();
                let stages: Vec<u32> = launches.iter().flat_map(|plan| plan.first..plan.first + plan.stages).collect();
                assert_eq!(stages, (0..log2_n).collect::<Vec<_>>());
                for plan in launches {
                    assert!(plan.fits(propagation, &limits), "{plan:?}");
                    assert!(plan.is_single_tile() || (1 << plan.log2_tiles()) % plan.tiles == 0, "{plan:?}");
                }
            }
        }
    }
}

#[test]
fn a_row_is_read_once_where_shared_memory_holds_it() {
    let count = |log2_n, limits| launches(log2_n, false, limits, Propagation::Forward).map(|launches| launches.len());
    assert_eq!((count(8, &SMALL), count(12, &LARGE), count(16, &LARGE)), (Ok(1), Ok(1), Ok(2)));
    let plan = forward_launch(8, 0, 8, false, &LARGE);
    assert_eq!(
        plan,
        Some(ButterflyLaunchPlan { log2_n: 8, first: 0, stages: 8, log2_values: 3, tiles: 8, rows_per_unit: 2 })
    );
}

#[test]
fn passes_cover_the_stages() {
    for stages in 3..=12 {
        let plan = forward_launch(stages, 0, stages, false, &LARGE).unwrap();
        assert_eq!((0..plan.passes()).map(|pass| plan.pass_stages(pass)).sum::<u32>(), stages);
    }
}

#[test]
fn too_little_shared_memory_is_an_error_that_says_how_much_is_needed() {
    let tiny = Limits { shared: 256, ..SMALL };
    let error = launches(16, true, &tiny, Propagation::Backward).unwrap_err();
    assert_eq!((error.limit, error.available), (DeviceLimit::SharedMemory, 256));
    let enough = Limits { shared: error.needed as usize, ..SMALL };
    assert!(launches(16, true, &enough, Propagation::Backward).is_ok(), "{error}");
}

/// The most values of one bank that sixteen adjacent units access at once.
fn conflicts(plan: ButterflyLaunchPlan, pass: u32, from: u32) -> usize {
    let at = |unit: u32, i: u32| shared_offset(&unit_index(unit, 0, plan), i, pass, plan);
    let of_value = |i: u32| {
        let banks: Vec<u32> = (from..(from + 16).min(plan.cube_units())).map(|unit| at(unit, i) % 16).collect();
        banks.iter().map(|bank| banks.iter().filter(|other| *other == bank).count()).max().unwrap_or(0)
    };
    (0..1 << plan.log2_values).map(of_value).max().unwrap_or(0)
}

#[test]
fn adjacent_units_use_different_banks() {
    for (log2_n, gated) in (6..=16).flat_map(|log2_n| [(log2_n, false), (log2_n, true)]) {
        for propagation in [Propagation::Forward, Propagation::Backward] {
            for plan in launches(log2_n, gated, &Limits::H200, propagation).unwrap() {
                let most = match log2_n {
                    6 => 4,
                    8.. if plan.is_single_tile() => 1,
                    _ => 2,
                };
                for (pass, from) in (0..plan.passes()).flat_map(|pass| [(pass, 0), (pass, 16), (pass, 48)]) {
                    assert!(conflicts(plan, pass, from) <= most, "{plan:?}, pass {pass}, units from {from}");
                }
            }
        }
    }
}
