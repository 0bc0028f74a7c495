//! Per-bin gain: each bin's power from its own and its neighbours'.
//!
//! out\[k\] = gain\[k, 0\] P\[k−1\] + gain\[k, 1\] P\[k\] + gain\[k, 2\] P\[k+1\], the spectrum mirrored at its ends:
//! P\[−1\] = P\[1\], and P\[n/2+1\] = P\[n/2−1\].

use crate::cpu::real::Real;
pub(in crate::cpu) use crate::ops::GAIN_TAPS;

/// Applies `gain` `[bins, 3]` to one row of power in place.
pub(in crate::cpu) fn apply<T: Real>(gain: &[T], power: &mut [T]) {
    let last = power.len() - 1;
    let mut below = power[1];
    for (k, taps) in gain.chunks_exact(GAIN_TAPS).enumerate() {
        let here = power[k];
        let above = if k < last { power[k + 1] } else { below };
        power[k] = taps[0] * below + taps[1] * here + taps[2] * above;
        below = here;
    }
}

/// Adds the gradient of the gain to `sums`, unless that is empty, from `grad`, the gradient of the row after [`apply`],
/// and `power`, the row before it.
pub(in crate::cpu) fn add_gradient<T: Real>(power: &[T], grad: &[T], sums: &mut [T]) {
    let last = power.len() - 1;
    for (k, sums) in sums.chunks_exact_mut(GAIN_TAPS).enumerate() {
        let below = power[if k > 0 { k - 1 } else { 1 }];
        let above = power[if k < last { k + 1 } else { last - 1 }];
        sums[0] += grad[k] * below;
        sums[1] += grad[k] * power[k];
        sums[2] += grad[k] * above;
    }
}

/// Turns `grad`, the gradient of the row after [`apply`], into that of the row before it.
pub(in crate::cpu) fn adjoint<T: Real>(gain: &[T], grad: &mut [T]) {
    let last = grad.len() - 1;
    let tap = |k: usize, tap: usize| gain[GAIN_TAPS * k + tap];
    // Contributions of the mirrored ends to their neighbours, read before the ends are overwritten.
    let (from_first, from_last) = (grad[0] * tap(0, 0), grad[last] * tap(last, 2));
    let mut below = T::zero();
    for k in 0..=last {
        let here = grad[k];
        let above = if k < last { grad[k + 1] * tap(k + 1, 0) } else { T::zero() };
        grad[k] = below + here * tap(k, 1) + above;
        below = here * tap(k, 2);
    }
    grad[1] += from_first;
    grad[last - 1] += from_last;
}
