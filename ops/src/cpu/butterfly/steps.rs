//! The loops of a [`Program`] over a tile: a value of every row in a register, real and imaginary parts.

use crate::cpu::butterfly::program::{ElementKind, Program, Step};
use crate::cpu::isa::register::{Complex, Register, SharedKernel};

/// Runs a program on a tile `[n]`, whose values are in bit-reversed order.
pub(in crate::cpu) struct RunProgram<'a, V, const W: usize> {
    pub program: &'a Program,
    /// Weights of each slot. `W` is 2 if every gate that runs is 1, and 4 if not: see [`butterfly`].
    pub weights: &'a [[f32; W]],
    pub tile: &'a mut [Complex<V>],
}

impl<V: Register, const W: usize> SharedKernel for RunProgram<'_, V, W> {
    #[inline(always)]
    fn run(self) {
        let Self { program, weights, tile } = self;
        // The kind of a step becomes constants of a loop, so that the loops have no branches. A quad's mask has a bit
        // per butterfly that runs; masks that leave only one stage are pairs.
        for step in &program.steps {
            let elements = Elements::of(program, step, weights);
            match step.kind {
                ElementKind::Pair => pairs::<V, W, false>(&elements, &[], tile),
                ElementKind::Quad { mask: 0b0101 } => quads::<V, W, 0b0101, false>(&elements, &[], tile),
                ElementKind::Quad { mask: 0b0110 } => quads::<V, W, 0b0110, false>(&elements, &[], tile),
                ElementKind::Quad { mask: 0b0111 } => quads::<V, W, 0b0111, false>(&elements, &[], tile),
                ElementKind::Quad { mask: 0b1001 } => quads::<V, W, 0b1001, false>(&elements, &[], tile),
                ElementKind::Quad { mask: 0b1010 } => quads::<V, W, 0b1010, false>(&elements, &[], tile),
                ElementKind::Quad { mask: 0b1011 } => quads::<V, W, 0b1011, false>(&elements, &[], tile),
                ElementKind::Quad { mask: 0b1101 } => quads::<V, W, 0b1101, false>(&elements, &[], tile),
                ElementKind::Quad { mask: 0b1110 } => quads::<V, W, 0b1110, false>(&elements, &[], tile),
                ElementKind::Quad { .. } => quads::<V, W, 0b1111, false>(&elements, &[], tile),
            }
        }
    }
}

/// [`RunProgram`] for a dense program (one that skips no butterfly), with the inputs of every pass stored.
pub(in crate::cpu) struct RunLevels<'a, V, const W: usize> {
    pub program: &'a Program,
    /// As in [`RunProgram`].
    pub weights: &'a [[f32; W]],
    /// `[passes + 1, n]`: the input first, then the output of each pass.
    pub levels: &'a mut [Complex<V>],
}

impl<V: Register, const W: usize> SharedKernel for RunLevels<'_, V, W> {
    #[inline(always)]
    fn run(self) {
        let Self { program, weights, levels } = self;
        debug_assert!(program.dense);
        for step in &program.steps {
            let (from, into) = levels[step.pass * program.n..][..2 * program.n].split_at_mut(program.n);
            let elements = Elements::of(program, step, weights);
            match step.kind {
                ElementKind::Pair => pairs::<V, W, true>(&elements, from, into),
                ElementKind::Quad { .. } => quads::<V, W, 0b1111, true>(&elements, from, into),
            }
        }
    }
}

/// Elements of a step's loop.
pub(in crate::cpu) struct Elements<'a, const W: usize> {
    pub distance: usize,
    pub places: &'a [u32],
    /// Weights of every butterfly of every element.
    pub weights: &'a [[f32; W]],
}

impl<'a, const W: usize> Elements<'a, W> {
    #[inline(always)]
    pub fn of(program: &'a Program, step: &Step, weights: &'a [[f32; W]]) -> Self {
        Self {
            distance: step.distance,
            places: &program.places[step.places.clone()],
            weights: &weights[step.slots.clone()],
        }
    }
}

/// Butterflies of one stage: in place in `tile`, or with `APART` from `from` into `tile`.
#[inline(always)]
fn pairs<V: Register, const W: usize, const APART: bool>(
    elements: &Elements<'_, W>,
    from: &[Complex<V>],
    tile: &mut [Complex<V>],
) {
    for (&place, weight) in elements.places.iter().zip(elements.weights) {
        let at_a = place as usize;
        let at_b = at_a + elements.distance;
        let (a, b) = if APART { (from[at_a], from[at_b]) } else { (tile[at_a], tile[at_b]) };
        (tile[at_a], tile[at_b]) = butterfly(weight, a, b);
    }
}

/// Butterflies of two stages. `APART` is as in [`pairs`].
#[inline(always)]
fn quads<V: Register, const W: usize, const MASK: usize, const APART: bool>(
    elements: &Elements<'_, W>,
    from: &[Complex<V>],
    tile: &mut [Complex<V>],
) {
    let runs = |index: usize| MASK >> index & 1 == 1;
    let each = MASK.count_ones() as usize;
    for (&place, weights) in elements.places.iter().zip(elements.weights.chunks_exact(each)) {
        let (place, distance) = (place as usize, elements.distance);
        let at = [place, place + distance, place + 2 * distance, place + 3 * distance];
        let source: &[Complex<V>] = if APART { from } else { tile };
        // Load the four values, run the first stage's butterflies, then the second's.
        let [mut x0, mut x1, mut x2, mut x3] = [source[at[0]], source[at[1]], source[at[2]], source[at[3]]];
        if runs(0) {
            (x0, x1) = butterfly(&weights[slot(MASK, 0)], x0, x1);
        }
        if runs(1) {
            (x2, x3) = butterfly(&weights[slot(MASK, 1)], x2, x3);
        }
        if runs(2) {
            (x0, x2) = butterfly(&weights[slot(MASK, 2)], x0, x2);
        }
        if runs(3) {
            (x1, x3) = butterfly(&weights[slot(MASK, 3)], x1, x3);
        }
        // Store those that a butterfly has changed.
        if runs(0) || runs(2) {
            tile[at[0]] = x0;
        }
        if runs(0) || runs(3) {
            tile[at[1]] = x1;
        }
        if runs(1) || runs(2) {
            tile[at[2]] = x2;
        }
        if runs(1) || runs(3) {
            tile[at[3]] = x3;
        }
    }
}

/// Position of butterfly `index` among a quad's weights.
#[inline(always)]
const fn slot(mask: usize, index: usize) -> usize {
    (mask & ((1 << index) - 1)).count_ones() as usize
}

/// (a', b') of a butterfly.
///
/// With a gate of 1 the weight is w: a' = a + w b, b' = 2 a − a'. With any gate it is g w, 1 + g and 1 − g:
/// a' = a + g w b, b' = (1 + g) a − a' + (1 − g) b.
#[inline(always)]
pub(in crate::cpu) fn butterfly<V: Register, const W: usize>(
    weight: &[f32; W],
    a: Complex<V>,
    b: Complex<V>,
) -> (Complex<V>, Complex<V>) {
    let token = a.re.token();
    let (re, im) = (V::splat(token, weight[0]), V::splat(token, weight[1]));
    let upper =
        Complex { re: b.im.neg_mul_add(im, b.re.mul_add(re, a.re)), im: b.re.mul_add(im, b.im.mul_add(re, a.im)) };
    let twice = V::splat(token, if W == 2 { 2.0 } else { weight[2] });
    let lower = Complex { re: a.re.mul_sub(twice, upper.re), im: a.im.mul_sub(twice, upper.im) };
    if W == 2 {
        return (upper, lower);
    }
    let keep = V::splat(token, weight[3]);
    (upper, Complex { re: b.re.mul_add(keep, lower.re), im: b.im.mul_add(keep, lower.im) })
}
