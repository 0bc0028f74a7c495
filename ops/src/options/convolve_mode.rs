//! Extent of a convolution.

/// Samples of a convolution of n samples with a kernel of k that are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum ConvolveMode {
    /// All n + k − 1.
    #[default]
    Full,
    /// The n in the middle of `Full`.
    Same,
    /// The n − k + 1 that no sample outside of the signal has a share in.
    Valid,
    /// n, of the signal repeated without end.
    Circular,
}
