//! Settings of classical estimates, tuned one after the other.

use super::baselines::{SpectralSubtraction, WienerFilter};

/// Change of settings.
pub type Change<S> = Box<dyn Fn(&mut S)>;

/// Settings that can be tuned.
pub trait Tunable: Copy + PartialEq + Default {
    /// A change for every value that every setting is tuned over.
    fn changes() -> Vec<Change<Self>>;
}

/// The settings with the greatest `score`: each setting in turn takes the best of its values, until none changes.
///
/// # Errors
/// Those of `score`.
pub fn tuned<S: Tunable, E>(score: impl Fn(&S) -> Result<f64, E>) -> Result<S, E> {
    let changes = S::changes();
    let mut best = S::default();
    let mut best_score = score(&best)?;
    loop {
        let before = best;
        for change in &changes {
            let mut settings = best;
            change(&mut settings);
            if settings != best {
                let found = score(&settings)?;
                if found > best_score {
                    (best, best_score) = (settings, found);
                }
            }
        }
        if best == before {
            return Ok(best);
        }
    }
}

/// A change for each value of a setting.
fn each<S: 'static, V: Copy + 'static>(values: &[V], set: fn(&mut S, V)) -> Vec<Change<S>> {
    values.iter().map(|&value| Box::new(move |settings: &mut S| set(settings, value)) as Change<S>).collect()
}

impl Tunable for SpectralSubtraction {
    fn changes() -> Vec<Change<Self>> {
        let settings = [
            each(&[0.5, 1.0, 2.0], |settings: &mut Self, value| settings.exponent = value),
            each(&[0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0], |settings, value| settings.over_subtraction = value),
            each(&[0.0, 0.03, 0.1, 0.2, 0.3, 0.5], |settings, value| settings.floor = value),
            each(&[0.05, 0.1, 0.2, 0.3, 0.4, 0.6], |settings, value| settings.quiet_share = value),
            each(&[0, 1, 2, 3], |settings, value| settings.averaged = value),
        ];
        settings.into_iter().flatten().collect()
    }
}

impl Tunable for WienerFilter {
    fn changes() -> Vec<Change<Self>> {
        let settings = [
            each(&[0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98], |settings: &mut Self, value| settings.smoothing = value),
            each(&[0.0, 0.03, 0.1, 0.2], |settings, value| settings.least_gain = value),
        ];
        settings.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn tuning_finds_the_best_value_of_every_setting() {
        let wanted =
            SpectralSubtraction { exponent: 1.0, over_subtraction: 3.0, floor: 0.2, quiet_share: 0.4, averaged: 3 };
        let distance = |settings: &SpectralSubtraction| {
            (settings.exponent - wanted.exponent).abs()
                + (settings.over_subtraction - wanted.over_subtraction).abs()
                + (settings.floor - wanted.floor).abs()
                + (settings.quiet_share - wanted.quiet_share).abs()
                + settings.averaged.abs_diff(wanted.averaged) as f64
        };
        assert_eq!(tuned(|settings| Ok::<_, Infallible>(-distance(settings))), Ok(wanted));
    }
}
