//! Lengths whose transforms are fast.

/// The smallest length from `n` on that has no prime factor above 7: lengths whose transforms are fast.
///
/// ```
/// assert_eq!(firefly_ops::fft::next_fast_len(1009), 1024);
/// assert_eq!(firefly_ops::fft::next_fast_len(1026), 1029);
/// ```
///
/// # Panics
/// If `n` is above the greatest power of two that is a `usize`.
pub fn next_fast_len(n: usize) -> usize {
    assert!(n <= usize::MAX / 2 + 1, "no fast length follows {n}");
    let smooth = |&n: &usize| {
        let reduced = [2, 3, 5, 7].into_iter().fold(n, |mut n, factor| {
            while n.is_multiple_of(factor) {
                n /= factor;
            }
            n
        });
        reduced == 1
    };
    (n.max(1)..).find(smooth).expect("there is a power of two")
}
