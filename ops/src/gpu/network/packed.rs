//! Butterflies with gates in the order in which units read them: a plane then reads sixteen bytes of each of its units side by side,
//! where the network's own order has the first stages' far apart.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::place::{Complex, butterfly_at, butterfly_count, places};
use super::plan::Pass;
use crate::gpu::buffers::{buffer, empty, floats};

/// A twiddle's parts, its gate, and nothing.
pub(super) type Packed = Vector<f32, Const<4>>;

/// Units of a cube.
const UNITS: u32 = 32;

/// The butterflies of a pass, those of the units of a row side by side: `[butterflies of a unit, units, 4]`.
pub(super) fn packed(client: &Client, twiddles: &Handle, gates: &Handle, pass: Pass) -> Handle {
    let pairs = (pass.length as usize) << (pass.length - 1);
    let (count, units) = (butterfly_count(&pass) as usize, pass.row_units());
    let packed = empty(client, 4 * count * units as usize);
    // SAFETY: every unit writes its own butterflies, as many as there is room for, and reads those of the network.
    unsafe {
        pack::launch_unchecked(
            client,
            CubeCount::new_1d(units.div_ceil(UNITS)),
            CubeDim::new_1d(UNITS),
            buffer::<[f32; 2]>(twiddles, pairs),
            floats(gates, pairs),
            buffer::<[f32; 4]>(&packed, count * units as usize),
            pass,
        );
    }
    packed
}

#[cube(launch_unchecked)]
fn pack(twiddles: &[Complex], gates: &[f32], packed: &mut [Packed], #[comptime] pass: Pass) {
    let own = CUBE_POS_X * UNITS + UNIT_POS;
    let units = comptime!(pass.row_units());
    if own < units {
        let places = places(own % comptime!(pass.cube_units()), own / comptime!(pass.cube_units()), pass);
        #[unroll]
        for number in 0..comptime!(butterfly_count(&pass)) {
            let at = butterfly_at(&places, number, pass) as usize;
            let (w, g) = (twiddles[at], gates[at]);
            let mut one = Packed::empty();
            one.insert(0usize, w.extract(0usize));
            one.insert(1usize, w.extract(1usize));
            one.insert(2usize, g);
            one.insert(3usize, 0.0f32);
            packed[(comptime!(number * units) + own) as usize] = one;
        }
    }
}
