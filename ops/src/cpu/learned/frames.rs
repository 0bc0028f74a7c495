//! A learned estimate on a tile of frames, a frame in every lane: what its forward and backward passes share.

use crate::cpu::LearnedWelch;
use crate::cpu::butterfly::prepared::Prepared;
use crate::cpu::butterfly::tile::MAX_LANES;
use crate::cpu::butterfly::tile::Rows;
use crate::cpu::butterfly::tile::RowsMut;
use crate::cpu::butterfly::tile::enter_real;
use crate::cpu::isa::lines::lines_for;
use crate::cpu::isa::register::Complex;
use crate::cpu::isa::register::Lanes;
use crate::cpu::learned::gain::GAIN_TAPS;
use crate::cpu::welch::scaling;
use crate::cpu::welch::segment;
use crate::options::WelchOptions;

/// What the frames of a call share.
pub(in crate::cpu) struct Frames<'a> {
    pub model: &'a LearnedWelch<'a, f32>,
    pub prepared: &'a Prepared,
    /// The bit-reversed order of `n_fft` values.
    pub order: &'a [u32],
    pub frame_len: usize,
    /// The factor of the scaling.
    scale: f32,
}

impl<'a> Frames<'a> {
    pub fn new(model: &'a LearnedWelch<'a, f32>, prepared: &'a Prepared, order: &'a [u32], frame_len: usize) -> Self {
        let scale = scaling::factor(model.window, model.options.scaling) as f32;
        Self { model, prepared, order, frame_len, scale }
    }

    pub fn options(&self) -> &'a WelchOptions {
        self.model.options
    }

    /// Segment `index` of a tile's frames, those that by `only` count. `spare` is as in [`Rows::new`].
    #[inline(always)]
    pub fn segments<'f, V: Lanes>(
        &self,
        frames: &'f [f32],
        index: usize,
        only: Option<&[bool; MAX_LANES]>,
        spare: &'f mut [f32],
    ) -> Rows<'f> {
        let &WelchOptions { n_fft, hop, .. } = self.options();
        Rows::new::<V>(&frames[index * hop..], self.frame_len, n_fft, only, spare)
    }

    /// Puts segments, tapered, into a tile, and gives what the detrending took off each.
    #[inline(always)]
    pub fn enter<V: Lanes>(&self, segments: &Rows<'_>, tile: &mut [Complex<V>]) -> [f32; MAX_LANES] {
        let mut offsets = [0.0; MAX_LANES];
        for (lane, offset) in offsets.iter_mut().enumerate().take(V::COUNT) {
            *offset = segment::offset(segments.row(lane), self.options().detrend);
        }
        let offset_of = [offset::<V>(&offsets, 0), offset(&offsets, 1), offset(&offsets, 2), offset(&offsets, 3)];
        let window = self.model.window.as_chunks().0;
        enter_real(
            self.order,
            segments,
            #[inline(always)]
            |quad, i, samples| V::from_quads([&window[quad]; 4]) * (samples - offset_of[i]),
            tile,
        );
        offsets
    }

    /// Adds `weight · |output[k]|²` to `power[k]`, for the bins of `power`.
    #[inline(always)]
    pub fn add_power<V: Lanes>(&self, output: &[Complex<V>], weight: f32, power: &mut [V]) {
        let weight = V::splat(weight);
        for (power, z) in power.iter_mut().zip(output) {
            *power = squared(z).mul_add(weight, *power);
        }
    }

    /// Multiplies bin k by scale · c_k.
    #[inline(always)]
    pub fn scale_bins<V: Lanes>(&self, power: &mut [V]) {
        let last = power.len() - 1;
        let (once, twice) = (V::splat(self.scale), V::splat(2.0 * self.scale));
        power[0] = power[0] * once;
        power[last] = power[last] * once;
        for power in &mut power[1..last] {
            *power = *power * twice;
        }
    }

    /// Bin k after the gain, from scaled power.
    #[inline(always)]
    pub fn gained<V: Lanes>(&self, power: &[V], k: usize) -> V {
        let Some(gain) = self.model.gain else { return power[k] };
        let gain = &gain[GAIN_TAPS * k..GAIN_TAPS * (k + 1)];
        let [below, above] = neighbours(k, power.len());
        let sum = power[k].mul_add(V::splat(gain[1]), power[below] * V::splat(gain[0]));
        power[above].mul_add(V::splat(gain[2]), sum)
    }

    /// Registers of power, as lines of the widest.
    pub fn power_lines(&self) -> usize {
        MAX_LANES * lines_for(self.options().bins())
    }
}

/// What is taken off the rows of register i of [`Rows::gather`].
#[inline(always)]
fn offset<V: Lanes>(offsets: &[f32; MAX_LANES], i: usize) -> V {
    let (a, b) = ([offsets[i]; 4], [offsets[4 + i]; 4]);
    let (c, d) = ([offsets[8 + i]; 4], [offsets[12 + i]; 4]);
    V::from_quads([&a, &b, &c, &d])
}

/// The bins below and above bin k of a spectrum that is mirrored at its ends.
#[inline(always)]
pub(in crate::cpu) fn neighbours(k: usize, bins: usize) -> [usize; 2] {
    [if k > 0 { k - 1 } else { 1 }, if k + 1 < bins { k + 1 } else { bins - 2 }]
}

/// |z|².
#[inline(always)]
pub(in crate::cpu) fn squared<V: Lanes>(z: &Complex<V>) -> V {
    z.im.mul_add(z.im, z.re * z.re)
}

/// Writes bins, a register each, to rows `stride` apart, as many as a register has lanes.
#[inline(always)]
pub(in crate::cpu) fn put_bins<V: Lanes>(bins: usize, bin: impl Fn(usize) -> V, stride: usize, out: &mut [f32]) {
    let mut rows = RowsMut::new::<V>(out, stride, bins);
    for quad in 0..bins / 4 {
        rows.scatter(quad, [bin(4 * quad), bin(4 * quad + 1), bin(4 * quad + 2), bin(4 * quad + 3)]);
    }
    // There is one more than a multiple of 4.
    let mut nyquist = V::Array::default();
    bin(bins - 1).store(&mut nyquist);
    for (row, &value) in out.chunks_mut(stride).zip(nyquist.as_ref()) {
        row[bins - 1] = value;
    }
}
