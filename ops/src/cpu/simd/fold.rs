//! From spectra in order to one-sided power.

use super::lanes::{Complex, Lanes};

/// The power `[n / 2 + 1]` of pairs of segments from `sums` `[n / L]` of |Z|².
#[inline(always)]
pub(super) fn of_pairs<V: Lanes>(sums: &[V], factor: f32, power: &mut [f32]) {
    // Z = X₁ + i X₂ of two real segments: |Z[k]|² + |Z[n-k]|² = 2 (|X₁[k]|² + |X₂[k]|²), and an interior bin
    // counts twice.
    let half = sums.len() / 2;
    let factors = V::splat(factor);
    let (lower, upper) = sums.split_at(half);
    let out = &mut V::arrays_mut(power)[..half];
    let mut above = lower[0];
    for ((out, &lower), &upper) in out.iter_mut().zip(lower).zip(upper.iter().rev()) {
        ((lower + upper.mirror(above)) * factors).store(out);
        above = upper;
    }
    power[0] = lane_0(lower[0]) * factor;
    power[half * V::COUNT] = lane_0(upper[0]) * factor;
}

/// The power `[n / 2 + 1]` of one segment from `spectrum` `[n / 2 / L]`, the transform of its samples taken two by two as
/// complex values, written to `power` or added. `half_turn` is that of the spectrum's plan.
#[inline(always)]
pub(super) fn of_one<V: Lanes>(
    spectrum: &[Complex<V>],
    half_turn: &[Complex<V>],
    factor: f32,
    add: bool,
    power: &mut [f32],
) {
    // With Z the transform of x[2m] + i x[2m + 1], N = n / 2 values: 2 X[k] = S + T and 2 X[N - k] = (S - T)*, where
    // S = Z[k] + Z[N - k]*, T = -i exp(-2πi k / n) (Z[k] - Z[N - k]*). An interior bin counts twice.
    let half = spectrum.len() / 2;
    let factors = V::splat(0.5 * factor);
    let (lower, upper) = spectrum.split_at(half);
    let last = spectrum.len() * V::COUNT;
    let ends = [power[0], power[last]];
    let mut above = lower[0];
    let (below, beyond) = power.split_at_mut(half * V::COUNT + 1);
    let registers = lower.iter().zip(upper.iter().rev()).zip(&half_turn[..half]).zip(V::arrays_mut(below));
    let mut end = beyond.len();
    for (((&a, &upper), &turn), out) in registers {
        let b = Complex { re: upper.re.mirror(above.re), im: upper.im.mirror(above.im) };
        above = upper;
        let s = Complex { re: a.re + b.re, im: a.im - b.im };
        let t = Complex { re: a.re - b.re, im: a.im + b.im }.times(turn);
        let (x, y) = (s.plus(t), s.minus(t));
        let mirrored = &mut V::arrays_mut(&mut beyond[end - V::COUNT..end])[0];
        let (x, y) = ((x.re.mul_add(x.re, x.im * x.im)) * factors, (y.re.mul_add(y.re, y.im * y.im)) * factors);
        let y = y.reverse();
        if add {
            (V::load(out) + x).store(out);
            (V::load(mirrored) + y).store(mirrored);
        } else {
            x.store(out);
            y.store(mirrored);
        }
        end -= V::COUNT;
    }
    let (dc, middle) = (lower[0], upper[0]);
    let (re, im) = (lane_0(dc.re), lane_0(dc.im));
    let middle = lane_0(middle.re.mul_add(middle.re, middle.im * middle.im)) * 2.0 * factor;
    let put = |power: &mut f32, before: f32, value: f32| *power = if add { before + value } else { value };
    put(&mut power[0], ends[0], (re + im) * (re + im) * factor);
    put(&mut power[last], ends[1], (re - im) * (re - im) * factor);
    let before = power[half * V::COUNT];
    put(&mut power[half * V::COUNT], before, middle);
}

#[inline(always)]
fn lane_0<V: Lanes>(value: V) -> f32 {
    let mut lanes = V::Array::default();
    value.store(&mut lanes);
    lanes.as_ref()[0]
}
