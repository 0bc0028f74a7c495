//! Stages whose twiddles repeat from block to block, as those of the exact transform do.
//!
//! Such a stage reads 2^stage twiddles instead of n/2, which fit a processor's cache.

use cubecl::prelude::*;

use crate::gpu::complex::Complex;

/// Units that compare the twiddles of one stage.
pub const PERIOD_UNITS: u32 = 256;

/// Writes, per stage, the bits of a butterfly's number that its twiddle depends on: the lowest `stage` bits if the
/// twiddles repeat with every block, else all. A cube per stage.
#[cube(launch)]
pub fn find_periods(twiddles: &[Complex], periods: &mut [u32], pairs: u32) {
    let stage = CUBE_POS as u32;
    let own = (1u32 << stage) - 1;
    let mut differs = Shared::<[u32]>::new_slice(comptime!(PERIOD_UNITS as usize));
    // Each unit compares a share of the twiddles with those of the first block.
    let mut any = 0u32;
    for pair in range_stepped(UNIT_POS, pairs, PERIOD_UNITS) {
        let here = twiddles[(stage * pairs + pair) as usize];
        let first = twiddles[(stage * pairs + (pair & own)) as usize];
        // Compared bit by bit, so that results are the same whether or not a period is found.
        any |= u32::reinterpret(here.extract(0usize)) ^ u32::reinterpret(first.extract(0usize));
        any |= u32::reinterpret(here.extract(1usize)) ^ u32::reinterpret(first.extract(1usize));
    }
    differs[UNIT_POS as usize] = any;
    sync_cube();
    // One unit combines the shares.
    if UNIT_POS == 0u32 {
        let mut all = 0u32;
        for unit in 0..PERIOD_UNITS {
            all |= differs[unit as usize];
        }
        periods[stage as usize] = select(all == 0u32, own, pairs - 1);
    }
}
