//! A limit that is too low is an error before anything is launched.

use crate::gpu::device::Limits;
use crate::gpu::requirement::check_limits;
use crate::gpu::{DeviceLimit, Requirement};

/// The limit that refuses a call.
fn refused(limits: &Limits, requirement: Requirement) -> Option<DeviceLimit> {
    check_limits(limits, &requirement).err().map(|error| error.limit)
}

const CALL: Requirement = Requirement { n: 65_536, gated: Some(true), rows: 1000, row_len: 65_536, transforms: 1 };

#[test]
fn every_length_runs_where_the_limits_are_those_of_webgpu() {
    let least = Limits { units: 256, shared: 16 << 10, buffer: 128 << 20, ..Limits::SOFTWARE };
    let gates = [None, Some(false), Some(true)];
    for (log2_n, gated) in (3..=16).flat_map(|log2_n| gates.map(|gated| (log2_n, gated))) {
        let n = 1 << log2_n;
        assert_eq!(refused(&least, Requirement { n, gated, row_len: n, ..CALL }), None, "n {n}");
    }
}

#[test]
fn a_limit_that_is_too_low_is_named() {
    let limits = Limits::SOFTWARE;
    assert_eq!(refused(&Limits { units: 128, ..limits }, CALL), Some(DeviceLimit::UnitsPerCube));
    assert_eq!(refused(&Limits { shared: 512, ..limits }, CALL), Some(DeviceLimit::SharedMemory));
    let long = Requirement { row_len: 1 << 26, ..CALL };
    assert_eq!(refused(&limits, long), Some(DeviceLimit::LaunchElements));
    assert_eq!(refused(&limits, Requirement { rows: 32, ..long }), None);
    // Segments that overlap take more than the row they are cut from.
    let overlapping = Requirement { transforms: 2_100, ..CALL };
    assert_eq!(refused(&limits, overlapping), Some(DeviceLimit::LaunchElements));
    let error = check_limits(&Limits { units: 128, ..limits }, &CALL).unwrap_err();
    assert_eq!(error.to_string(), "256 units per cube are needed, there are 128");
}
