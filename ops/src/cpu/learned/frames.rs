//! Tiles of frames, one frame per lane: the steps that the forward and the backward kernel share.

use crate::cpu::butterfly::prepared::PreparedButterfly;
use crate::cpu::butterfly::tile::{LaneRows, LaneRowsMut, load_real_reversed};
use crate::cpu::isa::lines::lines_for;
use crate::cpu::isa::register::MAX_LANES;
use crate::cpu::isa::register::{Complex, Register};
use crate::cpu::learned::arguments::LearnedWelch;
use crate::cpu::learned::gain::GAIN_TAPS;
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

    /// Adds `weight · |output[k]|²` to `power[k]`, for the bins of `power`.
    #[inline(always)]
    pub fn add_power<V: Register>(&self, token: V::Token, output: &[Complex<V>], weight: f32, power: &mut [V]) {
        let weight = V::splat(token, weight);
        for (power, z) in power.iter_mut().zip(output) {
            *power = squared(z).mul_add(weight, *power);
        }
    }

    /// Multiplies bin k by scale · c_k.
    #[inline(always)]
    pub fn scale_bins<V: Register>(&self, token: V::Token, power: &mut [V]) {
        let last = power.len() - 1;
        let (once, twice) = (V::splat(token, self.scale), V::splat(token, 2.0 * self.scale));
        power[0] = power[0] * once;
        power[last] = power[last] * once;
        for power in &mut power[1..last] {
            *power = *power * twice;
        }
    }

    /// Bin k after the gain, from scaled power.
    #[inline(always)]
    pub fn gained<V: Register>(&self, token: V::Token, power: &[V], k: usize) -> V {
        let Some(gain) = self.model.gain else { return power[k] };
        let gain = &gain[GAIN_TAPS * k..GAIN_TAPS * (k + 1)];
        let [below, above] = neighbours(k, power.len());
        let sum = power[k].mul_add(V::splat(token, gain[1]), power[below] * V::splat(token, gain[0]));
        power[above].mul_add(V::splat(token, gain[2]), sum)
    }

    /// Lines of memory for the power of a tile in the widest registers.
    pub fn power_lines(&self) -> usize {
        MAX_LANES * lines_for(self.options().bins())
    }
}

/// The means subtracted from the rows of register i of [`LaneRows::gather`].
#[inline(always)]
fn offset<V: Register>(token: V::Token, offsets: &[f32; MAX_LANES], i: usize) -> V {
    let (a, b) = ([offsets[i]; 4], [offsets[4 + i]; 4]);
    let (c, d) = ([offsets[8 + i]; 4], [offsets[12 + i]; 4]);
    V::from_quads(token, [&a, &b, &c, &d])
}

/// The bins below and above bin k of a spectrum that is mirrored at its ends.
#[inline(always)]
pub(super) fn neighbours(k: usize, bins: usize) -> [usize; 2] {
    [if k > 0 { k - 1 } else { 1 }, if k + 1 < bins { k + 1 } else { bins - 2 }]
}

/// |z|².
#[inline(always)]
pub(super) fn squared<V: Register>(z: &Complex<V>) -> V {
    z.im.mul_add(z.im, z.re * z.re)
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
