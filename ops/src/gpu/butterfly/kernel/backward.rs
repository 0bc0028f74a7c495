//! A pass backward: the gradients of its input and of its butterflies.
//!
//! Per row, the stages are first computed again, and the inputs of every step kept in registers; then the gradient goes
//! back through the stages. A unit has the same butterflies in every row, so it sums their gradients over the rows of a
//! run by itself, in order, and writes one partial sum per run.

use cubecl::prelude::*;

use super::Kind;
use super::index::{UnitIndex, butterfly_offset, input_offset, output_offset, shared_offset, unit_index, upper_value};
use crate::gpu::butterfly::plan::Pass;
use crate::gpu::complex::{
    Complex, ComplexBuffers, complex, plus_dot, plus_scaled, plus_times_conjugate, scaled, times,
};

/// The butterflies of a transform, or partial sums of their gradients per run of rows.
#[derive(CubeType, CubeLaunch)]
pub struct ButterflyBuffers {
    /// `[log2 n, n/2]`.
    pub twiddles: Box<[Complex]>,
    /// `[log2 n, n/2]`; not accessed without gates.
    pub gates: Box<[f32]>,
}

/// Rows in runs: a unit works on one run, row by row.
#[derive(CubeType, CubeLaunch)]
pub struct RowRuns {
    /// Rows of the launch.
    pub rows: u32,
    /// Rows of a run; the last one may have fewer.
    pub run_length: u32,
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

/// Writes the gradient of the pass's input, and per run of rows the sums for its butterflies, from `grad`, the gradient
/// of its output. The imaginary part of the input's gradient is not written if the input is real.
///
/// A tile whose gradient is 0 gives zeros, also where its input is not finite.
#[cube(launch, launch_unchecked)]
pub fn backward(
    input: &ComplexBuffers,
    butterflies: &ButterflyBuffers,
    grad: &ComplexBuffers,
    input_grad: &mut ComplexBuffers,
    sums: &mut ButterflyBuffers,
    runs: RowRuns,
    #[comptime] pass: Pass,
    #[comptime] kind: Kind,
) {
    let index = unit_index(UNIT_POS, CUBE_POS as u32, pass);
    let steps = comptime!(pass.steps());
    let last = comptime!(pass.steps() - 1);
    let values = comptime!(1u32 << pass.log2_values);
    // Two exchange buffers in turn: units may still read one while others write the next.
    let mut exchange = Shared::<[Complex]>::new_slice(comptime!(2 * pass.exchange_len() as usize));
    // Per tile, for even and odd rows in turn, whether the tile has a gradient other than 0.
    let mut nonzero = Shared::<[u32]>::new_slice(comptime!(2 * pass.tiles as usize));
    let flag = 2 * index.later.group;
    if index.later.unit == 0 {
        nonzero[flag as usize] = 0u32;
        nonzero[(flag + 1) as usize] = 0u32;
    }
    sync_cube();
    // The inputs of every step, then the inputs of the later stages of one step.
    let mut saved = Array::<Complex>::new(comptime!(((pass.steps() + pass.log2_values) << pass.log2_values) as usize));
    let mut z_grad = Array::<Complex>::new(comptime!(values as usize));
    let mut own = load_butterflies(butterflies, &index, pass, kind);
    let first = index.later.row * runs.run_length;
    let mut next =
        Prefetched { input: Array::new(comptime!(values as usize)), grad: Array::new(comptime!(values as usize)) };
    prefetch(&mut next, input, grad, first, runs.rows, &index, pass, kind);
    for row_of_run in 0..runs.run_length {
        let row = first + row_of_run;
        let inside = row < runs.rows;
        let start = row as usize * comptime!(1usize << pass.log2_n);
        let turn = flag + row_of_run % 2;

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
        if row_of_run + 1 < runs.run_length {
            prefetch(&mut next, input, grad, row + 1, runs.rows, &index, pass, kind);
        }
        if bits != 0u32 {
            nonzero[turn as usize] = 1u32;
        }

        // Compute the inputs of every step: the stages of all steps but the last.
        #[unroll]
        for step in 0..last {
            let work = comptime!(stage_input(step, 1, &pass));
            #[unroll]
            for local in 0..comptime!(pass.step_stages(step)) {
                let from = comptime!(if local == 0 { stage_input(step, 0, &pass) } else { work });
                forward_stage(&mut saved, &own, step, local, from, work, pass, kind.gated);
            }
            let next_step = comptime!(stage_input(step + 1, 0, &pass));
            exchange_values(&mut saved, &mut exchange, &index, step, comptime!(step + 1), work, next_step, pass);
        }

        // Whether the unit's tile has no gradient: its tile at the first step, and at later ones.
        let first_is_zero = nonzero[(2 * index.first.group + row_of_run % 2) as usize] == 0u32;
        let later_is_zero = nonzero[turn as usize] == 0u32;
        // Reset the next row's flag, which is not set before another barrier.
        if index.later.unit == 0 {
            nonzero[(flag + (row_of_run + 1) % 2) as usize] = 0u32;
        }

        // Take the gradient back through the steps, the last one first.
        #[unroll]
        for back in 0..steps {
            let step = comptime!(last - back);
            let stages = comptime!(pass.step_stages(step));
            // The inputs of the step's later stages.
            #[unroll]
            for local in 0..comptime!(stages - 1) {
                let (from, to) = comptime!((stage_input(step, local, &pass), stage_input(step, local + 1, &pass)));
                forward_stage(&mut saved, &own, step, local, from, to, pass, kind.gated);
            }
            // A gradient of 0 times an input that is not finite would be NaN.
            let is_zero = if comptime!(step == 0) { first_is_zero } else { later_is_zero };
            if !is_zero {
                #[unroll]
                for local in 0..stages {
                    backward_stage(
                        &mut z_grad,
                        &saved,
                        &mut own,
                        step,
                        comptime!(stages - 1 - local),
                        pass,
                        kind.gated,
                    );
                }
            }
            if comptime!(step > 0) {
                exchange_values(&mut z_grad, &mut exchange, &index, step, comptime!(step - 1), 0u32, 0u32, pass);
            } else if inside {
                #[unroll]
                for i in 0..values {
                    let at = start + input_offset(&index, i, pass) as usize;
                    input_grad.re[at] = z_grad[comptime!(i as usize)].extract(0usize);
                    if comptime!(!kind.real) {
                        input_grad.im[at] = z_grad[comptime!(i as usize)].extract(1usize);
                    }
                }
            }
        }
    }

    // Write the run's sums, completed to gradients of twiddles and gates.
    if first < runs.rows {
        let run = index.later.row * comptime!(pass.log2_n * (1 << (pass.log2_n - 1)));
        #[unroll]
        for number in 0..comptime!(pass.unit_butterflies()) {
            let at = (run + butterfly_offset(&index, number, pass)) as usize;
            let sum = comptime!(number as usize);
            let q = own.sums[sum];
            if comptime!(kind.gated) {
                let w = butterflies.twiddles[butterfly_offset(&index, number, pass) as usize];
                sums.twiddles[at] = scaled(own.gates[sum], q);
                sums.gates[at] = plus_dot(own.gate_sums[sum], w, q);
            } else {
                sums.twiddles[at] = q;
            }
        }
    }
}

/// Loads a unit's values of row `row` of the input, and of the gradient of the output; 0 past the last row.
#[cube]
fn prefetch(
    next: &mut Prefetched,
    input: &ComplexBuffers,
    grad: &ComplexBuffers,
    row: u32,
    rows: u32,
    index: &UnitIndex,
    #[comptime] pass: Pass,
    #[comptime] kind: Kind,
) {
    let start = row as usize * comptime!(1usize << pass.log2_n);
    let last = comptime!(pass.steps() - 1);
    #[unroll]
    for i in 0..comptime!(1u32 << pass.log2_values) {
        let own = comptime!(i as usize);
        next.input[own] = complex(0.0f32, 0.0f32);
        next.grad[own] = complex(0.0f32, 0.0f32);
        if row < rows {
            let at = start + input_offset(index, i, pass) as usize;
            next.input[own] = complex(input.re[at], if comptime!(kind.real) { 0.0f32.runtime() } else { input.im[at] });
            let at = start + output_offset(index, i, last, pass) as usize;
            next.grad[own] = complex(grad.re[at], grad.im[at]);
        }
    }
}

/// Exchanges values through shared memory: from those of step `step`, at `values[from..]`, to those of step `next`, at
/// `values[to..]`.
#[cube]
fn exchange_values(
    values: &mut Array<Complex>,
    exchange: &mut Shared<[Complex]>,
    index: &UnitIndex,
    #[comptime] step: u32,
    #[comptime] next: u32,
    #[comptime] from: u32,
    #[comptime] to: u32,
    #[comptime] pass: Pass,
) {
    let base = comptime!(step % 2 * pass.exchange_len());
    #[unroll]
    for i in 0..comptime!(1u32 << pass.log2_values) {
        exchange[(base + shared_offset(index, i, step, pass)) as usize] = values[comptime!((from + i) as usize)];
    }
    sync_cube();
    #[unroll]
    for i in 0..comptime!(1u32 << pass.log2_values) {
        values[comptime!((to + i) as usize)] = exchange[(base + shared_offset(index, i, next, pass)) as usize];
    }
}

/// Loads a unit's butterflies, with sums of 0.
#[cube]
fn load_butterflies(
    butterflies: &ButterflyBuffers,
    index: &UnitIndex,
    #[comptime] pass: Pass,
    #[comptime] kind: Kind,
) -> UnitButterflies {
    let count = comptime!(pass.unit_butterflies());
    let len = comptime!(count as usize);
    let mut own = UnitButterflies {
        weights: Array::new(len),
        gates: Array::new(len),
        sums: Array::new(len),
        gate_sums: Array::new(len),
    };
    #[unroll]
    for number in 0..count {
        let at = butterfly_offset(index, number, pass) as usize;
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

/// Computes stage `local` of step `step`, from `saved[from..]` to `saved[to..]`.
#[cube]
fn forward_stage(
    saved: &mut Array<Complex>,
    own: &UnitButterflies,
    #[comptime] step: u32,
    #[comptime] local: u32,
    #[comptime] from: u32,
    #[comptime] to: u32,
    #[comptime] pass: Pass,
    #[comptime] gated: bool,
) {
    #[unroll]
    for pair in 0..comptime!(1u32 << (pass.log2_values - 1)) {
        let (one, upper, lower) = comptime!(butterfly_of_stage(pair, step, local, &pass));
        let (a, b) = (saved[comptime!(from as usize + upper)], saved[comptime!(from as usize + lower)]);
        // a + g·t and b + g·(a − b) − g·t, of which g·t is the weight g·w times b.
        let t = times(own.weights[one], b);
        let rest = if comptime!(gated) { plus_scaled(b, own.gates[one], a - b) } else { a };
        saved[comptime!(to as usize + upper)] = a + t;
        saved[comptime!(to as usize + lower)] = rest - t;
    }
}

/// Takes the gradient back through stage `local` of step `step`, and adds it to the sums of the butterflies.
#[cube]
fn backward_stage(
    grad: &mut Array<Complex>,
    saved: &Array<Complex>,
    own: &mut UnitButterflies,
    #[comptime] step: u32,
    #[comptime] local: u32,
    #[comptime] pass: Pass,
    #[comptime] gated: bool,
) {
    let from = comptime!(stage_input(step, local, &pass) as usize);
    #[unroll]
    for pair in 0..comptime!(1u32 << (pass.log2_values - 1)) {
        let (one, upper, lower) = comptime!(butterfly_of_stage(pair, step, local, &pass));
        let (a, b) = (saved[comptime!(from + upper)], saved[comptime!(from + lower)]);
        let (x, y) = (grad[upper], grad[lower]);
        // The sums q and Re(y*·(a − b)).
        let d = x - y;
        own.sums[one] = plus_times_conjugate(own.sums[one], d, b);
        // The gradient of a is x + g·y, that of b is (1 − g)·y + d·(g·w)*.
        let mut a_grad = x + y;
        let mut rest = complex(0.0f32, 0.0f32);
        if comptime!(gated) {
            let g = own.gates[one];
            own.gate_sums[one] = plus_dot(own.gate_sums[one], y, a - b);
            a_grad = plus_scaled(x, g, y);
            rest = plus_scaled(y, -g, y);
        }
        grad[upper] = a_grad;
        grad[lower] = plus_times_conjugate(rest, d, own.weights[one]);
    }
}

/// Of pair `pair` of stage `local` of step `step`: its number among the unit's butterflies, and the numbers of its
/// upper and lower value among the unit's values.
fn butterfly_of_stage(pair: u32, step: u32, local: u32, pass: &Pass) -> (usize, usize, usize) {
    let number = ((step * pass.log2_values + local) << (pass.log2_values - 1)) + pair;
    let upper = upper_value(number, pass);
    (number as usize, upper as usize, (upper + (1 << local)) as usize)
}

/// Offset in `saved` of the inputs of stage `local` of step `step`. The inputs of every step are kept for the whole
/// row, those of its later stages for one step.
fn stage_input(step: u32, local: u32, pass: &Pass) -> u32 {
    (if local == 0 { step } else { pass.steps() + local - 1 }) << pass.log2_values
}
