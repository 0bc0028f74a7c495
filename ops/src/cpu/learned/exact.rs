//! Learned estimates whose transform is the discrete Fourier transform: they run as exact ones.

use std::sync::Arc;

use super::LearnedWelch;
use crate::cpu::butterfly::arguments::ButterflyTransform;
use crate::cpu::fft::direction;
use crate::cpu::real::Real;
use crate::cpu::runtime::keyed_cache::KeyedCache;
use crate::cpu::welch::estimate::{Estimate, FrameSegments};
use crate::options::Direction;
use crate::twiddles::exact_twiddle_values;

/// Calls `body` with the exact estimate that `model` is, if it is one: twiddles are exact, no gate is closed, and every
/// segment that is not left out has the same weight, so that two of them share a transform.
pub(super) fn with_exact_estimate<T: Real, R>(
    model: &LearnedWelch<'_, T>,
    body: impl FnOnce(&Estimate<'_, T>) -> R,
) -> Option<R> {
    let open: Vec<usize> = (0..model.weights.len()).filter(|&index| !model.weights[index].is_zero()).collect();
    let weight = model.weights[*open.first()?];
    // Also false of a weight that is not a number.
    let is_shared =
        weight > T::zero() && weight.is_finite() && open.iter().all(|&index| model.weights[index] == weight);
    (is_shared && is_fourier_transform(&model.transform)).then(|| {
        let segments = FrameSegments::weighted(&open, weight);
        body(&Estimate { window: model.window, options: model.options, segments, gain: model.gain })
    })
}

/// Whether a butterfly transform is the forward Fourier transform, as far as its type has its twiddles. In f32 only
/// transforms of 64 values and more are looked at: shorter ones run as butterflies in any case.
fn is_fourier_transform<T: Real>(transform: &ButterflyTransform<'_, T>) -> bool {
    if let Some(transform) = transform.as_f32() {
        return direction(&transform) == Some(Direction::Forward);
    }
    static TABLES: KeyedCache<usize, [f64]> = KeyedCache::new();
    let exact = TABLES.get(transform.n, || Arc::from(exact_twiddle_values(transform.n, Direction::Forward)));
    let near = |(&found, &exact): (&T, &f64)| (found.into() - exact).abs() <= f64::EPSILON / 2.0;
    transform.gates.is_none_or(|gates| gates.iter().all(T::is_one)) && transform.twiddles.iter().zip(&*exact).all(near)
}
