//! Plans follow from limits alone, and are ones that the kernels can run.

use crate::gpu::device::{DeviceLimit, Limits};
use crate::gpu::transform::cube_layout::{CubeLayout, MemoryOrder};
use crate::gpu::transform::launch_plan::{TransformLaunchPlan, roots_len};
use crate::gpu::transform::plan::{TransformKind, TransformPlan, TransformProblem};
use crate::gpu::transform::plan_cache::{roots_table, table};

/// A device with no more than WebGPU guarantees.
const LEAST: Limits = Limits { units: 256, shared: 16 << 10, buffer: 128 << 20, ..Limits::SOFTWARE };

fn plan(points: usize, kind: TransformKind, limits: &Limits) -> TransformPlan {
    TransformPlan::of(TransformProblem::new(points, kind), limits).unwrap()
}

/// The radices of a layout.
fn radices(layout: &CubeLayout) -> Vec<u32> {
    (0..layout.radices.count()).map(|pass| layout.radices.radix(pass)).collect()
}

fn assert_runs(launch: &TransformLaunchPlan, limits: &Limits) {
    let layout = launch.layout;
    assert_eq!(radices(&layout).iter().product::<u32>(), layout.n, "{launch:?}");
    assert!(layout.shared_bytes() <= limits.shared && layout.cube_units() <= limits.units, "{launch:?}");
    assert!(layout.sequences > 0 && layout.values() <= 32, "{launch:?}");
    // Both sequences of a unit are the same where no exchange is in between; if each has one unit, wherever they lie.
    assert!(launch.passes() > 1 || launch.input == launch.output || layout.units == 1, "{launch:?}");
    assert_eq!(table(launch).len(), 2 * launch.table_len() as usize, "{launch:?}");
}

#[test]
fn lengths_of_any_factors_have_a_plan_on_every_device() {
    // The search for a layout takes long, so that not every longer length is planned.
    let lengths = || (1..=200).chain((201..=600).step_by(7));
    for limits in [Limits::H200, Limits::WEBGPU, LEAST] {
        for points in lengths().chain([1000, 2011, 4095, 4394, 10_007, 16_384, 59_582, 65_536, 99_991, 1 << 20]) {
            for kind in [TransformKind::Complex, TransformKind::RealForward, TransformKind::RealInverse] {
                let plan = plan(points, kind, &limits);
                plan.launches.iter().for_each(|launch| assert_runs(launch, &limits));
                let (first, last) = (&plan.launches[0], &plan.launches[plan.launches.len() - 1]);
                let whole = first.layout.n * first.columns;
                assert!(whole == first.points || whole >= 2 * first.points - 1 && last.chirps_output, "{plan:?}");
                let halved = kind != TransformKind::Complex && points % 2 == 0;
                assert_eq!(first.points as usize, if halved { points / 2 } else { points }, "{plan:?}");
                assert!(
                    plan.fold.is_none_or(|fold| roots_table(fold.root()).len() == 2 * roots_len(fold.root()) as usize),
                    "{plan:?}"
                );
                assert!(plan.launches.iter().all(|launch| launch.layout.n * launch.columns == whole), "{plan:?}");
            }
        }
    }
}

#[test]
fn the_number_of_launches_follows_from_length_and_shared_memory() {
    let launches = |points, limits| plan(points, TransformKind::Complex, limits).launches.len();
    // Small factors in one cube; a convolution in one; two factors; a convolution of two factors.
    assert_eq!([4096, 10_000, 16_384].map(|points| launches(points, &Limits::H200)), [1, 1, 1]);
    assert_eq!([251, 1009, 10_007].map(|points| launches(points, &Limits::H200)), [1, 1, 1]);
    assert_eq!([32_768, 1 << 20].map(|points| launches(points, &Limits::H200)), [2, 2]);
    assert_eq!(launches(100_003, &Limits::H200), 3);
    // Spectra of pairs of samples are folded by the last launch. Those of a convolution, and those of which a cube has
    // few columns, are folded by a launch of their own.
    let folds = |points| plan(points, TransformKind::RealForward, &Limits::H200).fold.is_some();
    assert_eq!([16_384, 16_383, 65_536, 65_535, 1 << 20].map(folds), [false; 5]);
    assert_eq!([200_006, 1 << 22].map(folds), [true; 2]);
    assert!(plan(1 << 20, TransformKind::RealForward, &LEAST).fold.is_some());
    assert_eq!([1024, 4096, 10_007].map(|points| launches(points, &LEAST)), [1, 2, 3]);
}

#[test]
fn radices_are_few_and_units_busy() {
    let layout = |n| CubeLayout::of(n, MemoryOrder::Rows, &Limits::H200).unwrap();
    for (n, expected, units) in [
        (16, vec![16], 1),
        (100, vec![10, 10], 10),
        (256, vec![16, 16], 16),
        (456, vec![24, 19], 24),
        (1000, vec![10, 10, 10], 100),
        (4096, vec![16, 16, 16], 256),
        // With 1,000 units, which radices of 10 would keep busy, a multiprocessor holds one cube.
        (10_000, vec![20, 20, 5, 5], 500),
    ] {
        let layout = layout(n);
        assert_eq!((radices(&layout), layout.units), (expected, units), "{n}");
    }
    assert!(CubeLayout::of(37, MemoryOrder::Rows, &Limits::H200).is_none(), "37 is too large a prime for a radix");
}

#[test]
fn a_length_beyond_two_factors_is_an_error() {
    let problem = TransformProblem::new(1 << 26, TransformKind::Complex);
    assert!(TransformPlan::of(problem, &Limits::H200).is_ok());
    let error = TransformPlan::of(problem, &LEAST).unwrap_err();
    assert_eq!((error.limit, error.available), (DeviceLimit::SharedMemory, 16 << 10));
    let error = TransformPlan::of(TransformProblem { points: 1 << 30, ..problem }, &Limits::H200).unwrap_err();
    assert_eq!(error.limit, DeviceLimit::LaunchElements);
}
