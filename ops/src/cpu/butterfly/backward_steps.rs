//! The loops of a [`Program`] backwards, over the gradients of a tile.

use crate::cpu::butterfly::program::{ElementKind, Program};
use crate::cpu::butterfly::steps::{Elements, butterfly};
use crate::cpu::isa::register::{Complex, Register, SharedKernel};

/// Runs a dense program backwards: from the gradient of its output to that of its input, and to sums of the weights'.
pub(in crate::cpu) struct RunBackward<'a, V, const W: usize, const S: usize> {
    pub program: &'a Program,
    /// Weights of each slot. `W` is 2 if every gate is 1, with w, and 4 if not, with w, g and 1 − g.
    pub weights: &'a [[f32; W]],
    /// Levels that [`RunLevels`](super::steps::RunLevels) stored.
    pub levels: &'a [Complex<V>],
    /// `[n]`.
    pub grad: &'a mut [Complex<V>],
    /// Sums of each slot: of w's real and imaginary part and, if `S` is 3, of g.
    pub sums: &'a mut [[V; S]],
}

impl<V: Register, const W: usize, const S: usize> SharedKernel for RunBackward<'_, V, W, S> {
    #[inline(always)]
    fn run(self) {
        let Self { program, weights, levels, grad, sums } = self;
        debug_assert!(program.dense);
        for step in program.steps.iter().rev() {
            let input = &levels[step.pass * program.n..][..program.n];
            let elements = Elements::of(program, step, weights);
            let sums = &mut sums[step.slots.clone()];
            match step.kind {
                ElementKind::Pair => pairs(&elements, input, grad, sums),
                ElementKind::Quad { .. } => quads(&elements, input, grad, sums),
            }
        }
    }
}

/// Butterflies of one stage.
#[inline(always)]
fn pairs<V: Register, const W: usize, const S: usize>(
    elements: &Elements<'_, W>,
    input: &[Complex<V>],
    grad: &mut [Complex<V>],
    sums: &mut [[V; S]],
) {
    for ((&place, weight), sums) in elements.places.iter().zip(elements.weights).zip(sums) {
        let at_a = place as usize;
        let at_b = at_a + elements.distance;
        let (a, b) = (input[at_a], input[at_b]);
        (grad[at_a], grad[at_b]) = backward(weight, a, b, grad[at_a], grad[at_b], sums);
    }
}

/// Butterflies of two stages. The second stage's inputs are computed anew, as far as they are needed.
#[inline(always)]
fn quads<V: Register, const W: usize, const S: usize>(
    elements: &Elements<'_, W>,
    input: &[Complex<V>],
    grad: &mut [Complex<V>],
    sums: &mut [[V; S]],
) {
    let weights = elements.weights.as_chunks().0.iter().zip(sums.as_chunks_mut().0);
    for (&place, ([w0, w1, w2, w3], [s0, s1, s2, s3])) in elements.places.iter().zip(weights) {
        let (place, distance) = (place as usize, elements.distance);
        let at = [place, place + distance, place + 2 * distance, place + 3 * distance];
        let [x0, x1, x2, x3] = [input[at[0]], input[at[1]], input[at[2]], input[at[3]]];
        let [g0, g1, g2, g3] = [grad[at[0]], grad[at[1]], grad[at[2]], grad[at[3]]];
        // Inputs of the second stage: its lower values for the gradients of twiddles.
        let (y2, y3) = again(w1, x2, x3);
        // Only gradients of gates need the upper values.
        let (y0, y1) = if S == 3 { again(w0, x0, x1) } else { (x0, x1) };
        // Backward through the second stage, then through the first.
        let (g0, g2) = backward(w2, y0, y2, g0, g2, s2);
        let (g1, g3) = backward(w3, y1, y3, g1, g3, s3);
        (grad[at[0]], grad[at[1]]) = backward(w0, x0, x1, g0, g1, s0);
        (grad[at[2]], grad[at[3]]) = backward(w1, x2, x3, g2, g3, s1);
    }
}

/// (a', b') from the weights of the backward pass.
#[inline(always)]
fn again<V: Register, const W: usize>(weight: &[f32; W], a: Complex<V>, b: Complex<V>) -> (Complex<V>, Complex<V>) {
    if W == 2 {
        return butterfly(weight, a, b);
    }
    let token = a.re.token();
    let (gate, keep) = (V::splat(token, weight[2]), V::splat(token, weight[3]));
    let t = b.times(twiddle(token, weight));
    let lower = a.minus(t);
    let lower = Complex { re: lower.re * gate, im: lower.im * gate };
    (a.plus_scaled(gate, t), lower.plus_scaled(keep, b))
}

/// (ȧ, ḃ) from (ȧ', ḃ'): with d = g (ȧ' − ḃ'), ȧ = ȧ' + g ḃ' and ḃ = w* d + (1 − g) ḃ'. To the sums are added ẇ = b* d
/// and ġ = Re(ȧ'* t + ḃ'* (a − t − b)), t = w b.
#[inline(always)]
fn backward<V: Register, const W: usize, const S: usize>(
    weight: &[f32; W],
    a: Complex<V>,
    b: Complex<V>,
    grad_a: Complex<V>,
    grad_b: Complex<V>,
    sums: &mut [V; S],
) -> (Complex<V>, Complex<V>) {
    let token = a.re.token();
    let w = twiddle::<V, W>(token, weight);
    // d, and the upper gradient.
    let mut through = grad_a.minus(grad_b);
    let mut upper = grad_a;
    if W == 2 {
        upper = upper.plus(grad_b);
    } else {
        let gate = V::splat(token, weight[2]);
        through = Complex { re: through.re * gate, im: through.im * gate };
        upper = upper.plus_scaled(gate, grad_b);
    }
    // The lower gradient.
    let mut lower =
        Complex { re: w.re.mul_add(through.re, w.im * through.im), im: w.re.mul_sub(through.im, w.im * through.re) };
    if W == 4 {
        lower = lower.plus_scaled(V::splat(token, weight[3]), grad_b);
    }
    // The sums of the weights' gradients.
    sums[0] = b.im.mul_add(through.im, b.re.mul_add(through.re, sums[0]));
    sums[1] = b.im.neg_mul_add(through.re, b.re.mul_add(through.im, sums[1]));
    if S == 3 {
        let t = b.times(w);
        let sum = grad_a.im.mul_add(t.im, grad_a.re.mul_add(t.re, sums[2]));
        let change = a.minus(t).minus(b);
        sums[2] = grad_b.im.mul_add(change.im, grad_b.re.mul_add(change.re, sum));
    }
    (upper, lower)
}

#[inline(always)]
fn twiddle<V: Register, const W: usize>(token: V::Token, weight: &[f32; W]) -> Complex<V> {
    Complex { re: V::splat(token, weight[0]), im: V::splat(token, weight[1]) }
}
