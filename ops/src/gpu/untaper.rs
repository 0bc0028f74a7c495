//! From the gradient of tapered segments to those of the signal and the window.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::active::active_rows;
use super::buffers::{buffer, empty, floats};
use super::grid;
use super::network::{RUNS, Rows, Runs};
use super::segments::{CUBE_UNITS, Form, Segments, team_sum, transform_of};
use super::sums::reduce;

/// The signal's gradient, `[rows, frame]`, from `grad`, that of the tapered segments as [`taper`](super::taper::taper) puts
/// them. Samples of no segment get 0.
pub(super) fn signal_gradient(client: &Client, segments: &Segments<'_>, window: &Handle, grad: &Rows, into: &Handle) {
    let (form, values) = (segments.form(), segments.values());
    let means = empty(client, segments.count());
    if form.detrend {
        window_means::launch(
            client,
            grid::cubes(client, segments.count().div_ceil(form.teams() as usize)),
            CubeDim::new_1d(CUBE_UNITS),
            floats(&grad.re, values),
            floats(grad.imaginary(), values),
            floats(window, segments.options.n_fft),
            floats(&means, segments.count()),
            segments.count() as u32,
            form,
        );
    }
    let (cubes, units) = grid::elements(client, segments.rows * segments.frame);
    overlap::launch(
        client,
        cubes,
        units,
        floats(&grad.re, values),
        floats(grad.imaginary(), values),
        floats(window, segments.options.n_fft),
        floats(&means, segments.count()),
        floats(into, segments.rows * segments.frame),
        segments.rows as u32,
        segments.frame as u32,
        segments.options.hop as u32,
        form,
    );
}

/// The window's gradient through the tapered samples, `[n]`, added to what is there if `accumulate`; `means` is what
/// detrending took off.
pub(super) fn window_gradient(
    client: &Client,
    segments: &Segments<'_>,
    means: &Handle,
    grad: &Rows,
    into: &Handle,
    accumulate: bool,
) {
    let n = segments.options.n_fft;
    // A transform without a gradient adds nothing, not even where its samples are not finite.
    let transforms = segments.transforms();
    let active = active_rows(client, &[&grad.re, grad.imaginary()], transforms, n);
    let runs = Runs::of(segments.rows, n, RUNS);
    let partial = empty(client, runs.count * n);
    let (cubes, units) = grid::elements(client, runs.count * n);
    window_sums::launch(
        client,
        cubes,
        units,
        floats(&segments.signal, segments.rows * segments.frame),
        floats(&grad.re, segments.values()),
        floats(grad.imaginary(), segments.values()),
        buffer::<u32>(&active, transforms),
        floats(means, segments.count()),
        floats(&partial, runs.count * n),
        segments.rows as u32,
        segments.frame as u32,
        segments.options.hop as u32,
        runs.count as u32,
        runs.length as u32,
        segments.form(),
    );
    reduce(client, partial, runs.count, n, into, accumulate);
}

/// Value `j` of the gradient of a segment.
#[cube]
fn part(re: &[f32], im: &[f32], row: u32, segment: u32, j: u32, #[comptime] form: Form) -> f32 {
    let at = transform_of(row, segment, form) as usize * comptime!(form.n as usize) + j as usize;
    if comptime!(form.paired) { if segment % 2 == 0 { re[at] } else { im[at] } } else { re[at] }
}

/// The mean of window times gradient of each segment: taking a mean off is a projection, and so its own adjoint.
#[cube(launch)]
fn window_means(re: &[f32], im: &[f32], window: &[f32], means: &mut [f32], count: u32, #[comptime] form: Form) {
    let units = comptime!(form.units);
    let t = UNIT_POS % units;
    let slot = CUBE_POS as u32 * comptime!(form.teams()) + UNIT_POS / units;
    let (row, segment) = (slot / comptime!(form.segments), slot % comptime!(form.segments));
    let mut sum = 0.0f32;
    if slot < count {
        for j in range_stepped(t, comptime!(form.n), units) {
            sum += window[j as usize] * part(re, im, row, segment, j, form);
        }
    }
    let sum = team_sum(sum, units);
    if slot < count && t == 0u32 {
        means[slot as usize] = sum / f32::cast_from(comptime!(form.n));
    }
}

/// Every sample's gradient: the sum over the segments it is in.
#[cube(launch)]
fn overlap(
    re: &[f32],
    im: &[f32],
    window: &[f32],
    means: &[f32],
    into: &mut [f32],
    rows: u32,
    frame: u32,
    hop: u32,
    #[comptime] form: Form,
) {
    let place = ABSOLUTE_POS as u32;
    if place >= rows * frame {
        terminate!();
    }
    let (row, sample) = (place / frame, place % frame);
    let n = comptime!(form.n);
    let mut first = 0u32;
    if sample >= n {
        first = (sample - n) / hop + 1;
    }
    let end = min(sample / hop + 1, comptime!(form.segments));
    let mut sum = 0.0f32;
    for segment in first..end {
        let j = sample - segment * hop;
        let mut value = window[j as usize] * part(re, im, row, segment, j, form);
        if comptime!(form.detrend) {
            value -= means[(row * comptime!(form.segments) + segment) as usize];
        }
        sum += value;
    }
    into[place as usize] = sum;
}

/// The window's gradient from each run of rows.
#[cube(launch)]
fn window_sums(
    signal: &[f32],
    re: &[f32],
    im: &[f32],
    active: &[u32],
    means: &[f32],
    sums: &mut [f32],
    rows: u32,
    frame: u32,
    hop: u32,
    runs: u32,
    run: u32,
    #[comptime] form: Form,
) {
    let place = ABSOLUTE_POS as u32;
    let n = comptime!(form.n);
    if place >= runs * n {
        terminate!();
    }
    let (first, j) = (place / n * run, place % n);
    let mut sum = 0.0f32;
    for row in first..min(first + run, rows) {
        for segment in 0..comptime!(form.segments) {
            if active[transform_of(row, segment, form) as usize] != 0 {
                let mut sample = signal[row as usize * frame as usize + (segment * hop + j) as usize];
                if comptime!(form.detrend) {
                    sample -= means[(row * comptime!(form.segments) + segment) as usize];
                }
                sum += sample * part(re, im, row, segment, j, form);
            }
        }
    }
    sums[place as usize] = sum;
}
