//! Parameters of a Fourier transform of rows.

use super::Direction;

/// Length, direction and factors of a Fourier transform of rows, as a backend gets them.
///
/// ```
/// use firefly_ops::{Direction, FftOptions};
///
/// // The inverse of a transform of 10 points: its bins of frequencies 1 to 4 stand for two bins each.
/// let options = FftOptions::new(10, Direction::Inverse).with_scale(0.1);
/// assert_eq!((options.bins(), options.interior_bins(), options.interior), (6, 1..5, 1.0));
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FftOptions {
    /// Points of the transform, n: at least 1, of any factors.
    pub length: usize,
    /// Sign of the exponent.
    pub direction: Direction,
    /// Factor on every output.
    pub scale: f64,
    /// Factor on the interior bins of a one-sided spectrum: those that are neither DC nor, with an even length,
    /// Nyquist. Transforms from complex to complex values have none.
    pub interior: f64,
}

impl FftOptions {
    /// A transform of `length` points without factors on its outputs.
    pub const fn new(length: usize, direction: Direction) -> Self {
        Self { length, direction, scale: 1.0, interior: 1.0 }
    }

    /// The same transform with a factor on every output.
    pub const fn with_scale(self, scale: f64) -> Self {
        Self { scale, ..self }
    }

    /// The same transform with a factor on the interior bins of a one-sided spectrum.
    pub const fn with_interior(self, interior: f64) -> Self {
        Self { interior, ..self }
    }

    /// Bins of a one-sided spectrum, n/2 + 1.
    pub fn bins(&self) -> usize {
        self.length / 2 + 1
    }

    /// The bins of a one-sided spectrum that are interior.
    pub fn interior_bins(&self) -> std::ops::Range<usize> {
        1..self.length.div_ceil(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_dc_nor_nyquist_is_interior() {
        let interior = |length| {
            let options = FftOptions::new(length, Direction::Forward);
            (options.bins(), options.interior_bins())
        };
        assert_eq!([1, 2, 3, 4, 5].map(interior), [(1, 1..1), (2, 1..1), (2, 1..2), (3, 1..2), (3, 1..3)]);
    }
}
