//! Every operation of the table recorded and compiled for a device that is not there.

mod support;

use std::sync::LazyLock;

use burn::tensor::DType;
use firefly_interop::cuda::Recorder;
use firefly_interop::plan::{Plan, Slot};
use firefly_interop::{Array, Call};
use firefly_ops::op::{ADAM_STEP, ROWS};

use self::support::{CASES, Case, h100, strides};

/// The one recorder of the process.
static RECORDER: LazyLock<Recorder> = LazyLock::new(|| Recorder::offline(h100(), 90, 13_000));

/// The plan of a call on contiguous inputs, whose first starts `offset` bytes off.
fn plan((operation, shapes): Case, offset: u64) -> Plan {
    let strides = strides(shapes);
    let mut arrays: Vec<Array> = shapes
        .iter()
        .zip(&strides)
        .map(|(shape, strides)| Array { address: 0, shape, strides, dtype: DType::F32 })
        .collect();
    arrays[0].address = offset;
    let call = Call { operation, device: 0, inputs: &arrays };
    RECORDER.record(&call).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_operation_of_the_table_is_recorded() {
    for row in ROWS.iter().filter(|row| row.name != ADAM_STEP) {
        let of_row = |case: &&Case| case.0.split(' ').next() == row.name.strip_prefix("firefly::");
        assert!(CASES.iter().any(|case| of_row(&case)), "{} has no case", row.name);
    }
    for case in CASES {
        let plan = plan(*case, 0);
        assert!(!plan.launches.is_empty(), "{plan}");
        let uses = |slot: Slot| plan.addresses.iter().any(|(used, _)| *used == slot);
        assert!((0..plan.outputs.len()).all(|output| uses(Slot::Output(output as u16))), "{plan}");
        assert!(uses(Slot::Input(0)), "{plan}");
        assert_eq!(plan.workspace > 0, uses(Slot::Workspace), "{plan}");
        print_plan(&plan);
    }
    // What is recorded again is the same.
    for case in CASES {
        assert_eq!(plan(*case, 0), plan(*case, 0), "{}", case.0);
    }
    assert!(RECORDER.kernels() >= CASES.len() / 2);
}

/// What `--nocapture` shows.
#[allow(clippy::print_stdout, reason = "the plans are what a reader of this test looks at")]
fn print_plan(plan: &Plan) {
    print!("{plan}");
}

#[test]
fn unaligned_inputs_get_kernels_of_narrow_loads() {
    let case = ("welch_peaks 256 128 2 0 0 false false 16 1", CASES[3].1);
    let (aligned, unaligned) = (plan(case, 0), plan(case, 4));
    assert!(aligned.addresses.contains(&(Slot::Input(0), 0)));
    assert!(unaligned.addresses.contains(&(Slot::Input(0), 4)));
}
