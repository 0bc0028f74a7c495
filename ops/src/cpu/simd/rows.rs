//! Rows of a task through the kernels.

use super::fold::one_sided;
use super::lanes::Lanes;
use super::memory::{Line, lines_for, take_complexes, take_registers, take_values};
use super::plan::Plan;
use super::strongest::{MAX_K, Tile, strongest};
use super::transform::{Pair, add_power};
use crate::cpu::segment;
use crate::cpu::top_k::top_k_row;
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

/// Lanes of the widest register.
const MAX_LANES: usize = 16;
/// How far ahead of what is read memory is asked for, in values: 6 KiB.
const PREFETCH: usize = 1536;

impl Welch<'_> {
    /// Lines of memory that [`Welch::power_rows`] takes.
    pub fn power_lines(&self) -> usize {
        4 * lines_for(self.options.n_fft)
    }

    /// Lines of memory that [`Welch::peaks_rows`] takes.
    pub fn peaks_lines(&self) -> usize {
        self.power_lines() + lines_for(MAX_LANES * self.stride())
    }

    /// Values from one row of a tile to the next.
    fn stride(&self) -> usize {
        self.options.bins().next_multiple_of(Line::LEN)
    }

    /// One-sided power of `frames` → `power` `[rows, bins]`. `N` is `n_fft`, if the code is to be made for that alone, or 0.
    #[inline(always)]
    pub fn power_rows<V: Lanes, const N: usize>(&self, frames: &[f32], memory: &mut [Line], power: &mut [f32]) {
        let plan = Plan::of::<V>(self.options.n_fft);
        let rows = frames.chunks_exact(self.frame_len).zip(power.chunks_exact_mut(self.options.bins()));
        for (frame, power) in rows {
            self.power_row::<V, N>(plan, frame, memory, power);
        }
    }

    /// The `k` strongest bins of `frames` → `out_bins`, `out_power` `[rows, k]`. `keys` has a value for each bin.
    /// `N` is as in [`Welch::power_rows`].
    #[inline(always)]
    pub fn peaks_rows<V: Lanes, const N: usize>(
        &self,
        frames: &[f32],
        k: usize,
        mut memory: &mut [Line],
        keys: &mut [u64],
        out_bins: &mut [i64],
        out_power: &mut [f32],
    ) {
        let plan = Plan::of::<V>(self.options.n_fft);
        let (bins, stride) = (self.options.bins(), self.stride());
        let tile = take_values(&mut memory, V::COUNT * stride);
        let outputs = out_bins.chunks_mut(V::COUNT * k).zip(out_power.chunks_mut(V::COUNT * k));
        for (frames, (out_bins, out_power)) in frames.chunks(V::COUNT * self.frame_len).zip(outputs) {
            for (frame, power) in frames.chunks_exact(self.frame_len).zip(tile.chunks_exact_mut(stride)) {
                self.power_row::<V, N>(plan, frame, memory, &mut power[..bins]);
            }
            if k > MAX_K {
                let outputs = out_bins.chunks_exact_mut(k).zip(out_power.chunks_exact_mut(k));
                for (power, (out_bins, out_power)) in tile.chunks_exact(stride).zip(outputs) {
                    top_k_row(&power[..bins], keys, out_bins, out_power);
                }
                continue;
            }
            strongest::<V>(&Tile { power: tile, stride, bins }, k, keys, out_bins, out_power);
        }
    }

    #[inline(always)]
    fn power_row<V: Lanes, const N: usize>(
        &self,
        plan: &Plan,
        frame: &[f32],
        mut memory: &mut [Line],
        power: &mut [f32],
    ) {
        let &WelchOptions { n_fft, hop, segments, detrend, .. } = self.options;
        let columns = if N > 0 { N / V::COUNT } else { plan.columns };
        let work = take_complexes::<V>(&mut memory, columns);
        let sums = take_registers::<V>(&mut memory, columns);
        let natural = take_registers::<V>(&mut memory, columns);
        let segment = |index: usize| &frame[index * hop..][..n_fft];
        let mut prefetched = 0;
        for index in (0..segments).step_by(2) {
            let first = segment(index);
            let second = if index + 1 < segments { Some(segment(index + 1)) } else { None };
            let offsets = match detrend {
                Detrend::None => None,
                Detrend::Constant => {
                    let offset = |segment: &[f32]| segment::offset(segment, detrend);
                    Some([offset(first), second.map_or(0.0, offset)])
                }
            };
            // Each transform asks for its share of the memory that a later row needs.
            let until = if index + 2 < segments { (index + 2) * hop } else { self.frame_len };
            while prefetched < until.min(self.frame_len) {
                V::prefetch(frame.as_ptr().wrapping_add(PREFETCH + prefetched));
                prefetched += Line::LEN;
            }
            let pair = Pair { first, second, window: self.window, offsets };
            add_power::<V, N>(plan, &pair, index > 0, work, sums);
        }
        one_sided(sums, natural, self.factor, power);
    }
}
