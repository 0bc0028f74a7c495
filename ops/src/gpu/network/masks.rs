//! Which stages' twiddles repeat from block to block, as those of the exact transform do: a network then reads 2^stage of them
//! rather than n/2, which a processor's cache holds.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::place::Complex;
use crate::gpu::buffers::buffer;

/// Units that look through one stage.
const UNITS: u32 = 256;

/// For every stage of a network of length `n` the bits of a pair's number that choose its twiddle.
pub(super) fn masks(client: &Client, twiddles: &Handle, n: usize) -> Handle {
    let stages = n.ilog2();
    let masks = client.empty(stages as usize * size_of::<u32>());
    find::launch(
        client,
        CubeCount::Static(stages, 1, 1),
        CubeDim::new_1d(UNITS),
        buffer::<[f32; 2]>(twiddles, stages as usize * n / 2),
        buffer::<u32>(&masks, stages as usize),
        (n / 2) as u32,
    );
    masks
}

#[cube(launch)]
fn find(twiddles: &[Complex], masks: &mut [u32], pairs: u32) {
    let stage = CUBE_POS as u32;
    let own = (1u32 << stage) - 1;
    let mut differs = Shared::<[u32]>::new_slice(comptime!(UNITS as usize));
    let mut any = 0u32;
    for pair in range_stepped(UNIT_POS, pairs, UNITS) {
        let here = twiddles[(stage * pairs + pair) as usize];
        let first = twiddles[(stage * pairs + (pair & own)) as usize];
        // Bits: the results must not depend on whether this was found.
        any |= u32::reinterpret(here.extract(0usize)) ^ u32::reinterpret(first.extract(0usize));
        any |= u32::reinterpret(here.extract(1usize)) ^ u32::reinterpret(first.extract(1usize));
    }
    differs[UNIT_POS as usize] = any;
    sync_cube();
    if UNIT_POS == 0u32 {
        let mut all = 0u32;
        for unit in 0..UNITS {
            all |= differs[unit as usize];
        }
        masks[stage as usize] = select(all == 0u32, own, pairs - 1);
    }
}
