//! Cosine and sine transforms of types 2 and 3, and filters in polyphase form, on rows in the host's memory.

use std::array::from_fn;
use std::f64::consts::PI;
use std::ops::{Add, Mul, Sub};

use burn::tensor::{Device, Element, Tensor, TensorData};
use bytemuck::Pod;
use firefly_ops::fft::{ComplexTensor, irfft_with, rfft};
use firefly_ops::{ArgumentError, Norm};

/// Type that is computed in, f32 or f64.
pub trait Real: Element + Pod + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {}

impl<T: Element + Pod + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>> Real for T {}

/// Products that are summed side by side.
const LANES: usize = 16;

/// Cosine and sine of πk/2n for the bins k of a real transform of `n` points.
pub fn rotations(n: usize) -> Vec<[f64; 2]> {
    (0..=n / 2).map(|k| PI * k as f64 / (2 * n) as f64).map(|angle| [angle.cos(), angle.sin()]).collect()
}

/// Cosine transforms of type 2 or, if `is_transposed`, 3, or sine transforms of that type, by real transforms of as many
/// points (J. Makhoul, "A fast cosine transform in one and two dimensions", 1980), with factors on the first coefficient
/// and on all.
pub fn cosine<T: Real>(
    rows: Tensor<2>,
    [is_transposed, sines]: [bool; 2],
    factors: [f64; 2],
    rotations: &[[f64; 2]],
) -> Result<Tensor<2>, ArgumentError> {
    let ([_, n], device, data) = (rows.dims(), rows.device(), rows.into_data());
    let number = T::from_elem::<f64>;
    let [cos, sin]: [Vec<T>; 2] = from_fn(|part| rotations.iter().map(|rotation| number(rotation[part])).collect());
    let [first, scale] = factors.map(number);
    // Sines of type 2 are cosines of rows with alternating signs, in reverse; type 3 is the transpose.
    let sign = number(if sines { -1.0 } else { 1.0 });
    let values: &[T] = bytemuck::cast_slice(data.as_bytes());
    let mut results = vec![T::zeroed(); values.len()];
    if is_transposed {
        let mut parts = [(); 2].map(|()| Vec::with_capacity(values.len() / n * rotations.len()));
        let mut row = vec![T::zeroed(); n];
        for from in values.chunks_exact(n) {
            row.copy_from_slice(from);
            if sines {
                row.reverse();
            }
            parts[0].push(first * row[0]);
            parts[1].push(T::zeroed());
            let ends = row[1..].iter().zip(row[1..].iter().rev()).zip(cos[1..].iter().zip(&sin[1..]));
            parts[0].extend(ends.clone().map(|((&low, &high), (&cos, &sin))| low * cos + high * sin));
            parts[1].extend(ends.map(|((&low, &high), (&cos, &sin))| low * sin - high * cos));
        }
        let [re, im] = parts.map(|part| tensor(part, rotations.len(), &device));
        let ordered = irfft_with(ComplexTensor { re, im }, Some(n), -1, Norm::Forward)?.into_data();
        let rows = bytemuck::cast_slice::<_, T>(ordered.as_bytes()).chunks_exact(n);
        for (ordered, row) in rows.zip(results.chunks_exact_mut(n)) {
            let (even, odd) = ordered.split_at(n.div_ceil(2));
            row.iter_mut().step_by(2).zip(even).for_each(|(to, from)| *to = scale * *from);
            let odd = odd.iter().rev().map(|&from| scale * sign * from);
            row.iter_mut().skip(1).step_by(2).zip(odd).for_each(|(to, from)| *to = from);
        }
    } else {
        // Even positions, then odd ones in reverse.
        let mut ordered = vec![T::zeroed(); values.len()];
        for (row, ordered) in values.chunks_exact(n).zip(ordered.chunks_exact_mut(n)) {
            let (even, odd) = ordered.split_at_mut(n.div_ceil(2));
            let pairs = row.as_chunks::<{ 2 * LANES }>().0;
            let lanes =
                even.as_chunks_mut::<LANES>().0.iter_mut().zip(odd.as_rchunks_mut::<LANES>().1.iter_mut().rev());
            for (pairs, (even, odd)) in pairs.iter().zip(lanes) {
                *even = from_fn(|lane| pairs[2 * lane]);
                *odd = from_fn(|lane| sign * pairs[2 * (LANES - lane) - 1]);
            }
            let done = n / (2 * LANES) * LANES;
            let rest = row[2 * done..].iter();
            even[done..].iter_mut().zip(rest.clone().step_by(2)).for_each(|(to, from)| *to = *from);
            let odd = odd.iter_mut().rev().skip(done);
            odd.zip(rest.skip(1).step_by(2)).for_each(|(to, from)| *to = sign * *from);
        }
        let ComplexTensor { re, im } = rfft(tensor(ordered, n, &device))?;
        let [re, im] = [re, im].map(Tensor::into_data);
        let [re, im] =
            [&re, &im].map(|part| bytemuck::cast_slice::<_, T>(part.as_bytes()).chunks_exact(rotations.len()));
        for (result, (re, im)) in results.chunks_exact_mut(n).zip(re.zip(im)) {
            let (low, high) = result.split_at_mut(n / 2 + 1);
            let rotated = re.iter().zip(im).zip(cos.iter().zip(&sin));
            low.iter_mut()
                .zip(rotated)
                .for_each(|(to, ((&re, &im), (&cos, &sin)))| *to = scale * (re * cos + im * sin));
            let rotated = re[1..].iter().zip(&im[1..]).zip(cos[1..].iter().zip(&sin[1..]));
            let high = high.iter_mut().rev().zip(rotated);
            high.for_each(|(to, ((&re, &im), (&cos, &sin)))| *to = scale * (re * sin - im * cos));
            low[0] = low[0] * first;
            if sines {
                result.reverse();
            }
        }
    }
    Ok(tensor(results, n, &device))
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
    for (row, values) in rows.zip(values.chunks_exact_mut(num)) {
        samples[before..][..n].copy_from_slice(row);
        for (period, values) in values.chunks_mut(up).enumerate() {
            let samples = &samples[period * down..];
            for (value, (first, taps)) in values.iter_mut().zip(&phases) {
                *value = product(&samples[*first..][..taps.len()], taps);
            }
        }
    }
    tensor(values, num, &device)
}

/// Sum of the products of the elements of two slices.
fn product<T: Real>(a: &[T], b: &[T]) -> T {
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a.remainder().iter().zip(b.remainder());
    let rest = rest.fold(T::zeroed(), |sum, (&a, &b)| sum + a * b);
    let mut sums = [T::zeroed(); LANES];
    for (a, b) in a.zip(b) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (&a, &b))| *sum = *sum + a * b);
    }
    sums.iter().fold(rest, |sum, &lane| sum + lane)
}

fn tensor<T: Real>(values: Vec<T>, width: usize, device: &Device) -> Tensor<2> {
    let count = values.len() / width;
    Tensor::from_data(TensorData::new(values, [count, width]), (device, T::dtype()))
}
