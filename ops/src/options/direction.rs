//! Direction of a transform.

/// Direction of a transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// e^(−2πi jk/n), unnormalised.
    #[default]
    Forward,
    /// e^(+2πi jk/n), unnormalised: divide by `n` to invert.
    Inverse,
}
