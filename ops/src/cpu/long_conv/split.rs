//! Rows in f32 as complex rows of half as many values, the values of a row side by side in the lanes of registers.

use std::sync::Arc;

use super::LongConvOperands;
use super::rows::{RowSpectra, RowTransforms};
use super::spectra::{AddProducts, Convolution, Correlation, Factors, compute};
use crate::cpu::isa::dispatch_widest;
use crate::cpu::isa::register::MAX_LANES;
use crate::cpu::runtime::scratch::{take, with_vector};
use crate::cpu::transform::complex_fft_in_place;
use crate::cpu::transform::even_odd::{JoinKernel, SplitKernel};
use crate::cpu::transform::real_rows::RealRows;
use crate::options::{Direction, FftOptions};

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

/// Real and imaginary parts of a row's values.
type Parts<'a> = [&'a mut [f32]; 2];

/// Spectra of a row, of as many values as a padded row has pairs of samples.
struct SplitSpectra<'a> {
    rows: &'a RealRows,
    /// A and B.
    factors: [Parts<'a>; 2],
    /// Direct and crossed.
    sums: [Parts<'a>; 2],
    signal: Parts<'a>,
    grad: Parts<'a>,
    product: Parts<'a>,
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

fn read<'a>([re, im]: &'a Parts<'_>) -> [&'a [f32]; 2] {
    [re, im]
}

fn write<'a>([re, im]: &'a mut Parts<'_>) -> [&'a mut [f32]; 2] {
    [re, im]
}

/// The spectrum of a row, padded with zeros, times factors.
fn forward(row: &[f32], factors: Option<&[f32]>, spectrum: &mut Parts<'_>) {
    let points = spectrum[0].len();
    dispatch_widest(SplitKernel { signal: row, factors, width: row.len(), points, values: write(spectrum) });
    complex_fft_in_place(&FftOptions::new(points, Direction::Forward), write(spectrum));
}

/// The first samples of the row that has a spectrum, times factors.
fn inverse(spectrum: &mut Parts<'_>, factors: Option<&[f32]>, row: &mut [f32]) {
    let points = spectrum[0].len();
    // With real and imaginary parts exchanged, the inverse transform.
    let [re, im] = write(spectrum);
    complex_fft_in_place(&FftOptions::new(points, Direction::Forward), [im, re]);
    dispatch_widest(JoinKernel { values: read(spectrum), factors, points, length: row.len(), signal: row });
}
