//! Roots of unity from small tables.

use cubecl::prelude::*;

use crate::gpu::complex::{Complex, times};
use crate::gpu::transform::launch_plan::fine_roots;

/// exp(−2πi·exponent/of): the product of a finer and a coarser root, which start at `from` in the table.
#[cube]
pub fn root(table: &[Complex], #[comptime] from: u32, exponent: u32, #[comptime] of: u32) -> Complex {
    let fine = comptime!(fine_roots(of));
    let coarse = table[(comptime!(from + fine) + exponent / fine) as usize];
    times(table[(comptime!(from) + exponent % fine) as usize], coarse)
}
