//! Welch power and peaks of rows in f32 with a row per lane, for segments of any length.

use super::estimate::subtracted_mean;
use super::forward::{WelchCall, WelchOutputs};
use super::gain;
use crate::cpu::butterfly::tile::width;
use crate::cpu::isa::lines::{Line, lines_for, take_values, with_lines};
use crate::cpu::isa::register::{MAX_LANES, Register};
use crate::cpu::isa::{InstructionSet, Kernel, dispatch};
use crate::cpu::runtime::tasks::Tasks;
use crate::cpu::top_k::forward::PowerTile;
use crate::cpu::transform::{FrameSpectra, MixedRadixPlan, lines_of_frames};
use crate::options::{Detrend, WelchOptions};

/// Computes the outputs of rows `signal` `[rows, frame_len]`.
pub(super) fn welch(signal: &[f32], call: &WelchCall<'_>, plan: &MixedRadixPlan, outputs: WelchOutputs<'_>) {
    let bins = call.options.bins();
    let work = call.segments.count * plan.work() + bins;
    let tasks = Tasks::independent_groups(outputs.rows(bins), work, MAX_LANES);
    let pieces = signal.chunks(tasks.rows * call.frame_len).zip(outputs.pieces(tasks.rows, bins));
    tasks.run(pieces, |(frames, outputs)| {
        outputs.with_keys(call.options.searched().len(), |outputs| run(call, plan, frames, outputs));
    });
}

fn run(call: &WelchCall<'_>, plan: &MixedRadixPlan, frames: &[f32], outputs: WelchOutputs<'_>) {
    let n = call.options.n_fft;
    let width = width(frames.len().div_ceil(call.frame_len));
    let bins = call.options.bins();
    let lines = lines_for(MAX_LANES * bins) + lines_for(MAX_LANES * gain::sums_len(call.gain, bins));
    with_lines(lines_of_frames(plan, n) + lines, |memory| {
        dispatch(InstructionSet::current(), width, WelchRows { call, plan, frames, outputs, memory });
    });
}

struct WelchRows<'a> {
    call: &'a WelchCall<'a>,
    plan: &'a MixedRadixPlan,
    /// `[rows, frame_len]`.
    frames: &'a [f32],
    outputs: WelchOutputs<'a>,
    memory: &'a mut [Line],
}

impl Kernel for WelchRows<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        let Self { call, plan, frames, outputs, mut memory } = self;
        let &WelchCall { window, options, segments, factor, gain, frame_len, .. } = call;
        let &WelchOptions { n_fft: n, hop, detrend, .. } = options;
        let bins = options.bins();
        let mut spectra = FrameSpectra::<V>::new(token, plan, n, &mut memory);
        // The sums of squares, and behind them, if the gain takes them, those of products of neighbouring bins.
        let sums = V::arrays_mut(take_values(&mut memory, V::LANES * gain::sums_len(gain, bins)));
        // Power goes to the caller; for peaks it goes to a tile, which is searched when it is full.
        let tile = take_values(&mut memory, V::LANES * bins);
        let (mut power, mut peaks) = match outputs {
            WelchOutputs::Power(power) => (power, None),
            WelchOutputs::Peaks(peaks) => (&mut [][..], Some(peaks)),
        };
        for (group, rows) in frames.chunks(V::LANES * frame_len).enumerate() {
            for at in 0..segments.count {
                // Segments with the same number, minus their means.
                let first = &rows[segments.index(at) * hop..];
                let mut means = V::Array::default();
                if detrend == Detrend::Constant {
                    for (mean, row) in means.as_mut().iter_mut().zip(first.chunks(frame_len)) {
                        *mean = subtracted_mean(&row[..n], detrend);
                    }
                }
                let means = V::load(token, &means);
                let spectrum = spectra.transform(
                    first,
                    frame_len,
                    #[inline(always)]
                    |j, column| (column - means) * V::splat(token, window[j]),
                );
                let (squares, products) = sums.split_at_mut(bins);
                for (sum, bin) in squares.iter_mut().zip(&*spectrum) {
                    accumulate(token, at == 0, sum, bin.re.mul_add(bin.re, bin.im * bin.im));
                }
                for (sum, (bin, above)) in products.iter_mut().zip(spectrum.iter().zip(&spectrum[1..])) {
                    accumulate(token, at == 0, sum, bin.product(*above));
                }
            }
            // Interior bins stand for two, and products for those of both sides.
            for (k, sum) in sums.iter_mut().enumerate() {
                let sides = if k == 0 || 2 * k == n { 1.0 } else { 2.0 };
                (V::load(token, sum) * V::splat(token, sides * factor)).store(sum);
            }
            let into = match &peaks {
                Some(_) => &mut *tile,
                None => {
                    let (rows, rest) = {
                        let count = power.len().min(V::LANES * bins);
                        std::mem::take(&mut power).split_at_mut(count)
                    };
                    power = rest;
                    rows
                }
            };
            spectra.store(
                into,
                bins,
                #[inline(always)]
                |k| match gain {
                    Some(gain) => gained(token, gain, sums, k, bins),
                    None => V::load(token, &sums[k]),
                },
            );
            if let Some(peaks) = &mut peaks {
                peaks.search::<V, false>(token, group * V::LANES, PowerTile::new(tile, bins, options.searched()));
            }
        }
    }
}

/// Adds a term to a sum, or starts the sum with it.
#[inline(always)]
fn accumulate<V: Register>(token: V::Token, is_first: bool, sum: &mut V::Array, term: V) {
    let total = if is_first { term } else { V::load(token, sum) + term };
    total.store(sum);
}

/// Bin `k` of `bins` after the gain, from the sums of power and of products.
#[inline(always)]
fn gained<V: Register>(token: V::Token, gain: &[f32], sums: &[V::Array], k: usize, bins: usize) -> V {
    let taps = gain::taps_of(gain, bins);
    let taps = &gain[taps * k..taps * (k + 1)];
    let from = gain::sources(k, bins);
    let (below, here) = (V::load(token, &sums[from[0]]), V::load(token, &sums[from[1]]));
    let mut sum = here.mul_add(V::splat(token, taps[1]), below * V::splat(token, taps[0]));
    for (&factor, &from) in taps.iter().zip(&from).skip(2) {
        sum = V::load(token, &sums[from]).mul_add(V::splat(token, factor), sum);
    }
    sum
}
