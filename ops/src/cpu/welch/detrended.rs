//! Segments of rows in f32: of sums of neighbouring samples if the estimate is of them, the mean subtracted if it is to be.

use crate::cpu::isa::register::{MAX_LANES, Register};
use crate::options::{Detrend, WelchOptions};

/// [`segment`] of each row of a register; if there is one row, twice that.
#[inline(always)]
pub(super) fn segment_of_rows<'f, V: Register>(
    token: V::Token,
    options: &WelchOptions,
    frames: [&'f [f32]; 2],
    index: usize,
    detrended: &'f mut [f32],
) -> [&'f [f32]; 2] {
    let (first, second) = detrended.split_at_mut(options.n_fft);
    let first = segment::<V>(token, options, frames[0], index, first);
    [first, if V::ROWS == 1 { first } else { segment::<V>(token, options, frames[1], index, second) }]
}

/// Segment `index` of a frame; sums of samples, and the difference where the mean is to be subtracted, are stored in
/// `detrended`.
#[inline(always)]
fn segment<'f, V: Register>(
    token: V::Token,
    options: &WelchOptions,
    frame: &'f [f32],
    index: usize,
    detrended: &'f mut [f32],
) -> &'f [f32] {
    let (first, count) = (index * options.hop, options.n_fft);
    if options.halvings > 0 {
        let samples = &frame[first << options.halvings..][..count << options.halvings];
        store_sums::<V::OneRow>(token, samples, options.halvings, detrended);
        if options.detrend != Detrend::None {
            let mean = mean::<V::OneRow>(token, detrended);
            detrended.iter_mut().for_each(|value| *value -= mean);
        }
        return detrended;
    }
    let samples = &frame[first..][..count];
    if options.detrend == Detrend::None {
        return samples;
    }
    let mean = mean::<V::OneRow>(token, samples);
    for (value, &sample) in detrended.iter_mut().zip(samples) {
        *value = sample - mean;
    }
    detrended
}

/// Stores the sums of 2^`halvings` neighbouring samples, whole registers of them.
#[inline(always)]
fn store_sums<V: Register>(token: V::Token, samples: &[f32], halvings: usize, sums: &mut [f32]) {
    let (samples, sums) = (V::arrays(samples), V::arrays_mut(sums));
    for (c, sums) in sums.iter_mut().enumerate() {
        match halvings {
            1 => sums_of_two::<V>(token, samples, c).store(sums),
            2 => sums_of_four::<V>(token, samples, c).store(sums),
            _ => sums_of_pairs(sums_of_four::<V>(token, samples, 2 * c), sums_of_four::<V>(token, samples, 2 * c + 1))
                .store(sums),
        }
    }
}

/// Register `c` of the sums of four samples.
#[inline(always)]
fn sums_of_four<V: Register>(token: V::Token, samples: &[V::Array], c: usize) -> V {
    sums_of_pairs(sums_of_two::<V>(token, samples, 2 * c), sums_of_two::<V>(token, samples, 2 * c + 1))
}

/// Register `c` of the sums of two samples.
#[inline(always)]
fn sums_of_two<V: Register>(token: V::Token, samples: &[V::Array], c: usize) -> V {
    sums_of_pairs(V::load(token, &samples[2 * c]), V::load(token, &samples[2 * c + 1]))
}

/// The sums of neighbouring lanes of two registers.
#[inline(always)]
fn sums_of_pairs<V: Register>(lower: V, upper: V) -> V {
    let (even, odd) = lower.deinterleave(upper);
    even + odd
}

/// The mean of a multiple of four registers. At most sixteen values are added in single precision, which rounds no more
/// than the mean does; their sums are added in double precision.
#[inline(always)]
fn mean<V: Register>(token: V::Token, samples: &[f32]) -> f32 {
    let registers = V::arrays(samples).as_chunks::<4>().0;
    debug_assert_eq!(registers.len() * 4 * V::LANES, samples.len());
    let mut sums = [0.0; MAX_LANES];
    for registers in registers.chunks(4) {
        let mut parts = [V::splat(token, 0.0); 4];
        for values in registers {
            for (part, values) in parts.iter_mut().zip(values) {
                *part = *part + V::load(token, values);
            }
        }
        let mut lanes = V::Array::default();
        ((parts[0] + parts[1]) + (parts[2] + parts[3])).store(&mut lanes);
        for (sum, &lane) in sums.iter_mut().zip(lanes.as_ref()) {
            *sum += f64::from(lane);
        }
    }
    // In pairs, so that additions do not wait for each other.
    let mut pairs = [0.0; 4];
    for quarter in sums.as_chunks::<4>().0 {
        for (sum, part) in pairs.iter_mut().zip(quarter) {
            *sum += part;
        }
    }
    (((pairs[0] + pairs[1]) + (pairs[2] + pairs[3])) / samples.len() as f64) as f32
}
