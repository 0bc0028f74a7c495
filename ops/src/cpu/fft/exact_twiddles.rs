//! Recognition of butterfly transforms that are discrete Fourier transforms.

use std::sync::Arc;

use crate::cpu::butterfly::arguments::ButterflyTransform;
use crate::cpu::fft::plan::MIN_N;
use crate::cpu::runtime::keyed_cache::KeyedCache;
use crate::options::Direction;
use crate::twiddles::exact_twiddle_values;

/// Tolerance within which twiddles count as those of [`forward_twiddles`]: their own rounding error at 1.
const ROUNDING: f32 = f32::EPSILON / 2.0;

/// The direction of the discrete Fourier transform that a butterfly transform is: its twiddles are as exact as f32 has
/// them, and every gate is 1. None for other transforms, and for those shorter than [`MIN_N`].
pub(in crate::cpu) fn direction(transform: &ButterflyTransform<'_, f32>) -> Option<Direction> {
    if transform.n < MIN_N || transform.gates.is_some_and(|gates| gates.iter().any(|&gate| gate != 1.0)) {
        return None;
    }
    let forward = forward_twiddles(transform.n);
    let (twiddles, exact) = (transform.twiddles, forward.as_flattened());
    let near = |a: f32, b: f32| (a - b).abs() <= ROUNDING;
    if all_pairs(twiddles, exact, |[re, im], [exact_re, exact_im]| near(re, exact_re) & near(im, exact_im)) {
        Some(Direction::Forward)
    } else if all_pairs(twiddles, exact, |[re, im], [exact_re, exact_im]| near(re, exact_re) & near(im, -exact_im)) {
        Some(Direction::Inverse)
    } else {
        None
    }
}

/// Whether `holds` is true of all pairs of `a` and `b`, evaluated in blocks without branches.
fn all_pairs(a: &[f32], b: &[f32], holds: impl Fn([f32; 2], [f32; 2]) -> bool) -> bool {
    const BLOCK: usize = 64;
    let whole = |a: &[[f32; 2]], b: &[[f32; 2]]| a.iter().zip(b).fold(true, |all, (&a, &b)| all & holds(a, b));
    a.chunks(BLOCK).zip(b.chunks(BLOCK)).all(|(a, b)| whole(a.as_chunks().0, b.as_chunks().0))
}

/// The exact twiddles of the forward transform. Computed once per process for each n.
pub(in crate::cpu) fn forward_twiddles(n: usize) -> Arc<[[f32; 2]]> {
    static TABLES: KeyedCache<usize, [[f32; 2]]> = KeyedCache::new();
    let rounded = |&[re, im]: &[f64; 2]| [re as f32, im as f32];
    TABLES.get(n, || exact_twiddle_values(n, Direction::Forward).as_chunks().0.iter().map(rounded).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
    fn exact_twiddles_are_recognised_and_others_are_not() {
        for n in (6..=16).map(|stages| 1 << stages) {
            let forward: Vec<f32> =
                firefly_reference::butterfly::exact_twiddles(n).iter().map(|&value| value as f32).collect();
            let of = |twiddles: &[f32], gates: Option<&[f32]>| direction(&ButterflyTransform { n, twiddles, gates });
            assert_eq!(of(&forward, None), Some(Direction::Forward));
            let inverse: Vec<f32> = forward.as_chunks::<2>().0.iter().flat_map(|&[re, im]| [re, -im]).collect();
            assert_eq!(of(&inverse, None), Some(Direction::Inverse));
            for (twiddles, found) in [(&forward, Direction::Forward), (&inverse, Direction::Inverse)] {
                let mut gates = vec![1.0; forward.len() / 2];
                assert_eq!(of(twiddles, Some(&gates)), Some(found));
                let last = gates.len() - 1;
                gates[last] = 0.0;
                assert_eq!(of(twiddles, Some(&gates)), None);
                for at in [0, n + 2, twiddles.len() - 1] {
                    let mut learned = twiddles.clone();
                    learned[at] += 1e-3;
                    assert_eq!(of(&learned, None), None, "n {n}, value {at}");
                }
            }
        }
        let short = [1.0; 3 * 8];
        assert_eq!(direction(&ButterflyTransform { n: 8, twiddles: &short, gates: None }), None);
    }
}
