//! Welch power and peaks of rows in f32, a segment across registers.

use crate::cpu::fft::passes::{Add, Keep, Write, enter, over_columns, over_lanes};
#[cfg(target_arch = "x86_64")]
use crate::cpu::fft::plan;
use crate::cpu::fft::plan::{MIN_N, Plan, shortest};
use crate::cpu::fft::prefetch::Ahead;
use crate::cpu::fft::source::{Interleaved, Lone, Pair, Tapered};
use crate::cpu::fft::unpack::{of_one, of_pairs};
#[cfg(target_arch = "x86_64")]
use crate::cpu::isa::avx512::Avx512;
#[cfg(target_arch = "x86_64")]
use crate::cpu::isa::avx512_two_rows::Avx512Pairs;
use crate::cpu::isa::lines::{Line, lines_for, take_complexes, take_registers, take_values, with_lines};
use crate::cpu::isa::register::{Complex, Lanes};
#[cfg(target_arch = "x86_64")]
use crate::cpu::isa::run_avx512_pairs;
use crate::cpu::isa::{InstructionSet, Task, USUAL_N, dispatch};
use crate::cpu::real::Real;
use crate::cpu::runtime::tasks::Tasks;
use crate::cpu::top_k::forward::{MAX_LANES, Tile, strongest};
use crate::cpu::welch::{scaling, segment, short};
use crate::options::{Detrend, WelchOptions};

/// As [`welch_psd`](crate::cpu::welch_psd()).
pub(in crate::cpu) fn welch_psd(
    signal: &[f32],
    frame_len: usize,
    window: &[f32],
    options: &WelchOptions,
    power: &mut [f32],
) {
    if options.n_fft < MIN_N {
        return short::welch_psd(signal, frame_len, window, options, power);
    }
    let bins = options.bins();
    let welch = welch(frame_len, window, options);
    let (set, shortest) = (InstructionSet::current(), shortest_transform(options));
    let tasks = Tasks::independent(power.len() / bins, work(options));
    let pieces = signal.chunks(tasks.rows * frame_len).zip(power.chunks_mut(tasks.rows * bins));
    tasks.run(pieces, |(frames, power)| {
        with_lines(welch.lines(), |memory| {
            let outputs = Outputs::Power(power);
            RowsTask { welch, memory, frames, outputs }.dispatch(set, shortest);
        });
    });
}

/// As [`welch_peaks`](crate::cpu::welch_peaks()).
pub(in crate::cpu) fn welch_peaks(
    signal: &[f32],
    frame_len: usize,
    window: &[f32],
    options: &WelchOptions,
    k: usize,
    out_bins: &mut [i64],
    out_power: &mut [f32],
) {
    if options.n_fft < MIN_N {
        return short::welch_peaks(signal, frame_len, window, options, k, out_bins, out_power);
    }
    let welch = welch(frame_len, window, options);
    let (set, shortest) = (InstructionSet::current(), shortest_transform(options));
    let tasks = Tasks::independent_groups(out_bins.len() / k, work(options) + options.n_fft / 4, MAX_LANES);
    let pieces = signal
        .chunks(tasks.rows * frame_len)
        .zip(out_bins.chunks_mut(tasks.rows * k))
        .zip(out_power.chunks_mut(tasks.rows * k));
    tasks.run(pieces, |((frames, out_bins), out_power)| {
        f32::with_scratch(|scratch| {
            let (_, _, keys) = scratch.buffers(0, 0, options.bins());
            with_lines(welch.lines(), |memory| {
                let outputs = Outputs::Peaks(Peaks { k, keys, bins: out_bins, power: out_power });
                RowsTask { welch, memory, frames, outputs }.dispatch(set, shortest);
            });
        });
    });
}

pub(in crate::cpu) fn welch<'a>(frame_len: usize, window: &'a [f32], options: &'a WelchOptions) -> Welch<'a> {
    let factor = scaling::factor(window, options.scaling) / options.segments as f64;
    Welch { window, options, factor: factor as f32, frame_len }
}

/// The length of the transforms that most of a row's work is: one segment is taken two samples at a time.
fn shortest_transform(options: &WelchOptions) -> usize {
    if options.segments == 1 { options.n_fft / 2 } else { options.n_fft }
}

/// Work of a row's power, in the unit of [`Tasks`].
fn work(options: &WelchOptions) -> usize {
    options.segments.div_ceil(2) * options.n_fft * options.stages() / 16
}

pub(in crate::cpu) struct RowsTask<'a> {
    pub welch: Welch<'a>,
    pub memory: &'a mut [Line],
    pub frames: &'a [f32],
    pub outputs: Outputs<'a>,
}

impl Task for RowsTask<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { welch, memory, frames, outputs } = self;
        if welch.options.n_fft == USUAL_N && V::COUNT > 4 {
            welch.run::<V, USUAL_N>(frames, memory, outputs);
        } else {
            welch.run::<V, 0>(frames, memory, outputs);
        }
    }
}

impl RowsTask<'_> {
    /// As [`dispatch`]. Where the transforms are too short for a row in the widest registers, those take two rows, if they are
    /// long enough for that.
    fn dispatch(self, set: InstructionSet, shortest: usize) {
        #[cfg(target_arch = "x86_64")]
        if set.min(InstructionSet::detected()) == InstructionSet::Avx512
            && (plan::shortest::<Avx512Pairs>()..plan::shortest::<Avx512>()).contains(&shortest)
        {
            // SAFETY: the processor has what `Avx512` stands for, which is all that is enabled.
            return unsafe { run_avx512_pairs(self) };
        }
        dispatch(set, shortest, self);
    }
}

/// What every row of a call shares.
#[derive(Debug, Clone, Copy)]
pub(in crate::cpu) struct Welch<'a> {
    /// `[n_fft]`.
    pub window: &'a [f32],
    pub options: &'a WelchOptions,
    /// What |X|² summed over segments is multiplied by.
    pub factor: f32,
    pub frame_len: usize,
}

/// The longest segments that registers with two rows side by side take.
pub(in crate::cpu) const MAX_BESIDE: usize = 256;

impl Welch<'_> {
    /// Lines of memory that [`Welch::run`] takes.
    pub fn lines(&self) -> usize {
        let n = self.options.n_fft;
        let rows = if n <= MAX_BESIDE { 2 } else { 1 };
        7 * rows * lines_for(n) + lines_for((MAX_LANES + 1) * self.stride())
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
        let spare = take_values(&mut memory, bins);
        let tile_rows = V::Whole::COUNT;
        let (tile, stride, mut peaks) = match outputs {
            Outputs::Power(power) => (power, bins, None),
            Outputs::Peaks(peaks) => (take_values(&mut memory, tile_rows * stride), stride, Some(peaks)),
        };
        let mut rows = Rows::<V, N>::new(self, memory);
        for (index, frames_beside) in frames.chunks(V::ROWS * frame_len).enumerate() {
            let index = index * V::ROWS;
            let row = if peaks.is_some() { index % tile_rows } else { index };
            let (frame, next) = frames_beside.split_at(frame_len);
            let (power, rest) = tile[row * stride..].split_at_mut(bins);
            if V::ROWS == 1 {
                rows.power([frame, frame], [power, &mut []]);
            } else if next.is_empty() {
                // The last row, without one beside it.
                rows.power([frame, frame], [power, spare]);
            } else {
                rows.power([frame, next], [power, &mut rest[stride - bins..][..bins]]);
            }
            if let Some(peaks) = &mut peaks
                && (row + V::ROWS == tile_rows || (index + V::ROWS) * frame_len >= frames.len())
            {
                peaks.put::<V::Whole>(index - row, &Tile { power: tile, stride, bins });
            }
        }
    }
}

/// What rows are computed for.
pub(in crate::cpu) enum Outputs<'a> {
    /// `[rows, bins]`.
    Power(&'a mut [f32]),
    Peaks(Peaks<'a>),
}

/// The strongest bins of rows.
pub(in crate::cpu) struct Peaks<'a> {
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
    /// `[n]` for each row's even and odd segments.
    detrended: &'a mut [f32],
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
        let detrended = take_values(&mut memory, 2 * V::ROWS * n);
        let halves = if n / 2 >= shortest::<V>() { Some(Plan::of::<V>(n / 2)) } else { None };
        Self { welch, pairs: Plan::of::<V>(n), halves, window, work, sums, spectrum, detrended }
    }

    /// One-sided power of a frame for each row of a register.
    #[inline(always)]
    fn power(&mut self, frames: [&[f32]; 2], mut power: [&mut [f32]; 2]) {
        let &Welch { options, factor, frame_len, .. } = self.welch;
        let &WelchOptions { hop, segments, .. } = options;
        let columns = if N > 0 { N / V::COUNT } else { self.window.len() };
        let (window, work) = (&self.window[..columns], &mut self.work[..columns]);
        let (sums, spectrum) = (&mut self.sums[..columns], &mut self.spectrum[..columns / 2]);
        let mut asked = 0;
        for first in (0..segments).step_by(2) {
            // Each transform asks for its share of the memory that later rows need.
            let until = if first + 2 < segments { frame_len.min((first + 2) * hop) } else { frame_len };
            let mut ahead = Ahead::new(&frames[..V::ROWS], asked, until);
            asked = until;
            ahead.ask::<V>();
            let (x, y) = self.detrended.split_at_mut(V::ROWS * options.n_fft);
            let x = Tapered::new(segment_of_rows::<V>(options, frames, first, x), window);
            if first + 1 < segments {
                let y = Tapered::new(segment_of_rows::<V>(options, frames, first + 1, y), window);
                enter(self.pairs, Pair(x, y), work);
            } else if let Some(halves) = self.halves {
                let work = &mut work[..columns / 2];
                enter(halves, Interleaved(x), work);
                ahead.ask::<V>();
                over_columns(halves, work);
                ahead.ask::<V>();
                over_lanes(halves, work, Keep(spectrum));
                if first > 0 {
                    of_pairs(sums, factor, &mut power);
                }
                return of_one(spectrum, halves.half_turn(), factor, first > 0, &mut power);
            } else {
                enter(self.pairs, Lone(x), work);
            }
            ahead.ask::<V>();
            over_columns(self.pairs, work);
            ahead.ask::<V>();
            if first == 0 {
                over_lanes(self.pairs, work, Write(sums));
            } else {
                over_lanes(self.pairs, work, Add(sums));
            }
        }
        of_pairs(sums, factor, &mut power);
    }
}

/// [`segment`] of each row of a register; if there is one, twice that.
#[inline(always)]
fn segment_of_rows<'f, V: Lanes>(
    options: &WelchOptions,
    frames: [&'f [f32]; 2],
    index: usize,
    detrended: &'f mut [f32],
) -> [&'f [f32]; 2] {
    let (first, second) = detrended.split_at_mut(options.n_fft);
    let first = segment(options, frames[0], index, first);
    [first, if V::ROWS == 1 { first } else { segment(options, frames[1], index, second) }]
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
