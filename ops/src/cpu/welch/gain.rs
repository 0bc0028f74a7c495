//! Per-bin gain: each bin's power from its own and its neighbours', and perhaps from products with them.
//!
//! A gain combines the *sums* of a row: the power P of its bins and, if it has five factors per bin, behind them the
//! products C\[k\] of each bin with the bin above, one fewer, which are sums over segments as power is, of
//! 2 Re Y\[k\] Y*\[k+1\] where power has |Y\[k\]|².
//!
//! out\[k\] = gain\[k, 0\] P\[k−1\] + gain\[k, 1\] P\[k\] + gain\[k, 2\] P\[k+1\] (+ gain\[k, 3\] C\[k−1\] +
//! gain\[k, 4\] C\[k\]), the spectrum mirrored at its ends: P\[−1\] = P\[1\], P\[n/2+1\] = P\[n/2−1\],
//! C\[−1\] = C\[0\], C\[n/2\] = C\[n/2−1\].

use crate::cpu::real::Real;
pub(in crate::cpu) use crate::gain_taps::{POWER_TAPS, PRODUCT_TAPS};

/// Whether a gain is one of `bins` bins.
pub(in crate::cpu) fn is_gain_of<T>(gain: &[T], bins: usize) -> bool {
    gain.len() == POWER_TAPS * bins || gain.len() == PRODUCT_TAPS * bins
}

/// Number of factors per bin of a gain of `bins` bins.
#[inline(always)]
pub(in crate::cpu) fn taps_of<T>(gain: &[T], bins: usize) -> usize {
    gain.len() / bins
}

/// Number of the sums of a row that a gain, or none, takes.
#[inline(always)]
pub(in crate::cpu) fn sums_len<T>(gain: Option<&[T]>, bins: usize) -> usize {
    match gain {
        Some(gain) if taps_of(gain, bins) == PRODUCT_TAPS => 2 * bins - 1,
        _ => bins,
    }
}

/// Indices of the sums that the factors of bin `k` multiply, in the order of the factors.
#[inline(always)]
pub(in crate::cpu) fn sources(k: usize, bins: usize) -> [usize; PRODUCT_TAPS] {
    let last = bins - 1;
    let (below, above) = (if k > 0 { k - 1 } else { 1 }, if k < last { k + 1 } else { last - 1 });
    let (product_below, product_above) = (k.saturating_sub(1), k.min(last - 1));
    [below, k, above, bins + product_below, bins + product_above]
}

/// Applies `gain` to the sums of one row → `out` `[bins]`.
pub(in crate::cpu) fn apply<T: Real>(gain: &[T], sums: &[T], out: &mut [T]) {
    let bins = out.len();
    for ((k, taps), out) in gain.chunks_exact(taps_of(gain, bins)).enumerate().zip(out) {
        let terms = taps.iter().zip(sources(k, bins)).map(|(&tap, from)| tap * sums[from]);
        *out = terms.fold(T::zero(), |sum, term| sum + term);
    }
}

/// Adds the gradient of the gain to `into`, unless that is empty, from `grad` `[bins]`, the gradient of a row after
/// [`apply`], and `sums`, the row before it.
pub(in crate::cpu) fn add_gradient<T: Real>(sums: &[T], grad: &[T], into: &mut [T]) {
    if into.is_empty() {
        return;
    }
    let bins = grad.len();
    for (k, into) in into.chunks_exact_mut(taps_of(into, bins)).enumerate() {
        for (into, from) in into.iter_mut().zip(sources(k, bins)) {
            *into += grad[k] * sums[from];
        }
    }
}

/// The gradient of the sums of a row before [`apply`], from `grad` `[bins]`, that of the row after it.
pub(in crate::cpu) fn adjoint<T: Real>(gain: &[T], grad: &[T], of_sums: &mut [T]) {
    let bins = grad.len();
    of_sums.fill(T::zero());
    for (k, taps) in gain.chunks_exact(taps_of(gain, bins)).enumerate() {
        for (&tap, into) in taps.iter().zip(sources(k, bins)) {
            of_sums[into] += grad[k] * tap;
        }
    }
}
