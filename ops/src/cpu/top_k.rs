//! The strongest bins of a power spectrum.

use super::parallel::Tasks;
use super::real::Real;

/// The `k` strongest bins of every row: `power` `[rows, bins]` → `out_bins`, `out_power` `[rows, k]`, strongest first.
///
/// `k` is 1 to `bins`. Equal powers give the lower bin first. Non-finite power is never selected; what is missing is
/// bin -1 with power NaN.
pub fn top_k<T: Real>(power: &[T], bins: usize, k: usize, out_bins: &mut [i64], out_power: &mut [T]) {
    debug_assert!((1..=bins).contains(&k));
    let rows = power.len() / bins;
    debug_assert_eq!(power.len(), rows * bins);
    debug_assert_eq!(out_bins.len(), rows * k);
    debug_assert_eq!(out_power.len(), rows * k);
    let tasks = Tasks::independent(rows, work(bins, k));
    let pieces = power
        .chunks(tasks.rows * bins)
        .zip(out_bins.chunks_mut(tasks.rows * k))
        .zip(out_power.chunks_mut(tasks.rows * k));
    tasks.run(pieces, |((power, out_bins), out_power)| {
        T::with_scratch(|scratch| {
            let keys = scratch.keys(bins);
            let outputs = out_bins.chunks_exact_mut(k).zip(out_power.chunks_exact_mut(k));
            for (power, (out_bins, out_power)) in power.chunks_exact(bins).zip(outputs) {
                top_k_row(power, keys, out_bins, out_power);
            }
        });
    });
}

/// Work of a row, in the unit of [`Tasks`].
pub(super) fn work(bins: usize, k: usize) -> usize {
    4 * (bins + k * (k.ilog2() as usize + 1))
}

/// As [`top_k`] for one row, `k` being the length of the outputs. `keys`, as long as `power`, is overwritten.
pub fn top_k_row<T: Real>(power: &[T], keys: &mut [T::Key], out_bins: &mut [i64], out_power: &mut [T]) {
    let k = out_bins.len();
    debug_assert_eq!(keys.len(), power.len());
    debug_assert_eq!(out_power.len(), k);
    for (bin, (key, power)) in keys.iter_mut().zip(power).enumerate() {
        *key = power.key(bin);
    }
    let strongest_first = |a: &T::Key, b: &T::Key| b.cmp(a);
    if k < keys.len() {
        keys.select_nth_unstable_by(k - 1, strongest_first);
    }
    let peaks = &mut keys[..k];
    peaks.sort_unstable_by(strongest_first);
    for ((&key, out_bin), out_power) in peaks.iter().zip(out_bins).zip(out_power) {
        match T::key_bin(key) {
            Some(bin) => (*out_bin, *out_power) = (bin as i64, power[bin]),
            None => (*out_bin, *out_power) = (-1, T::nan()),
        }
    }
}

/// Gradient of [`top_k`]'s powers: `peak_bins`, `grad_peaks` `[rows, k]` → `grad_power` `[rows, bins]`, which is
/// overwritten. A missing peak (bin -1) passes nothing on.
pub fn top_k_backward<T: Real>(peak_bins: &[i64], grad_peaks: &[T], k: usize, bins: usize, grad_power: &mut [T]) {
    debug_assert_eq!(peak_bins.len(), grad_peaks.len());
    debug_assert_eq!(peak_bins.len() / k, grad_power.len() / bins);
    grad_power.fill(T::zero());
    let peaks = peak_bins.chunks_exact(k).zip(grad_peaks.chunks_exact(k));
    for (grad_power, (peak_bins, grad_peaks)) in grad_power.chunks_exact_mut(bins).zip(peaks) {
        for (&bin, &grad) in peak_bins.iter().zip(grad_peaks) {
            if let Ok(bin) = usize::try_from(bin) {
                grad_power[bin] += grad;
            }
        }
    }
}
