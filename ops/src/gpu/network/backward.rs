//! A run of stages backward: the stages are computed anew, what each step of them read kept in registers; then the gradient
//! goes back through them. A unit has the same butterflies in every row, so it sums their gradients over the rows of a run
//! by itself, in order.

use cubecl::prelude::*;

use super::place::{
    Complex, Places, after, before, butterfly_at, butterfly_count, complex, exchanged, places, upper_of,
};
use super::plan::Pass;

/// The butterflies of a unit, with what it sums over rows.
///
/// A butterfly with twiddle w and gate g takes a and b to a + g·t and b + g·(a − b) − g·t, where t = w·b. For gradients x and y
/// of these, d = x − y, and q, the sum of d·b*: w has the gradient g·q, and g that of Re(w*·q) and the sum of Re(y*·(a − b)).
#[derive(CubeType)]
struct Butterflies {
    /// g·w.
    weights: Array<Complex>,
    gates: Array<f32>,
    /// q.
    sums: Array<Complex>,
    /// The sums of Re(y*·(a − b)).
    sum_gate: Array<f32>,
}

/// The gradient of a pass for `runs` runs of `run` rows: `grad_re` and `grad_im` are the gradients of what it wrote,
/// `into_re` and `into_im` those of what it read (the second is left alone if that is real), and every run has a row of sums.
/// Tiles without a gradient give 0, also where what they read is not finite.
#[cube(launch_unchecked)]
pub(super) fn backward(
    in_re: &[f32],
    in_im: &[f32],
    twiddles: &[Complex],
    gates: &[f32],
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
    let places = places(UNIT_POS, CUBE_POS as u32, pass);
    let steps = comptime!(pass.steps());
    let last = comptime!(pass.steps() - 1);
    let values = comptime!(1u32 << pass.values);
    // Two exchanges in turn: units may still read one while others write the next.
    let mut exchange = Shared::<[Complex]>::new_slice(comptime!(2 * pass.exchange_len() as usize));
    // For each tile and for rows in turn, whether a gradient of the tile is not 0.
    let mut found = Shared::<[u32]>::new_slice(comptime!(2 * pass.tiles as usize));
    let flag = 2 * places.later.group;
    if places.later.t == 0 {
        found[flag as usize] = 0u32;
        found[(flag + 1) as usize] = 0u32;
    }
    sync_cube();
    // What the steps read, then what the later stages of one step do.
    let mut held = Array::<Complex>::new(comptime!(((pass.steps() + pass.values) << pass.values) as usize));
    let mut grad = Array::<Complex>::new(comptime!(values as usize));
    let mut butterflies = own(twiddles, gates, &places, pass, gated);
    let first = places.later.row * run;
    // Each row is asked for before the one before it is computed.
    let mut next_in = Array::<Complex>::new(comptime!(values as usize));
    let mut next_grad = Array::<Complex>::new(comptime!(values as usize));
    fetch(&mut next_in, &mut next_grad, in_re, in_im, grad_re, grad_im, first, rows, &places, pass, real);
    for step_of_run in 0..run {
        let row = first + step_of_run;
        let inside = row < rows;
        let start = row as usize * comptime!(1usize << pass.length);
        let turn = flag + step_of_run % 2;
        let mut bits = 0u32;
        #[unroll]
        for i in 0..values {
            let own = comptime!(i as usize);
            held[own] = next_in[own];
            grad[own] = next_grad[own];
            // Bits without the sign: a compiler may take floats for numbers.
            let (re, im) = (grad[own].extract(0usize), grad[own].extract(1usize));
            bits |= (u32::reinterpret(re) | u32::reinterpret(im)) << 1u32;
        }
        if step_of_run + 1 < run {
            fetch(&mut next_in, &mut next_grad, in_re, in_im, grad_re, grad_im, row + 1, rows, &places, pass, real);
        }
        if bits != 0u32 {
            found[turn as usize] = 1u32;
        }

        #[unroll]
        for step in 0..last {
            let work = comptime!(level(step, 1, &pass));
            #[unroll]
            for local in 0..comptime!(pass.step_stages(step)) {
                let from = comptime!(if local == 0 { level(step, 0, &pass) } else { work });
                join(&mut held, &butterflies, step, local, from, work, pass, gated);
            }
            let next = comptime!(level(step + 1, 0, &pass));
            change_places(&mut held, &mut exchange, &places, step, comptime!(step + 1), work, next, pass);
        }

        // Whether the unit's tile has no gradient: the one of its first step, and of later ones.
        let quiet_first = found[(2 * places.first.group + step_of_run % 2) as usize] == 0u32;
        let quiet_later = found[turn as usize] == 0u32;
        // The next row's, which nobody asks for before another barrier.
        if places.later.t == 0 {
            found[(flag + (step_of_run + 1) % 2) as usize] = 0u32;
        }
        #[unroll]
        for back in 0..steps {
            let step = comptime!(last - back);
            let stages = comptime!(pass.step_stages(step));
            #[unroll]
            for local in 0..comptime!(stages - 1) {
                let (from, to) = comptime!((level(step, local, &pass), level(step, local + 1, &pass)));
                join(&mut held, &butterflies, step, local, from, to, pass, gated);
            }
            let quiet = if comptime!(step == 0) { quiet_first } else { quiet_later };
            if !quiet {
                #[unroll]
                for local in 0..stages {
                    part(&mut grad, &held, &mut butterflies, step, comptime!(stages - 1 - local), pass, gated);
                }
            }
            if comptime!(step > 0) {
                change_places(&mut grad, &mut exchange, &places, step, comptime!(step - 1), 0u32, 0u32, pass);
            } else if inside {
                #[unroll]
                for i in 0..values {
                    let at = start + before(&places, i, pass) as usize;
                    into_re[at] = grad[comptime!(i as usize)].extract(0usize);
                    if comptime!(!real) {
                        into_im[at] = grad[comptime!(i as usize)].extract(1usize);
                    }
                }
            }
        }
    }

    if first < rows {
        let own = places.later.row * comptime!(pass.length * (1 << (pass.length - 1)));
        #[unroll]
        for number in 0..comptime!(butterfly_count(&pass)) {
            let at = (own + butterfly_at(&places, number, pass)) as usize;
            let sum = comptime!(number as usize);
            let q = butterflies.sums[sum];
            if comptime!(gated) {
                let w = twiddles[butterfly_at(&places, number, pass) as usize];
                twiddle_sums[at] = scaled(butterflies.gates[sum], q);
                gate_sums[at] = plus_dot(butterflies.sum_gate[sum], w, q);
            } else {
                twiddle_sums[at] = q;
            }
        }
    }
}

/// Loads what a unit reads of row `row`, and the gradient of what it writes; 0 past the last row.
#[cube]
fn fetch(
    next_in: &mut Array<Complex>,
    next_grad: &mut Array<Complex>,
    in_re: &[f32],
    in_im: &[f32],
    grad_re: &[f32],
    grad_im: &[f32],
    row: u32,
    rows: u32,
    places: &Places,
    #[comptime] pass: Pass,
    #[comptime] real: bool,
) {
    let start = row as usize * comptime!(1usize << pass.length);
    let last = comptime!(pass.steps() - 1);
    #[unroll]
    for i in 0..comptime!(1u32 << pass.values) {
        let own = comptime!(i as usize);
        next_in[own] = complex(0.0f32, 0.0f32);
        next_grad[own] = complex(0.0f32, 0.0f32);
        if row < rows {
            let at = start + before(places, i, pass) as usize;
            next_in[own] = complex(in_re[at], if comptime!(real) { 0.0f32.runtime() } else { in_im[at] });
            let at = start + after(places, i, last, pass) as usize;
            next_grad[own] = complex(grad_re[at], grad_im[at]);
        }
    }
}

/// Changes the places of values held from `from` on, from those of step `step` to those of step `next`, where they are held from
/// `to` on.
#[cube]
fn change_places(
    held: &mut Array<Complex>,
    exchange: &mut Shared<[Complex]>,
    places: &Places,
    #[comptime] step: u32,
    #[comptime] next: u32,
    #[comptime] from: u32,
    #[comptime] to: u32,
    #[comptime] pass: Pass,
) {
    let base = comptime!(step % 2 * pass.exchange_len());
    #[unroll]
    for i in 0..comptime!(1u32 << pass.values) {
        exchange[(base + exchanged(places, i, step, pass)) as usize] = held[comptime!((from + i) as usize)];
    }
    sync_cube();
    #[unroll]
    for i in 0..comptime!(1u32 << pass.values) {
        held[comptime!((to + i) as usize)] = exchange[(base + exchanged(places, i, next, pass)) as usize];
    }
}

/// A unit's butterflies, nothing summed yet.
#[cube]
fn own(
    twiddles: &[Complex],
    gates: &[f32],
    places: &Places,
    #[comptime] pass: Pass,
    #[comptime] gated: bool,
) -> Butterflies {
    let count = comptime!(butterfly_count(&pass));
    let len = comptime!(count as usize);
    let mut butterflies = Butterflies {
        weights: Array::new(len),
        gates: Array::new(len),
        sums: Array::new(len),
        sum_gate: Array::new(len),
    };
    #[unroll]
    for number in 0..count {
        let at = butterfly_at(places, number, pass) as usize;
        let one = comptime!(number as usize);
        if comptime!(gated) {
            butterflies.weights[one] = scaled(gates[at], twiddles[at]);
            butterflies.gates[one] = gates[at];
        } else {
            butterflies.weights[one] = twiddles[at];
        }
        butterflies.sums[one] = complex(0.0f32, 0.0f32);
        butterflies.sum_gate[one] = 0.0f32;
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
    for pair in 0..comptime!(1u32 << (pass.values - 1)) {
        let (one, i, lower) = comptime!(pair_of_step(pair, step, local, &pass));
        let (a, b) = (held[comptime!(from as usize + i)], held[comptime!(from as usize + lower)]);
        let t = times(butterflies.weights[one], b);
        let rest = if comptime!(gated) { plus_scaled(b, butterflies.gates[one], a - b) } else { a };
        held[comptime!(to as usize + i)] = a + t;
        held[comptime!(to as usize + lower)] = rest - t;
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
    let from = comptime!(level(step, local, &pass) as usize);
    #[unroll]
    for pair in 0..comptime!(1u32 << (pass.values - 1)) {
        let (one, i, lower) = comptime!(pair_of_step(pair, step, local, &pass));
        let (a, b) = (held[comptime!(from + i)], held[comptime!(from + lower)]);
        let (x, y) = (grad[i], grad[lower]);
        let d = x - y;
        butterflies.sums[one] = plus_times_conjugate(butterflies.sums[one], d, b);
        let mut into_a = x + y;
        let mut rest = complex(0.0f32, 0.0f32);
        if comptime!(gated) {
            let g = butterflies.gates[one];
            butterflies.sum_gate[one] = plus_dot(butterflies.sum_gate[one], y, a - b);
            into_a = plus_scaled(x, g, y);
            rest = plus_scaled(y, -g, y);
        }
        grad[i] = into_a;
        grad[lower] = plus_times_conjugate(rest, d, butterflies.weights[one]);
    }
}

/// Of pair `pair` of stage `local` of step `step`: the place among the unit's butterflies, and those of the upper and the lower
/// value among the unit's.
fn pair_of_step(pair: u32, step: u32, local: u32, pass: &Pass) -> (usize, usize, usize) {
    let number = ((step * pass.values + local) << (pass.values - 1)) + pair;
    let upper = upper_of(number, pass);
    (number as usize, upper as usize, (upper + (1 << local)) as usize)
}

/// Where the values stand that stage `local` of step `step` reads. The first stages of all steps have a place of their own,
/// what the others read is kept for one step.
fn level(step: u32, local: u32, pass: &Pass) -> u32 {
    (if local == 0 { step } else { pass.steps() + local - 1 }) << pass.values
}

/// x·y.
#[cube]
fn times(x: Complex, y: Complex) -> Complex {
    let (a, b, c, d) = (x.extract(0usize), x.extract(1usize), y.extract(0usize), y.extract(1usize));
    complex(fma(a, c, -(b * d)), fma(a, d, b * c))
}

/// g·x.
#[cube]
fn scaled(g: f32, x: Complex) -> Complex {
    complex(g * x.extract(0usize), g * x.extract(1usize))
}

/// z + g·x.
#[cube]
fn plus_scaled(z: Complex, g: f32, x: Complex) -> Complex {
    complex(fma(g, x.extract(0usize), z.extract(0usize)), fma(g, x.extract(1usize), z.extract(1usize)))
}

/// z + x times the conjugate of y.
#[cube]
fn plus_times_conjugate(z: Complex, x: Complex, y: Complex) -> Complex {
    let (a, b, c, d) = (x.extract(0usize), x.extract(1usize), y.extract(0usize), y.extract(1usize));
    complex(fma(a, c, fma(b, d, z.extract(0usize))), fma(b, c, fma(-a, d, z.extract(1usize))))
}

/// z + the sum of the products of the parts.
#[cube]
fn plus_dot(z: f32, x: Complex, y: Complex) -> f32 {
    fma(x.extract(0usize), y.extract(0usize), fma(x.extract(1usize), y.extract(1usize), z))
}
