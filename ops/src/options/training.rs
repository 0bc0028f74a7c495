//! Parameters of training: of a step of Adam, and of the loss of power against target peaks.

use num_traits::Float;
use serde::{Deserialize, Serialize};

use crate::error::{Result, ensure};

/// Parameters of [`adam_step`](crate::training::adam_step).
///
/// ```
/// use firefly_ops::options::{AdamOptions, WeightDecay};
///
/// let options = AdamOptions::new(1e-3, 1).with_betas([0.9, 0.95]).with_weight_decay(WeightDecay::Decoupled(0.01));
/// assert_eq!((options.learning_rate, options.step, options.betas), (1e-3, 1, [0.9, 0.95]));
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AdamOptions {
    /// Learning rate, not negative.
    pub learning_rate: f64,
    /// Number of the step, from 1.
    pub step: usize,
    /// Decays of the first and of the second moment, from 0 to below 1.
    pub betas: [f64; 2],
    /// Constant added to the root of the second moment, above 0.
    pub epsilon: f64,
    /// Weight decay.
    pub weight_decay: WeightDecay,
}

/// Weight decay of [`adam_step`](crate::training::adam_step).
///
/// ```
/// use firefly_ops::options::{AdamOptions, WeightDecay};
///
/// assert_eq!(AdamOptions::new(1e-3, 1).weight_decay, WeightDecay::None);
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum WeightDecay {
    /// No decay.
    None,
    /// This factor times the parameter is added to its gradient (Adam).
    Coupled(f64),
    /// The learning rate times this factor times the parameter is taken from the parameter (AdamW).
    Decoupled(f64),
}

impl WeightDecay {
    /// The factor; 0 for none.
    pub(crate) fn factor(self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Coupled(factor) | Self::Decoupled(factor) => factor,
        }
    }
}

impl AdamOptions {
    /// Step `step`, from 1, with a learning rate, decays of 0.9 and 0.999, an epsilon of 10⁻⁸, and no weight decay.
    pub const fn new(learning_rate: f64, step: usize) -> Self {
        Self { learning_rate, step, betas: [0.9, 0.999], epsilon: 1e-8, weight_decay: WeightDecay::None }
    }

    with_fields! {
        /// The same parameters of another step.
        with_step(step: usize);
        /// The same parameters with another learning rate.
        with_learning_rate(learning_rate: f64);
        /// The same parameters with other decays of the moments.
        with_betas(betas: [f64; 2]);
        /// The same parameters with another epsilon.
        with_epsilon(epsilon: f64);
        /// The same parameters with another weight decay.
        with_weight_decay(weight_decay: WeightDecay);
    }

    /// Checks the parameters.
    pub(crate) fn validate(&self, operation: &'static str) -> Result<()> {
        let is_amount = |value: f64| value.is_finite() && value >= 0.0;
        ensure(is_amount(self.learning_rate), operation, "learning_rate", self.learning_rate, "a number from 0")?;
        let counted = (1..=i32::MAX as usize).contains(&self.step);
        ensure(counted, operation, "step", self.step, format_args!("from 1 to {}", i32::MAX))?;
        // Also in f32, in which most parameters are updated.
        let decays = self.betas.iter().all(|beta| (0.0..1.0).contains(beta) && (*beta as f32) < 1.0);
        ensure(decays, operation, "betas", format_args!("{:?}", self.betas), "two numbers from 0 to below 1 in f32")?;
        let is_normal = self.epsilon.is_finite() && self.epsilon >= f64::from(f32::MIN_POSITIVE);
        ensure(is_normal, operation, "epsilon", self.epsilon, format_args!("at least {:e}", f32::MIN_POSITIVE))?;
        let factor = self.weight_decay.factor();
        ensure(is_amount(factor), operation, "weight_decay", factor, "a number from 0")
    }

    /// The numbers that every element of the parameter is updated with.
    pub(crate) fn coefficients<T: Float>(&self) -> AdamCoefficients<T> {
        let of = |value: f64| T::from(value).unwrap_or_else(T::nan);
        let (one, step) = (T::one(), i32::try_from(self.step).unwrap_or(i32::MAX));
        let (betas, epsilon) = (self.betas.map(of), of(self.epsilon));
        // In the type of the parameter, and in the order of burn-optim, so that f32 has the bits of its Adam, which
        // corrects both moments by one factor, and of its AdamW, which divides each of them.
        let [rest_1, rest_2] = betas.map(|beta| one - beta.powi(step));
        let is_decoupled = matches!(self.weight_decay, WeightDecay::Decoupled(_));
        let (scale, divisors, epsilon) = if is_decoupled {
            (one, [rest_1, rest_2], epsilon)
        } else {
            (rest_2.sqrt() / rest_1, [one, one], epsilon * rest_2.sqrt())
        };
        let decay = self.weight_decay.factor();
        AdamCoefficients {
            keep: betas,
            add: betas.map(|beta| one - beta),
            scale,
            divisors,
            epsilon,
            rate: of(self.learning_rate),
            kept: if is_decoupled { of(1.0 - self.learning_rate * decay) } else { one },
            penalty: if is_decoupled { T::zero() } else { of(decay) },
        }
    }
}

/// Coefficients of a step of Adam, the same for every element p of a parameter with gradient g and moments m and v:
///
/// - g' = g + `penalty` p;
/// - m' = `keep`₁ m + `add`₁ g' and v' = `keep`₂ v + `add`₂ g'²;
/// - p' = `kept` p − `rate` (`scale` m' / `divisors`₁) / (√(v' / `divisors`₂) + `epsilon`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AdamCoefficients<T> {
    pub keep: [T; 2],
    pub add: [T; 2],
    pub scale: T,
    pub divisors: [T; 2],
    pub epsilon: T,
    pub rate: T,
    pub kept: T,
    pub penalty: T,
}

/// Parameters of [`peak_loss`](crate::training::peak_loss).
///
/// ```
/// use firefly_ops::options::PeakLossOptions;
///
/// let options = PeakLossOptions::new(16).with_temperature(0.5).with_offset(1e-9);
/// assert_eq!((options.k, options.temperature, options.offset), (16, 0.5, 1e-9));
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PeakLossOptions {
    /// Number of target peaks of each row, from 1 to its bins.
    pub k: usize,
    /// Distance, in nepers, from the boundary over which the ranking loss bends, above 0.
    pub temperature: f64,
    /// Constant added to relative power before its logarithm, above 0.
    pub offset: f64,
    /// Factors of the ranking loss and of the power loss.
    pub weights: [f64; 2],
}

impl PeakLossOptions {
    /// The parameters for `k` peaks: a temperature of 1 neper, an offset of 10⁻⁶, and weights of 1.
    pub const fn new(k: usize) -> Self {
        Self { k, temperature: 1.0, offset: 1e-6, weights: [1.0; 2] }
    }

    with_fields! {
        /// The same parameters with another temperature, in nepers.
        with_temperature(temperature: f64);
        /// The same parameters with another offset.
        with_offset(offset: f64);
        /// The same parameters with other factors of the ranking loss and of the power loss.
        with_weights(weights: [f64; 2]);
    }

    /// Checks the parameters for rows of `bins`.
    pub(crate) fn validate(&self, operation: &'static str, bins: usize) -> Result<()> {
        // Divided by, or added before a logarithm, in f32.
        let is_normal = |value: f64| value.is_finite() && value >= f64::from(f32::MIN_POSITIVE);
        let expected = format_args!("at least {:e}", f32::MIN_POSITIVE);
        ensure((1..=bins).contains(&self.k), operation, "k", self.k, format_args!("from 1 to the bins, {bins}"))?;
        ensure(is_normal(self.temperature), operation, "temperature", self.temperature, expected)?;
        ensure(is_normal(self.offset), operation, "offset", self.offset, expected)?;
        let are_finite = self.weights.iter().all(|weight| weight.is_finite());
        ensure(are_finite, operation, "weights", format_args!("{:?}", self.weights), "two finite numbers")
    }
}
