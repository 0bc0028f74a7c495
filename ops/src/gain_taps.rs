//! Shape of a gain on bins.

/// Factors of a gain on power: of the bin below, of the bin itself and of the bin above.
pub(crate) const POWER_TAPS: usize = 3;
/// Factors of a gain on power and on products of neighbours: behind those on power, of the product of the bin below with
/// the bin, and of the bin with the bin above.
pub(crate) const PRODUCT_TAPS: usize = 5;

/// Number of factors per bin of a gain of this shape.
///
/// # Panics
/// If it is not `[bins, 3]` or `[bins, 5]`: recorded operations come here without the checks of the functions.
#[cfg(feature = "cube")]
pub(crate) fn gain_taps(shape: &[usize]) -> usize {
    let taps = shape.last().copied().unwrap_or(0);
    assert!(shape.len() == 2 && (taps == POWER_TAPS || taps == PRODUCT_TAPS), "gain: {shape:?} is no gain of bins");
    taps
}
