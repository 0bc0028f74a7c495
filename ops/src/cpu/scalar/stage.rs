//! Inner loops of the gated butterfly transform: one stage, forward and backward.
//!
//! A stage cuts its vector into groups of `2 * distance` values and joins value i of a group's first half with value i
//! of its second half; the pairs of all groups, in this order, have one twiddle and one gate each.

use crate::cpu::real::Real;
use crate::cpu::scalar::pack::{Blocks, BlocksMut, Pack};
use crate::cpu::scalar::split::{Split, SplitMut};

/// Pairs that go through a loop together, where the distance allows it.
const WIDE: usize = 8;
/// As [`WIDE`], for the shortest distances.
const NARROW: usize = 2;

/// Twiddles and gates of one stage, a value per pair.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct StageWeights<'a, T> {
    pub twiddle: Split<'a, T>,
    /// Every gate is 1 if absent.
    pub gates: Option<&'a [T]>,
}

/// Gradient sums of one stage's twiddles and gates, a value per pair.
pub(in crate::cpu) struct WeightSums<'a, T> {
    pub twiddle: SplitMut<'a, T>,
    /// Gradients of the stage's gates, of the same length; empty if there are no gates.
    pub gates: &'a mut [T],
}

/// `output = stage(input)`: with t = w b, a' = a + g t and b' = g (a − t) + (1 − g) b, exact at g = 1; at g = 0 the
/// identity of any values.
pub(in crate::cpu) fn forward<T: Real>(
    distance: usize,
    weights: StageWeights<'_, T>,
    input: Split<'_, T>,
    output: SplitMut<'_, T>,
) {
    if distance.is_multiple_of(WIDE) {
        forward_lanes::<T, WIDE>(distance, weights, input, output);
    } else {
        forward_lanes::<T, NARROW>(distance, weights, input, output);
    }
}

/// Turns `grad`, the gradient of the stage's output, into that of its input: with ȧ and ḃ for the gradients of a and b,
/// ȧ = ȧ' + g ḃ' and ḃ = g w* (ȧ' − ḃ') + (1 − g) ḃ'.
pub(in crate::cpu) fn backward<T: Real>(distance: usize, weights: StageWeights<'_, T>, grad: SplitMut<'_, T>) {
    if distance.is_multiple_of(WIDE) {
        backward_lanes::<T, WIDE>(distance, weights, grad);
    } else {
        backward_lanes::<T, NARROW>(distance, weights, grad);
    }
}

/// As [`backward`], `input` being the stage's input; also adds to `sums` the gradients of twiddles and gates,
/// ẇ = g (ȧ' − ḃ') b* and ġ = Re(ȧ'* t + ḃ'* (a − t − b)).
pub(in crate::cpu) fn backward_with_sums<T: Real>(
    distance: usize,
    weights: StageWeights<'_, T>,
    input: Split<'_, T>,
    grad: SplitMut<'_, T>,
    sums: WeightSums<'_, T>,
) {
    if distance.is_multiple_of(WIDE) {
        backward_with_sums_lanes::<T, WIDE>(distance, weights, input, grad, sums);
    } else {
        backward_with_sums_lanes::<T, NARROW>(distance, weights, input, grad, sums);
    }
}

/// Calls `body` with the blocks of `L` values of a, of b, and of their pairs.
#[inline(always)]
fn for_blocks<const L: usize>(distance: usize, len: usize, mut body: impl FnMut(usize, usize, usize)) {
    let blocks = distance / L;
    for group in 0..len / (2 * distance) {
        for pair in group * blocks..(group + 1) * blocks {
            let a = group * blocks + pair;
            body(a, a + blocks, pair);
        }
    }
}

fn forward_lanes<T: Real, const L: usize>(
    distance: usize,
    weights: StageWeights<'_, T>,
    input: Split<'_, T>,
    output: SplitMut<'_, T>,
) {
    let len = input.re.len();
    let twiddles = Blocks::<T, L>::of(weights.twiddle, len / 2);
    let input = Blocks::<T, L>::of(input, len);
    let mut output = BlocksMut::<T, L>::of(output, len);
    match weights.gates {
        // a' = a + w b, b' = a − w b.
        None => for_blocks::<L>(distance, len, |at_a, at_b, pair| {
            let (a, b) = (input.load(at_a), input.load(at_b));
            let t = twiddles.load(pair) * b;
            output.store(at_a, a + t);
            output.store(at_b, a - t);
        }),
        Some(gates) => {
            let gates = &gates.as_chunks().0[..len / 2 / L];
            for_blocks::<L>(distance, len, |at_a, at_b, pair| {
                let (a, b) = (input.load(at_a), input.load(at_b));
                let t = twiddles.load(pair) * b;
                let gate = Pack(gates[pair]);
                let keep = Pack::splat(T::one()) - gate;
                // a' = a + g w b, b' = g (a − w b) + (1 − g) b. A closed butterfly copies its inputs, so that a value
                // that is not finite stays in its place.
                output.store(at_a, (a + t * gate).or_where_zero(gate, a));
                output.store(at_b, ((a - t) * gate + b * keep).or_where_zero(gate, b));
            });
        }
    }
}

fn backward_lanes<T: Real, const L: usize>(distance: usize, weights: StageWeights<'_, T>, grad: SplitMut<'_, T>) {
    let len = grad.re.len();
    let twiddles = Blocks::<T, L>::of(weights.twiddle, len / 2);
    let mut grad = BlocksMut::<T, L>::of(grad, len);
    match weights.gates {
        // The conjugate transpose of the butterfly: ȧ = ȧ' + ḃ', ḃ = w* (ȧ' − ḃ').
        None => for_blocks::<L>(distance, len, |at_a, at_b, pair| {
            let (a, b) = (grad.load(at_a), grad.load(at_b));
            grad.store(at_a, a + b);
            grad.store(at_b, twiddles.load(pair).conj_mul(a - b));
        }),
        Some(gates) => {
            let gates = &gates.as_chunks().0[..len / 2 / L];
            for_blocks::<L>(distance, len, |at_a, at_b, pair| {
                let (a, b) = (grad.load(at_a), grad.load(at_b));
                let gate = Pack(gates[pair]);
                let keep = Pack::splat(T::one()) - gate;
                // ȧ = ȧ' + g ḃ', ḃ = g w* (ȧ' − ḃ') + (1 − g) ḃ'.
                grad.store(at_a, a + b * gate);
                grad.store(at_b, twiddles.load(pair).conj_mul((a - b) * gate) + b * keep);
            });
        }
    }
}

fn backward_with_sums_lanes<T: Real, const L: usize>(
    distance: usize,
    weights: StageWeights<'_, T>,
    input: Split<'_, T>,
    grad: SplitMut<'_, T>,
    sums: WeightSums<'_, T>,
) {
    let len = input.re.len();
    let twiddles = Blocks::<T, L>::of(weights.twiddle, len / 2);
    let input = Blocks::<T, L>::of(input, len);
    let mut grad = BlocksMut::<T, L>::of(grad, len);
    let mut twiddle_sums = BlocksMut::<T, L>::of(sums.twiddle, len / 2);
    match weights.gates {
        None => for_blocks::<L>(distance, len, |at_a, at_b, pair| {
            let (grad_a, grad_b) = (grad.load(at_a), grad.load(at_b));
            // Of t = w b: the gradient ȧ' − ḃ', from which those of b and w follow.
            let grad_t = grad_a - grad_b;
            grad.store(at_a, grad_a + grad_b);
            grad.store(at_b, twiddles.load(pair).conj_mul(grad_t));
            twiddle_sums.store(pair, twiddle_sums.load(pair) + input.load(at_b).conj_mul(grad_t));
        }),
        Some(gates) => {
            let gates = &gates.as_chunks().0[..len / 2 / L];
            let gate_sums = &mut sums.gates.as_chunks_mut().0[..len / 2 / L];
            for_blocks::<L>(distance, len, |at_a, at_b, pair| {
                let (a, b) = (input.load(at_a), input.load(at_b));
                let (grad_a, grad_b) = (grad.load(at_a), grad.load(at_b));
                let (twiddle, gate) = (twiddles.load(pair), Pack(gates[pair]));
                let keep = Pack::splat(T::one()) - gate;
                let t = twiddle * b;
                // Of t = w b: the gradient g (ȧ' − ḃ'), from which those of b and w follow.
                let grad_t = (grad_a - grad_b) * gate;
                grad.store(at_a, grad_a + grad_b * gate);
                grad.store(at_b, twiddle.conj_mul(grad_t) + grad_b * keep);
                twiddle_sums.store(pair, twiddle_sums.load(pair) + b.conj_mul(grad_t));
                // The gate multiplies t in a', and a − t − b in b'.
                let through_gate = grad_a.dot(t) + grad_b.dot(a - t - b);
                gate_sums[pair] = (Pack(gate_sums[pair]) + through_gate).0;
            });
        }
    }
}
