//! Gradients of a learned estimate that are sums over rows.

use crate::cpu::learned::arguments::{LearnedGradients, LearnedWelch};
use crate::cpu::real::Real;
use crate::cpu::runtime::scratch::take;
use crate::cpu::welch::scaling;

/// Lengths of the sums; 0 for gradients that are not requested.
pub(in crate::cpu) struct Lengths {
    pub window: usize,
    pub transform: usize,
    pub weights: usize,
    pub gain: usize,
}

/// The sums, empty for gradients that are not requested.
pub(in crate::cpu) struct LearnedSums<'a, T> {
    pub window: &'a mut [T],
    pub transform: &'a mut [T],
    pub weights: &'a mut [T],
    pub gain: &'a mut [T],
}

impl Lengths {
    /// Lengths for the requested gradients; twiddles and gates together have `transform` sums.
    pub fn of<T: Real>(model: &LearnedWelch<'_, T>, gradients: &LearnedGradients<'_, T>, transform: usize) -> Self {
        let if_requested = |requested: bool, len| if requested { len } else { 0 };
        Self {
            window: if_requested(gradients.window.is_some(), model.options.n_fft),
            transform: if_requested(gradients.twiddles.is_some() || gradients.gates.is_some(), transform),
            weights: if_requested(gradients.weights.is_some(), model.options.segments),
            gain: gradients.gain.as_ref().map_or(0, |gain| gain.len()),
        }
    }

    pub fn total(&self) -> usize {
        self.window + self.transform + self.weights + self.gain
    }

    /// Cuts a buffer of `total` values, or an empty one if no gradient is requested.
    pub fn cut<'a, T>(&self, mut buffer: &'a mut [T]) -> LearnedSums<'a, T> {
        LearnedSums {
            window: take(&mut buffer, self.window),
            transform: take(&mut buffer, self.transform),
            weights: take(&mut buffer, self.weights),
            gain: take(&mut buffer, self.gain),
        }
    }
}

impl<T: Real> LearnedSums<'_, T> {
    /// Overwrites the gradients other than the transform's, each if given, with the sums over all rows.
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
