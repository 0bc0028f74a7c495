//! Segments out of frames, their mean taken off, times the window.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::buffers::{buffer, empty, floats};
use super::grid;
use super::network::Rows;
use super::segments::{CUBE_UNITS, Form, Segments, team_sum, transform_of};

/// The transforms' input and what detrending took off each segment.
#[derive(Debug, Clone)]
pub(super) struct Tapered {
    /// `[transforms, n]`; without imaginary parts unless segments are paired.
    pub samples: Rows,
    /// `[rows, segments]`; anything without detrending.
    pub means: Handle,
}

/// Which segments are 0 instead.
#[derive(Debug, Clone, Copy)]
pub(super) struct Skip<'a> {
    /// Rows that are not active, by `[rows]` u32.
    pub rows: Option<&'a Handle>,
    /// Segments of weight 0, by `[segments]`.
    pub weights: Option<&'a Handle>,
}

/// Tapers the segments of a batch.
pub(super) fn taper(client: &Client, segments: &Segments<'_>, window: &Handle, skip: Skip<'_>) -> Tapered {
    let form = segments.form();
    let values = segments.values();
    let re = empty(client, values);
    let im = segments.paired.then(|| empty(client, values));
    let means = empty(client, segments.count());
    // Every part of every transform is written: of an odd number of segments the last pair has one more.
    let slots = if segments.paired { 2 * segments.transforms() } else { segments.transforms() };
    let none = empty(client, 1);
    taper_segments::launch(
        client,
        grid::cubes(client, slots.div_ceil(form.teams() as usize)),
        CubeDim::new_1d(CUBE_UNITS),
        floats(&segments.signal, segments.rows * segments.frame),
        floats(window, segments.options.n_fft),
        skip.rows.map_or(buffer::<u32>(window, 1), |rows| buffer::<u32>(rows, segments.rows)),
        skip.weights.map_or(floats(window, 1), |weights| floats(weights, segments.options.segments)),
        floats(&re, values),
        im.as_ref().map_or(floats(&none, 1), |im| floats(im, values)),
        floats(&means, segments.count()),
        slots as u32,
        segments.frame as u32,
        segments.options.hop as u32,
        skip.rows.is_some(),
        skip.weights.is_some(),
        form,
    );
    Tapered { samples: Rows { re, im }, means }
}

#[cube(launch)]
fn taper_segments(
    signal: &[f32],
    window: &[f32],
    active: &[u32],
    weights: &[f32],
    re: &mut [f32],
    im: &mut [f32],
    means: &mut [f32],
    slots: u32,
    frame: u32,
    hop: u32,
    #[comptime] skip_rows: bool,
    #[comptime] skip_weights: bool,
    #[comptime] form: Form,
) {
    let n = comptime!(form.n);
    let units = comptime!(form.units);
    let t = UNIT_POS % units;
    let slot = CUBE_POS as u32 * comptime!(form.teams()) + UNIT_POS / units;
    let per_row = comptime!(if form.paired { 2 * form.transforms() } else { form.transforms() });
    let (row, segment) = (slot / per_row, slot % per_row);
    let mut taken = slot < slots && segment < comptime!(form.segments);
    if comptime!(skip_rows) {
        if taken {
            taken = active[row as usize] != 0;
        }
    }
    if comptime!(skip_weights) {
        if taken {
            taken = weights[segment as usize] != 0.0f32;
        }
    }
    let start = row as usize * frame as usize + (segment * hop) as usize;

    let mut mean = 0.0f32;
    if comptime!(form.detrend) {
        let mut sum = 0.0f32;
        if taken {
            for j in range_stepped(t, n, units) {
                sum += signal[start + j as usize];
            }
        }
        mean = team_sum(sum, units) / f32::cast_from(n);
        if t == 0u32 && taken {
            means[(row * comptime!(form.segments) + segment) as usize] = mean;
        }
    }
    if slot < slots {
        let into = transform_of(row, segment, form) as usize * n as usize;
        for j in range_stepped(t, n, units) {
            let mut value = 0.0f32;
            if taken {
                value = window[j as usize] * (signal[start + j as usize] - mean);
            }
            if comptime!(form.paired) {
                if segment % 2 == 0 {
                    re[into + j as usize] = value;
                } else {
                    im[into + j as usize] = value;
                }
            } else {
                re[into + j as usize] = value;
            }
        }
    }
}
