//! Transforms of complex and real rows, with length, direction and factors.

use super::Complex;
use super::dft::dft;
use super::fast_dft::conjugates;

/// Parameters of a transform.
#[derive(Debug, Clone, Copy)]
pub struct FftDefinition {
    /// Points, n: rows are cut or padded with zeros to as many.
    pub n: usize,
    /// Whether the exponent is −2πi jk/n, or else +2πi jk/n.
    pub forward: bool,
    /// Factor on every output.
    pub scale: f64,
    /// Factor on the bins of a one-sided spectrum that are neither 0 nor n/2.
    pub interior: f64,
}

impl FftDefinition {
    /// `row` \[m\] → \[n\]: `scale`·Σ_j x\[j\]·e^{∓2πi jk/n}.
    pub fn complex(&self, row: &[Complex]) -> Vec<Complex> {
        let row: Vec<Complex> = (0..self.n).map(|j| row.get(j).copied().unwrap_or(Complex::ZERO)).collect();
        let bins = if self.forward { dft(&row) } else { conjugates(&dft(&conjugates(&row))) };
        bins.into_iter().map(|bin| self.scale * bin).collect()
    }

    /// `row` \[m\] → \[n/2 + 1\]: bins 0 to n/2 of [`complex`](Self::complex), the interior ones times `interior`.
    pub fn real(&self, row: &[f64]) -> Vec<Complex> {
        let row: Vec<Complex> = row.iter().map(|&x| x.into()).collect();
        let bins = self.complex(&row).into_iter().take(self.n / 2 + 1);
        bins.enumerate().map(|(k, bin)| self.factor(k) * bin).collect()
    }

    /// `row` \[m\] → \[n\]: [`complex`](Self::complex) of the spectrum whose bins k and n − k are row\[k\] times its
    /// factor and its conjugate; bins 0 and n/2 are their real parts.
    pub fn inverse_real(&self, row: &[Complex]) -> Vec<f64> {
        let mut bins = vec![Complex::ZERO; self.n];
        for (k, &bin) in row.iter().enumerate().take(self.n / 2 + 1) {
            let bin = self.factor(k) * bin;
            if k == (self.n - k) % self.n {
                bins[k] = bin.re.into();
            } else {
                bins[k] = bin;
                bins[self.n - k] = bin.conj();
            }
        }
        self.complex(&bins).into_iter().map(|x| x.re).collect()
    }

    fn factor(&self, k: usize) -> f64 {
        if k == 0 || 2 * k == self.n { 1.0 } else { self.interior }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(n: usize, forward: bool) -> FftDefinition {
        FftDefinition { n, forward, scale: 1.0, interior: 1.0 }
    }

    #[test]
    fn three_points_have_the_values_computed_by_hand() {
        let row: Vec<Complex> = [1.0, 2.0, 4.0].map(Complex::from).to_vec();
        let bin = definition(3, true).complex(&row)[1];
        // 1 + 2·(−½ − i√¾) + 4·(−½ + i√¾).
        assert!((bin.re + 2.0).abs() < 1e-14 && (bin.im - 2.0 * 0.75f64.sqrt()).abs() < 1e-14);
        let other = definition(3, false).complex(&row)[1];
        assert!((other.re + 2.0).abs() < 1e-14 && (other.im + 2.0 * 0.75f64.sqrt()).abs() < 1e-14);
    }

    #[test]
    fn both_halves_undo_each_other() {
        for n in [1, 2, 3, 8, 9] {
            let row: Vec<f64> = (0..n).map(|j| (j * j % 7) as f64 - 2.0).collect();
            let back = FftDefinition { scale: 1.0 / n as f64, ..definition(n, false) };
            let again = back.inverse_real(&definition(n, true).real(&row));
            assert!(row.iter().zip(again).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }

    #[test]
    fn rows_are_cut_and_padded() {
        let two = definition(2, true).real(&[1.0, 2.0, 100.0]);
        assert_eq!(two, [Complex::new(3.0, 0.0), Complex::new(-1.0, 0.0)]);
        let four = definition(4, true).real(&[1.0, 2.0]);
        assert_eq!(four[2], Complex::new(-1.0, 0.0));
    }
}
