//! Plans follow from limits alone, and are ones that the kernels can run.

use super::plan::{FusedWelchPlan, TopK, WelchProblem};
use crate::gpu::device::Limits;
use crate::gpu::transform::launch_plan::{Barrier, TableStore, TwiddleStore};
use crate::sample_type::SampleType;

const H200: Limits = Limits::H200;
const WEBGPU: Limits = Limits::WEBGPU;
const SOFTWARE: Limits = Limits::SOFTWARE;

#[test]
fn a_layout_follows_from_its_length() {
    let layout = |n| {
        let launch = planned(n, 2, 1000, 16, &H200).launch;
        let radices: Vec<u32> = (0..launch.passes()).map(|pass| launch.radix(pass)).collect();
        (radices, launch.layout.units, launch.layout.sequence_stride, launch.table_len())
    };
    assert_eq!(layout(8), (vec![8], 1, 9, 1));
    assert_eq!(layout(64), (vec![16, 4], 4, 68, 64));
    assert_eq!(layout(512), (vec![16, 16, 2], 32, 544, 768));
    assert_eq!(layout(1024), (vec![32, 32], 32, 1056, 1024));
}

fn call(n: u32, segments: u32, rows: u32, k: u32) -> WelchProblem {
    WelchProblem {
        samples: SampleType::F32,
        n,
        hop: n / 2,
        segments,
        detrend: false,
        scaled: false,
        gain_taps: 0,
        rows,
        k,
        searched: n / 2 + 1,
    }
}

fn planned(n: u32, segments: u32, rows: u32, k: u32, limits: &Limits) -> FusedWelchPlan {
    FusedWelchPlan::of(call(n, segments, rows, k), limits).unwrap()
}

#[test]
fn the_longest_segment_of_one_launch_follows_from_shared_memory() {
    let longest = |limits: &Limits| {
        (3..=16).map(|log| 1 << log).filter(|&n| FusedWelchPlan::of(call(n, 2, 1000, 16), limits).is_some()).max()
    };
    assert_eq!(longest(&H200), Some(16_384));
    assert_eq!(longest(&WEBGPU), Some(4096));
    assert_eq!(longest(&SOFTWARE), Some(2048));
    assert_eq!(longest(&Limits { shared: 16_384, units: 256, ..SOFTWARE }), Some(1024));
}

#[test]
fn the_search_for_peaks_follows_from_the_device() {
    let form = |n, rows, k, limits| planned(n, 2, rows, k, limits).top_k;
    assert_eq!(form(16, 1000, 9, &H200), Some(TopK::Rank));
    assert_eq!(form(256, 131_072, 16, &H200), Some(TopK::SortingNetwork { lanes: 4 }));
    assert_eq!(form(256, 8192, 1, &WEBGPU), Some(TopK::SortingNetwork { lanes: 8 }));
    assert_eq!(form(256, 8192, 16, &SOFTWARE), Some(TopK::Sort));
    assert_eq!(form(256, 8192, 17, &H200), Some(TopK::Sort));
    assert_eq!(form(4096, 8192, 16, &H200), Some(TopK::Bound));
    assert_eq!(form(4096, 8192, 17, &H200), Some(TopK::Sort));
    assert_eq!(form(256, 8192, 0, &H200), None);
    assert_eq!(planned(256, 2, 8192, 1, &H200), planned(256, 2, 8192, 16, &H200));
}

#[test]
fn several_teams_share_a_cube_under_cuda_only() {
    let cuda = planned(256, 2, 8192, 16, &H200);
    assert_eq!((cuda.launch.barrier, cuda.team, cuda.teams), (Barrier::Plane, 32, 4));
    for limits in [WEBGPU, Limits { plane_barrier: true, ..WEBGPU }] {
        let other = planned(256, 2, 8192, 16, &limits);
        assert_eq!((other.launch.barrier, other.team, other.teams), (Barrier::Cube, 32, 1));
    }
}

#[test]
fn cubes_are_persistent_where_rows_are_many() {
    let cubes = |n, segments, rows, limits| {
        let plan = planned(n, segments, rows, 16, limits);
        (plan.rows * plan.teams, plan.cubes(rows, limits))
    };
    assert_eq!(cubes(256, 2, 8192, &H200), (16, 512));
    assert_eq!(cubes(256, 2, 1_048_576, &H200), (128, 132));
    assert_eq!(cubes(256, 2, 1_048_576, &WEBGPU), (8, 65_535));
    assert_eq!(cubes(256, 8, 1_048_576, &H200), (128, 132));
    assert_eq!(cubes(4096, 8, 8192, &H200), (1, 264));
    assert_eq!(cubes(256, 2, 1, &H200), (16, 1));
}

#[test]
fn every_plan_meets_what_the_kernels_assume() {
    for limits in [H200, WEBGPU, SOFTWARE] {
        for (log, segments, rows) in (3..=16).flat_map(|log| [(log, 1, 1), (log, 2, 65_536), (log, 9, 1_048_576)]) {
            for k in [0, 1, 5, 16, 17, (1 << log) / 2 + 1] {
                let n = 1 << log;
                let Some(plan) = FusedWelchPlan::of(call(n, segments, rows, k.min(n / 2 + 1)), &limits) else {
                    continue;
                };
                assert!(plan.shared_bytes() <= limits.shared && plan.team * plan.teams <= limits.units, "{plan:?}");
                assert!(plan.rows.is_multiple_of(plan.slots()) && plan.slots() > 0, "{plan:?}");
                assert!((1..=limits.cubes).contains(&plan.cubes(rows, &limits)), "{plan:?}");
                if let Some(TopK::SortingNetwork { lanes }) = plan.top_k {
                    assert!(limits.plane == Some(32) && plan.rows * lanes == plan.team && lanes >= 2, "{plan:?}");
                    assert!(n / 2 >= 16 * lanes && k <= 16, "{plan:?}");
                }
                if plan.top_k == Some(TopK::Bound) {
                    assert!(plan.units() > plan.plane && k <= 16, "{plan:?}");
                }
                let keeps_one_pass = plan.launch.twiddles == TwiddleStore::Table(TableStore::Registers);
                assert!(!keeps_one_pass || plan.launch.passes() == 2, "{plan:?}");
                assert_eq!(plan.values(), plan.launch.layout.values(), "{plan:?}");
            }
        }
    }
}
