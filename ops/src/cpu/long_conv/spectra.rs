//! Spectra of a convolution's rows in f32, the bins of a row side by side in the lanes of registers.
//!
//! The formulas are those of [`lanes`](super::lanes); here a bin and its mirror image are lanes of two registers, of which
//! one is reversed. Spectra have N bins, N the points of the transform, real and imaginary parts apart.

use std::sync::Arc;

use super::lanes::conjugate;
use super::{LongConvOperands, RowSpectra, RowTransforms};
use crate::cpu::isa::register::{Complex, MAX_LANES, Register};
use crate::cpu::isa::{Kernel, dispatch_widest};
use crate::cpu::runtime::{take, with_vector};
use crate::cpu::transform::bluestein::load;
use crate::cpu::transform::complex_fft_in_place;
use crate::cpu::transform::real_rows::{JoinKernel, RealRows, SplitKernel, mirrored};
use crate::options::{Direction, FftOptions};

/// Real and imaginary parts of values that are read.
type Parts<'a> = [&'a [f32]; 2];
/// Real and imaginary parts of values that are written.
type PartsMut<'a> = [&'a mut [f32]; 2];

/// Two spectra: the factors A and B, or the direct and the crossed sums over the batch.
pub(super) type Two<'a> = [Parts<'a>; 2];
/// [`Two`] spectra that are written.
pub(super) type TwoMut<'a> = [PartsMut<'a>; 2];

/// The factors A and B of a kernel from its spectrum, divided by the points.
pub(super) struct Factors<'a> {
    pub spectrum: Parts<'a>,
    /// -i exp(-πi k / N).
    pub half_turns: Parts<'a>,
    pub factors: TwoMut<'a>,
}

impl Bins for Factors<'_> {
    #[inline(always)]
    fn points(&self) -> usize {
        self.spectrum[0].len()
    }

    #[inline(always)]
    fn compute<V: Register>(&mut self, token: V::Token, bin: Bin) {
        let half = V::splat(token, 0.5 / self.points() as f32);
        let (z, beyond) = both::<V>(token, self.spectrum, bin);
        let turn = at::<V>(token, self.half_turns, bin);
        // He = (P + Q)/2 and w Ho = −i w (P − Q)/2, Q = P[N − k]*, where −i w is the half turn.
        let he = Complex { re: (z.re + beyond.re) * half, im: (z.im - beyond.im) * half };
        let difference = Complex { re: (z.re - beyond.re) * half, im: (z.im + beyond.im) * half };
        let turned = difference.times(turn);
        let [a, b] = &mut self.factors;
        put(he.plus_scaled(turn.re, turned), a, bin);
        put(Complex::zero(token).minus_i_scaled(turn.im, turned), b, bin);
    }
}

/// The spectrum of a row's convolution; with the reversed kernel where `REVERSED`.
pub(super) struct Convolution<'a, const REVERSED: bool> {
    pub factors: Two<'a>,
    pub spectrum: Parts<'a>,
    pub into: PartsMut<'a>,
}

impl<const REVERSED: bool> Bins for Convolution<'_, REVERSED> {
    #[inline(always)]
    fn points(&self) -> usize {
        self.spectrum[0].len()
    }

    #[inline(always)]
    fn compute<V: Register>(&mut self, token: V::Token, bin: Bin) {
        let (z, beyond) = both::<V>(token, self.spectrum, bin);
        let (a, b) = (at::<V>(token, self.factors[0], bin), at::<V>(token, self.factors[1], bin));
        // A Z[k] + B Z[N − k]*, or A* Z[k] − B* Z[N − k]*.
        let value = if REVERSED {
            conjugate_times(a, z).minus(conjugate(token, beyond.times(b)))
        } else {
            z.times(a).plus(conjugate_times(beyond, b))
        };
        put(value, &mut self.into, bin);
    }
}

/// Adds the products of a row's spectra to the direct and crossed sums: P[k]* Z[k] and P[N − k] Z[k].
pub(super) struct AddProducts<'a> {
    /// P.
    pub signal: Parts<'a>,
    /// Z.
    pub grad: Parts<'a>,
    pub sums: TwoMut<'a>,
}

impl Bins for AddProducts<'_> {
    const REPEATABLE: bool = false;

    #[inline(always)]
    fn points(&self) -> usize {
        self.signal[0].len()
    }

    #[inline(always)]
    fn compute<V: Register>(&mut self, token: V::Token, bin: Bin) {
        let (p, beyond) = both::<V>(token, self.signal, bin);
        let z = at::<V>(token, self.grad, bin);
        let [direct, crossed] = &mut self.sums;
        put(at(token, read(direct), bin).plus(conjugate_times(p, z)), direct, bin);
        put(at(token, read(crossed), bin).plus(z.times(beyond)), crossed, bin);
    }
}

/// The spectrum of correlations from the sums over the batch, divided by the points.
pub(super) struct Correlation<'a> {
    pub sums: Two<'a>,
    /// -i exp(-πi k / N).
    pub half_turns: Parts<'a>,
    pub into: PartsMut<'a>,
}

impl Bins for Correlation<'_> {
    #[inline(always)]
    fn points(&self) -> usize {
        self.into[0].len()
    }

    #[inline(always)]
    fn compute<V: Register>(&mut self, token: V::Token, bin: Bin) {
        let half = V::splat(token, 0.5 / self.points() as f32);
        let (direct, far_direct) = both::<V>(token, self.sums[0], bin);
        let (crossed, far_crossed) = both::<V>(token, self.sums[1], bin);
        let turn = at::<V>(token, self.half_turns, bin);
        // As in `tile::correlate`: Σ A* Z[k] − Σ B* Z[N − k]*, written out in the sums at k and at N − k.
        let difference = direct.minus(crossed);
        let near = conjugate_times(turn, Complex { re: difference.re * half, im: difference.im * half });
        let far = Complex { re: (far_crossed.re - far_direct.re) * half, im: (far_direct.im - far_crossed.im) * half };
        let far = conjugate_times(turn, far);
        let sum = direct.plus(crossed);
        let sum = Complex { re: sum.re * half, im: sum.im * half };
        put(sum.plus_scaled(turn.re, near).minus_i_scaled(turn.im, far), &mut self.into, bin);
    }
}

/// Values of a spectrum, computed a register of bins at a time.
pub(super) trait Bins {
    /// Whether bins may be computed twice: not where they are added to.
    const REPEATABLE: bool = true;

    /// Bins of the spectrum, at least twice the lanes.
    fn points(&self) -> usize;
    /// Computes a bin, or as many as a register has lanes.
    fn compute<V: Register>(&mut self, token: V::Token, bin: Bin);
}

/// Bins that are computed together.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bin {
    /// This bin, in every lane.
    One(usize),
    /// A register from this bin on.
    Register(usize),
}

/// Computes all bins.
pub(super) fn compute(bins: impl Bins) {
    dispatch_widest(BinsKernel(bins));
}

struct BinsKernel<B>(B);

impl<B: Bins> Kernel for BinsKernel<B> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        let Self(mut bins) = self;
        let points = bins.points();
        // A register from bin 1 on has its mirror image in one that ends at bin N − 1; bin 0 is its own.
        let registers = (points - 1) / V::LANES;
        for register in 0..registers {
            bins.compute::<V>(token, Bin::Register(1 + register * V::LANES));
        }
        if B::REPEATABLE {
            bins.compute::<V>(token, Bin::Register(points - V::LANES));
        } else {
            for bin in 1 + registers * V::LANES..points {
                bins.compute::<V>(token, Bin::One(bin));
            }
        }
        bins.compute::<V>(token, Bin::One(0));
    }
}

#[inline(always)]
fn at<V: Register>(token: V::Token, [re, im]: Parts<'_>, bin: Bin) -> Complex<V> {
    match bin {
        Bin::One(k) => Complex { re: V::splat(token, re[k]), im: V::splat(token, im[k]) },
        Bin::Register(k) => load(token, re, im, k),
    }
}

/// The values at bins, and those at their mirror images.
#[inline(always)]
fn both<V: Register>(token: V::Token, parts: Parts<'_>, bin: Bin) -> (Complex<V>, Complex<V>) {
    let points = parts[0].len();
    let beyond = match bin {
        Bin::One(0) => at(token, parts, bin),
        Bin::One(k) => at(token, parts, Bin::One(points - k)),
        Bin::Register(k) => mirrored(token, parts[0], parts[1], points - k),
    };
    (at(token, parts, bin), beyond)
}

#[inline(always)]
fn put<V: Register>(value: Complex<V>, [re, im]: &mut PartsMut<'_>, bin: Bin) {
    match bin {
        Bin::One(k) => {
            let mut lanes = [V::Array::default(); 2];
            value.re.store(&mut lanes[0]);
            value.im.store(&mut lanes[1]);
            (re[k], im[k]) = (lanes[0].as_ref()[0], lanes[1].as_ref()[0]);
        }
        Bin::Register(k) => {
            value.re.store(&mut V::arrays_mut(&mut re[k..k + V::LANES])[0]);
            value.im.store(&mut V::arrays_mut(&mut im[k..k + V::LANES])[0]);
        }
    }
}

#[inline(always)]
fn read<'a>([re, im]: &'a PartsMut<'_>) -> Parts<'a> {
    [re, im]
}

/// The conjugate of `a`, times `b`.
#[inline(always)]
fn conjugate_times<V: Register>(a: Complex<V>, b: Complex<V>) -> Complex<V> {
    Complex { re: a.re.mul_add(b.re, a.im * b.im), im: a.re.mul_sub(b.im, a.im * b.re) }
}

/// The fewest complex values of a padded row: two registers of the most lanes.
const MIN_POINTS: usize = 2 * MAX_LANES;

/// Padded rows of real samples.
pub(super) struct SplitTransforms {
    padded: Arc<RealRows>,
}

impl SplitTransforms {
    /// The transforms of rows, if they fill registers on this thread.
    pub fn of(inputs: &LongConvOperands<'_, f32>) -> Option<Self> {
        RealRows::from(2 * inputs.least_pairs().max(MIN_POINTS)).map(|padded| Self { padded })
    }
}

impl RowTransforms<f32> for SplitTransforms {
    fn with_spectra(&self, body: impl FnOnce(&mut dyn RowSpectra<f32>)) {
        let points = self.padded.points();
        with_vector(|memory| {
            memory.resize(14 * points, 0.0);
            let mut memory = &mut memory[..];
            let mut parts = || [take(&mut memory, points), take(&mut memory, points)];
            let (factors, sums) = ([parts(), parts()], [parts(), parts()]);
            let [signal, grad, product] = [parts(), parts(), parts()];
            body(&mut SplitSpectra { rows: &self.padded, factors, sums, signal, grad, product });
        });
    }
}

/// Spectra of a row, of as many values as a padded row has pairs of samples.
struct SplitSpectra<'a> {
    rows: &'a RealRows,
    /// A and B.
    factors: [PartsMut<'a>; 2],
    /// Direct and crossed.
    sums: [PartsMut<'a>; 2],
    signal: PartsMut<'a>,
    grad: PartsMut<'a>,
    product: PartsMut<'a>,
}

impl RowSpectra<f32> for SplitSpectra<'_> {
    fn load_kernel(&mut self, taps: &[f32]) {
        forward(taps, None, &mut self.product);
        let [a, b] = &mut self.factors;
        let (spectrum, half_turns) = (read(&self.product), self.rows.half_turns());
        compute(Factors { spectrum, half_turns, factors: [write(a), write(b)] });
        self.sums.iter_mut().flatten().for_each(|part| part.fill(0.0));
    }

    fn load_signal(&mut self, row: &[f32]) {
        forward(row, None, &mut self.signal);
    }

    fn load_grad(&mut self, row: &[f32], gate: Option<&[f32]>) {
        forward(row, gate, &mut self.grad);
    }

    fn add_correlation(&mut self) {
        let [direct, crossed] = &mut self.sums;
        let sums = [write(direct), write(crossed)];
        compute(AddProducts { signal: read(&self.signal), grad: read(&self.grad), sums });
    }

    fn convolve(&mut self, factors: Option<&[f32]>, row: &mut [f32]) {
        let into = write(&mut self.product);
        compute(Convolution::<false> {
            factors: self.factors.each_ref().map(read),
            spectrum: read(&self.signal),
            into,
        });
        inverse(&mut self.product, factors, row);
    }

    fn convolve_reversed(&mut self, row: &mut [f32]) {
        let into = write(&mut self.product);
        compute(Convolution::<true> { factors: self.factors.each_ref().map(read), spectrum: read(&self.grad), into });
        inverse(&mut self.product, None, row);
    }

    fn correlations(&mut self, lags: &mut [f32]) {
        let (sums, half_turns) = (self.sums.each_ref().map(read), self.rows.half_turns());
        compute(Correlation { sums, half_turns, into: write(&mut self.product) });
        inverse(&mut self.product, None, lags);
    }
}

fn write<'a>([re, im]: &'a mut PartsMut<'_>) -> [&'a mut [f32]; 2] {
    [re, im]
}

/// The spectrum of a row, padded with zeros, times factors.
fn forward(row: &[f32], factors: Option<&[f32]>, spectrum: &mut PartsMut<'_>) {
    let points = spectrum[0].len();
    dispatch_widest(SplitKernel { signal: row, factors, width: row.len(), points, values: write(spectrum) });
    complex_fft_in_place(&FftOptions::new(points, Direction::Forward), write(spectrum));
}

/// The first samples of the row that has a spectrum, times factors.
fn inverse(spectrum: &mut PartsMut<'_>, factors: Option<&[f32]>, row: &mut [f32]) {
    let points = spectrum[0].len();
    // With real and imaginary parts exchanged, the inverse transform.
    let [re, im] = write(spectrum);
    complex_fft_in_place(&FftOptions::new(points, Direction::Forward), [im, re]);
    dispatch_widest(JoinKernel { values: read(spectrum), factors, points, length: row.len(), signal: row });
}
