//! Transform of one vector, in columns of registers.
//!
//! With n = L · columns, L the lanes, value j = L c + l is lane l of register c. The transform over columns needs no
//! shuffle: a load pass over values as they are loaded, then column passes in place, of the radices that the plan
//! lists, and exp(-2πi k l / n) on what the last one yields. Every L neighbours of that spectrum are then transposed,
//! so that the transform over lanes, the lane pass, is one across registers again, and its output is in order.
//!
//! Where there are 32 registers, passes have radix 16 and are those of [`radix`](super::radix). With sixteen lanes these
//! transpose on the way, and the lane pass is there too.

use crate::cpu::fft::plan::{FftPlan, Pass};
use crate::cpu::fft::prefetch::Prefetch;
use crate::cpu::fft::radix::{self, radix, transpose};
use crate::cpu::fft::source::{ColumnSink, ColumnSource};
use crate::cpu::isa::register::{Complex, Register};

/// The first pass over columns, on the values of `source` → `work` `[columns]`.
#[inline(always)]
pub(in crate::cpu) fn load_pass<V: Register>(
    token: V::Token,
    plan: &FftPlan,
    source: impl ColumnSource<V>,
    work: &mut [Complex<V>],
    prefetcher: &mut impl Prefetch,
) {
    prefetcher.pass::<V>();
    match V::RADIX {
        16 => radix::first_pass(token, plan, source, work, prefetcher),
        _ => first_pass(token, plan, source, work, prefetcher),
    }
}

/// The other passes over columns, and the twiddles of the lanes.
///
/// Each block of the first pass's output goes through all of them before the next: it stays in the first-level cache.
#[inline(always)]
pub(in crate::cpu) fn column_passes<V: Register>(
    token: V::Token,
    plan: &FftPlan,
    work: &mut [Complex<V>],
    prefetcher: &mut impl Prefetch,
) {
    prefetcher.pass::<V>();
    let Some((last, inner)) = plan.passes[1..].split_last() else { return };
    let size = inner.first().map_or(work.len(), |pass| pass.size);
    for (index, block) in work.chunks_exact_mut(size).enumerate() {
        for pass in inner {
            for block in block.chunks_exact_mut(pass.size) {
                inner_pass(token, pass, block);
            }
        }
        let first = index * size;
        match last.radix {
            16 if V::RADIX == 16 => radix::last_pass(token, plan, first, block, prefetcher),
            8 => last_pass::<V, 8>(token, plan, first, block, prefetcher),
            4 => last_pass::<V, 4>(token, plan, first, block, prefetcher),
            _ => last_pass::<V, 2>(token, plan, first, block, prefetcher),
        }
    }
}

/// The transform over lanes, which overwrites `work`.
#[inline(always)]
pub(in crate::cpu) fn lane_pass<V: Register>(
    token: V::Token,
    plan: &FftPlan,
    work: &mut [Complex<V>],
    sink: impl ColumnSink<V>,
    prefetcher: &mut impl Prefetch,
) {
    prefetcher.pass::<V>();
    match V::LANES {
        16 => radix::lane_pass(plan, work, sink, prefetcher),
        8 => lane_groups::<V, 8>(token, plan, work, sink, prefetcher),
        _ => lane_groups::<V, 4>(token, plan, work, sink, prefetcher),
    }
}

/// The first pass, of radix 4, on values as they are loaded.
#[inline(always)]
fn first_pass<V: Register>(
    token: V::Token,
    plan: &FftPlan,
    source: impl ColumnSource<V>,
    work: &mut [Complex<V>],
    prefetcher: &mut impl Prefetch,
) {
    // Transform j joins the columns j, j + len, j + 2 len, j + 3 len. It is not the only pass: the shortest transform has
    // eight columns.
    let len = work.len() / 4;
    debug_assert!(len > 1);
    let twiddles = &plan.passes[0].twiddles.as_chunks::<4>().0[..len];
    for j in 0..len {
        prefetcher.transform::<V>();
        let mut values = [Complex::zero(token); 4];
        for (q, value) in values.iter_mut().enumerate() {
            *value = source.column(q * len + j);
        }
        store_strided(token, radix(values), &twiddles[j], &mut work[j..], len);
    }
}

/// A pass of radix 4 over one block that is neither the first nor the last.
#[inline(always)]
fn inner_pass<V: Register>(token: V::Token, pass: &Pass, block: &mut [Complex<V>]) {
    let len = block.len() / 4;
    let twiddles = &pass.twiddles.as_chunks::<4>().0[..len];
    for j in 0..len {
        let mut values = [Complex::zero(token); 4];
        for (q, value) in values.iter_mut().enumerate() {
            *value = block[q * len + j];
        }
        store_strided(token, radix(values), &twiddles[j], &mut block[j..], len);
    }
}

/// Stores `values` times `twiddles`, the first of which is 1, `len` apart in `into`.
#[inline(always)]
fn store_strided<V: Register>(
    token: V::Token,
    values: [Complex<V>; 4],
    twiddles: &[[f32; 2]; 4],
    into: &mut [Complex<V>],
    len: usize,
) {
    into[0] = values[0];
    for q in 1..4 {
        let [re, im] = twiddles[q];
        into[q * len] = values[q].times(Complex { re: V::splat(token, re), im: V::splat(token, im) });
    }
}

/// The last pass over the columns from `first` on, and the twiddles of the lanes.
#[inline(always)]
fn last_pass<V: Register, const R: usize>(
    token: V::Token,
    plan: &FftPlan,
    first: usize,
    work: &mut [Complex<V>],
    prefetcher: &mut impl Prefetch,
) {
    let blocks = work.as_chunks_mut::<R>().0;
    let twiddles = &plan.lane_twiddles(token)[first..].as_chunks::<R>().0[..blocks.len()];
    for (block, twiddles) in blocks.iter_mut().zip(twiddles) {
        prefetcher.transform::<V>();
        let values = radix(*block);
        for q in 0..R {
            block[q] = values[q].times(twiddles[q]);
        }
    }
}

/// The transform over lanes of every group of `L` columns that are neighbours in the spectrum.
#[inline(always)]
fn lane_groups<V: Register, const L: usize>(
    token: V::Token,
    plan: &FftPlan,
    work: &[Complex<V>],
    mut sink: impl ColumnSink<V>,
    prefetcher: &mut impl Prefetch,
) {
    let (groups, entry) = (work.len() / L, V::RADIX);
    let len = work.len() / entry;
    let starts = &plan.entry_at[..len];
    for group in 0..groups {
        prefetcher.transform::<V>();
        // Collect the group's columns: the passes have left them in digit-reversed order.
        let first = group * L;
        let (mut re, mut im) = ([V::splat(token, 0.0); L], [V::splat(token, 0.0); L]);
        for i in 0..L {
            // The mask tells the compiler that the index is in bounds; it changes no value.
            let at = starts[(first + i) / entry] as usize & (len - 1);
            let z = work[(first + i) % entry * len + at];
            (re[i], im[i]) = (z.re, z.im);
        }
        // Lanes become registers, and the transform over them one across registers.
        let (re, im) = (transpose::<V, L>(re), transpose::<V, L>(im));
        let mut lanes = [Complex::zero(token); L];
        for (lane, (&re, &im)) in lanes.iter_mut().zip(re.iter().zip(&im)) {
            *lane = Complex { re, im };
        }
        let rows = radix::<V, L>(lanes);
        for (i, &row) in rows.iter().enumerate() {
            sink.store(i * groups + group, row);
        }
    }
}
