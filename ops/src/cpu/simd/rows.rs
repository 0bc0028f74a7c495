//! Rows of a task through the kernels.

use super::fold::{of_one, of_pairs};
use super::lanes::{Complex, Lanes};
use super::memory::{Line, lines_for, take_complexes, take_registers, take_values};
use super::plan::Plan;
use super::source::{Interleaved, Lone, Pair, Tapered};
use super::strongest::{MAX_LANES, Tile, strongest};
use super::transform::{Add, Keep, Write, enter, over_columns, over_lanes};
use crate::cpu::segment;
use crate::welch::{Detrend, WelchOptions};

/// What every row of a call shares.
#[derive(Debug, Clone, Copy)]
pub(super) struct Welch<'a> {
    /// `[n_fft]`.
    pub window: &'a [f32],
    pub options: &'a WelchOptions,
    /// What |X|² summed over segments is multiplied by.
    pub factor: f32,
    pub frame_len: usize,
}

/// How far ahead of what is read memory is asked for, in values: 6 KiB.
const PREFETCH: usize = 1536;

impl Welch<'_> {
    /// Lines of memory that [`Welch::run`] takes.
    pub fn lines(&self) -> usize {
        7 * lines_for(self.options.n_fft) + lines_for(MAX_LANES * self.stride())
    }

    /// Values from one row of a tile to the next.
    fn stride(&self) -> usize {
        self.options.bins().next_multiple_of(Line::LEN)
    }

    /// One-sided power of `frames` → `power` `[rows, bins]`, or their strongest bins. `N` is `n_fft`, if the code is to be made
    /// for that alone, or 0.
    #[inline(always)]
    pub fn run<V: Lanes, const N: usize>(&self, frames: &[f32], mut memory: &mut [Line], outputs: Outputs<'_>) {
        let (bins, stride, frame_len) = (self.options.bins(), self.stride(), self.frame_len);
        let (tile, stride, mut peaks) = match outputs {
            Outputs::Power(power) => (power, bins, None),
            Outputs::Peaks(peaks) => (take_values(&mut memory, V::COUNT * stride), stride, Some(peaks)),
        };
        let mut rows = Rows::<V, N>::new(self, memory);
        for (index, frame) in frames.chunks_exact(frame_len).enumerate() {
            let row = if peaks.is_some() { index % V::COUNT } else { index };
            rows.power(frame, &mut tile[row * stride..][..bins]);
            if let Some(peaks) = &mut peaks
                && (row + 1 == V::COUNT || (index + 1) * frame_len == frames.len())
            {
                peaks.put::<V>(index - row, &Tile { power: tile, stride, bins });
            }
        }
    }
}

/// What rows are computed for.
pub(super) enum Outputs<'a> {
    /// `[rows, bins]`.
    Power(&'a mut [f32]),
    Peaks(Peaks<'a>),
}

/// The strongest bins of rows.
pub(super) struct Peaks<'a> {
    pub k: usize,
    /// A value for each bin, overwritten.
    pub keys: &'a mut [u64],
    /// `[rows, k]`.
    pub bins: &'a mut [i64],
    /// `[rows, k]`.
    pub power: &'a mut [f32],
}

impl Peaks<'_> {
    /// Those of the rows of `tile`, the first of which is `row`.
    #[inline(always)]
    fn put<V: Lanes>(&mut self, row: usize, tile: &Tile<'_>) {
        let k = self.k;
        let until = self.bins.len().min((row + V::COUNT) * k);
        let (bins, power) = (&mut self.bins[row * k..until], &mut self.power[row * k..until]);
        strongest::<V>(tile, k, self.keys, bins, power);
    }
}

/// Rows on their way to their power.
struct Rows<'a, V, const N: usize> {
    welch: &'a Welch<'a>,
    pairs: &'static Plan,
    /// For one segment alone, its samples taken two by two. None if that is too short for the lanes.
    halves: Option<&'static Plan>,
    /// `[n]`.
    window: &'a [V],
    /// `[n]`.
    work: &'a mut [Complex<V>],
    /// `[n]`.
    sums: &'a mut [V],
    /// `[n / 2]`.
    spectrum: &'a mut [Complex<V>],
    /// `[n]` each.
    detrended: [&'a mut [f32]; 2],
}

impl<'a, V: Lanes, const N: usize> Rows<'a, V, N> {
    #[inline(always)]
    fn new(welch: &'a Welch<'a>, mut memory: &'a mut [Line]) -> Self {
        let n = welch.options.n_fft;
        let columns = n / V::COUNT;
        let window = take_registers::<V>(&mut memory, columns);
        for (register, values) in window.iter_mut().zip(V::arrays(welch.window)) {
            *register = V::load(values);
        }
        let work = take_complexes(&mut memory, columns);
        let sums = take_registers(&mut memory, columns);
        let spectrum = take_complexes(&mut memory, columns / 2);
        let detrended = [take_values(&mut memory, n), take_values(&mut memory, n)];
        let halves = if n / 2 >= V::COUNT.pow(2) { Some(Plan::of::<V>(n / 2)) } else { None };
        Self { welch, pairs: Plan::of::<V>(n), halves, window, work, sums, spectrum, detrended }
    }

    /// One-sided power of one frame.
    #[inline(always)]
    fn power(&mut self, frame: &[f32], power: &mut [f32]) {
        let &Welch { options, factor, frame_len, .. } = self.welch;
        let &WelchOptions { hop, segments, .. } = options;
        let columns = if N > 0 { N / V::COUNT } else { self.window.len() };
        let (window, work) = (&self.window[..columns], &mut self.work[..columns]);
        let (sums, spectrum) = (&mut self.sums[..columns], &mut self.spectrum[..columns / 2]);
        let mut prefetched = 0;
        for first in (0..segments).step_by(2) {
            // Each transform asks for its share of the memory that a later row needs.
            let until = if first + 2 < segments { (first + 2) * hop } else { frame_len };
            prefetched = prefetch::<V>(frame, prefetched, until);
            let [x, y] = self.detrended.each_mut().map(|values| &mut **values);
            let x = Tapered::new(segment(options, frame, first, x), window);
            if first + 1 < segments {
                let y = Tapered::new(segment(options, frame, first + 1, y), window);
                enter(self.pairs, Pair(x, y), work);
            } else if let Some(halves) = self.halves {
                let work = &mut work[..columns / 2];
                enter(halves, Interleaved(x), work);
                over_columns(halves, work);
                over_lanes(halves, work, Keep(spectrum));
                if first > 0 {
                    of_pairs(sums, factor, power);
                }
                return of_one(spectrum, halves.half_turn(), factor, first > 0, power);
            } else {
                enter(self.pairs, Lone(x), work);
            }
            over_columns(self.pairs, work);
            if first == 0 {
                over_lanes(self.pairs, work, Write(sums));
            } else {
                over_lanes(self.pairs, work, Add(sums));
            }
        }
        of_pairs(sums, factor, power);
    }
}

/// Segment `index` of a frame, without its mean in `detrended` if that is to be taken off.
#[inline(always)]
fn segment<'f>(options: &WelchOptions, frame: &'f [f32], index: usize, detrended: &'f mut [f32]) -> &'f [f32] {
    let samples = &frame[index * options.hop..][..options.n_fft];
    if options.detrend == Detrend::None {
        return samples;
    }
    let mean = segment::offset(samples, options.detrend);
    for (value, &sample) in detrended.iter_mut().zip(samples) {
        *value = sample - mean;
    }
    detrended
}

/// Asks for what is [`PREFETCH`] values after those of a row from `from` to `until`, which may be past its end. Gives what
/// to go on from.
#[inline(always)]
pub(super) fn prefetch<V: Lanes>(row: &[f32], from: usize, until: usize) -> usize {
    let until = until.min(row.len());
    let mut at = from;
    while at < until {
        V::prefetch(row.as_ptr().wrapping_add(PREFETCH + at));
        at += Line::LEN;
    }
    at
}
