//! Segments of rows in f32, the mean subtracted if it is to be.

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

/// Segment `index` of a frame; the difference from the mean, where that is to be subtracted, is stored in `detrended`.
#[inline(always)]
fn segment<'f, V: Register>(
    token: V::Token,
    options: &WelchOptions,
    frame: &'f [f32],
    index: usize,
    detrended: &'f mut [f32],
) -> &'f [f32] {
    let samples = &frame[index * options.hop..][..options.n_fft];
    if options.detrend == Detrend::None {
        return samples;
    }
    let mean = mean::<V::OneRow>(token, samples);
    for (value, &sample) in detrended.iter_mut().zip(samples) {
        *value = sample - mean;
    }
    detrended
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
