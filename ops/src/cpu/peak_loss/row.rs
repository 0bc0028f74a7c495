//! One row, sixteen bins at a time: loops over arrays that compilers turn into instructions on whole registers.

use crate::cpu::elementary::ElementaryFunctions;
use crate::cpu::real::Real;
use crate::options::PeakLossOptions;

/// Bins that are computed at once.
const BLOCK: usize = 16;

/// Boundary between a row's peaks and its other bins, and the constants of the comparison with it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Boundary<T> {
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
pub(super) struct PeakLossRow<'a, T> {
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
    /// The ranking loss and the power loss.
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
