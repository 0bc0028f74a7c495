//! Up to a few peaks of a row that has a cube to itself.
//!
//! The strongest bins of each plane give a bound that at least k bins reach; the bins that reach it, hardly more than k of
//! most spectra, are ranked against each other.

use cubecl::prelude::*;

use super::power::{Place, Rows, exchange_base};
use super::top_k::{cleaned, comes_before, write};
use super::transform::{Complex, complex};
use crate::gpu::plan::Fused;

/// Writes the strongest bins of row `row`, whose power starts at `stage[from]`.
#[cube]
pub(super) fn bound(
    stage: &Shared<[f32]>,
    from: u32,
    exchange: &mut Shared<[Complex]>,
    bins: &mut [i32],
    power: &mut [f32],
    row: u32,
    shared: &Rows,
    place: &Place,
    #[comptime] plan: Fused,
) {
    let units = comptime!(plan.layout.units());
    let count = comptime!(plan.bins());
    let base = exchange_base(place, plan);
    let reached = Shared::<[Atomic<u32>]>::new_slice(1usize);
    let mut least = Shared::<[f32]>::new_slice(comptime!(planes(&plan) as usize));
    if place.t == 0 {
        reached[0].store(0u32);
    }
    let mut strongest = f32::new(-1.0);
    for bin in range_stepped(place.t, count, units) {
        strongest = max(strongest, cleaned(stage[(from + bin) as usize]));
    }
    let mut low = plane_max(strongest);
    for _ in 1..shared.k.div_ceil(comptime!(planes(&plan))) {
        strongest = select(strongest == low, f32::new(-1.0), strongest);
        low = plane_max(strongest);
    }
    if UNIT_POS_PLANE == 0 {
        least[(place.t / comptime!(plan.plane)) as usize] = low;
    }
    sync_cube();
    // A power that is missing never reaches the bound.
    let mut limit = least[0];
    #[unroll]
    for plane in 1..comptime!(planes(&plan)) {
        limit = min(limit, least[comptime!(plane as usize)]);
    }
    limit = max(limit, 0.0f32);
    for bin in range_stepped(place.t, count, units) {
        let value = cleaned(stage[(from + bin) as usize]);
        if value >= limit {
            let at = reached[0].fetch_add(1u32);
            exchange[(base + at) as usize] = complex(value, f32::cast_from(bin));
        }
    }
    sync_cube();
    let found = reached[0].load();
    for candidate in range_stepped(place.t, max(found, shared.k), units) {
        if candidate < found {
            let own = exchange[(base + candidate) as usize];
            let mut before = 0u32;
            for other in 0..found {
                before += u32::cast_from(comes_before(exchange[(base + other) as usize], own));
            }
            write(bins, power, row, before, u32::cast_from(own.extract(1usize)), own.extract(0usize), shared);
        } else {
            write(bins, power, row, candidate, 0u32, f32::new(-1.0), shared);
        }
    }
}

/// Planes of the cube.
fn planes(plan: &Fused) -> u32 {
    plan.layout.units() / plan.plane
}
