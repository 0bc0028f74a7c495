//! Passes follow from limits alone, and keep adjacent units on different banks of shared memory.

use super::kernel::{shared_offset, unit_index};
use super::plan::{Pass, forward_pass};
use super::{Propagation, passes};
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
                let passes = passes(log2_n, gated, &limits, propagation).unwrap_or_default();
                let stages: Vec<u32> = passes.iter().flat_map(|pass| pass.first..pass.first + pass.stages).collect();
                assert_eq!(stages, (0..log2_n).collect::<Vec<_>>());
                for pass in passes {
                    assert!(pass.fits(propagation, &limits), "{pass:?}");
                    assert!(pass.is_single_tile() || (1 << pass.log2_tiles()) % pass.tiles == 0, "{pass:?}");
                }
            }
        }
    }
}

#[test]
fn a_row_is_read_once_where_shared_memory_holds_it() {
    let count = |log2_n, limits| passes(log2_n, false, limits, Propagation::Forward).map(|passes| passes.len());
    assert_eq!((count(8, &SMALL), count(12, &LARGE), count(16, &LARGE)), (Ok(1), Ok(1), Ok(2)));
    let pass = forward_pass(8, 0, 8, false, &LARGE);
    assert_eq!(pass, Some(Pass { log2_n: 8, first: 0, stages: 8, log2_values: 3, tiles: 8, rows_per_unit: 2 }));
}

#[test]
fn steps_cover_the_stages() {
    for stages in 3..=12 {
        let pass = forward_pass(stages, 0, stages, false, &LARGE).unwrap();
        assert_eq!((0..pass.steps()).map(|step| pass.step_stages(step)).sum::<u32>(), stages);
    }
}

#[test]
fn too_little_shared_memory_is_an_error_that_says_how_much_is_needed() {
    let tiny = Limits { shared: 256, ..SMALL };
    let error = passes(16, true, &tiny, Propagation::Backward).unwrap_err();
    assert_eq!((error.limit, error.available), (DeviceLimit::SharedMemory, 256));
    let enough = Limits { shared: error.needed as usize, ..SMALL };
    assert!(passes(16, true, &enough, Propagation::Backward).is_ok(), "{error}");
}

/// The most values of one bank that sixteen adjacent units access at once.
fn conflicts(pass: Pass, step: u32, from: u32) -> usize {
    let at = |unit: u32, i: u32| shared_offset(&unit_index(unit, 0, pass), i, step, pass);
    let of_value = |i: u32| {
        let banks: Vec<u32> = (from..(from + 16).min(pass.cube_units())).map(|unit| at(unit, i) % 16).collect();
        banks.iter().map(|bank| banks.iter().filter(|other| *other == bank).count()).max().unwrap_or(0)
    };
    (0..1 << pass.log2_values).map(of_value).max().unwrap_or(0)
}

#[test]
fn adjacent_units_use_different_banks() {
    for (log2_n, gated) in (6..=16).flat_map(|log2_n| [(log2_n, false), (log2_n, true)]) {
        for propagation in [Propagation::Forward, Propagation::Backward] {
            for pass in passes(log2_n, gated, &Limits::H200, propagation).unwrap() {
                let most = match log2_n {
                    6 => 4,
                    8.. if pass.is_single_tile() => 1,
                    _ => 2,
                };
                for (step, from) in (0..pass.steps()).flat_map(|step| [(step, 0), (step, 16), (step, 48)]) {
                    assert!(conflicts(pass, step, from) <= most, "{pass:?}, step {step}, units from {from}");
                }
            }
        }
    }
}
