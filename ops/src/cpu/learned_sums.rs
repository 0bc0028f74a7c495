//! Sums over rows that gradients of a learned estimate are.

use super::gain::GAIN_TAPS;
use super::real::Real;
use super::scaling;
use super::scratch::take;
use super::{LearnedGradients, LearnedWelch};

/// Lengths of the sums; 0 for what is not wanted.
pub(super) struct Lengths {
    pub window: usize,
    pub network: usize,
    pub weights: usize,
    pub gain: usize,
}

/// The sums, empty for what is not wanted.
pub(super) struct Sums<'a, T> {
    pub window: &'a mut [T],
    pub network: &'a mut [T],
    pub weights: &'a mut [T],
    pub gain: &'a mut [T],
}

impl Lengths {
    /// Those of the gradients that are wanted; the network's, if any of it is, are `network` sums.
    pub fn of<T: Real>(model: &LearnedWelch<'_, T>, gradients: &LearnedGradients<'_, T>, network: usize) -> Self {
        let if_wanted = |wanted: bool, len| if wanted { len } else { 0 };
        Self {
            window: if_wanted(gradients.window.is_some(), model.options.n_fft),
            network: if_wanted(gradients.twiddles.is_some() || gradients.gates.is_some(), network),
            weights: if_wanted(gradients.weights.is_some(), model.options.segments),
            gain: if_wanted(gradients.gain.is_some(), GAIN_TAPS * model.options.bins()),
        }
    }

    pub fn total(&self) -> usize {
        self.window + self.network + self.weights + self.gain
    }

    /// Cuts a buffer of `total` values, or an empty one of which nothing is wanted.
    pub fn cut<'a, T>(&self, mut buffer: &'a mut [T]) -> Sums<'a, T> {
        Sums {
            window: take(&mut buffer, self.window),
            network: take(&mut buffer, self.network),
            weights: take(&mut buffer, self.weights),
            gain: take(&mut buffer, self.gain),
        }
    }
}

impl<T: Real> Sums<'_, T> {
    /// Overwrites the gradients of all but the network, each if given, with the sums over all rows.
    pub fn write(
        &self,
        model: &LearnedWelch<'_, T>,
        window: Option<&mut [T]>,
        weights: Option<&mut [T]>,
        gain: Option<&mut [T]>,
    ) {
        for (into, sums) in [(weights, &self.weights), (gain, &self.gain)] {
            if let Some(into) = into {
                into.copy_from_slice(sums);
            }
        }
        if let Some(into) = window {
            into.copy_from_slice(self.window);
            scaling::add_factor_gradient(model.window, model.options.scaling, into);
        }
    }
}
