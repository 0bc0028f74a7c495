//! Neighbours of a bin of a spectrum that is mirrored at its ends.

use cubecl::prelude::*;

/// The bins below and above, written so that no subtraction is below 0.
#[cube]
pub fn neighbours(bin: u32, bins: u32) -> (u32, u32) {
    (select(bin == 0, 1u32, bin - select(bin == 0, 0u32, 1u32)), select(bin + 1 == bins, bins - 2, bin + 1))
}

/// Indices of the products with the bins below and above. Product k is that of bins k and k + 1.
#[cube]
pub fn products_beside(bin: u32, bins: u32) -> (u32, u32) {
    (bin - select(bin == 0, 0u32, 1u32), select(bin + 1 == bins, bins - 2, bin))
}
