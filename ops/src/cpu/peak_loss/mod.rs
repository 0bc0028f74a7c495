//! Losses of rows of power against target peaks.

#[cfg(test)]
mod tests;

use super::elementary::{Approximate, ElementaryFunctions, Exact};
use super::isa::{PlainKernel, dispatch_widest};
use super::real::Real;
use super::runtime::tasks::Tasks;
use crate::options::PeakLossOptions;

const LOSSES: usize = 2;
/// Work of a bin, in the unit of [`Tasks`].
const WORK_OF_BIN: usize = 8;

/// Rows of power and their target peaks.
#[derive(Debug, Clone, Copy)]
pub struct PeakLossInputs<'a, T> {
    /// `[rows, bins]`.
    pub power: &'a [T],
    /// Power of the ranks that the boundary is between, `[rows, ranks]`.
    pub strongest: &'a [T],
    /// `[rows]`.
    pub reference_power: &'a [T],
    /// `[rows, bins]`.
    pub peaks: &'a [T],
    /// `[rows, bins]`.
    pub target_power: &'a [T],
}

/// The two losses of each row: `output` `[rows, 2]`.
pub fn peak_loss<T: Real>(inputs: &PeakLossInputs<'_, T>, options: &PeakLossOptions, output: &mut [T]) {
    let tasks = inputs.tasks();
    if let (Some(inputs), Some(output)) = (inputs.as_f32(), T::as_f32_mut(output)) {
        tasks.run(inputs.pieces(&tasks).zip(output.chunks_mut(tasks.rows * LOSSES)), |(inputs, output)| {
            dispatch_widest(PlainKernel(
                #[inline(always)]
                || losses::<f32, Approximate>(&inputs, options, output),
            ));
        });
        return;
    }
    tasks.run(inputs.pieces(&tasks).zip(output.chunks_mut(tasks.rows * LOSSES)), |(inputs, output)| {
        losses::<T, Exact>(&inputs, options, output);
    });
}

/// Gradient of [`peak_loss`] in the power for `grad` `[rows, 2]`: `output` `[rows, bins]`.
pub fn peak_loss_backward<T: Real>(
    inputs: &PeakLossInputs<'_, T>,
    grad: &[T],
    options: &PeakLossOptions,
    output: &mut [T],
) {
    let tasks = inputs.tasks();
    let values = tasks.rows * inputs.bins();
    if let (Some(inputs), Some(grad), Some(output)) = (inputs.as_f32(), T::as_f32(grad), T::as_f32_mut(output)) {
        let pieces = inputs.pieces(&tasks).zip(grad.chunks(tasks.rows * LOSSES)).zip(output.chunks_mut(values));
        tasks.run(pieces, |((inputs, grad), output)| {
            dispatch_widest(PlainKernel(
                #[inline(always)]
                || gradients::<f32, Approximate>(&inputs, grad, options, output),
            ));
        });
        return;
    }
    let pieces = inputs.pieces(&tasks).zip(grad.chunks(tasks.rows * LOSSES)).zip(output.chunks_mut(values));
    tasks.run(pieces, |((inputs, grad), output)| gradients::<T, Exact>(&inputs, grad, options, output));
}

impl<'a, T: Real> PeakLossInputs<'a, T> {
    fn rows(&self) -> usize {
        self.reference_power.len()
    }

    fn bins(&self) -> usize {
        self.power.len() / self.rows().max(1)
    }

    fn tasks(&self) -> Tasks {
        Tasks::independent(self.rows(), WORK_OF_BIN * self.bins())
    }

    fn map<U>(&self, f: impl Fn(&'a [T]) -> &'a [U]) -> PeakLossInputs<'a, U> {
        PeakLossInputs {
            power: f(self.power),
            strongest: f(self.strongest),
            reference_power: f(self.reference_power),
            peaks: f(self.peaks),
            target_power: f(self.target_power),
        }
    }

    fn as_f32(&self) -> Option<PeakLossInputs<'a, f32>> {
        T::as_f32(self.power)?;
        Some(self.map(|values| T::as_f32(values).unwrap_or_default()))
    }

    fn pieces(&self, tasks: &Tasks) -> impl Iterator<Item = Self> + Send + use<'a, T> {
        let (inputs, rows, all) = (*self, tasks.rows, self.rows());
        (0..all).step_by(rows.max(1)).map(move |first| {
            inputs.map(|values| {
                let length = values.len() / all;
                &values[first * length..(first + rows).min(all) * length]
            })
        })
    }

    #[inline(always)]
    fn row<F: ElementaryFunctions<T>>(&self, row: usize, options: &PeakLossOptions) -> PeakLossRow<'a, T> {
        let rows = self.rows();
        let (bins, ranks) = (self.power.len() / rows, self.strongest.len() / rows);
        let bins = row * bins..(row + 1) * bins;
        let strongest = &self.strongest[row * ranks..(row + 1) * ranks];
        let boundary = Boundary::new::<F>(strongest, self.reference_power[row], options);
        PeakLossRow {
            power: &self.power[bins.clone()],
            peaks: &self.peaks[bins.clone()],
            target_power: &self.target_power[bins],
            boundary,
        }
    }
}

#[inline(always)]
fn losses<T: Real, F: ElementaryFunctions<T>>(
    inputs: &PeakLossInputs<'_, T>,
    options: &PeakLossOptions,
    output: &mut [T],
) {
    for (row, output) in output.chunks_exact_mut(LOSSES).enumerate() {
        output.copy_from_slice(&inputs.row::<F>(row, options).losses::<F>());
    }
}

#[inline(always)]
fn gradients<T: Real, F: ElementaryFunctions<T>>(
    inputs: &PeakLossInputs<'_, T>,
    grad: &[T],
    options: &PeakLossOptions,
    output: &mut [T],
) {
    let bins = inputs.bins();
    for (row, (output, grad)) in output.chunks_exact_mut(bins).zip(grad.chunks_exact(LOSSES)).enumerate() {
        inputs.row::<F>(row, options).gradient::<F>([grad[0], grad[1]], output);
    }
}

/// Bins that are computed at once, in loops over arrays that compilers turn into instructions on whole registers.
const BLOCK: usize = 16;

/// Boundary between a row's peaks and its other bins, and the constants of the comparison with it.
#[derive(Debug, Clone, Copy)]
struct Boundary<T> {
    /// Relative log power of the boundary.
    log_power: T,
    reference_power: T,
    offset: T,
    inverse_temperature: T,
    /// Factors of the two losses.
    weights: [T; 2],
}

impl<T: Real> Boundary<T> {
    /// The boundary at the mean relative log power of `strongest`, the powers of ranks k and k + 1 (or of k alone).
    #[inline(always)]
    pub fn new<F: ElementaryFunctions<T>>(strongest: &[T], reference_power: T, options: &PeakLossOptions) -> Self {
        let offset = T::of(options.offset);
        let mut sum = T::zero();
        for &power in strongest {
            sum += F::ln(power / reference_power + offset);
        }
        let log_power = sum / T::of(strongest.len() as f64);
        let weights = [T::of(options.weights[0]), T::of(options.weights[1])];
        Self { log_power, reference_power, offset, inverse_temperature: T::of(1.0 / options.temperature), weights }
    }
}

/// A row of power and its target peaks.
struct PeakLossRow<'a, T> {
    pub power: &'a [T],
    pub peaks: &'a [T],
    pub target_power: &'a [T],
    pub boundary: Boundary<T>,
}

/// Intermediate values of a block of bins, which the forward and the backward pass share.
struct Bins<T> {
    /// 1 at the target peaks, 0 at all other bins.
    peaks: [T; BLOCK],
    /// Power relative to the reference power, with the offset.
    relative: [T; BLOCK],
    /// 1 at the target peaks and −1 at all other bins, per temperature.
    slope: [T; BLOCK],
    /// Distance on the wrong side of the boundary, in temperatures.
    wrong: [T; BLOCK],
    /// exp(−|wrong|).
    tail: [T; BLOCK],
    /// Logarithm of the ratio to the target power.
    error: [T; BLOCK],
}

impl<T: Real> PeakLossRow<'_, T> {
    #[inline(always)]
    pub fn losses<F: ElementaryFunctions<T>>(&self) -> [T; 2] {
        let (mut ranking, mut of_power) = ([T::zero(); BLOCK], [T::zero(); BLOCK]);
        for first in (0..self.power.len()).step_by(BLOCK) {
            let count = BLOCK.min(self.power.len() - first);
            let Bins { peaks, wrong, tail, error, .. } = self.bins::<F>(first, count);
            for lane in 0..BLOCK {
                // ln(1 + e^wrong), exact to rounding for every sign.
                let softplus = wrong[lane].max(T::zero()) + F::ln_1p(tail[lane]);
                ranking[lane] += if lane < count { softplus } else { T::zero() };
                of_power[lane] += error[lane] * error[lane] * peaks[lane];
            }
        }
        let weights = self.boundary.weights;
        [weights[0] * sum(&ranking), weights[1] * sum(&of_power)]
    }

    /// The gradient in the power for gradients of the two losses.
    #[inline(always)]
    pub fn gradient<F: ElementaryFunctions<T>>(&self, [of_ranking, of_power]: [T; 2], output: &mut [T]) {
        let weights = self.boundary.weights;
        let (of_ranking, two_of_power) = (of_ranking * weights[0], (of_power + of_power) * weights[1]);
        for first in (0..self.power.len()).step_by(BLOCK) {
            let count = BLOCK.min(self.power.len() - first);
            let Bins { peaks, relative, slope, wrong, tail, error } = self.bins::<F>(first, count);
            let mut gradients = [T::zero(); BLOCK];
            for lane in 0..BLOCK {
                let share = T::one() / (T::one() + tail[lane]);
                let sigmoid = if wrong[lane] < T::zero() { tail[lane] * share } else { share };
                let of_log = two_of_power * error[lane] * peaks[lane] - of_ranking * sigmoid * slope[lane];
                gradients[lane] = of_log / (relative[lane] * self.boundary.reference_power);
            }
            output[first..first + count].copy_from_slice(&gradients[..count]);
        }
    }

    /// The `count` bins from `first` on, and bins without power behind them.
    #[inline(always)]
    fn bins<F: ElementaryFunctions<T>>(&self, first: usize, count: usize) -> Bins<T> {
        let Boundary { log_power: boundary, reference_power, offset, inverse_temperature, .. } = self.boundary;
        let power = block(&self.power[first..first + count]);
        let peaks = block(&self.peaks[first..first + count]);
        let target_power = block(&self.target_power[first..first + count]);
        let [mut relative, mut slope, mut wrong, mut tail, mut error] = [[T::zero(); BLOCK]; 5];
        for lane in 0..BLOCK {
            relative[lane] = power[lane] / reference_power + offset;
            let log_power = F::ln(relative[lane]);
            slope[lane] = (peaks[lane] + peaks[lane] - T::one()) * inverse_temperature;
            wrong[lane] = (boundary - log_power) * slope[lane];
            tail[lane] = F::exp_of_negative(-wrong[lane].abs());
            error[lane] = F::ln(relative[lane] / (target_power[lane] / reference_power + offset));
        }
        Bins { peaks, relative, slope, wrong, tail, error }
    }
}

/// Values, and zeros after them.
#[inline(always)]
fn block<T: Real>(values: &[T]) -> [T; BLOCK] {
    let mut block = [T::zero(); BLOCK];
    block[..values.len()].copy_from_slice(values);
    block
}

/// The sum of the lanes, in order.
#[inline(always)]
fn sum<T: Real>(lanes: &[T; BLOCK]) -> T {
    let mut sum = T::zero();
    for &lane in lanes {
        sum += lane;
    }
    sum
}
