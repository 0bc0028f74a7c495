//! Filters on rows in the host's memory: in polyphase form, and with few taps.

use std::array::from_fn;
use std::ops::{Add, Mul, Sub};

use burn::tensor::{Device, Element, Tensor, TensorData};
use bytemuck::Pod;

/// Type that is computed in, f32 or f64.
pub trait Real: Element + Pod + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {}

impl<T: Element + Pod + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>> Real for T {}

/// Products that are summed side by side.
const LANES: usize = 16;
/// Values of a filter with few taps that are computed side by side.
const VALUES: usize = 4 * LANES;
/// The most taps of a filter that is faster than a convolution by transforms.
pub const MAX_TAPS: usize = 128;

/// Runs plain code that is inlined, with the widest instructions that this processor has.
fn with_widest(work: impl FnOnce()) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw")]
        fn avx512(work: impl FnOnce()) {
            work();
        }
        #[target_feature(enable = "avx2")]
        fn avx2(work: impl FnOnce()) {
            work();
        }
        let has_512 = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl");
        if has_512 && is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512bw") {
            // SAFETY: the processor has these instructions.
            return unsafe { avx512(work) };
        } else if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has these instructions.
            return unsafe { avx2(work) };
        }
    }
    work();
}

/// Convolution of each row with taps: of its values those that no sample outside the row counts in.
pub fn convolve<T: Real>(rows: Tensor<2>, taps: &[f64]) -> Tensor<2> {
    let ([count, n], device, data) = (rows.dims(), rows.device(), rows.into_data());
    let taps: Vec<T> = taps.iter().rev().map(|tap| T::from_elem(*tap)).collect();
    let num = n + 1 - taps.len();
    let mut values = vec![T::zeroed(); count * num];
    let rows = bytemuck::cast_slice::<_, T>(data.as_bytes()).chunks_exact(n);
    with_widest(
        #[inline(always)]
        || {
            for (row, values) in rows.zip(values.chunks_exact_mut(num)) {
                for (block, values) in values.chunks_mut(VALUES).enumerate() {
                    let samples = &row[block * VALUES..][..values.len() + taps.len() - 1];
                    let mut sums = [T::zeroed(); VALUES];
                    for (samples, &tap) in samples.windows(values.len()).zip(&taps) {
                        if let Some(samples) = samples.first_chunk::<VALUES>() {
                            sums.iter_mut().zip(samples).for_each(|(sum, &sample)| *sum = *sum + tap * sample);
                        } else {
                            sums.iter_mut().zip(samples).for_each(|(sum, &sample)| *sum = *sum + tap * sample);
                        }
                    }
                    values.copy_from_slice(&sums[..values.len()]);
                }
            }
        },
    );
    tensor(values, num, &device)
}

/// `num` values of each row at `up` times its sample rate, filtered without delay, of which every `down`-th is kept: only
/// the products of taps and samples are computed. Rows continue with `outside` at their ends.
pub fn polyphase<T: Real>(rows: Tensor<2>, taps: &[f64], [up, down]: [usize; 2], num: usize, outside: T) -> Tensor<2> {
    let ([count, n], device, data) = (rows.dims(), rows.device(), rows.into_data());
    let (middle, before) = ((taps.len() - 1) / 2, taps.len() / up + 2);
    // Of each value of a period the first sample, counted from `before` samples before the row, and its taps.
    let phase = |value: usize| {
        let (last, tap) = ((value * down + middle) / up, (value * down + middle) % up);
        let mut taps: Vec<T> = taps.iter().skip(tap).step_by(up).map(|tap| T::from_elem(*tap)).collect();
        taps.reverse();
        (before + last + 1 - taps.len(), taps)
    };
    let phases: Vec<(usize, Vec<T>)> = (0..up.min(num)).map(phase).collect();
    let mut samples = vec![outside; n + 2 * before];
    let mut values = vec![T::zeroed(); count * num];
    let rows = bytemuck::cast_slice(data.as_bytes()).chunks_exact(n);
    with_widest(
        #[inline(always)]
        || {
            for (row, values) in rows.zip(values.chunks_exact_mut(num)) {
                samples[before..][..n].copy_from_slice(row);
                for (period, values) in values.chunks_mut(up).enumerate() {
                    let samples = &samples[period * down..];
                    for (value, (first, taps)) in values.iter_mut().zip(&phases) {
                        *value = product(&samples[*first..][..taps.len()], taps);
                    }
                }
            }
        },
    );
    tensor(values, num, &device)
}

/// Sum of the products of the elements of two slices.
#[inline(always)]
fn product<T: Real>(a: &[T], b: &[T]) -> T {
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a.remainder().iter().zip(b.remainder());
    let rest = rest.fold(T::zeroed(), |sum, (&a, &b)| sum + a * b);
    let mut sums = [T::zeroed(); LANES];
    for (a, b) in a.zip(b) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (&a, &b))| *sum = *sum + a * b);
    }
    let eight: [T; 8] = from_fn(|lane| sums[lane] + sums[lane + 8]);
    let four: [T; 4] = from_fn(|lane| eight[lane] + eight[lane + 4]);
    (four[0] + four[2]) + (four[1] + four[3]) + rest
}

fn tensor<T: Real>(values: Vec<T>, width: usize, device: &Device) -> Tensor<2> {
    let count = values.len() / width;
    Tensor::from_data(TensorData::new(values, [count, width]), (device, T::dtype()))
}
