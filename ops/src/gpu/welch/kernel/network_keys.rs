//! Keys of bins in the search by a sorting network.

use cubecl::prelude::*;

use super::team::TeamMemory;
use crate::gpu::welch::plan::FusedWelchPlan;

/// Makes the keys of 16 bins of a unit, the first of them `bin`, `lanes` apart. In a band, bins from `count` on have
/// key 0, which comes after every other.
#[cube]
pub fn load_keys(
    memory: &TeamMemory,
    from: u32,
    count: u32,
    bin: u32,
    keys: &mut Array<u32>,
    #[comptime] plan: FusedWelchPlan,
) {
    let mask = comptime!(plan.layout.n - 1);
    #[unroll]
    for e in 0..16u32 {
        let step = comptime!(e * plan.lanes_of_search());
        let at = comptime!(e as usize);
        if comptime!(plan.banded) {
            let own = bin + step;
            let bits = u32::reinterpret(memory.power[(from + min(own, count - 1)) as usize]);
            let is_searched = own < count && is_open(own, count, plan);
            keys[at] = select(is_searched, (bits & comptime!(!mask)) | (mask - own), 0u32);
        } else {
            let bits = u32::reinterpret(memory.power[(from + bin + step) as usize]);
            keys[at] = (bits & comptime!(!mask)) | (mask - step - bin);
        }
    }
}

/// Makes the keys of a unit's bins of part `part` of the open blocks, `lanes` blocks in a part, as [`load_keys`]. Keys
/// behind the last open block are 0.
#[cube]
pub fn load_open_keys(
    memory: &TeamMemory,
    from: u32,
    q: u32,
    keys: &mut Array<u32>,
    #[comptime] part: u32,
    #[comptime] plan: FusedWelchPlan,
) {
    let mask = comptime!(plan.layout.n - 1);
    #[unroll]
    for e in 0..16u32 {
        let at = comptime!(e as usize);
        let first = comptime!(open_bin(&plan, (part * 16 + e) * plan.lanes_of_search()));
        if comptime!(first.is_some()) {
            let first = comptime!(first.unwrap_or_default());
            let bits = u32::reinterpret(memory.power[(from + q + first) as usize]);
            keys[at] = (bits & comptime!(!mask)) | (comptime!(mask - first) - q);
        } else {
            keys[at] = 0u32;
        }
    }
}

/// Bin number `index` of those of open blocks, if there are as many.
fn open_bin(plan: &FusedWelchPlan, index: u32) -> Option<u32> {
    plan.open_block(index / 16).map(|block| 16 * block + index % 16)
}

/// Whether the block of a bin is open, of `count` bins that are searched.
#[cube]
pub fn is_open(bin: u32, count: u32, #[comptime] plan: FusedWelchPlan) -> bool {
    if comptime!(plan.has_closed()) {
        let last = max(count / 16, 1u32) - 1;
        (comptime!(plan.open).runtime() >> min(bin / 16, last)) & 1u32 == 1u32
    } else {
        true.runtime()
    }
}
