//! What strategies are compared on.

use burn::tensor::Device;

use super::parameters::Parameters;

/// What strategies are compared on.
pub trait Problem: Sync {
    /// Inputs of a problem, several sets of them.
    type Inputs: Send + Sync;
    /// What comes out in float64.
    type Expected: Sync;

    /// What fixes it.
    fn parameters(&self) -> Parameters;

    /// Whether any strategy could solve it.
    ///
    /// # Errors
    /// Why not.
    fn check(&self) -> Result<(), String>;

    /// What rates are related to.
    fn size(&self) -> Size;

    /// Bytes that inputs, of at most so many sets, take.
    fn input_memory(&self, most_sets: usize) -> usize;

    /// Inputs of at most so many sets, the same for the same seed.
    fn generate(&self, seed: u64, most_sets: usize, device: &Device) -> Self::Inputs;

    /// Whether inputs made for another problem are inputs for this one.
    fn fits(&self, inputs: &Self::Inputs) -> bool;

    /// What comes out, in float64.
    ///
    /// # Errors
    /// If two ways to compute it disagree.
    fn expected(&self, inputs: &Self::Inputs, seed: u64) -> Result<Self::Expected, String>;
}

/// What a case's rates are related to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Rows of a run.
    pub rows: usize,
    /// Bytes that have to move whatever the strategy.
    pub useful_bytes: usize,
}
