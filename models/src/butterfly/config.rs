//! Configuration of a butterfly model.

use burn::config::Config;
use firefly_ops::ArgumentError;
use serde::{Deserialize, Serialize};

/// Shortest and longest rows.
const LENGTHS: [usize; 2] = [4, 65_536];
/// Largest number of products of a butterfly matrix and a permutation.
const MAX_PRODUCTS: usize = 8;

/// Permutation before each butterfly matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermutationKind {
    /// Learned: a relaxed permutation.
    #[default]
    Relaxed,
    /// Fixed: the bit reversal of a radix-2 transform decimated in time.
    BitReversal,
    /// None.
    Identity,
}

/// Configuration of [`Butterfly`](crate::Butterfly).
///
/// ```
/// use firefly_models::ButterflyConfig;
///
/// let config = ButterflyConfig::new().with_n(16).with_products(2); // (BP)²
/// assert!(config.validate().is_ok());
/// assert!(config.with_n(12).validate().unwrap_err().to_string().contains("`n` is 12"));
/// ```
#[non_exhaustive]
#[derive(Config, Debug, PartialEq)]
pub struct ButterflyConfig {
    /// Values per row: a power of two from 4 to 65,536.
    #[config(default = 64)]
    pub n: usize,
    /// Products of a butterfly matrix and a permutation: 1 for BP, 2 for (BP)²; at most 8.
    #[config(default = 1)]
    pub products: usize,
    /// Whether the matrices are complex.
    #[config(default = true)]
    pub complex: bool,
    /// Whether the blocks of a butterfly factor are equal, as those of recursive transforms are: 4n values per matrix
    /// in place of 2n·log2 n.
    #[config(default = true)]
    pub tied: bool,
    /// Permutation before each butterfly matrix.
    #[config(default = "PermutationKind::Relaxed")]
    pub permutation: PermutationKind,
    /// Whether the steps of a relaxed permutation have the same probabilities for blocks of every length.
    #[config(default = false)]
    pub shared_steps: bool,
    /// Whether three more steps on whole rows come before each relaxed permutation: BPP in place of BP, which holds
    /// cosine and sine transforms.
    #[config(default = false)]
    pub extra_steps: bool,
}

impl ButterflyConfig {
    /// Checks every field.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn validate(&self) -> Result<(), ArgumentError> {
        const NAME: &str = "ButterflyConfig";
        let [least, most] = LENGTHS;
        if !(self.n.is_power_of_two() && (least..=most).contains(&self.n)) {
            let expected = format!("a power of two from {least} to {most}");
            return Err(ArgumentError::new(NAME, "n", self.n, expected));
        }
        if !(1..=MAX_PRODUCTS).contains(&self.products) {
            return Err(ArgumentError::new(NAME, "products", self.products, format!("from 1 to {MAX_PRODUCTS}")));
        }
        let is_relaxed = self.permutation == PermutationKind::Relaxed;
        for (field, value) in [("shared_steps", self.shared_steps), ("extra_steps", self.extra_steps)] {
            if value && !is_relaxed {
                return Err(ArgumentError::new(NAME, field, value, "false unless `permutation` is relaxed"));
            }
        }
        Ok(())
    }
}
