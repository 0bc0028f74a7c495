//! Mel spectra in f32 with a frame per lane.
//!
//! Lanes share nothing, so a frame has the same bits wherever it is in its row, and no frame disturbs another.

use super::frame_samples::FrameGradients;
use super::{FrameRange, MelSpectra};
use crate::cpu::butterfly::tile::width;
use crate::cpu::isa::lines::{Line, lines_for, take_complexes, take_values, with_lines};
use crate::cpu::isa::register::{Complex, MAX_LANES, Register, load_some, store_some};
use crate::cpu::isa::{InstructionSet, Kernel, Width, dispatch};
use crate::cpu::transform::{FrameSpectra, MixedRadixPlan, lines_of_frames};

/// Bands of a range of frames.
pub(super) fn forward(spectra: &MelSpectra<'_, f32>, plan: &MixedRadixPlan, mut range: FrameRange<'_, f32>) {
    let count = range.bands.first().map_or(0, |band| band.len());
    run(spectra, plan, count, false, |memory, width| {
        let FrameRange { row, first, bands } = &mut range;
        let forward = MelForward { spectra, plan, row, first: *first, count, bands, memory };
        dispatch(InstructionSet::current(), width, forward);
    });
}

/// Gradients of a row for `grad` `[bands, frames]`.
pub(super) fn backward(
    spectra: &MelSpectra<'_, f32>,
    plan: &MixedRadixPlan,
    row: &[f32],
    grad: &[f32],
    into: &mut FrameGradients<'_, f32>,
) {
    run(spectra, plan, spectra.framing.count, true, |memory, width| {
        let backward = MelBackward { spectra, plan, row, grad, into: &mut *into, memory };
        dispatch(InstructionSet::current(), width, backward);
    });
}

/// Calls `body` with the memory of this thread that a kernel takes, and with the lanes for `count` frames.
fn run(
    spectra: &MelSpectra<'_, f32>,
    plan: &MixedRadixPlan,
    count: usize,
    is_backward: bool,
    body: impl FnOnce(&mut [Line], Width),
) {
    let (n, bands) = (spectra.framing.n_fft, spectra.bands.count());
    let values = |count: usize| lines_for(MAX_LANES * count);
    let forward = lines_of_frames(plan, n) + values(n) + values(n / 2 + 1) + values(bands);
    let backward = if is_backward { values(bands) + values(3 * (n / 2 + 1)) } else { 0 };
    with_lines(forward + backward, |memory| body(memory, width(count)));
}

/// Transforms, magnitudes and bands of as many frames as a register has lanes.
struct MelTile<'a, V: Register> {
    token: V::Token,
    spectra: &'a MelSpectra<'a, f32>,
    frames: FrameSpectra<'a, V>,
    /// Copies of frames that reach beyond the row, `[lanes, n]`.
    staged: &'a mut [f32],
    /// Power or amplitude, `[bins, lanes]`.
    magnitudes: &'a mut [f32],
    /// `[bands, lanes]`.
    bands: &'a mut [f32],
}

impl<'a, V: Register> MelTile<'a, V> {
    #[inline(always)]
    fn new(
        token: V::Token,
        spectra: &'a MelSpectra<'a, f32>,
        plan: &'a MixedRadixPlan,
        memory: &mut &'a mut [Line],
    ) -> Self {
        let n = spectra.framing.n_fft;
        Self {
            token,
            spectra,
            frames: FrameSpectra::new(token, plan, n, memory),
            staged: take_values(memory, V::LANES * n),
            magnitudes: take_values(memory, V::LANES * (n / 2 + 1)),
            bands: take_values(memory, V::LANES * spectra.bands.count()),
        }
    }

    /// Bands of `count` frames of a row, and their spectra.
    #[inline(always)]
    fn transform(&mut self, row: &[f32], first: usize, count: usize) -> &mut [Complex<V>] {
        let Self { token, spectra, .. } = *self;
        let (window, n, hop) = (spectra.window, spectra.framing.n_fft, spectra.framing.hop);
        // Frames inside the row are read where they are, one hop apart. Frames that reach beyond it, or are fewer than
        // the lanes, are copied with their padding first.
        let last = first + V::LANES - 1;
        let inside = (spectra.framing.inside(first)).zip(spectra.framing.inside(last)).filter(
            #[inline(always)]
            |_| count == V::LANES,
        );
        let (frames, stride) = match inside {
            Some((first, last)) => (&row[first.start..last.end], hop),
            None => {
                for (lane, frame) in self.staged.chunks_exact_mut(n).enumerate() {
                    if lane < count { spectra.framing.copy(row, first + lane, frame) } else { frame.fill(0.0) }
                }
                (&*self.staged, n)
            }
        };
        // Transform with a frame per lane; the load multiplies by the window.
        let bins = self.frames.transform(
            frames,
            stride,
            #[inline(always)]
            |j, column| column * V::splat(token, window[j]),
        );
        // Squared magnitudes or their roots, then their weighted sums.
        for (bin, into) in bins.iter().zip(V::arrays_mut(self.magnitudes)) {
            bin.re.mul_add(bin.re, bin.im * bin.im).store(into);
        }
        if !spectra.is_power {
            for magnitude in &mut *self.magnitudes {
                *magnitude = magnitude.sqrt();
            }
        }
        spectra.bands.sum_registers::<V>(token, V::arrays(self.magnitudes), V::arrays_mut(self.bands));
        bins
    }
}

struct MelForward<'a, 'b> {
    spectra: &'a MelSpectra<'a, f32>,
    plan: &'a MixedRadixPlan,
    row: &'a [f32],
    first: usize,
    count: usize,
    bands: &'a mut [&'b mut [f32]],
    memory: &'a mut [Line],
}

impl Kernel for MelForward<'_, '_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        let Self { spectra, plan, row, first, count, bands, mut memory } = self;
        let mut tile = MelTile::<V>::new(token, spectra, plan, &mut memory);
        for start in (0..count).step_by(V::LANES) {
            let used = V::LANES.min(count - start);
            tile.transform(row, first + start, used);
            if let Some(logarithm) = &spectra.logarithm {
                logarithm.apply(tile.bands);
            }
            for (band, values) in bands.iter_mut().zip(V::arrays(tile.bands)) {
                store_some(V::load(token, values), &mut band[start..start + used]);
            }
        }
    }
}

struct MelBackward<'a, 'g> {
    spectra: &'a MelSpectra<'a, f32>,
    plan: &'a MixedRadixPlan,
    row: &'a [f32],
    /// `[bands, frames]`.
    grad: &'a [f32],
    into: &'a mut FrameGradients<'g, f32>,
    memory: &'a mut [Line],
}

impl Kernel for MelBackward<'_, '_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        let Self { spectra, plan, row, grad, into, mut memory } = self;
        let (n, count) = (spectra.framing.n_fft, spectra.framing.count);
        let grads = take_values(&mut memory, V::LANES * spectra.bands.count());
        let slopes = take_values(&mut memory, V::LANES * (n / 2 + 1));
        let kept = take_complexes::<V>(token, &mut memory, n / 2 + 1);
        let mut tile = MelTile::<V>::new(token, spectra, plan, &mut memory);
        for first in (0..count).step_by(V::LANES) {
            let used = V::LANES.min(count - first);
            kept.copy_from_slice(tile.transform(row, first, used));
            // Gradients of bands: those of logarithms times the slopes; of missing frames, 0.
            for (into, band) in V::arrays_mut(grads).iter_mut().zip(grad.chunks_exact(count)) {
                load_some::<V>(token, &band[first..first + used]).store(into);
            }
            if let Some(logarithm) = &spectra.logarithm {
                for (grad, &band) in grads.iter_mut().zip(&*tile.bands) {
                    *grad = if *grad == 0.0 { 0.0 } else { *grad * logarithm.derivative(band) };
                }
            }
            spectra.bands.spread_registers::<V>(token, V::arrays(grads), V::arrays_mut(slopes));
            if !spectra.is_power {
                for (slope, &amplitude) in slopes.iter_mut().zip(&*tile.magnitudes) {
                    *slope = if amplitude == 0.0 { 0.0 } else { *slope / amplitude };
                }
            }
            // Gradients of bins: 2 g X of power, g X / |X| of amplitude. The sum over one side of the spectrum counts
            // an interior bin once, and the inverse transform twice.
            let end = V::splat(token, if spectra.is_power { 2.0 } else { 1.0 });
            let inner = V::splat(token, if spectra.is_power { 1.0 } else { 0.5 });
            for (k, (bin, slope)) in kept.iter_mut().zip(V::arrays(slopes)).enumerate() {
                let slope = V::load(token, slope);
                *bin = if k == 0 || 2 * k == n {
                    Complex { re: bin.re * (slope * end), im: V::splat(token, 0.0) }
                } else {
                    Complex { re: bin.re * (slope * inner), im: bin.im * (slope * inner) }
                };
            }
            tile.frames.inverse(kept, tile.staged);
            for (lane, grad) in tile.staged.chunks_exact(n).enumerate().take(used) {
                into.add(row, first + lane, grad);
            }
        }
    }
}
