//! Transforms of rows in f32 with a row per lane.
//!
//! Lanes share nothing, so a row has the same bits wherever it is in the batch, and no row disturbs another.

use std::sync::Arc;

use super::OneSidedFactors;
use super::passes::{passes, splat};
use super::plan::MixedRadixPlan;
use super::transposition::{load_columns, load_pairs, store_columns, store_pairs};
use crate::cpu::butterfly::tile;
use crate::cpu::isa::lines::{Line, lines_for, take_complexes, take_values, with_lines};
use crate::cpu::isa::register::{Complex, MAX_LANES, Register};
use crate::cpu::isa::{InstructionSet, Kernel, dispatch};
use crate::cpu::runtime::tasks::Tasks;

/// A kind of transform of `n` points, and its factors.
#[derive(Debug, Clone, Copy)]
pub(super) enum LaneTransformKind {
    /// Complex values to complex values, times the factor.
    Complex(f32),
    /// Real values to the lower half of a spectrum.
    Real(OneSidedFactors<f32>),
    /// The lower half of a spectrum to real values.
    InverseReal(OneSidedFactors<f32>),
}

/// Rows, each `[rows, width]`: real and imaginary parts, the second empty where values are real.
pub(super) type ComplexParts<'a> = [&'a [f32]; 2];
pub(super) type ComplexPartsMut<'a> = [&'a mut [f32]; 2];

/// One transform for all rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct LaneTransform<'a> {
    pub kind: LaneTransformKind,
    pub n: usize,
    /// Values of an input row.
    pub width: usize,
    /// Values of an output row: of a half spectrum, as many bins as are kept.
    pub length: usize,
    /// The plan of [`complex_points`] points.
    pub plan: &'a MixedRadixPlan,
}

/// Points of the complex transform that computes a real one of `n` points: an even one takes two samples as a value.
pub(super) fn complex_points(n: usize) -> usize {
    if n.is_multiple_of(2) { n / 2 } else { n }
}

impl LaneTransform<'_> {
    /// Registers of the spectra that are kept beside the tile.
    #[inline(always)]
    fn kept(&self) -> usize {
        match self.kind {
            LaneTransformKind::InverseReal(_) => self.n / 2 + 1,
            LaneTransformKind::Complex(_) | LaneTransformKind::Real(_) => 0,
        }
    }

    /// Registers of the pairs that a pass with the largest radix forms.
    #[inline(always)]
    fn pairs(&self) -> usize {
        self.plan.largest_radix
    }

    /// Transforms all rows of `input`, or those that `output` has.
    pub fn run(&self, input: Option<ComplexParts<'_>>, output: ComplexPartsMut<'_>) {
        let (width, length) = (self.width, self.length);
        let rows = output[0].len() / length;
        let registers = self.plan.points + 1 + self.kept() + self.pairs();
        let lines = 2 * registers * MAX_LANES / Line::LEN + lines_for(MAX_LANES * width.max(length));
        let set = InstructionSet::current();
        let tasks = Tasks::independent_groups(rows, self.plan.work(), MAX_LANES);
        tasks.run(tasks.pieces(input, width, output, length), |(input, output)| {
            with_lines(lines, |memory| {
                dispatch(set, tile::width(rows), LaneKernel { transform: *self, input, output, memory });
            });
        });
    }
}

struct LaneKernel<'a> {
    transform: LaneTransform<'a>,
    input: Option<ComplexParts<'a>>,
    output: ComplexPartsMut<'a>,
    memory: &'a mut [Line],
}

impl Kernel for LaneKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        let Self { transform, mut input, output: [mut out_re, mut out_im], mut memory } = self;
        let LaneTransform { kind, n, width, length, plan } = transform;
        let tile = take_complexes::<V>(token, &mut memory, plan.points + 1);
        let kept = take_complexes::<V>(token, &mut memory, transform.kept());
        let pairs = take_complexes::<V>(token, &mut memory, transform.pairs()).as_chunks_mut::<2>().0;
        let spare = take_values(&mut memory, V::LANES * width.max(length));
        while !out_re.is_empty() {
            // The rows of a register, fewer of them at the end of the task, from both parts of input and output.
            let (into_re, rest) = out_re.split_at_mut(out_re.len().min(V::LANES * length));
            out_re = rest;
            let (into_im, rest) = out_im.split_at_mut(out_im.len().min(V::LANES * length));
            out_im = rest;
            let [re_rows, im_rows] = match &mut input {
                Some(parts) => parts.each_mut().map(
                    #[inline(always)]
                    |part| {
                        let (rows, rest) = part.split_at(part.len().min(V::LANES * width));
                        *part = rest;
                        rows
                    },
                ),
                None => [&*into_re, &*into_im],
            };
            // Rows to lanes, in the order that the passes take: transposed, and of real transforms as complex values.
            let mut rows = TileRows { token, n, width, plan, tile: &mut *tile, spare: &mut *spare };
            match kind {
                LaneTransformKind::Complex(_) => rows.load_complex(re_rows, im_rows),
                LaneTransformKind::Real(_) => rows.load_real(
                    re_rows,
                    width.min(n),
                    #[inline(always)]
                    |_, column| column,
                ),
                LaneTransformKind::InverseReal(factors) => {
                    rows.load_half(factors, re_rows, im_rows, kept);
                    rows.pack(kept);
                }
            }
            passes(token, plan, &mut rows.tile[..plan.points], pairs);
            // Lanes to rows, in natural order; the bins of a real transform are taken apart first.
            match kind {
                LaneTransformKind::Complex(factor) => rows.store_complex(factor, n, into_re, into_im),
                LaneTransformKind::Real(factors) => {
                    rows.unpack(factors);
                    rows.store_complex(1.0, length, into_re, into_im);
                }
                LaneTransformKind::InverseReal(_) => rows.store_real(into_re),
            }
        }
    }
}

/// A tile with the rows of a register.
pub(super) struct TileRows<'a, V: Register> {
    pub token: V::Token,
    pub n: usize,
    /// Values from one row to the next.
    pub width: usize,
    pub plan: &'a MixedRadixPlan,
    /// One register more than the plan has points.
    pub tile: &'a mut [Complex<V>],
    pub spare: &'a mut [f32],
}

impl<V: Register> TileRows<'_, V> {
    /// Complex values, cut or padded, in their places.
    #[inline(always)]
    fn load_complex(&mut self, re: &[f32], im: &[f32]) {
        let (tile, places, used) = (&mut *self.tile, &self.plan.places, self.width.min(self.n));
        load_parts(
            self.token,
            [re, im],
            [self.width, used],
            self.spare,
            tile,
            #[inline(always)]
            |j| places[j] as usize,
        );
        for place in &places[used..] {
            tile[*place as usize] = Complex::zero(self.token);
        }
    }

    /// The first `used` real values of each row in their places, `change` applied to each column: two by two as complex
    /// values, or, where n is odd, with imaginary parts of 0.
    #[inline(always)]
    pub fn load_real(&mut self, signal: &[f32], used: usize, change: impl Fn(usize, V) -> V) {
        let (tile, places) = (&mut *self.tile, &self.plan.places);
        if self.n.is_multiple_of(2) {
            return load_pairs(self.token, places, signal, [self.width, used], self.spare, tile, change);
        }
        for place in places {
            tile[*place as usize] = Complex::zero(self.token);
        }
        load_columns(
            self.token,
            signal,
            self.width,
            used,
            self.spare,
            #[inline(always)]
            |j, column| tile[places[j] as usize].re = change(j, column),
        );
    }

    /// The lower bins of a real transform from those of the complex one, times the factors.
    #[inline(always)]
    pub fn unpack(&mut self, factors: OneSidedFactors<f32>) {
        let (token, tile, points) = (self.token, &mut *self.tile, self.plan.points);
        let (zero, ends) = (V::splat(token, 0.0), V::splat(token, factors.ends));
        let first = tile[0];
        if !self.n.is_multiple_of(2) {
            let [re, im] = [V::splat(token, factors.interior[0]), V::splat(token, factors.interior[1])];
            for bin in &mut tile[1..points / 2 + 1] {
                *bin = Complex { re: bin.re * re, im: bin.im * im };
            }
            tile[0] = Complex { re: first.re * ends, im: zero };
            return;
        }
        // With Z the transform of x[2j] + i x[2j + 1], N = n / 2 values: 2 X[k] = S + T and 2 X[N - k] = (S - T)*,
        // where S = Z[k] + Z[N - k]*, T = -i exp(-2πi k / n) (Z[k] - Z[N - k]*).
        let [re, im] = [V::splat(token, 0.5 * factors.interior[0]), V::splat(token, 0.5 * factors.interior[1])];
        for k in 1..points / 2 + 1 {
            let (a, b) = (tile[k], tile[points - k]);
            let s = Complex { re: a.re + b.re, im: a.im - b.im };
            let t = Complex { re: a.re - b.re, im: a.im + b.im }.times(splat(token, self.plan.half_turns[k]));
            let (lower, upper) = (s.plus(t), t.minus(s));
            tile[points - k] = Complex { re: (zero - upper.re) * re, im: upper.im * im };
            tile[k] = Complex { re: lower.re * re, im: lower.im * im };
        }
        tile[0] = Complex { re: (first.re + first.im) * ends, im: zero };
        tile[points] = Complex { re: (first.re - first.im) * ends, im: zero };
    }

    /// The lower bins of spectra in natural order, cut or padded, times the factors.
    #[inline(always)]
    fn load_half(&mut self, factors: OneSidedFactors<f32>, re: &[f32], im: &[f32], bins: &mut [Complex<V>]) {
        // The bins that the input has, and zeros for those that it lacks.
        let used = self.width.min(bins.len());
        load_parts(
            self.token,
            [re, im],
            [self.width, used],
            self.spare,
            bins,
            #[inline(always)]
            |k| k,
        );
        let (token, zero) = (self.token, V::splat(self.token, 0.0));
        for bin in &mut bins[used..] {
            *bin = Complex { re: zero, im: zero };
        }
        // Interior bins stand for their mirror images too; DC and Nyquist are real and stand for themselves alone.
        let [re, im] = [V::splat(token, factors.interior[0]), V::splat(token, factors.interior[1])];
        let interior = self.n.div_ceil(2);
        for bin in &mut bins[1..interior.max(1)] {
            *bin = Complex { re: bin.re * re, im: bin.im * im };
        }
        let ends = V::splat(token, factors.ends);
        bins[0] = Complex { re: bins[0].re * ends, im: zero };
        if let Some(nyquist) = bins.get_mut(interior.max(1)) {
            *nyquist = Complex { re: nyquist.re * ends, im: zero };
        }
    }

    /// The spectrum, in its places, that the passes take to real samples. Real and imaginary parts are exchanged, which
    /// makes the forward transform the inverse one.
    #[inline(always)]
    pub fn pack(&mut self, bins: &[Complex<V>]) {
        let (points, places) = (self.plan.points, &self.plan.places);
        let zero = V::splat(self.token, 0.0);
        if !self.n.is_multiple_of(2) {
            // All bins, the upper ones the conjugates of the lower.
            self.tile[0] = Complex { re: zero, im: bins[0].re };
            for (k, bin) in bins.iter().enumerate().skip(1) {
                self.tile[places[k] as usize] = Complex { re: bin.im, im: bin.re };
                self.tile[places[points - k] as usize] = Complex { re: zero - bin.im, im: bin.re };
            }
            return;
        }
        // Z[k] = S + U and Z[N - k] = (S - U)*, where S = X[k] + X[N - k]*, U = i exp(2πi k / n) (X[k] - X[N - k]*).
        self.tile[0] = Complex { re: bins[0].re - bins[points].re, im: bins[0].re + bins[points].re };
        for k in 1..points / 2 + 1 {
            let (a, b) = (bins[k], bins[points - k]);
            let [re, im] = self.plan.half_turns[k];
            let s = Complex { re: a.re + b.re, im: a.im - b.im };
            let u = Complex { re: a.re - b.re, im: a.im + b.im }.times(splat(self.token, [re, -im]));
            let (lower, upper) = (s.plus(u), s.minus(u));
            self.tile[places[points - k] as usize] = Complex { re: zero - upper.im, im: upper.re };
            self.tile[places[k] as usize] = Complex { re: lower.im, im: lower.re };
        }
    }

    /// The first `length` complex values times `factor`.
    #[inline(always)]
    fn store_complex(&mut self, factor: f32, length: usize, re: &mut [f32], im: &mut [f32]) {
        let (tile, factor) = (&*self.tile, V::splat(self.token, factor));
        store_columns(
            self.token,
            re,
            length,
            self.spare,
            #[inline(always)]
            |k| tile[k].re * factor,
        );
        store_columns(
            self.token,
            im,
            length,
            self.spare,
            #[inline(always)]
            |k| tile[k].im * factor,
        );
    }

    /// Real samples, the parts of values exchanged.
    #[inline(always)]
    pub fn store_real(&mut self, signal: &mut [f32]) {
        let tile = &*self.tile;
        if self.n.is_multiple_of(2) {
            return store_pairs(self.token, tile, signal, self.n, self.spare);
        }
        store_columns(
            self.token,
            signal,
            self.n,
            self.spare,
            #[inline(always)]
            |j| tile[j].im,
        );
    }
}

/// Loads the first `used` columns of both parts of rows of `width` values, column j to the value at `place(j)`.
#[inline(always)]
fn load_parts<V: Register>(
    token: V::Token,
    parts: ComplexParts<'_>,
    [width, used]: [usize; 2],
    spare: &mut [f32],
    values: &mut [Complex<V>],
    place: impl Fn(usize) -> usize,
) {
    load_columns(
        token,
        parts[0],
        width,
        used,
        spare,
        #[inline(always)]
        |j, column| values[place(j)].re = column,
    );
    load_columns(
        token,
        parts[1],
        width,
        used,
        spare,
        #[inline(always)]
        |j, column| values[place(j)].im = column,
    );
}

/// A tile in which frames are transformed, as many as a register has lanes.
pub(in crate::cpu) struct FrameSpectra<'a, V: Register> {
    rows: TileRows<'a, V>,
    /// Pairs that a pass with the largest radix forms.
    pairs: &'a mut [[Complex<V>; 2]],
}

impl<'a, V: Register> FrameSpectra<'a, V> {
    /// Frames of `n` samples. `memory` has [`lines_of_frames`] lines, of which these are taken.
    #[inline(always)]
    pub fn new(token: V::Token, plan: &'a MixedRadixPlan, n: usize, memory: &mut &'a mut [Line]) -> Self {
        let tile = take_complexes::<V>(token, memory, plan.points + 1);
        let pairs = take_complexes::<V>(token, memory, plan.largest_radix).as_chunks_mut::<2>().0;
        let spare = take_values(memory, V::LANES * n);
        Self { rows: TileRows { token, n, width: n, plan, tile, spare }, pairs }
    }

    /// The lower bins, n/2 + 1, of frames that start `stride` values from each other in `frames`, each column of
    /// samples with `change` applied to it. Where there are fewer than a register has lanes, they do not overlap.
    #[inline(always)]
    pub fn transform(&mut self, frames: &[f32], stride: usize, change: impl Fn(usize, V) -> V) -> &mut [Complex<V>] {
        self.rows.width = stride;
        let TileRows { token, n, plan, .. } = self.rows;
        self.rows.load_real(frames, n, change);
        passes(token, plan, &mut self.rows.tile[..plan.points], self.pairs);
        self.rows.unpack(OneSidedFactors { ends: 1.0, interior: [1.0; 2] });
        &mut self.rows.tile[..n / 2 + 1]
    }

    /// The real rows `[lanes, n]` whose spectra have the lower bins `bins`: the unnormalised sum over all n of them.
    /// The imaginary parts of DC and Nyquist must be 0.
    #[inline(always)]
    pub fn inverse(&mut self, bins: &[Complex<V>], rows: &mut [f32]) {
        let TileRows { token, plan, .. } = self.rows;
        self.rows.pack(bins);
        passes(token, plan, &mut self.rows.tile[..plan.points], self.pairs);
        self.rows.store_real(rows);
    }

    /// Stores the columns that `get` gives, at most `n`, to at most a register's rows of `length` values.
    #[inline(always)]
    pub fn store(&mut self, rows: &mut [f32], length: usize, get: impl Fn(usize) -> V) {
        store_columns(self.rows.token, rows, length, self.rows.spare, get);
    }
}

/// Lines of memory that [`FrameSpectra`] takes, for any registers.
pub(in crate::cpu) fn lines_of_frames(plan: &MixedRadixPlan, n: usize) -> usize {
    2 * (plan.points + 1 + plan.largest_radix) * MAX_LANES / Line::LEN + lines_for(MAX_LANES * n)
}

/// The plan of real frames of `n` samples, `count` of them, if a frame per lane is the faster way.
pub(in crate::cpu) fn plan_of_frames(n: usize, count: usize) -> Option<Arc<MixedRadixPlan>> {
    MixedRadixPlan::of(complex_points(n), count)
}

/// The plan of real frames of `n` samples, however many there are.
pub(in crate::cpu) fn frame_plan(n: usize) -> Arc<MixedRadixPlan> {
    MixedRadixPlan::of_points(complex_points(n))
}
