//! Welch power and peaks of rows in f32, a segment across registers.

use crate::cpu::fft::passes::{column_passes, lane_pass, load_pass};
use crate::cpu::fft::plan::{FftPlan, MIN_N_SIXTEEN_LANES, MIN_N_TWO_ROWS, shortest, width};
use crate::cpu::fft::prefetch::{INPUT_DISTANCE, Prefetcher};
use crate::cpu::fft::source::{AddPower, Interleaved, Samples, SegmentPair, Single, StorePower, StoreSpectrum};
use crate::cpu::fft::unpack::{StoreBins, StoreSums, fold_pairs, unpack_pair, unpack_real};
use crate::cpu::fft::with_length;
use crate::cpu::isa::lines::{Line, lines_for, take_complexes, take_registers, take_values, with_lines};
use crate::cpu::isa::register::{Complex, Lanewise, MAX_LANES, Register};
use crate::cpu::isa::{InstructionSet, Kernel, dispatch, dispatch_two_rows};
use crate::cpu::real::Real;
use crate::cpu::runtime::tasks::Tasks;
use crate::cpu::top_k::forward::{PowerTile, top_k_tile};
use crate::cpu::welch::estimate::{Estimate, FrameSegments};
use crate::cpu::welch::gain::{RowGain, gain_lines};
use crate::options::{Detrend, WelchOptions};

/// The longest segments that are computed with two rows per register, which takes twice the memory.
const MAX_TWO_ROW_N: usize = 256;

/// Number of tasks that few rows are divided into, although their tiles are then not full when they are searched for
/// peaks: the transforms take longer than the search.
const FEW_TASKS: usize = 4;
const FEWEST_ROWS_OF_TILE: usize = 4;

// A segment alone is transformed as n / 2 values, so the longest one is twice the longest transform of two rows, which
// is half the shortest of sixteen lanes. `WelchKernel::dispatch` goes by the same bounds.
const _: () = assert!(MAX_TWO_ROW_N == 2 * (MIN_N_SIXTEEN_LANES / 2) && MIN_N_TWO_ROWS < MIN_N_SIXTEEN_LANES);

/// Computes the outputs of rows `signal` `[rows, frame_len]`.
pub(super) fn welch(signal: &[f32], call: WelchCall<'_>, outputs: WelchOutputs<'_>) {
    let (options, bins) = (call.options, call.options.bins());
    let set = InstructionSet::current();
    let rows = outputs.rows(bins);
    let work = call.segments.count.div_ceil(2) * options.n_fft * options.stages() / 16;
    let tasks = match outputs {
        WelchOutputs::Power(_) => Tasks::independent(rows, work),
        WelchOutputs::Peaks(_) => {
            let rows_of_tile = (rows / FEW_TASKS).clamp(FEWEST_ROWS_OF_TILE, MAX_LANES);
            Tasks::independent_groups(rows, work + options.n_fft / 4, rows_of_tile)
        }
    };
    let pieces = signal.chunks(tasks.rows * call.frame_len).zip(outputs.pieces(tasks.rows, bins));
    tasks.run(pieces, |(frames, outputs)| {
        outputs.with_keys(options.searched().len(), |outputs| {
            with_lines(call.lines(), |memory| WelchKernel { call, memory, frames, outputs }.dispatch(set));
        });
    });
}

/// Values shared by every row of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct WelchCall<'a> {
    /// `[n_fft]`.
    pub window: &'a [f32],
    pub options: &'a WelchOptions,
    pub segments: FrameSegments,
    /// Factor on |X|² summed over segments.
    pub factor: f32,
    /// `[bins, 3]` or `[bins, 5]`.
    pub gain: Option<&'a [f32]>,
    pub has_products: bool,
    pub frame_len: usize,
}

impl<'a> WelchCall<'a> {
    pub fn new(frame_len: usize, estimate: &Estimate<'a, f32>) -> Self {
        let &Estimate { window, gain, options, segments } = estimate;
        let has_products = estimate.has_products();
        Self { window, options, segments, factor: estimate.factor(), gain, has_products, frame_len }
    }

    /// Lines of memory that a [`WelchKernel`] takes, for any registers.
    pub fn lines(&self) -> usize {
        let n = self.options.n_fft;
        let rows = if n <= MAX_TWO_ROW_N { 2 } else { 1 };
        let gain = self.gain.map_or(0, |gain| gain_lines(gain, self.options.bins(), rows));
        // Products take whole spectra in place of half ones and of sums, and half as many values as a segment.
        let buffers = if self.has_products { 8 } else { 7 };
        buffers * rows * lines_for(n) + lines_for((MAX_LANES + 1) * self.stride()) + gain
    }

    /// Values from one row of a tile to the next.
    fn stride(&self) -> usize {
        self.options.bins().next_multiple_of(Line::LEN)
    }
}

/// The rows of one task.
pub(super) struct WelchKernel<'a> {
    pub call: WelchCall<'a>,
    pub memory: &'a mut [Line],
    /// `[rows, frame_len]`.
    pub frames: &'a [f32],
    pub outputs: WelchOutputs<'a>,
}

/// Results that rows are computed for.
pub(super) enum WelchOutputs<'a, T: Real = f32> {
    /// `[rows, bins]`.
    Power(&'a mut [T]),
    Peaks(PeakRows<'a, T>),
}

pub(super) struct PeakRows<'a, T: Real = f32> {
    pub k: usize,
    /// A value for each bin that is searched, overwritten; none until a task has memory for them.
    pub keys: &'a mut [T::Key],
    /// `[rows, k]`.
    pub bins: &'a mut [i64],
    /// `[rows, k]`.
    pub power: &'a mut [T],
}

impl<'a, T: Real> WelchOutputs<'a, T> {
    pub fn rows(&self, bins: usize) -> usize {
        match self {
            Self::Power(power) => power.len() / bins,
            Self::Peaks(peaks) => peaks.bins.len() / peaks.k,
        }
    }

    pub fn as_f32_mut(&mut self) -> Option<WelchOutputs<'_>> {
        Some(match self {
            Self::Power(power) => WelchOutputs::Power(T::as_f32_mut(power)?),
            Self::Peaks(peaks) => {
                let power = T::as_f32_mut(peaks.power)?;
                WelchOutputs::Peaks(PeakRows { k: peaks.k, keys: &mut [], bins: &mut *peaks.bins, power })
            }
        })
    }

    /// The outputs of each `rows` rows with `bins` bins.
    pub fn pieces(self, rows: usize, bins: usize) -> impl Iterator<Item = Self> + Send {
        let (k, power, found) = match self {
            Self::Power(power) => (None, power, Default::default()),
            Self::Peaks(PeakRows { k, bins, power, .. }) => (Some(k), power, bins),
        };
        let len = rows * k.unwrap_or(bins);
        let mut found = found.chunks_mut(len);
        power.chunks_mut(len).map(move |power| match k {
            None => Self::Power(power),
            Some(k) => Self::Peaks(PeakRows { k, keys: &mut [], bins: found.next().unwrap_or_default(), power }),
        })
    }

    /// Runs `body` on the outputs, with memory for the keys of `len` bins where peaks are searched.
    pub fn with_keys(self, len: usize, body: impl FnOnce(WelchOutputs<'_, T>)) {
        match self {
            Self::Power(_) => body(self),
            Self::Peaks(peaks) => T::with_scratch(|scratch| {
                let (_, _, keys) = scratch.buffers(0, 0, len);
                body(WelchOutputs::Peaks(PeakRows { keys, ..peaks }));
            }),
        }
    }
}

impl PeakRows<'_> {
    /// Searches the rows of `tile`, the first of which is `row`; `GENERAL` is that of [`top_k_tile`].
    #[inline(always)]
    pub fn search<V: Register, const GENERAL: bool>(&mut self, token: V::Token, row: usize, tile: PowerTile<'_>) {
        let k = self.k;
        let until = self.bins.len().min((row + V::LANES) * k);
        let (bins, power) = (&mut self.bins[row * k..until], &mut self.power[row * k..until]);
        top_k_tile::<V, GENERAL>(token, &tile, k, self.keys, bins, power);
    }
}

impl Kernel for WelchKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        with_length!(self.call.options.n_fft, V::LANES, |N| self.rows::<V, N>(token));
    }
}

impl WelchKernel<'_> {
    /// Runs with the widest registers that the transforms fill: two rows side by side where one is too short.
    fn dispatch(self, set: InstructionSet) {
        let options = self.call.options;
        // Most of a row's work: one segment alone is transformed as n / 2 complex values, unless those are too few for two
        // rows side by side, which take less time as n values.
        let half = options.n_fft / 2;
        let is_half = self.call.segments.count == 1 && half >= MIN_N_TWO_ROWS;
        let transform = if is_half { half } else { options.n_fft };
        if (MIN_N_TWO_ROWS..MIN_N_SIXTEEN_LANES).contains(&transform) {
            debug_assert!(options.n_fft <= MAX_TWO_ROW_N);
            dispatch_two_rows(set, self);
        } else {
            dispatch(set, width(transform), self);
        }
    }

    /// `N` is `n_fft`, if the code is compiled for that alone, or 0.
    #[inline(always)]
    fn rows<V: Register, const N: usize>(self, token: V::Token) {
        let Self { call, mut memory, frames, outputs } = self;
        let bins = if N > 0 { N / 2 + 1 } else { call.options.bins() };
        let (stride, frame_len) = (call.stride(), call.frame_len);
        let spare = take_values(&mut memory, bins);
        // Power goes to the caller; for peaks it goes to a tile, which is searched when it is full.
        let tile_rows = V::OneRow::LANES;
        let (tile, stride, mut peaks) = match outputs {
            WelchOutputs::Power(power) => (power, bins, None),
            WelchOutputs::Peaks(peaks) => (take_values(&mut memory, tile_rows * stride), stride, Some(peaks)),
        };
        let gain = call.gain.map(|gain| RowGain::<V>::new(token, gain, bins, &mut memory));
        let mut rows = RowPowerBuffers::<V, N>::new(token, &call, memory);
        for (index, frames_beside) in frames.chunks(V::ROWS * frame_len).enumerate() {
            let index = index * V::ROWS;
            let row = if peaks.is_some() { index % tile_rows } else { index };
            let (frame, next) = frames_beside.split_at(frame_len);
            // The last row of an odd number has no second row.
            let alone = next.is_empty();
            let is_last = (index + V::ROWS) * frame_len >= frames.len();
            let is_full = peaks.is_some() && row + V::ROWS == tile_rows;
            let mut power = beside::<V>(&mut tile[row * stride..], stride, bins, spare, alone);
            rows.compute([frame, if alone { frame } else { next }], gain.as_ref(), &mut power);
            // Search a full tile, or the last one, for the peaks of all its rows at once.
            if let Some(peaks) = &mut peaks
                && (is_last || is_full)
            {
                peaks.search::<V::OneRow, false>(
                    token,
                    index - row,
                    PowerTile::new(tile, stride, call.options.searched()),
                );
            }
        }
    }
}

/// The first row of `tile`, and with registers of two rows the one after it, or `spare` for a row that is alone.
#[inline(always)]
fn beside<'t, V: Register>(
    tile: &'t mut [f32],
    stride: usize,
    bins: usize,
    spare: &'t mut [f32],
    alone: bool,
) -> [&'t mut [f32]; 2] {
    let (first, rest) = tile.split_at_mut(bins);
    match (V::ROWS, alone) {
        (1, _) => [first, &mut []],
        (_, true) => [first, spare],
        (_, false) => [first, &mut rest[stride - bins..][..bins]],
    }
}

/// Buffers and plans to compute the power of rows, as many at once as a register has.
struct RowPowerBuffers<'a, V: Register, const N: usize> {
    token: V::Token,
    call: &'a WelchCall<'a>,
    /// Plan of two segments as one complex transform.
    pairs: &'static FftPlan,
    /// Plan of a single segment as a complex transform of its pairs of samples, unless that is too short for the lanes.
    halves: Option<&'static FftPlan>,
    /// `[n]`.
    window: &'a [V],
    is_rectangular: bool,
    /// `[n]`.
    work: &'a mut [Complex<V>],
    /// `[n]` but where the gain takes products.
    sums: &'a mut [V],
    /// `[n / 2]`, or `[n]` where the gain takes products.
    spectrum: &'a mut [Complex<V>],
    /// `[n / 2]` where the gain takes products: of each bin with the bin above.
    products: &'a mut [V],
    /// `[n]` for each row's even and odd segments.
    detrended: &'a mut [f32],
    /// Distance to the same samples of a later row, for frames of which a good part is not read.
    sparse: Option<usize>,
}

impl<'a, V: Register, const N: usize> RowPowerBuffers<'a, V, N> {
    #[inline(always)]
    fn new(token: V::Token, call: &'a WelchCall<'a>, mut memory: &'a mut [Line]) -> Self {
        let n = call.options.n_fft;
        let columns = n / V::LANES;
        let window = take_registers::<V>(token, &mut memory, columns);
        for (register, values) in window.iter_mut().zip(V::arrays(call.window)) {
            *register = V::load(token, values);
        }
        let work = take_complexes(token, &mut memory, columns);
        let sums = take_registers(token, &mut memory, if call.has_products { 0 } else { columns });
        let spectrum = take_complexes(token, &mut memory, if call.has_products { columns } else { columns / 2 });
        let products = take_registers(token, &mut memory, if call.has_products { columns / 2 } else { 0 });
        let detrended = take_values(&mut memory, 2 * V::ROWS * n);
        let halves = if n / 2 >= shortest::<V>() { Some(FftPlan::of::<V>(n / 2)) } else { None };
        let is_sparse = 4 * call.segments.samples(call.options) < 3 * call.frame_len;
        let sparse = is_sparse.then(|| INPUT_DISTANCE.next_multiple_of(call.frame_len));
        let pairs = FftPlan::of::<V>(n);
        let is_rectangular = call.window.iter().all(|&value| value == 1.0);
        Self { token, call, pairs, halves, window, is_rectangular, work, sums, spectrum, products, detrended, sparse }
    }

    /// One-sided power of a frame for each row of a register, with the gain, if there is one.
    #[inline(always)]
    fn compute(&mut self, frames: [&[f32]; 2], gain: Option<&RowGain<'_, V>>, power: &mut [&mut [f32]; 2]) {
        let token = self.token;
        let &WelchCall { options, segments, factor, has_products, frame_len, .. } = self.call;
        let columns = if N > 0 { N / V::LANES } else { self.window.len() };
        let (window, work) = (&self.window[..columns], &mut self.work[..columns]);
        let sums = &mut self.sums[..if has_products { 0 } else { columns }];
        let spectrum = &mut self.spectrum[..if has_products { columns } else { columns / 2 }];
        let starts = frames.map(<[f32]>::as_ptr);
        let mut prefetched = 0;
        for first in (0..segments.count).step_by(2) {
            // Each transform prefetches its share of the memory that later rows need.
            let mut prefetcher = if let Some(distance) = self.sparse {
                let last = segments.count.min(first + 2) - 1;
                let start = |at: usize| segments.index(at) * options.hop;
                let (x, y, samples) = (start(first), start(last), options.n_fft);
                let x = x.max(prefetched)..x + samples;
                // What both segments have is prefetched once.
                let y = y.max(prefetched).max(x.end)..y + samples;
                prefetched = y.end;
                Prefetcher::of_ranges(&starts[..V::ROWS], [x, y], distance)
            } else {
                let is_last = first + 2 >= segments.count;
                let next = |at: usize| segments.index(at) * options.hop;
                let until = if is_last { frame_len } else { frame_len.min(next(first + 2)) };
                let from = std::mem::replace(&mut prefetched, until);
                Prefetcher::new(&starts[..V::ROWS], from, until)
            };
            // Load pass: window two segments as one complex vector, or an odd last one as a real vector.
            let (x, y) = self.detrended.split_at_mut(V::ROWS * options.n_fft);
            let x = segment_of_rows::<V>(token, options, frames, segments.index(first), x);
            let x = Samples::<V>::new(token, x, columns);
            if first + 1 < segments.count {
                let y = segment_of_rows::<V>(token, options, frames, segments.index(first + 1), y);
                let y = Samples::new(token, y, columns);
                if self.is_rectangular {
                    load_pass(token, self.pairs, SegmentPair(x, y), work, &mut prefetcher);
                } else {
                    let pair = SegmentPair(x.windowed(window), y.windowed(window));
                    load_pass(token, self.pairs, pair, work, &mut prefetcher);
                }
            } else if let (Some(halves), false) = (self.halves, has_products) {
                // The last segment of an odd number: a transform of half the length gives its power directly.
                let work = &mut work[..columns / 2];
                load_pass(token, halves, Interleaved(x.windowed(window)), work, &mut prefetcher);
                column_passes(token, halves, work, &mut prefetcher);
                lane_pass(token, halves, work, StoreSpectrum(spectrum), &mut prefetcher);
                let half_turn = halves.half_turn(token);
                if first > 0 {
                    fold_pairs(token, sums, factor, StoreBins { power });
                    unpack_real::<V, true>(token, spectrum, half_turn, factor, power);
                } else {
                    unpack_real::<V, false>(token, spectrum, half_turn, factor, power);
                }
                if let Some(RowGain::Power(gain)) = gain {
                    gain.apply::<N>(token, power);
                }
                return;
            } else {
                load_pass(token, self.pairs, Single(x.windowed(window)), work, &mut prefetcher);
            }
            column_passes(token, self.pairs, work, &mut prefetcher);
            // Lane pass: |Z|² into the sums over pairs of segments, or the spectrum, for the products.
            if let Some(RowGain::Products(gain)) = gain {
                lane_pass(token, self.pairs, work, StoreSpectrum(spectrum), &mut prefetcher);
                if first + 2 < segments.count {
                    let products = &mut *self.products;
                    unpack_pair(token, spectrum, factor, StoreSums { power, products, adds: first > 0 });
                } else {
                    let earlier = if first > 0 { &*self.products } else { &[] };
                    unpack_pair(token, spectrum, factor, gain.sink::<N>(token, power, earlier));
                }
            } else if first == 0 {
                lane_pass(token, self.pairs, work, StorePower(sums), &mut prefetcher);
            } else {
                lane_pass(token, self.pairs, work, AddPower(sums), &mut prefetcher);
            }
        }
        match gain {
            None => fold_pairs(token, sums, factor, StoreBins { power }),
            Some(RowGain::Power(gain)) => fold_pairs(token, sums, factor, gain.sink::<N>(token, power, &[])),
            Some(RowGain::Products(_)) => {}
        }
    }
}

/// [`segment`] of each row of a register; if there is one row, twice that.
#[inline(always)]
pub(super) fn segment_of_rows<'f, V: Register>(
    token: V::Token,
    options: &WelchOptions,
    frames: [&'f [f32]; 2],
    index: usize,
    detrended: &'f mut [f32],
) -> [&'f [f32]; 2] {
    let (first, second) = detrended.split_at_mut(options.n_fft);
    let first = segment::<V>(token, options, frames[0], index, first);
    [first, if V::ROWS == 1 { first } else { segment::<V>(token, options, frames[1], index, second) }]
}

/// Segment `index` of a frame; the difference from the mean, where that is to be subtracted, is stored in `detrended`.
#[inline(always)]
fn segment<'f, V: Register>(
    token: V::Token,
    options: &WelchOptions,
    frame: &'f [f32],
    index: usize,
    detrended: &'f mut [f32],
) -> &'f [f32] {
    let samples = &frame[index * options.hop..][..options.n_fft];
    if options.detrend == Detrend::None {
        return samples;
    }
    let mean = mean::<V::OneRow>(token, samples);
    for (value, &sample) in detrended.iter_mut().zip(samples) {
        *value = sample - mean;
    }
    detrended
}

/// The mean of a multiple of four registers. At most sixteen values are added in single precision, which rounds no more
/// than the mean does; their sums are added in double precision.
#[inline(always)]
fn mean<V: Register>(token: V::Token, samples: &[f32]) -> f32 {
    let registers = V::arrays(samples).as_chunks::<4>().0;
    debug_assert_eq!(registers.len() * 4 * V::LANES, samples.len());
    let mut sums = [0.0; MAX_LANES];
    for registers in registers.chunks(4) {
        let mut parts = [V::splat(token, 0.0); 4];
        for values in registers {
            for (part, values) in parts.iter_mut().zip(values) {
                *part = *part + V::load(token, values);
            }
        }
        let mut lanes = V::Array::default();
        ((parts[0] + parts[1]) + (parts[2] + parts[3])).store(&mut lanes);
        for (sum, &lane) in sums.iter_mut().zip(lanes.as_ref()) {
            *sum += f64::from(lane);
        }
    }
    // In pairs, so that additions do not wait for each other.
    let mut pairs = [0.0; 4];
    for quarter in sums.as_chunks::<4>().0 {
        for (sum, part) in pairs.iter_mut().zip(quarter) {
            *sum += part;
        }
    }
    (((pairs[0] + pairs[1]) + (pairs[2] + pairs[3])) / samples.len() as f64) as f32
}
