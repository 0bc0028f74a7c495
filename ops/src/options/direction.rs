//! Direction of a transform.

/// Direction of a transform.
///
/// ```
/// use firefly_ops::Direction;
///
/// assert_eq!(Direction::Forward.opposite(), Direction::Inverse);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// e^(−2πi jk/n), unnormalised.
    #[default]
    Forward,
    /// e^(+2πi jk/n), unnormalised: divide by `n` to invert.
    Inverse,
}

impl Direction {
    /// The other direction.
    pub fn opposite(self) -> Self {
        match self {
            Self::Forward => Self::Inverse,
            Self::Inverse => Self::Forward,
        }
    }
}
