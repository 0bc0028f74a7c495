//! Gated butterfly transform by its definition, in plain loops: in f64, and in f32 in builds with debug assertions.

use std::sync::Arc;

use rustfft::num_complex::Complex;

use super::ButterflyTransform;
use super::tile::bit_reversal;
use crate::cpu::real::Real;
use crate::cpu::runtime::sum_blocks;
use crate::cpu::runtime::tasks::{Tasks, optional_chunks};

/// As [`butterfly`](super::butterfly()).
pub(super) fn butterfly<T: Real>(input: [&[T]; 2], transform: &ButterflyTransform<'_, T>, output: [&mut [T]; 2]) {
    let n = transform.n;
    let transform = PlainButterfly::new(*transform);
    let tasks = Tasks::independent(input[0].len() / n, transform.work());
    tasks.run(tasks.pieces(Some(input), n, output, n), |(input, [out_re, out_im])| {
        let [re, im] = input.unwrap_or_default();
        T::with_scratch(|scratch| {
            let (values, ..) = scratch.buffers(n, 0, 0);
            let inputs = re.chunks_exact(n).zip(im.chunks_exact(n));
            let outputs = out_re.chunks_exact_mut(n).zip(out_im.chunks_exact_mut(n));
            for ((re, im), (out_re, out_im)) in inputs.zip(outputs) {
                transform.forward(|i| Complex::new(re[i], im[i]), values);
                for ((value, re), im) in values.iter().zip(out_re).zip(out_im) {
                    (*re, *im) = (value.re, value.im);
                }
            }
        });
    });
}

/// As [`butterfly_backward`](super::butterfly_backward()).
pub(super) fn butterfly_backward<T: Real>(
    [re, im]: [&[T]; 2],
    transform: &ButterflyTransform<'_, T>,
    [grad_re, grad_im]: [&[T]; 2],
    [of_re, of_im, of_twiddles, of_gates]: [Option<&mut [T]>; 4],
) {
    let n = transform.n;
    let transform = PlainButterfly::new(*transform);
    // One partial sum of the weights' gradients per block of rows, so that the order of sums follows from shapes.
    let with_weights = of_twiddles.is_some() || of_gates.is_some();
    let partial = if with_weights { transform.sums_len() } else { 0 };
    let tasks = Tasks::reduction(re.len() / n, 4 * transform.work(), partial);
    let mut partials = vec![T::zero(); partial * tasks.count.max(1)];
    let len = tasks.rows * n;
    let pieces = (re.chunks(len).zip(im.chunks(len)))
        .zip(grad_re.chunks(len).zip(grad_im.chunks(len)))
        .zip(optional_chunks(of_re, len).zip(optional_chunks(of_im, len)))
        .zip(optional_chunks(with_weights.then_some(&mut partials[..]), partial.max(1)));
    tasks.run(pieces, |(((input, grad), (into_re, into_im)), mut sums)| {
        let rows = (input.0.chunks_exact(n).zip(input.1.chunks_exact(n)))
            .zip(grad.0.chunks_exact(n).zip(grad.1.chunks_exact(n)))
            .zip(optional_chunks(into_re, n).zip(optional_chunks(into_im, n)));
        T::with_scratch(|scratch| {
            let levels_len = if with_weights { transform.levels_len() } else { 0 };
            let (buffer, ..) = scratch.buffers(levels_len + n, 0, 0);
            let (levels, grad) = buffer.split_at_mut(levels_len);
            for (((re, im), (grad_re, grad_im)), (into_re, into_im)) in rows {
                for ((grad, &re), &im) in grad.iter_mut().zip(grad_re).zip(grad_im) {
                    *grad = Complex::new(re, im);
                }
                // The gradient goes through the stages in place; a row of zeros stays as it is.
                if !grad_re.iter().chain(grad_im).all(T::is_zero) {
                    // Gradients of weights need the inputs of every stage.
                    if with_weights {
                        transform.forward_levels(|i| Complex::new(re[i], im[i]), levels);
                    }
                    transform.backward(levels, grad, sums.as_deref_mut());
                }
                if let Some(into) = into_re {
                    into.iter_mut().zip(&*grad).for_each(|(into, grad)| *into = grad.re);
                }
                if let Some(into) = into_im {
                    into.iter_mut().zip(&*grad).for_each(|(into, grad)| *into = grad.im);
                }
            }
        });
    });
    if with_weights {
        transform.write_gradients(sum_blocks(&mut partials, partial), of_twiddles, of_gates);
    }
}

/// A transform of single rows.
pub(in crate::cpu) struct PlainButterfly<'a, T> {
    transform: ButterflyTransform<'a, T>,
    order: Arc<[u32]>,
}

impl<'a, T: Real> PlainButterfly<'a, T> {
    pub fn new(transform: ButterflyTransform<'a, T>) -> Self {
        let this = Self { transform, order: bit_reversal(transform.n) };
        debug_assert!(transform.n.is_power_of_two());
        debug_assert_eq!(transform.twiddles.len(), 2 * this.work());
        debug_assert!(transform.gates.is_none_or(|gates| gates.len() == this.work()));
        this
    }

    fn stages(&self) -> usize {
        self.transform.n.ilog2() as usize
    }

    pub fn work(&self) -> usize {
        self.stages() * self.transform.n / 2
    }

    /// Twiddle of the butterfly number `index` of all stages, and its gate if there are any.
    #[inline(always)]
    fn weights(&self, index: usize) -> (Complex<T>, Option<T>) {
        let twiddle = Complex::new(self.transform.twiddles[2 * index], self.transform.twiddles[2 * index + 1]);
        (twiddle, self.transform.gates.map(|gates| gates[index]))
    }

    /// The output of the row whose value i is `input(i)`.
    pub fn forward(&self, input: impl Fn(usize) -> Complex<T>, output: &mut [Complex<T>]) {
        self.load(input, output);
        (0..self.stages()).for_each(|stage| self.stage(stage, output));
    }

    /// Length of [`forward_levels`](Self::forward_levels).
    pub fn levels_len(&self) -> usize {
        (self.stages() + 1) * self.transform.n
    }

    /// The inputs of all stages, and behind them the output: `levels` `[log2 n + 1, n]`.
    pub fn forward_levels(&self, input: impl Fn(usize) -> Complex<T>, levels: &mut [Complex<T>]) {
        let n = self.transform.n;
        self.load(input, &mut levels[..n]);
        for stage in 0..self.stages() {
            levels.copy_within(stage * n..(stage + 1) * n, (stage + 1) * n);
            self.stage(stage, &mut levels[(stage + 1) * n..][..n]);
        }
    }

    /// A row in bit-reversed order.
    fn load(&self, input: impl Fn(usize) -> Complex<T>, values: &mut [Complex<T>]) {
        for (value, &from) in values.iter_mut().zip(&*self.order) {
            *value = input(from as usize);
        }
    }

    /// One stage in place: with t = w b, a' = a + g t and b' = g (a − t) + (1 − g) b. A closed butterfly leaves its values
    /// as they are, so that one that is not finite stays in its place.
    fn stage(&self, stage: usize, values: &mut [Complex<T>]) {
        for_pairs(stage, values, |pair, _, a, b| {
            let (twiddle, gate) = self.weights(stage * self.transform.n / 2 + pair);
            let t = twiddle * b;
            match gate {
                None => (a + t, a - t),
                Some(gate) if gate.is_zero() => (a, b),
                Some(gate) => (a + t.scale(gate), (a - t).scale(gate) + b.scale(T::one() - gate)),
            }
        });
    }

    /// Turns `grad`, the gradient of the output, into that of the input, and adds those of twiddles and gates to `sums`, if
    /// it is given. `levels` is that of [`forward_levels`](Self::forward_levels), not read without `sums`.
    ///
    /// With ȧ and ḃ for the gradients of a and b: ȧ = ȧ' + g ḃ', ḃ = g w* (ȧ' − ḃ') + (1 − g) ḃ',
    /// ẇ = g (ȧ' − ḃ') b* and ġ = Re(ȧ'* t + ḃ'* (a − t − b)).
    pub fn backward(&self, levels: &[Complex<T>], grad: &mut [Complex<T>], mut sums: Option<&mut [T]>) {
        let n = self.transform.n;
        let dot = |a: Complex<T>, b: Complex<T>| a.re * b.re + a.im * b.im;
        for stage in (0..self.stages()).rev() {
            for_pairs(stage, grad, |pair, at, grad_a, grad_b| {
                let index = stage * n / 2 + pair;
                let (twiddle, gate) = self.weights(index);
                let (through_b, grad_t, kept) = match gate {
                    None => (grad_b, grad_a - grad_b, Complex::new(T::zero(), T::zero())),
                    Some(gate) => (grad_b.scale(gate), (grad_a - grad_b).scale(gate), grad_b.scale(T::one() - gate)),
                };
                if let Some(sums) = sums.as_deref_mut() {
                    let (a, b) = (levels[stage * n + at], levels[stage * n + at + (1 << stage)]);
                    let of_twiddle = b.conj() * grad_t;
                    sums[2 * index] += of_twiddle.re;
                    sums[2 * index + 1] += of_twiddle.im;
                    if gate.is_some() {
                        let t = twiddle * b;
                        sums[self.transform.twiddles.len() + index] += dot(grad_a, t) + dot(grad_b, a - t - b);
                    }
                }
                (grad_a + through_b, twiddle.conj() * grad_t + kept)
            });
        }
        // Bit reversal is its own inverse.
        for (at, &other) in self.order.iter().enumerate().filter(|&(at, &other)| at < other as usize) {
            grad.swap(at, other as usize);
        }
    }

    pub fn sums_len(&self) -> usize {
        self.transform.twiddles.len() + self.transform.gates.map_or(0, <[T]>::len)
    }

    /// Overwrites the gradients of twiddles and gates, each if given, with `sums`.
    pub fn write_gradients(&self, sums: &[T], twiddles: Option<&mut [T]>, gates: Option<&mut [T]>) {
        let (of_twiddles, of_gates) = sums.split_at(self.transform.twiddles.len());
        for (into, sums) in [(twiddles, of_twiddles), (gates, of_gates)] {
            if let Some(into) = into {
                into.copy_from_slice(sums);
            }
        }
    }
}

/// Replaces the values a and b of each pair of a stage by what `body` returns for the pair's number, the index of a, and both.
#[inline(always)]
fn for_pairs<T: Real>(
    stage: usize,
    values: &mut [Complex<T>],
    mut body: impl FnMut(usize, usize, Complex<T>, Complex<T>) -> (Complex<T>, Complex<T>),
) {
    let half = 1 << stage;
    for (block, values) in values.chunks_exact_mut(2 * half).enumerate() {
        let (lower, upper) = values.split_at_mut(half);
        for (j, (a, b)) in lower.iter_mut().zip(upper).enumerate() {
            (*a, *b) = body(block * half + j, 2 * block * half + j, *a, *b);
        }
    }
}
