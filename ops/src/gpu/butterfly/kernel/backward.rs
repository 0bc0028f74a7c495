//! A launch of the backward pass: the gradients of its input and of its butterflies.
//!
//! Per row, the stages are first computed again, and the inputs of every pass kept in registers; then the gradient goes
//! back through the stages. A unit has the same butterflies in every row, so it sums their gradients over the rows of a
//! block by itself, in order, and writes one partial sum per block. Where no gradient of a butterfly is needed, the
//! inputs are neither read nor computed again.

use cubecl::prelude::*;

use super::GradientKind;
use super::index::{UnitIndex, butterfly_offset, input_offset, output_offset, shared_offset, unit_index, upper_value};
use crate::gpu::butterfly::plan::ButterflyLaunchPlan;
use crate::gpu::complex::{
    Complex, ComplexBuffers, complex, plus_dot, plus_scaled, plus_times_conjugate, scaled, times,
};

/// The butterflies of a transform, or partial sums of their gradients per block of rows.
#[derive(CubeType, CubeLaunch)]
pub struct ButterflyBuffers {
    /// `[log2 n, n/2]`.
    pub twiddles: Box<[Complex]>,
    /// `[log2 n, n/2]`; not accessed without gates.
    pub gates: Box<[f32]>,
}

/// Rows in blocks: a unit works on one block, row by row.
#[derive(CubeType, CubeLaunch)]
pub struct BlockedRows {
    pub rows: u32,
    /// Rows of a block; the last one may have fewer.
    pub block_length: u32,
}

/// A unit's butterflies in registers, with their sums over rows.
///
/// A butterfly with twiddle w and gate g takes a and b to a + g·t and b + g·(a − b) − g·t, where t = w·b. For output
/// gradients x and y, with d = x − y and q the sum of d·b* over rows, the gradient of w is g·q, and that of g is
/// Re(w*·q) plus the sum of Re(y*·(a − b)).
#[derive(CubeType)]
struct UnitButterflies {
    /// g·w.
    weights: Array<Complex>,
    gates: Array<f32>,
    /// q.
    sums: Array<Complex>,
    /// The sums of Re(y*·(a − b)).
    gate_sums: Array<f32>,
}

/// The values of a unit that are loaded for the next row while it computes a row.
#[derive(CubeType)]
struct Prefetched {
    input: Array<Complex>,
    grad: Array<Complex>,
}

/// Writes the gradient of the launch's input, and per block of rows the sums for its butterflies, from `grad`, the
/// gradient of its output: those of the `kind`.
///
/// A tile whose gradient is 0 gives zeros, also where its input is not finite.
#[cube(launch, launch_unchecked)]
pub fn backward(
    input: &ComplexBuffers,
    butterflies: &ButterflyBuffers,
    grad: &ComplexBuffers,
    input_grad: &mut ComplexBuffers,
    sums: &mut ButterflyBuffers,
    blocks: BlockedRows,
    #[comptime] plan: ButterflyLaunchPlan,
    #[comptime] kind: GradientKind,
) {
    let index = unit_index(UNIT_POS, CUBE_POS as u32, plan);
    let passes = comptime!(plan.passes());
    let last = comptime!(plan.passes() - 1);
    let sums_butterflies = comptime!(kind.of_butterflies());
    let values = comptime!(1u32 << plan.log2_values);
    // Two exchange buffers in turn: units may still read one while others write the next.
    let mut exchange = Shared::<[Complex]>::new_slice(comptime!(2 * plan.exchange_len() as usize));
    // Per tile, for even and odd rows in turn, whether the tile has a gradient other than 0.
    let mut nonzero = Shared::<[u32]>::new_slice(comptime!(2 * plan.tiles as usize));
    let flag = 2 * index.later.group;
    if index.later.unit == 0 {
        nonzero[flag as usize] = 0u32;
        nonzero[(flag + 1) as usize] = 0u32;
    }
    sync_cube();
    // Registers: the inputs of every pass, then the inputs of the later stages of one pass.
    let mut saved = Array::<Complex>::new(comptime!(((plan.passes() + plan.log2_values) << plan.log2_values) as usize));
    let mut z_grad = Array::<Complex>::new(comptime!(values as usize));
    let mut own = load_butterflies(butterflies, &index, plan, kind);
    // Prefetch the first row: later ones are loaded while the row before them is computed.
    let first = index.later.row * blocks.block_length;
    let mut next =
        Prefetched { input: Array::new(comptime!(values as usize)), grad: Array::new(comptime!(values as usize)) };
    prefetch(&mut next, input, grad, first, blocks.rows, &index, plan, sums_butterflies);
    for row_of_block in 0..blocks.block_length {
        let row = first + row_of_block;
        let inside = row < blocks.rows;
        let start = row as usize * comptime!(1usize << plan.log2_n);
        let turn = flag + row_of_block % 2;
        // Without the exchanges of the forward stages, those of the row before may still be read.
        if comptime!(!sums_butterflies) {
            sync_cube();
        }

        // Take over the prefetched row, prefetch the one after it, and flag a gradient other than 0.
        let mut bits = 0u32;
        #[unroll]
        for i in 0..values {
            let at = comptime!(i as usize);
            saved[at] = next.input[at];
            z_grad[at] = next.grad[at];
            // The bits without the sign: under fast-math, a comparison of floats may miss NaN.
            let (re, im) = (z_grad[at].extract(0usize), z_grad[at].extract(1usize));
            bits |= (u32::reinterpret(re) | u32::reinterpret(im)) << 1u32;
        }
        if row_of_block + 1 < blocks.block_length {
            prefetch(&mut next, input, grad, row + 1, blocks.rows, &index, plan, sums_butterflies);
        }
        if bits != 0u32 {
            nonzero[turn as usize] = 1u32;
        }

        // Compute the inputs of every pass: the stages of all passes but the last.
        #[unroll]
        for pass in 0..comptime!(if sums_butterflies { last } else { 0 }) {
            let work = comptime!(stage_input(pass, 1, &plan));
            #[unroll]
            for local in 0..comptime!(plan.pass_stages(pass)) {
                let from = comptime!(if local == 0 { stage_input(pass, 0, &plan) } else { work });
                forward_stage(&mut saved, &own, pass, local, from, work, plan, kind.gated);
            }
            let next_pass = comptime!(stage_input(pass + 1, 0, &plan));
            exchange_values(&mut saved, &mut exchange, &index, pass, comptime!(pass + 1), work, next_pass, plan);
        }

        // Whether the unit's tile has no gradient: its tile at the first pass, and at later ones.
        let first_is_zero = nonzero[(2 * index.first.group + row_of_block % 2) as usize] == 0u32;
        let later_is_zero = nonzero[turn as usize] == 0u32;
        // Reset the next row's flag, which is not set before another barrier.
        if index.later.unit == 0 {
            nonzero[(flag + (row_of_block + 1) % 2) as usize] = 0u32;
        }

        // Take the gradient back through the passes, the last one first.
        #[unroll]
        for back in 0..passes {
            let pass = comptime!(last - back);
            let stages = comptime!(plan.pass_stages(pass));
            // The inputs of the pass's later stages.
            #[unroll]
            for local in 0..comptime!(if sums_butterflies { stages - 1 } else { 0 }) {
                let (from, to) = comptime!((stage_input(pass, local, &plan), stage_input(pass, local + 1, &plan)));
                forward_stage(&mut saved, &own, pass, local, from, to, plan, kind.gated);
            }
            // A gradient of 0 times an input that is not finite would be NaN.
            let is_zero = if comptime!(pass == 0) { first_is_zero } else { later_is_zero };
            if comptime!(!sums_butterflies) || !is_zero {
                #[unroll]
                for local in 0..stages {
                    backward_stage(&mut z_grad, &saved, &mut own, pass, comptime!(stages - 1 - local), plan, kind);
                }
            }
            // Hand the gradient on to the pass before, or write that of the input.
            if comptime!(pass > 0) {
                exchange_values(&mut z_grad, &mut exchange, &index, pass, comptime!(pass - 1), 0u32, 0u32, plan);
            } else if comptime!(kind.of_input) {
                if inside {
                    #[unroll]
                    for i in 0..values {
                        let at = start + input_offset(&index, i, plan) as usize;
                        input_grad.re[at] = z_grad[comptime!(i as usize)].extract(0usize);
                        input_grad.im[at] = z_grad[comptime!(i as usize)].extract(1usize);
                    }
                }
            }
        }
    }

    // Write the block's sums, completed to gradients of twiddles and gates.
    if comptime!(sums_butterflies) {
        if first < blocks.rows {
            let block = index.later.row * comptime!(plan.log2_n * (1 << (plan.log2_n - 1)));
            #[unroll]
            for number in 0..comptime!(plan.unit_butterflies()) {
                let from = butterfly_offset(&index, number, plan);
                let at = (block + from) as usize;
                let sum = comptime!(number as usize);
                let q = own.sums[sum];
                if comptime!(kind.of_twiddles) {
                    sums.twiddles[at] = if comptime!(kind.gated) { scaled(own.gates[sum], q) } else { q };
                }
                if comptime!(kind.of_gates) {
                    sums.gates[at] = plus_dot(own.gate_sums[sum], butterflies.twiddles[from as usize], q);
                }
            }
        }
    }
}

/// Loads a unit's values of row `row` of the input, where it is read, and of the gradient of the output; 0 past the last
/// row.
#[cube]
fn prefetch(
    next: &mut Prefetched,
    input: &ComplexBuffers,
    grad: &ComplexBuffers,
    row: u32,
    rows: u32,
    index: &UnitIndex,
    #[comptime] plan: ButterflyLaunchPlan,
    #[comptime] reads_input: bool,
) {
    let start = row as usize * comptime!(1usize << plan.log2_n);
    let last = comptime!(plan.passes() - 1);
    #[unroll]
    for i in 0..comptime!(1u32 << plan.log2_values) {
        let own = comptime!(i as usize);
        next.input[own] = complex(0.0f32, 0.0f32);
        next.grad[own] = complex(0.0f32, 0.0f32);
        if row < rows {
            if comptime!(reads_input) {
                let at = start + input_offset(index, i, plan) as usize;
                next.input[own] = complex(input.re[at], input.im[at]);
            }
            let at = start + output_offset(index, i, last, plan) as usize;
            next.grad[own] = complex(grad.re[at], grad.im[at]);
        }
    }
}

/// Exchanges values through shared memory: from those of pass `pass`, at `values[from..]`, to those of pass `next`, at
/// `values[to..]`.
#[cube]
fn exchange_values(
    values: &mut Array<Complex>,
    exchange: &mut Shared<[Complex]>,
    index: &UnitIndex,
    #[comptime] pass: u32,
    #[comptime] next: u32,
    #[comptime] from: u32,
    #[comptime] to: u32,
    #[comptime] plan: ButterflyLaunchPlan,
) {
    // Passes take the two buffers in turn, so that one barrier per exchange is enough.
    let base = comptime!(pass % 2 * plan.exchange_len());
    #[unroll]
    for i in 0..comptime!(1u32 << plan.log2_values) {
        exchange[(base + shared_offset(index, i, pass, plan)) as usize] = values[comptime!((from + i) as usize)];
    }
    sync_cube();
    #[unroll]
    for i in 0..comptime!(1u32 << plan.log2_values) {
        values[comptime!((to + i) as usize)] = exchange[(base + shared_offset(index, i, next, plan)) as usize];
    }
}

/// Loads a unit's butterflies, with sums of 0.
#[cube]
fn load_butterflies(
    butterflies: &ButterflyBuffers,
    index: &UnitIndex,
    #[comptime] plan: ButterflyLaunchPlan,
    #[comptime] kind: GradientKind,
) -> UnitButterflies {
    let count = comptime!(plan.unit_butterflies());
    let len = comptime!(count as usize);
    let mut own = UnitButterflies {
        weights: Array::new(len),
        gates: Array::new(len),
        sums: Array::new(len),
        gate_sums: Array::new(len),
    };
    #[unroll]
    for number in 0..count {
        // Both directions multiply by g·w: the product is kept, and w read again at the end of the block.
        let at = butterfly_offset(index, number, plan) as usize;
        let one = comptime!(number as usize);
        if comptime!(kind.gated) {
            own.weights[one] = scaled(butterflies.gates[at], butterflies.twiddles[at]);
            own.gates[one] = butterflies.gates[at];
        } else {
            own.weights[one] = butterflies.twiddles[at];
        }
        own.sums[one] = complex(0.0f32, 0.0f32);
        own.gate_sums[one] = 0.0f32;
    }
    own
}

/// Computes stage `local` of pass `pass`, from `saved[from..]` to `saved[to..]`.
#[cube]
fn forward_stage(
    saved: &mut Array<Complex>,
    own: &UnitButterflies,
    #[comptime] pass: u32,
    #[comptime] local: u32,
    #[comptime] from: u32,
    #[comptime] to: u32,
    #[comptime] plan: ButterflyLaunchPlan,
    #[comptime] gated: bool,
) {
    #[unroll]
    for pair in 0..comptime!(1u32 << (plan.log2_values - 1)) {
        let (one, upper, lower) = comptime!(butterfly_of_stage(pair, pass, local, &plan));
        let (a, b) = (saved[comptime!(from as usize + upper)], saved[comptime!(from as usize + lower)]);
        // a + g·t and b + g·(a − b) − g·t, of which g·t is the weight g·w times b.
        let t = times(own.weights[one], b);
        let rest = if comptime!(gated) { plus_scaled(b, own.gates[one], a - b) } else { a };
        saved[comptime!(to as usize + upper)] = a + t;
        saved[comptime!(to as usize + lower)] = rest - t;
    }
}

/// Takes the gradient back through stage `local` of pass `pass`, and adds it to the sums of the butterflies.
#[cube]
fn backward_stage(
    grad: &mut Array<Complex>,
    saved: &Array<Complex>,
    own: &mut UnitButterflies,
    #[comptime] pass: u32,
    #[comptime] local: u32,
    #[comptime] plan: ButterflyLaunchPlan,
    #[comptime] kind: GradientKind,
) {
    let from = comptime!(stage_input(pass, local, &plan) as usize);
    #[unroll]
    for pair in 0..comptime!(1u32 << (plan.log2_values - 1)) {
        let (one, upper, lower) = comptime!(butterfly_of_stage(pair, pass, local, &plan));
        let (a, b) = (saved[comptime!(from + upper)], saved[comptime!(from + lower)]);
        let (x, y) = (grad[upper], grad[lower]);
        // The sums q and Re(y*·(a − b)).
        let d = x - y;
        if comptime!(kind.of_butterflies()) {
            own.sums[one] = plus_times_conjugate(own.sums[one], d, b);
        }
        // The gradient of a is x + g·y, that of b is (1 − g)·y + d·(g·w)*.
        let mut a_grad = x + y;
        let mut rest = complex(0.0f32, 0.0f32);
        if comptime!(kind.gated) {
            let g = own.gates[one];
            if comptime!(kind.of_gates) {
                own.gate_sums[one] = plus_dot(own.gate_sums[one], y, a - b);
            }
            a_grad = plus_scaled(x, g, y);
            rest = plus_scaled(y, -g, y);
        }
        grad[upper] = a_grad;
        grad[lower] = plus_times_conjugate(rest, d, own.weights[one]);
    }
}

/// Indices of pair `pair` of stage `local` of pass `pass`: the number of its butterfly among the unit's butterflies,
/// and the numbers of its upper and lower value among the unit's values.
fn butterfly_of_stage(pair: u32, pass: u32, local: u32, plan: &ButterflyLaunchPlan) -> (usize, usize, usize) {
    let number = ((pass * plan.log2_values + local) << (plan.log2_values - 1)) + pair;
    let upper = upper_value(number, plan);
    (number as usize, upper as usize, (upper + (1 << local)) as usize)
}

/// Offset in `saved` of the inputs of stage `local` of pass `pass`. The inputs of every pass are kept for the whole
/// row, those of its later stages for one pass.
fn stage_input(pass: u32, local: u32, plan: &ButterflyLaunchPlan) -> u32 {
    (if local == 0 { pass } else { plan.passes() + local - 1 }) << plan.log2_values
}
