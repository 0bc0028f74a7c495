//! Real rows as complex rows of half as many values: samples of even number are the real parts, those of odd number the
//! imaginary parts.

use crate::cpu::isa::Kernel;
use crate::cpu::isa::register::Register;

/// Takes rows apart, times factors where there are any, cut or padded with zeros to `points` complex values.
pub(in crate::cpu) struct SplitKernel<'a> {
    /// `[rows, width]`.
    pub signal: &'a [f32],
    /// `[rows, width]`.
    pub factors: Option<&'a [f32]>,
    pub width: usize,
    pub points: usize,
    /// `[rows, points]`, real and imaginary parts.
    pub values: [&'a mut [f32]; 2],
}

impl Kernel for SplitKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        let Self { signal, factors, width, points, values: [re, im] } = self;
        let used = width.min(2 * points);
        let outputs = re.chunks_exact_mut(points).zip(im.chunks_exact_mut(points));
        for (row, (signal, (re, im))) in signal.chunks_exact(width).zip(outputs).enumerate() {
            let factors = factors.map(
                #[inline(always)]
                |factors| &factors[row * width..(row + 1) * width],
            );
            // Whole registers of pairs.
            let registers = used / (2 * V::LANES);
            for (i, pair) in V::arrays(signal).as_chunks::<2>().0[..registers].iter().enumerate() {
                let (mut first, mut second) = (V::load(token, &pair[0]), V::load(token, &pair[1]));
                if let Some(factors) = factors {
                    let factors = V::arrays(&factors[2 * i * V::LANES..]);
                    (first, second) = (first * V::load(token, &factors[0]), second * V::load(token, &factors[1]));
                }
                let (even, odd) = first.deinterleave(second);
                even.store(&mut V::arrays_mut(&mut re[i * V::LANES..])[0]);
                odd.store(&mut V::arrays_mut(&mut im[i * V::LANES..])[0]);
            }
            // The samples that are left, and zeros.
            let start = registers * V::LANES;
            re[start..].fill(0.0);
            im[start..].fill(0.0);
            for (j, &sample) in signal[..used].iter().enumerate().skip(2 * start) {
                let sample = match factors {
                    Some(factors) => sample * factors[j],
                    None => sample,
                };
                *if j.is_multiple_of(2) { &mut re[j / 2] } else { &mut im[j / 2] } = sample;
            }
        }
    }
}

/// Joins rows of `points` complex values to rows of their first `length` samples, times factors where there are any.
pub(in crate::cpu) struct JoinKernel<'a> {
    /// `[rows, points]`, real and imaginary parts.
    pub values: [&'a [f32]; 2],
    /// `[rows, length]`.
    pub factors: Option<&'a [f32]>,
    pub points: usize,
    pub length: usize,
    /// `[rows, length]`.
    pub signal: &'a mut [f32],
}

impl Kernel for JoinKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, _token: V::Token) {
        let Self { values: [re, im], factors, points, length, signal } = self;
        let rows = re.chunks_exact(points).zip(im.chunks_exact(points));
        for (row, (signal, (re, im))) in signal.chunks_exact_mut(length).zip(rows).enumerate() {
            // Plain code, which the compiler turns into shuffles of the instruction set.
            for (pair, (re, im)) in signal.as_chunks_mut::<2>().0.iter_mut().zip(re.iter().zip(im)) {
                *pair = [*re, *im];
            }
            if length % 2 == 1 {
                signal[length - 1] = re[length / 2];
            }
            if let Some(factors) = factors {
                for (sample, factor) in signal.iter_mut().zip(&factors[row * length..]) {
                    *sample *= factor;
                }
            }
        }
    }
}
