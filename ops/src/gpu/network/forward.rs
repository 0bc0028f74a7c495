//! A run of stages forward: a unit computes several stages on values it holds, then units exchange values through shared
//! memory.

use cubecl::prelude::*;

use super::packed::Packed;
use super::place::{
    Complex, Places, after, before, butterfly_number, complex, exchanged, offset_of, pair_of, pair_of_constant, places,
    start,
};
use super::plan::Pass;

/// What a network is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Form {
    /// Whether it has gates.
    pub gated: bool,
    /// Whether its twiddles are the n/2 roots exp(-2πi·j/n) that all stages share, rather than one for every butterfly.
    pub roots: bool,
    /// Whether its input has no imaginary part.
    pub real: bool,
}

/// Runs the pass on `rows` rows: of a network with gates the butterflies are in `packed`, of others in `twiddles`, where `masks` says
/// by stage which bits of a pair's number choose its twiddle.
#[cube(launch_unchecked)]
pub(super) fn forward(
    in_re: &[f32],
    in_im: &[f32],
    twiddles: &[Complex],
    masks: &[u32],
    packed: &[Packed],
    out_re: &mut [f32],
    out_im: &mut [f32],
    rows: u32,
    #[comptime] pass: Pass,
    #[comptime] form: Form,
) {
    let places = places(UNIT_POS, CUBE_POS as u32, pass);
    let mut exchange = Shared::<[Complex]>::new_slice(comptime!(pass.exchange_len() as usize));
    let values = comptime!(1u32 << pass.values);
    let mut re = Array::<f32>::new(comptime!((pass.together << pass.values) as usize));
    let mut im = Array::<f32>::new(comptime!((pass.together << pass.values) as usize));

    let steps = comptime!(pass.steps());
    #[unroll]
    for step in 0..steps {
        if comptime!(step == 0) {
            #[unroll]
            for other in 0..comptime!(pass.together) {
                if places.later.row + other < rows {
                    load(&mut re, &mut im, in_re, in_im, &places, other, pass, form);
                }
            }
        } else {
            sync_cube();
            #[unroll]
            for held in 0..comptime!(pass.together << pass.values) {
                let (other, i) = comptime!((held / values, held % values));
                let at = exchanged(&places, i, step, pass) + comptime!(other * pass.groups() * pass.tile_stride());
                let z = exchange[at as usize];
                re[comptime!(held as usize)] = z.extract(0usize);
                im[comptime!(held as usize)] = z.extract(1usize);
            }
            if comptime!(step + 1 < steps) {
                sync_cube();
            }
        }
        stages(&mut re, &mut im, twiddles, masks, packed, &places, step, pass, form);
        #[unroll]
        for held in 0..comptime!(pass.together << pass.values) {
            let (other, i) = comptime!((held / values, held % values));
            let own = comptime!(held as usize);
            if comptime!(step + 1 < steps) {
                let at = exchanged(&places, i, step, pass) + comptime!(other * pass.groups() * pass.tile_stride());
                exchange[at as usize] = complex(re[own], im[own]);
            } else if places.later.row + other < rows {
                let at = row(&places, other, pass) + after(&places, i, step, pass) as usize;
                out_re[at] = re[own];
                out_im[at] = im[own];
            }
        }
    }
}

/// Where the row of the unit's tile number `other` starts.
#[cube]
fn row(places: &Places, #[comptime] other: u32, #[comptime] pass: Pass) -> usize {
    (places.later.row + other) as usize * comptime!(1usize << pass.length)
}

/// The first step's values of the unit's tile number `other`.
#[cube]
fn load(
    re: &mut Array<f32>,
    im: &mut Array<f32>,
    in_re: &[f32],
    in_im: &[f32],
    places: &Places,
    #[comptime] other: u32,
    #[comptime] pass: Pass,
    #[comptime] form: Form,
) {
    let row = row(places, other, pass);
    #[unroll]
    for i in 0..comptime!(1u32 << pass.values) {
        let at = row + before(places, i, pass) as usize;
        let held = comptime!(((other << pass.values) + i) as usize);
        re[held] = in_re[at];
        im[held] = if comptime!(form.real) { 0.0f32.runtime() } else { in_im[at] };
    }
}

/// The stages of a step on the values a unit holds.
#[cube]
fn stages(
    re: &mut Array<f32>,
    im: &mut Array<f32>,
    twiddles: &[Complex],
    masks: &[u32],
    packed: &[Packed],
    places: &Places,
    #[comptime] step: u32,
    #[comptime] pass: Pass,
    #[comptime] form: Form,
) {
    let count = comptime!(pass.step_stages(step));
    #[unroll]
    for group in 0..comptime!(1u32 << (pass.values - pass.step_stages(step))) {
        let start = start(places, group, step, pass);
        #[unroll]
        for local in 0..count {
            let stage = comptime!(pass.first + step * pass.values + local);
            let pair = pair_of(start, stage);
            let mask = if comptime!(form.gated || form.roots) {
                comptime!((1u32 << stage) - 1).runtime()
            } else {
                masks[stage as usize]
            };
            #[unroll]
            for b in 0..comptime!(1u32 << count) {
                if comptime!(b >> local & 1 == 1) {
                    let i = comptime!((group << count) + b - (1 << local));
                    let offset = comptime!(offset_of(i, step, &pass) << pass.first);
                    let own = pair + comptime!(pair_of_constant(offset, stage));
                    let (w, g) = if comptime!(form.gated) {
                        let number = comptime!(butterfly_number(i, step, local, &pass) as u32);
                        let one = packed[(comptime!(number * pass.row_units()) + places.own) as usize];
                        (complex(one.extract(0usize), one.extract(1usize)), one.extract(2usize))
                    } else {
                        let at = if comptime!(form.roots) {
                            (own & mask) << comptime!(pass.length - 1 - stage)
                        } else {
                            (own & mask) + comptime!(stage << (pass.length - 1))
                        };
                        (twiddles[at as usize], 1.0f32.runtime())
                    };
                    #[unroll]
                    for other in 0..comptime!(pass.together) {
                        let a = comptime!(((other << pass.values) + i) as usize);
                        join(re, im, a, comptime!(a + (1 << local)), w, g, form.gated);
                    }
                }
            }
        }
    }
}

/// One butterfly on the values `a` and `b` a unit holds.
#[cube]
fn join(
    re: &mut Array<f32>,
    im: &mut Array<f32>,
    #[comptime] a: usize,
    #[comptime] b: usize,
    w: Complex,
    g: f32,
    #[comptime] gated: bool,
) {
    let (wr, wi) = (w.extract(0usize), w.extract(1usize));
    let (ar, ai, br, bi) = (re[a], im[a], re[b], im[b]);
    let tr = fma(wr, br, -(wi * bi));
    let ti = fma(wr, bi, wi * br);
    if comptime!(gated) {
        re[a] = fma(g, tr, ar);
        im[a] = fma(g, ti, ai);
        re[b] = fma(g, ar - tr, fma(-g, br, br));
        im[b] = fma(g, ai - ti, fma(-g, bi, bi));
    } else {
        re[a] = ar + tr;
        im[a] = ai + ti;
        re[b] = ar - tr;
        im[b] = ai - ti;
    }
}
