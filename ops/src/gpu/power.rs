//! Power from transforms, and the gradient of transforms from that of power.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::buffers::{buffer, empty, floats};
use super::grid;
use super::network::Rows;
use super::segments::{CUBE_UNITS, Form, Segments, team_sum};

/// Power of each row from the outputs of its transforms, `[rows, bins]`: `factor` (one f32) times the sum over segments of
/// the one-sided squares, weighted by `weights` or, where there are none, averaged.
pub(super) fn power(
    client: &Client,
    segments: &Segments<'_>,
    outputs: &Rows,
    weights: Option<&Handle>,
    factor: &Handle,
    into: &Handle,
) {
    let (rows, bins) = (segments.rows, segments.options.bins());
    let (cubes, units) = grid::elements(client, rows * bins);
    sum_squares::launch(
        client,
        cubes,
        units,
        floats(&outputs.re, segments.values()),
        floats(outputs.imaginary(), segments.values()),
        weights.map_or(floats(factor, 1), |weights| floats(weights, segments.options.segments)),
        floats(factor, 1),
        floats(into, rows * bins),
        rows as u32,
        segments.form(),
    );
}

/// Turns the outputs of the transforms of single segments into their gradients, from `grad`, the gradient of the weighted
/// sum of squares `[rows, bins]`; 0 for segments of weight 0 and rows that are not active.
pub(super) fn weighted_gradient(
    client: &Client,
    segments: &Segments<'_>,
    outputs: &Rows,
    weights: &Handle,
    active: &Handle,
    grad: &Handle,
) {
    let values = segments.values();
    let (cubes, units) = grid::elements(client, values);
    weigh::launch(
        client,
        cubes,
        units,
        floats(&outputs.re, values),
        floats(outputs.imaginary(), values),
        floats(weights, segments.options.segments),
        buffer::<u32>(active, segments.rows),
        floats(grad, segments.rows * segments.options.bins()),
        segments.rows as u32,
        segments.form(),
    );
}

/// Multiplies the outputs of paired transforms by 2·factor·grad/segments, the filter by which the gradient of the tapered
/// samples is the inverse transform.
pub(super) fn filter(client: &Client, segments: &Segments<'_>, outputs: &Rows, factor: &Handle, grad: &Handle) {
    let values = segments.values();
    let (cubes, units) = grid::elements(client, values);
    filter_bins::launch(
        client,
        cubes,
        units,
        floats(&outputs.re, values),
        floats(outputs.imaginary(), values),
        floats(factor, 1),
        floats(grad, segments.rows * segments.options.bins()),
        segments.rows as u32,
        segments.form(),
    );
}

/// For every segment of every row the sum over bins of gradient times square, `[rows, segments]`: what a row adds to the
/// gradients of the weights. 0 for rows that are not active.
pub(super) fn weight_gradients(
    client: &Client,
    segments: &Segments<'_>,
    outputs: &Rows,
    active: &Handle,
    grad: &Handle,
) -> Handle {
    let form = segments.form();
    let into = empty(client, segments.count());
    sum_bins::launch(
        client,
        grid::cubes(client, segments.count().div_ceil(form.teams() as usize)),
        CubeDim::new_1d(CUBE_UNITS),
        floats(&outputs.re, segments.values()),
        floats(outputs.imaginary(), segments.values()),
        buffer::<u32>(active, segments.rows),
        floats(grad, segments.rows * segments.options.bins()),
        floats(&into, segments.count()),
        segments.rows as u32,
        form,
    );
    into
}

#[cube]
fn square(re: &[f32], im: &[f32], at: usize) -> f32 {
    fma(re[at], re[at], im[at] * im[at])
}

#[cube(launch)]
fn sum_squares(
    re: &[f32],
    im: &[f32],
    weights: &[f32],
    factor: &[f32],
    into: &mut [f32],
    rows: u32,
    #[comptime] form: Form,
) {
    let bins = comptime!(form.n / 2 + 1);
    let place = ABSOLUTE_POS as u32;
    if place >= rows * bins {
        terminate!();
    }
    let (row, bin) = (place / bins, place % bins);
    let n = comptime!(form.n as usize);
    let mut sum = 0.0f32;
    for transform in 0..comptime!(form.transforms()) {
        let start = (row * comptime!(form.transforms()) + transform) as usize * n;
        if comptime!(form.paired) {
            let mirrored = (comptime!(form.n) - bin) % comptime!(form.n);
            sum += 0.5f32 * (square(re, im, start + bin as usize) + square(re, im, start + mirrored as usize));
        } else {
            let weight = weights[transform as usize];
            if weight != 0.0f32 {
                sum += weight * square(re, im, start + bin as usize);
            }
        }
    }
    let mut scale = factor[0];
    if comptime!(form.paired) {
        scale /= f32::cast_from(comptime!(form.segments));
    }
    if bin > 0 && bin < comptime!(form.n / 2) {
        scale *= 2.0f32;
    }
    into[place as usize] = scale * sum;
}

#[cube(launch)]
fn weigh(
    re: &mut [f32],
    im: &mut [f32],
    weights: &[f32],
    active: &[u32],
    grad: &[f32],
    rows: u32,
    #[comptime] form: Form,
) {
    let place = ABSOLUTE_POS as u32;
    let n = comptime!(form.n);
    let (slot, k) = (place / n, place % n);
    let (row, segment) = (slot / comptime!(form.segments), slot % comptime!(form.segments));
    if row >= rows {
        terminate!();
    }
    let bins = comptime!(form.n / 2 + 1);
    let weight = weights[segment as usize];
    let at = place as usize;
    if k < bins && weight != 0.0f32 && active[row as usize] != 0 {
        let by = 2.0f32 * weight * grad[(row * bins + k) as usize];
        re[at] *= by;
        im[at] *= by;
    } else {
        re[at] = 0.0f32;
        im[at] = 0.0f32;
    }
}

#[cube(launch)]
fn filter_bins(re: &mut [f32], im: &mut [f32], factor: &[f32], grad: &[f32], rows: u32, #[comptime] form: Form) {
    let place = ABSOLUTE_POS as u32;
    let n = comptime!(form.n);
    let (row, k) = (place / n / comptime!(form.transforms()), place % n);
    if row >= rows {
        terminate!();
    }
    let bin = min(k, n - k);
    let twice = 2.0f32 * factor[0] / f32::cast_from(comptime!(form.segments));
    let by = twice * grad[(row * comptime!(form.n / 2 + 1) + bin) as usize];
    re[place as usize] *= by;
    im[place as usize] *= by;
}

#[cube(launch)]
fn sum_bins(re: &[f32], im: &[f32], active: &[u32], grad: &[f32], into: &mut [f32], rows: u32, #[comptime] form: Form) {
    let units = comptime!(form.units);
    let bins = comptime!(form.n / 2 + 1);
    let t = UNIT_POS % units;
    let slot = CUBE_POS as u32 * comptime!(form.teams()) + UNIT_POS / units;
    let row = slot / comptime!(form.segments);
    let mut sum = 0.0f32;
    if row < rows {
        if active[row as usize] != 0 {
            for bin in range_stepped(t, bins, units) {
                let at = slot as usize * comptime!(form.n as usize) + bin as usize;
                sum += grad[(row * bins + bin) as usize] * square(re, im, at);
            }
        }
    }
    let sum = team_sum(sum, units);
    if row < rows && t == 0u32 {
        into[slot as usize] = sum;
    }
}
