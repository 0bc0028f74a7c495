//! Tiles of frames, one frame per lane: the steps that the forward and the backward kernel share.

use crate::cpu::butterfly::prepared::PreparedButterfly;
use crate::cpu::butterfly::tile::{LaneRows, LaneRowsMut, load_real_reversed};
use crate::cpu::isa::lines::lines_for;
use crate::cpu::isa::register::MAX_LANES;
use crate::cpu::isa::register::{Complex, Register};
use crate::cpu::learned::arguments::LearnedWelch;
use crate::cpu::learned::gain::{self, taps_of};
use crate::cpu::welch::{scaling, segment};
use crate::options::WelchOptions;

/// Values shared by the frames of a call.
pub(super) struct LearnedFrames<'a> {
    pub model: &'a LearnedWelch<'a, f32>,
    pub prepared: &'a PreparedButterfly<'a>,
    /// The bit-reversed order of `n_fft` values.
    pub order: &'a [u32],
    pub frame_len: usize,
    /// The factor of the scaling.
    scale: f32,
}

impl<'a> LearnedFrames<'a> {
    pub fn new(
        model: &'a LearnedWelch<'a, f32>,
        prepared: &'a PreparedButterfly<'a>,
        order: &'a [u32],
        frame_len: usize,
    ) -> Self {
        let scale = scaling::factor(model.window, model.options.scaling) as f32;
        Self { model, prepared, order, frame_len, scale }
    }

    pub fn options(&self) -> &'a WelchOptions {
        self.model.options
    }

    /// Segment `index` of a tile's frames. `only` and `spare` are as in [`LaneRows::new`].
    #[inline(always)]
    pub fn segments<'f, V: Register>(
        &self,
        frames: &'f [f32],
        index: usize,
        only: Option<&[bool; MAX_LANES]>,
        spare: &'f mut [f32],
    ) -> LaneRows<'f, V> {
        let &WelchOptions { n_fft, hop, .. } = self.options();
        LaneRows::<V>::new(&frames[index * hop..], self.frame_len, n_fft, only, spare)
    }

    /// Loads segments, windowed, into a tile in bit-reversed order, and returns the means that detrending subtracted.
    #[inline(always)]
    pub fn load<V: Register>(
        &self,
        token: V::Token,
        segments: &LaneRows<'_, V>,
        tile: &mut [Complex<V>],
    ) -> [f32; MAX_LANES] {
        let mut offsets = [0.0; MAX_LANES];
        for (lane, offset) in offsets.iter_mut().enumerate().take(V::LANES) {
            *offset = segment::offset(segments.row(lane), self.options().detrend);
        }
        // Before the transposition register i has the rows 4 h + i, and a quad of the window for each. An array's `map`
        // is not inlined for certain.
        let offset_of = [
            offset::<V>(token, &offsets, 0),
            offset(token, &offsets, 1),
            offset(token, &offsets, 2),
            offset(token, &offsets, 3),
        ];
        let window = self.model.window.as_chunks().0;
        load_real_reversed(
            token,
            self.order,
            segments,
            #[inline(always)]
            |quad, i, samples| V::from_quads(token, [&window[quad]; 4]) * (samples - offset_of[i]),
            tile,
        );
        offsets
    }

    /// Number of the sums of a row that the gain takes: power, and perhaps products of neighbours.
    pub fn sums_len(&self) -> usize {
        gain::sums_len(self.model.gain, self.options().bins())
    }

    /// Adds `weight · |output[k]|²` to the power in `sums`, and `weight · Re output[k] output*[k+1]` to the products.
    #[inline(always)]
    pub fn add_sums<V: Register>(&self, token: V::Token, output: &[Complex<V>], weight: f32, sums: &mut [V]) {
        let weight = V::splat(token, weight);
        let (power, products) = sums.split_at_mut(self.options().bins());
        for (power, z) in power.iter_mut().zip(output) {
            *power = z.product(*z).mul_add(weight, *power);
        }
        for (sum, (z, above)) in products.iter_mut().zip(output.iter().zip(&output[1..])) {
            *sum = z.product(*above).mul_add(weight, *sum);
        }
    }

    /// Multiplies the power of bin k by scale · c_k, and products by twice the scale.
    #[inline(always)]
    pub fn scale_sums<V: Register>(&self, token: V::Token, sums: &mut [V]) {
        let last = self.options().bins() - 1;
        let (once, twice) = (V::splat(token, self.scale), V::splat(token, 2.0 * self.scale));
        for (k, sum) in sums.iter_mut().enumerate() {
            *sum = *sum * if k == 0 || k == last { once } else { twice };
        }
    }

    /// Bin k after the gain, from scaled sums.
    #[inline(always)]
    pub fn gained<V: Register>(&self, token: V::Token, sums: &[V], k: usize) -> V {
        let Some(gain) = self.model.gain else { return sums[k] };
        let bins = self.options().bins();
        let taps = taps_of(gain, bins);
        let taps = &gain[taps * k..taps * (k + 1)];
        let from = gain::sources(k, bins);
        let mut sum = sums[k].mul_add(V::splat(token, taps[1]), sums[from[0]] * V::splat(token, taps[0]));
        for (&tap, &from) in taps.iter().zip(&from).skip(2) {
            sum = sums[from].mul_add(V::splat(token, tap), sum);
        }
        sum
    }

    /// Lines of memory for the sums of a tile in the widest registers.
    pub fn sums_lines(&self) -> usize {
        MAX_LANES * lines_for(self.sums_len())
    }
}

/// The means subtracted from the rows of register i of [`LaneRows::gather`].
#[inline(always)]
fn offset<V: Register>(token: V::Token, offsets: &[f32; MAX_LANES], i: usize) -> V {
    let (a, b) = ([offsets[i]; 4], [offsets[4 + i]; 4]);
    let (c, d) = ([offsets[8 + i]; 4], [offsets[12 + i]; 4]);
    V::from_quads(token, [&a, &b, &c, &d])
}

/// Stores bins, a register each, to rows `stride` apart, as many as a register has lanes.
#[inline(always)]
pub(super) fn store_bins<V: Register>(bins: usize, bin: impl Fn(usize) -> V, stride: usize, out: &mut [f32]) {
    let mut rows = LaneRowsMut::<V>::new(out, stride, bins);
    for quad in 0..bins / 4 {
        rows.scatter(quad, [bin(4 * quad), bin(4 * quad + 1), bin(4 * quad + 2), bin(4 * quad + 3)]);
    }
    // The last bin, Nyquist, is one more than a multiple of 4.
    let mut nyquist = V::Array::default();
    bin(bins - 1).store(&mut nyquist);
    for (row, &value) in out.chunks_mut(stride).zip(nyquist.as_ref()) {
        row[bins - 1] = value;
    }
}
