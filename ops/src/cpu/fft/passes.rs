//! The transform of one vector, in columns of registers.
//!
//! With n = L · columns, L the lanes, value j = L c + l is lane l of register c. The transform over columns needs no
//! shuffle: a first pass over values as they are loaded, then passes in place, of the radices that the plan says, and
//! exp(-2πi k l / n) on what the last one gives. Every L neighbours of that spectrum are then transposed, so that the
//! transform over lanes is one across registers again, and what it gives is in order.

use crate::cpu::fft::plan::Pass;
use crate::cpu::fft::plan::Plan;
use crate::cpu::fft::radix::radix;
use crate::cpu::fft::radix::transpose;
use crate::cpu::fft::source::Source;
use crate::cpu::isa::register::Complex;
use crate::cpu::isa::register::Lanes;

/// The first pass over columns, on the values `source` → `work` `[columns]`.
#[inline(always)]
pub(in crate::cpu) fn enter<V: Lanes>(plan: &Plan, source: impl Source<V>, work: &mut [Complex<V>]) {
    match V::RADIX {
        16 => first_pass::<V, 16>(plan, source, work),
        _ => first_pass::<V, 4>(plan, source, work),
    }
}

/// The other passes over columns, and the twiddles of the lanes.
#[inline(always)]
pub(in crate::cpu) fn over_columns<V: Lanes>(plan: &Plan, work: &mut [Complex<V>]) {
    let Some((last, inner)) = plan.passes[1..].split_last() else { return };
    for pass in inner {
        for block in work.chunks_exact_mut(pass.size) {
            inner_pass::<V, 4>(pass, block);
        }
    }
    match last.radix {
        16 if V::RADIX == 16 => last_pass::<V, 16>(plan, work),
        8 => last_pass::<V, 8>(plan, work),
        4 => last_pass::<V, 4>(plan, work),
        _ => last_pass::<V, 2>(plan, work),
    }
}

/// What is done with registers of a spectrum. Closures would not be inlined for sure.
pub(in crate::cpu) trait Put<V: Lanes> {
    /// Register `at`.
    fn put(&mut self, at: usize, z: Complex<V>);
}

/// Keeps the spectrum.
pub(in crate::cpu) struct Keep<'a, V>(pub &'a mut [Complex<V>]);

impl<V: Lanes> Put<V> for Keep<'_, V> {
    #[inline(always)]
    fn put(&mut self, at: usize, z: Complex<V>) {
        self.0[at] = z;
    }
}

/// Writes |Z|².
pub(in crate::cpu) struct Write<'a, V>(pub &'a mut [V]);

impl<V: Lanes> Put<V> for Write<'_, V> {
    #[inline(always)]
    fn put(&mut self, at: usize, z: Complex<V>) {
        self.0[at] = z.re.mul_add(z.re, z.im * z.im);
    }
}

/// Adds |Z|².
pub(in crate::cpu) struct Add<'a, V>(pub &'a mut [V]);

impl<V: Lanes> Put<V> for Add<'_, V> {
    #[inline(always)]
    fn put(&mut self, at: usize, z: Complex<V>) {
        self.0[at] = z.re.mul_add(z.re, z.im.mul_add(z.im, self.0[at]));
    }
}

/// The transform over lanes.
#[inline(always)]
pub(in crate::cpu) fn over_lanes<V: Lanes>(plan: &Plan, work: &[Complex<V>], put: impl Put<V>) {
    match V::COUNT {
        16 => over_groups::<V, 16>(plan, work, put),
        8 => over_groups::<V, 8>(plan, work, put),
        _ => over_groups::<V, 4>(plan, work, put),
    }
}

/// The first pass, on values as they are loaded; if it is the only one, with the twiddles of the lanes.
#[inline(always)]
fn first_pass<V: Lanes, const R: usize>(plan: &Plan, source: impl Source<V>, work: &mut [Complex<V>]) {
    let len = work.len() / R;
    if len == 1 {
        let mut values = [Complex::zero(); R];
        for (q, value) in values.iter_mut().enumerate() {
            *value = source.column(q);
        }
        return put_twiddled::<V, R>(radix(values), plan.lane_twiddles(), work);
    }
    let twiddles = &plan.passes[0].twiddles.as_chunks::<R>().0[..len];
    for j in 0..len {
        let mut values = [Complex::zero(); R];
        for (q, value) in values.iter_mut().enumerate() {
            *value = source.column(q * len + j);
        }
        put_strided::<V, R>(radix(values), &twiddles[j], &mut work[j..], len);
    }
}

/// A pass over one block that others follow.
#[inline(always)]
fn inner_pass<V: Lanes, const R: usize>(pass: &Pass, block: &mut [Complex<V>]) {
    let len = block.len() / R;
    let twiddles = &pass.twiddles.as_chunks::<R>().0[..len];
    for j in 0..len {
        let mut values = [Complex::zero(); R];
        for (q, value) in values.iter_mut().enumerate() {
            *value = block[q * len + j];
        }
        put_strided::<V, R>(radix(values), &twiddles[j], &mut block[j..], len);
    }
}

/// `values` times `twiddles`, the first of which is 1, `len` apart in `into`.
#[inline(always)]
fn put_strided<V: Lanes, const R: usize>(
    values: [Complex<V>; R],
    twiddles: &[[f32; 2]; R],
    into: &mut [Complex<V>],
    len: usize,
) {
    into[0] = values[0];
    for q in 1..R {
        let [re, im] = twiddles[q];
        into[q * len] = values[q].times(Complex { re: V::splat(re), im: V::splat(im) });
    }
}

/// The last pass over columns, and the twiddles of the lanes.
#[inline(always)]
fn last_pass<V: Lanes, const R: usize>(plan: &Plan, work: &mut [Complex<V>]) {
    let blocks = work.as_chunks_mut::<R>().0;
    let twiddles = &plan.lane_twiddles().as_chunks::<R>().0[..blocks.len()];
    for (block, twiddles) in blocks.iter_mut().zip(twiddles) {
        put_twiddled::<V, R>(radix(*block), twiddles, block);
    }
}

#[inline(always)]
fn put_twiddled<V: Lanes, const R: usize>(values: [Complex<V>; R], twiddles: &[Complex<V>], into: &mut [Complex<V>]) {
    let (twiddles, into) = (&twiddles[..R], &mut into[..R]);
    for q in 0..R {
        into[q] = values[q].times(twiddles[q]);
    }
}

#[inline(always)]
fn over_groups<V: Lanes, const L: usize>(plan: &Plan, work: &[Complex<V>], mut put: impl Put<V>) {
    let (groups, entry) = (work.len() / L, V::RADIX);
    let len = work.len() / entry;
    let starts = &plan.entry_at[..len];
    for group in 0..groups {
        let first = group * L;
        let (mut re, mut im) = ([V::splat(0.0); L], [V::splat(0.0); L]);
        for i in 0..L {
            // The mask changes nothing but what the compiler knows.
            let at = starts[(first + i) / entry] as usize & (len - 1);
            let z = work[(first + i) % entry * len + at];
            (re[i], im[i]) = (z.re, z.im);
        }
        let (re, im) = (transpose::<V, L>(re), transpose::<V, L>(im));
        let mut lanes = [Complex::zero(); L];
        for (lane, (&re, &im)) in lanes.iter_mut().zip(re.iter().zip(&im)) {
            *lane = Complex { re, im };
        }
        let rows = radix::<V, L>(lanes);
        for (i, &row) in rows.iter().enumerate() {
            put.put(i * groups + group, row);
        }
    }
}
