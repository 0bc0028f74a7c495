//! A run of stages backward: the stages are computed anew, what each of them read kept in registers, one butterfly a unit;
//! then the gradient goes back through them. A unit has the same butterflies in every row, so it sums their gradients over
//! the rows of a run by itself, in order.

use cubecl::prelude::*;

use super::place::{Complex, Place, complex, padded, pair_of, placed, source, target};
use super::plan::Pass;

/// The gradient of a pass for `runs` runs of `run` rows: `grad_re` and `grad_im` are the gradients of what it wrote,
/// `into_re` and `into_im` those of what it read, and every run has a row of sums. Rows that are not active give 0.
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
    let stages = comptime!(pass.stages);
    // Two exchanges in turn, in number stages - 1 down to 1 after 0 up to stages - 2: units may still read one while others
    // write the next.
    let half = comptime!(pass.exchange_len());
    let mut exchange = Shared::<[Complex]>::new_slice(comptime!(2 * pass.exchange_len() as usize));
    let mut inputs = Array::<Complex>::new(comptime!(2 * stages as usize));
    // A unit has the same butterflies in every row.
    let mut own_twiddles = Array::<Complex>::new(comptime!(stages as usize));
    let mut own_gates = Array::<f32>::new(comptime!(stages as usize));
    let mut sum_re = Array::<f32>::new(comptime!(stages as usize));
    let mut sum_im = Array::<f32>::new(comptime!(stages as usize));
    let mut sum_gate = Array::<f32>::new(comptime!(stages as usize));
    #[unroll]
    for stage in 0..stages {
        let own = comptime!(stage as usize);
        let pair = pair_at(&place, stage, pass);
        own_twiddles[own] = twiddles[pair as usize];
        if comptime!(gated) {
            own_gates[own] = gates[pair as usize];
        }
        sum_re[own] = 0.0f32;
        sum_im[own] = 0.0f32;
        sum_gate[own] = 0.0f32;
    }
    let first = place.row * run;

    for step in 0..run {
        let row = first + step;
        let inside = row < rows;
        let start = row as usize * comptime!(1usize << pass.length);
        let mut quiet = true;
        if inside {
            quiet = active[row as usize] == 0;
        }
        let mut a = complex(0.0f32, 0.0f32);
        let mut b = complex(0.0f32, 0.0f32);
        if !quiet {
            let upper = start + source(&place, first_of(place.t, 0u32), pass) as usize;
            let lower = start + source(&place, second_of(place.t, 0u32), pass) as usize;
            a = if comptime!(real) { complex(in_re[upper], 0.0f32) } else { complex(in_re[upper], in_im[upper]) };
            b = if comptime!(real) { complex(in_re[lower], 0.0f32) } else { complex(in_re[lower], in_im[lower]) };
        }
        #[unroll]
        for stage in 0..stages {
            inputs[comptime!(2 * stage as usize)] = a;
            inputs[comptime!(2 * stage as usize + 1)] = b;
            if comptime!(stage + 1 < stages) {
                let t = times(own_twiddles[comptime!(stage as usize)], b);
                let base = place.exchange + comptime!(stage % 2 * half);
                let mut sum = a + t;
                let mut difference = a - t;
                if comptime!(gated) {
                    let g = own_gates[comptime!(stage as usize)];
                    sum = mixed(g, sum, a);
                    difference = mixed(g, difference, b);
                }
                exchange[(base + padded(first_of(place.t, stage))) as usize] = sum;
                exchange[(base + padded(second_of(place.t, stage))) as usize] = difference;
                sync_cube();
                a = exchange[(base + padded(first_of(place.t, comptime!(stage + 1)))) as usize];
                b = exchange[(base + padded(second_of(place.t, comptime!(stage + 1)))) as usize];
            }
        }

        let mut grad_a = complex(0.0f32, 0.0f32);
        let mut grad_b = complex(0.0f32, 0.0f32);
        if !quiet {
            let upper = start + target(&place, first_of(place.t, comptime!(stages - 1)), pass) as usize;
            let lower = start + target(&place, second_of(place.t, comptime!(stages - 1)), pass) as usize;
            grad_a = complex(grad_re[upper], grad_im[upper]);
            grad_b = complex(grad_re[lower], grad_im[lower]);
        }
        #[unroll]
        for back in 0..stages {
            let stage = comptime!(stages - 1 - back);
            let w = own_twiddles[comptime!(stage as usize)];
            let a = inputs[comptime!(2 * stage as usize)];
            let b = inputs[comptime!(2 * stage as usize + 1)];
            let sum = comptime!(stage as usize);
            let mut grad_t = grad_a - grad_b;
            let mut into_a = grad_a + grad_b;
            let mut rest = complex(0.0f32, 0.0f32);
            if comptime!(gated) {
                let g = own_gates[sum];
                let t = times(w, b);
                // The gate's own: what the butterfly is more than its input.
                sum_gate[sum] += dot(grad_a, t) + dot(grad_b, a - t - b);
                grad_t = scaled(g, grad_t);
                into_a = grad_a + scaled(g, grad_b);
                rest = grad_b - scaled(g, grad_b);
            }
            let w_grad = times_conjugate(grad_t, b);
            sum_re[sum] += w_grad.extract(0usize);
            sum_im[sum] += w_grad.extract(1usize);
            let into_b = rest + times_conjugate(grad_t, w);
            if comptime!(stage > 0) {
                let base = place.exchange + comptime!(stage % 2 * half);
                exchange[(base + padded(first_of(place.t, stage))) as usize] = into_a;
                exchange[(base + padded(second_of(place.t, stage))) as usize] = into_b;
                sync_cube();
                grad_a = exchange[(base + padded(first_of(place.t, comptime!(stage - 1)))) as usize];
                grad_b = exchange[(base + padded(second_of(place.t, comptime!(stage - 1)))) as usize];
            } else if inside {
                let upper = start + source(&place, first_of(place.t, 0u32), pass) as usize;
                let lower = start + source(&place, second_of(place.t, 0u32), pass) as usize;
                into_re[upper] = into_a.extract(0usize);
                into_re[lower] = into_b.extract(0usize);
                into_im[upper] = into_a.extract(1usize);
                into_im[lower] = into_b.extract(1usize);
            }
        }
    }

    if first < rows {
        let own = place.row * comptime!(pass.length * (1 << (pass.length - 1)));
        #[unroll]
        for stage in 0..stages {
            let sum = comptime!(stage as usize);
            let at = (own + pair_at(&place, stage, pass)) as usize;
            twiddle_sums[at] = complex(sum_re[sum], sum_im[sum]);
            if comptime!(gated) {
                gate_sums[at] = sum_gate[sum];
            }
        }
    }
}

/// The upper value of a unit's butterfly of stage `stage` of the pass, in its tile.
#[cube]
fn first_of(t: u32, #[comptime] stage: u32) -> u32 {
    ((t >> stage) << comptime!(stage + 1)) | (t & comptime!((1u32 << stage) - 1))
}

/// The lower one.
#[cube]
fn second_of(t: u32, #[comptime] stage: u32) -> u32 {
    first_of(t, stage) | comptime!(1u32 << stage)
}

/// Where the twiddle and the gate of a unit's butterfly stand.
#[cube]
fn pair_at(place: &Place, #[comptime] stage: u32, #[comptime] pass: Pass) -> u32 {
    let all = comptime!(pass.first + stage);
    pair_of(target(place, first_of(place.t, stage), pass), all) + comptime!((pass.first + stage) << (pass.length - 1))
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
