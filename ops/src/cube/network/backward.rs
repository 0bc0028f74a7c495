//! A run of stages backward: the stages are computed anew, what each step of them read kept in registers; then the gradient
//! goes back through them. A unit has the same butterflies in every row, so it sums their gradients over the rows of a run
//! by itself, in order.

use cubecl::prelude::*;

use super::place::{
    Complex, Place, after, before, complex, exchanged, group_of, offset_of, origin, pair_of, pair_of_constant, placed,
    target,
};
use super::plan::Pass;

/// The butterflies of a unit, with what it sums of their gradients.
#[derive(CubeType)]
struct Butterflies {
    twiddles: Array<Complex>,
    gates: Array<f32>,
    sum_re: Array<f32>,
    sum_im: Array<f32>,
    sum_gate: Array<f32>,
}

/// The gradient of a pass for `runs` runs of `run` rows: `grad_re` and `grad_im` are the gradients of what it wrote,
/// `into_re` and `into_im` those of what it read (the second is left alone if that is real), and every run has a row of sums.
/// Rows without a gradient give 0: a pass through whole rows finds them itself, others are told by `active`.
#[cube(launch_unchecked)]
pub(super) fn backward(
    in_re: &[f32],
    in_im: &[f32],
    twiddles: &[Complex],
    gates: &[f32],
    active: &[u32],
    grad_re: &[f32],
    grad_im: &[f32],
    into_re: &mut [f32],
    into_im: &mut [f32],
    twiddle_sums: &mut [Complex],
    gate_sums: &mut [f32],
    rows: u32,
    run: u32,
    #[comptime] pass: Pass,
    #[comptime] gated: bool,
    #[comptime] real: bool,
) {
    let place = placed(pass);
    let steps = comptime!(pass.steps());
    let last = comptime!(pass.steps() - 1);
    let values = comptime!(1u32 << pass.values);
    // Two exchanges in turn: units may still read one while others write the next.
    let mut exchange = Shared::<[Complex]>::new_slice(comptime!(2 * pass.exchange_len() as usize));
    // For each tile and for rows in turn, whether a gradient of the row is not 0.
    let mut found = Shared::<[u32]>::new_slice(comptime!(2 * pass.tiles as usize));
    let flag = place.exchange / comptime!(pass.tile_stride()) * 2;
    if comptime!(pass.whole()) {
        if place.t == 0 {
            found[flag as usize] = 0u32;
            found[(flag + 1) as usize] = 0u32;
        }
        sync_cube();
    }
    // What the steps read, then what the later stages of one step do.
    let mut held = Array::<Complex>::new(comptime!(((pass.steps() + pass.values) << pass.values) as usize));
    let mut grad = Array::<Complex>::new(comptime!(values as usize));
    let mut butterflies = own(twiddles, gates, &place, pass, gated);
    let first = place.row * run;

    for step_of_run in 0..run {
        let row = first + step_of_run;
        let inside = row < rows;
        let start = row as usize * comptime!(1usize << pass.length);
        let turn = flag + step_of_run % 2;
        let mut bits = 0u32;
        #[unroll]
        for i in 0..values {
            let own = comptime!(i as usize);
            held[own] = complex(0.0f32, 0.0f32);
            grad[own] = complex(0.0f32, 0.0f32);
            if inside {
                let at = start + before(&place, i, pass) as usize;
                held[own] = complex(in_re[at], if comptime!(real) { 0.0f32.runtime() } else { in_im[at] });
                let at = start + after(&place, i, last, pass) as usize;
                grad[own] = complex(grad_re[at], grad_im[at]);
                // Bits without the sign: a compiler may take floats for numbers.
                bits |= (u32::reinterpret(grad_re[at]) | u32::reinterpret(grad_im[at])) << 1u32;
            }
        }
        if comptime!(pass.whole()) {
            if bits != 0u32 {
                found[turn as usize] = 1u32;
            }
        }

        #[unroll]
        for step in 0..last {
            let work = comptime!(level(step, 1, &pass));
            #[unroll]
            for local in 0..comptime!(pass.step_stages(step)) {
                let from = comptime!(if local == 0 { level(step, 0, &pass) } else { work });
                join(&mut held, &butterflies, step, local, from, work, pass, gated);
            }
            let base = comptime!(step % 2 * pass.exchange_len());
            #[unroll]
            for i in 0..values {
                exchange[(base + exchanged(&place, i, step, pass)) as usize] = held[comptime!((work + i) as usize)];
            }
            sync_cube();
            #[unroll]
            for i in 0..values {
                let next = comptime!(level(step + 1, 0, &pass) + i);
                held[comptime!(next as usize)] =
                    exchange[(base + exchanged(&place, i, comptime!(step + 1), pass)) as usize];
            }
        }

        let mut quiet = true;
        if comptime!(pass.whole()) {
            quiet = found[turn as usize] == 0u32;
            // The next row's, which nobody asks for before another barrier.
            if place.t == 0 {
                found[(flag + (step_of_run + 1) % 2) as usize] = 0u32;
            }
        } else if inside {
            quiet = active[row as usize] == 0u32;
        }
        #[unroll]
        for back in 0..steps {
            let step = comptime!(last - back);
            let stages = comptime!(pass.step_stages(step));
            #[unroll]
            for local in 0..comptime!(pass.step_stages(step) - 1) {
                let (from, to) = comptime!((level(step, local, &pass), level(step, local + 1, &pass)));
                join(&mut held, &butterflies, step, local, from, to, pass, gated);
            }
            if !quiet {
                #[unroll]
                for local in 0..stages {
                    part(&mut grad, &held, &mut butterflies, step, comptime!(stages - 1 - local), pass, gated);
                }
            }
            if comptime!(step > 0) {
                let base = comptime!(step % 2 * pass.exchange_len());
                #[unroll]
                for i in 0..values {
                    exchange[(base + exchanged(&place, i, step, pass)) as usize] = grad[comptime!(i as usize)];
                }
                sync_cube();
                #[unroll]
                for i in 0..values {
                    grad[comptime!(i as usize)] =
                        exchange[(base + exchanged(&place, i, comptime!(step - 1), pass)) as usize];
                }
            } else if inside {
                #[unroll]
                for i in 0..values {
                    let at = start + before(&place, i, pass) as usize;
                    into_re[at] = grad[comptime!(i as usize)].extract(0usize);
                    if comptime!(!real) {
                        into_im[at] = grad[comptime!(i as usize)].extract(1usize);
                    }
                }
            }
        }
    }

    if first < rows {
        let own = place.row * comptime!(pass.length * (1 << (pass.length - 1)));
        #[unroll]
        for step in 0..steps {
            #[unroll]
            for local in 0..comptime!(pass.step_stages(step)) {
                #[unroll]
                for i in 0..values {
                    if comptime!(upper(i, local)) {
                        let at = (own + pair_at(&place, i, step, local, pass)) as usize;
                        let sum = comptime!(number(i, step, local, &pass));
                        twiddle_sums[at] = complex(butterflies.sum_re[sum], butterflies.sum_im[sum]);
                        if comptime!(gated) {
                            gate_sums[at] = butterflies.sum_gate[sum];
                        }
                    }
                }
            }
        }
    }
}

/// A unit's butterflies, nothing summed yet.
#[cube]
fn own(
    twiddles: &[Complex],
    gates: &[f32],
    place: &Place,
    #[comptime] pass: Pass,
    #[comptime] gated: bool,
) -> Butterflies {
    let count = comptime!((pass.stages << (pass.values - 1)) as usize);
    let mut butterflies = Butterflies {
        twiddles: Array::new(count),
        gates: Array::new(count),
        sum_re: Array::new(count),
        sum_im: Array::new(count),
        sum_gate: Array::new(count),
    };
    #[unroll]
    for step in 0..comptime!(pass.steps()) {
        #[unroll]
        for local in 0..comptime!(pass.step_stages(step)) {
            #[unroll]
            for i in 0..comptime!(1u32 << pass.values) {
                if comptime!(upper(i, local)) {
                    let at = pair_at(place, i, step, local, pass) as usize;
                    let one = comptime!(number(i, step, local, &pass));
                    butterflies.twiddles[one] = twiddles[at];
                    butterflies.gates[one] = if comptime!(gated) { gates[at] } else { 1.0f32.runtime() };
                    butterflies.sum_re[one] = 0.0f32;
                    butterflies.sum_im[one] = 0.0f32;
                    butterflies.sum_gate[one] = 0.0f32;
                }
            }
        }
    }
    butterflies
}

/// Stage `local` of step `step`, of the values held from `from` on, to those from `to` on.
#[cube]
fn join(
    held: &mut Array<Complex>,
    butterflies: &Butterflies,
    #[comptime] step: u32,
    #[comptime] local: u32,
    #[comptime] from: u32,
    #[comptime] to: u32,
    #[comptime] pass: Pass,
    #[comptime] gated: bool,
) {
    #[unroll]
    for i in 0..comptime!(1u32 << pass.values) {
        if comptime!(upper(i, local)) {
            let one = comptime!(number(i, step, local, &pass));
            let lower = comptime!(i + (1 << local));
            let a = held[comptime!((from + i) as usize)];
            let b = held[comptime!((from + lower) as usize)];
            let t = times(butterflies.twiddles[one], b);
            let mut sum = a + t;
            let mut difference = a - t;
            if comptime!(gated) {
                let g = butterflies.gates[one];
                sum = mixed(g, sum, a);
                difference = mixed(g, difference, b);
            }
            held[comptime!((to + i) as usize)] = sum;
            held[comptime!((to + lower) as usize)] = difference;
        }
    }
}

/// The gradient back through stage `local` of step `step`, and into the sums.
#[cube]
fn part(
    grad: &mut Array<Complex>,
    held: &Array<Complex>,
    butterflies: &mut Butterflies,
    #[comptime] step: u32,
    #[comptime] local: u32,
    #[comptime] pass: Pass,
    #[comptime] gated: bool,
) {
    #[unroll]
    for i in 0..comptime!(1u32 << pass.values) {
        if comptime!(upper(i, local)) {
            let one = comptime!(number(i, step, local, &pass));
            let (from, lower) = comptime!((level(step, local, &pass), i + (1 << local)));
            let a = held[comptime!((from + i) as usize)];
            let b = held[comptime!((from + lower) as usize)];
            let grad_a = grad[comptime!(i as usize)];
            let grad_b = grad[comptime!(lower as usize)];
            let w = butterflies.twiddles[one];
            let mut grad_t = grad_a - grad_b;
            let mut into_a = grad_a + grad_b;
            let mut rest = complex(0.0f32, 0.0f32);
            if comptime!(gated) {
                let g = butterflies.gates[one];
                let t = times(w, b);
                // The gate's own: what the butterfly is more than its input.
                butterflies.sum_gate[one] += dot(grad_a, t) + dot(grad_b, a - t - b);
                grad_t = scaled(g, grad_t);
                into_a = grad_a + scaled(g, grad_b);
                rest = grad_b - scaled(g, grad_b);
            }
            let of_w = times_conjugate(grad_t, b);
            butterflies.sum_re[one] += of_w.extract(0usize);
            butterflies.sum_im[one] += of_w.extract(1usize);
            grad[comptime!(i as usize)] = into_a;
            grad[comptime!(lower as usize)] = rest + times_conjugate(grad_t, w);
        }
    }
}

/// Whether value `i` is the upper one of a butterfly of stage `local` of a step.
fn upper(i: u32, local: u32) -> bool {
    i >> local & 1 == 0
}

/// The place among a unit's butterflies of the one whose upper value is `i`.
fn number(i: u32, step: u32, local: u32, pass: &Pass) -> usize {
    (((step * pass.values + local) << (pass.values - 1)) + pair_of_constant(i, local)) as usize
}

/// Where the values stand that stage `local` of step `step` reads. The first stages of all steps have a place of their own,
/// what the others read is kept for one step.
fn level(step: u32, local: u32, pass: &Pass) -> u32 {
    (if local == 0 { step } else { pass.steps() + local - 1 }) << pass.values
}

/// Where the twiddle and the gate of a butterfly stand; `i` is its upper value.
#[cube]
fn pair_at(
    place: &Place,
    #[comptime] i: u32,
    #[comptime] step: u32,
    #[comptime] local: u32,
    #[comptime] pass: Pass,
) -> u32 {
    let stage = comptime!(pass.first + step * pass.values + local);
    let start = target(place, origin(place, comptime!(group_of(i, step, &pass)), step, pass), pass);
    let offset = comptime!(offset_of(i, step, &pass) << pass.first);
    pair_of(start, stage) + comptime!(pair_of_constant(offset, stage) + (stage << (pass.length - 1)))
}

/// x·y.
#[cube]
fn times(x: Complex, y: Complex) -> Complex {
    let (a, b, c, d) = (x.extract(0usize), x.extract(1usize), y.extract(0usize), y.extract(1usize));
    complex(fma(a, c, -(b * d)), fma(a, d, b * c))
}

/// x times the conjugate of y.
#[cube]
fn times_conjugate(x: Complex, y: Complex) -> Complex {
    let (a, b, c, d) = (x.extract(0usize), x.extract(1usize), y.extract(0usize), y.extract(1usize));
    complex(fma(a, c, b * d), fma(b, c, -(a * d)))
}

/// g·x.
#[cube]
fn scaled(g: f32, x: Complex) -> Complex {
    complex(g * x.extract(0usize), g * x.extract(1usize))
}

/// g·x + (1 − g)·y.
#[cube]
fn mixed(g: f32, x: Complex, y: Complex) -> Complex {
    scaled(g, x) + (y - scaled(g, y))
}

/// Sum of the products of the parts.
#[cube]
fn dot(x: Complex, y: Complex) -> f32 {
    fma(x.extract(0usize), y.extract(0usize), x.extract(1usize) * y.extract(1usize))
}
