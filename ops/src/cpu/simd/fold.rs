//! From sums of |Z|² in the transform's order to one-sided power.

use super::lanes::Lanes;

/// Writes the power `[n / 2 + 1]` of `sums`, whose order is that of [`add_power`](super::transform::add_power).
/// `natural` has as many registers as `sums` and is overwritten.
#[inline(always)]
pub(super) fn one_sided<V: Lanes>(sums: &[V], natural: &mut [V], factor: f32, power: &mut [f32]) {
    let registers = sums.len();
    let natural = &mut natural[..registers];
    restore_order(sums, natural);
    // Z = X₁ + i X₂ of two real segments: |Z[k]|² + |Z[n-k]|² = 2 (|X₁[k]|² + |X₂[k]|²), and an interior bin
    // counts twice.
    let half = registers / 2;
    let factors = V::splat(factor);
    let middle = natural[half];
    let first = natural[0];
    let (lower, upper) = natural.split_at(half);
    let out = &mut V::arrays_mut(power)[..half];
    let mut above = first;
    for ((out, &lower), &upper) in out.iter_mut().zip(lower).zip(upper.iter().rev()) {
        ((lower + upper.mirror(above)) * factors).store(out);
        above = upper;
    }
    power[0] = lane_0(first) * factor;
    power[half * V::COUNT] = lane_0(middle) * factor;
}

#[inline(always)]
fn lane_0<V: Lanes>(value: V) -> f32 {
    let mut lanes = V::Array::default();
    value.store(&mut lanes);
    lanes.as_ref()[0]
}

/// Undoes the order of the sums. Register `L κ + k` of `sums`, its quads made quarters, has in quarter q the sums of
/// `COUNT / 4` neighbours from `COUNT / 4` (κ + groups (q + 4 k)) on.
#[inline(always)]
fn restore_order<V: Lanes>(sums: &[V], natural: &mut [V]) {
    let groups = sums.len() / V::COUNT;
    let sum = |group: usize, k: usize| sums[group * V::COUNT + k].quads_to_quarters();
    match groups {
        1 => {
            for (natural, sum) in natural.iter_mut().zip(sums) {
                *natural = sum.quads_to_quarters();
            }
        }
        2 => {
            for (k, natural) in natural.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                (natural[0], natural[1]) = V::interleave_quarters(sum(0, k), sum(1, k));
            }
        }
        _ => {
            let step = groups / 4;
            for (k, natural) in natural.chunks_exact_mut(groups).enumerate() {
                for at in 0..step {
                    let (even_01, even_23) = V::interleave_quarters(sum(4 * at, k), sum(4 * at + 2, k));
                    let (odd_01, odd_23) = V::interleave_quarters(sum(4 * at + 1, k), sum(4 * at + 3, k));
                    (natural[at], natural[at + step]) = V::interleave_quarters(even_01, odd_01);
                    (natural[at + 2 * step], natural[at + 3 * step]) = V::interleave_quarters(even_23, odd_23);
                }
            }
        }
    }
}
