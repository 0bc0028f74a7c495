//! Parameters of a Fourier transform of rows.

use super::Direction;

/// Length, direction and factors of a Fourier transform of rows, as a backend gets them.
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
            let options = FftOptions { length, direction: Direction::Forward, scale: 1.0, interior: 1.0 };
            (options.bins(), options.interior_bins())
        };
        assert_eq!([1, 2, 3, 4, 5].map(interior), [(1, 1..1), (2, 1..1), (2, 1..2), (3, 1..2), (3, 1..3)]);
    }
}
