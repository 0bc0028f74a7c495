//! Whether computed transforms are right.

use firefly_reference::Complex;

use super::coefficients::Network;
use super::expected::{Expected, ExpectedRow, largest, magnitude};
use super::inputs::Inputs;
use crate::harness::routine::Produces;
use crate::harness::verification::{Refusal, Verification, Verified, run_and_check, tolerance};

/// A transform in host memory: real and imaginary parts, `[batch, n]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum {
    /// Real parts.
    pub re: Vec<f32>,
    /// Imaginary parts.
    pub im: Vec<f32>,
}

/// A check that adds up over sets.
struct Verifier<'a> {
    n: usize,
    batch: usize,
    rows: &'a [ExpectedRow],
    found: Verification,
}

impl<'a> Verifier<'a> {
    /// A verifier of the output of the transform through `network`.
    ///
    /// # Errors
    /// If the reference's butterflies disagree with the sum of the definition.
    fn new(expected: &'a Expected, network: Network, inputs: &Inputs) -> Result<Self, String> {
        let rows = expected.rows(network, inputs)?;
        let found = Verification { rows: 0, tolerance: tolerance(expected.n), error: 0.0, ranking: None };
        Ok(Self { n: expected.n, batch: expected.batch, rows, found })
    }

    /// Checks the rows that are expected of one set.
    ///
    /// # Errors
    /// What is wrong with the first row that is.
    fn check(&mut self, set: usize, spectrum: &Spectrum) -> Result<(), String> {
        let (wanted, re, im) = (self.batch * self.n, spectrum.re.len(), spectrum.im.len());
        if re != wanted || im != wanted {
            return Err(format!("{re} real and {im} imaginary parts came back instead of {wanted}"));
        }
        for expected in self.rows.iter().filter(|expected| expected.set == set) {
            let largest = largest(&expected.values);
            for (bin, &value) in expected.values.iter().enumerate() {
                let place = expected.row * self.n + bin;
                let computed = Complex::new(spectrum.re[place].into(), spectrum.im[place].into());
                let error = magnitude(computed - value) / largest;
                if error.is_nan() || error > self.found.tolerance {
                    return Err(format!(
                        "set {set}, row {}: {computed:?} at bin {bin} is {value:?} in the reference: off by {error:.1e} of \
                         the row's maximum, {:.1e} is allowed",
                        expected.row, self.found.tolerance
                    ));
                }
                self.found.error = self.found.error.max(error);
            }
            self.found.rows += 1;
        }
        Ok(())
    }

    /// What was found in the rows checked.
    fn finish(self) -> Verification {
        self.found
    }
}

/// Runs a transform on every input set and compares what comes out with what is expected of `network`.
pub(super) fn check<'a>(
    network: Network,
    mut workload: impl Produces<Spectrum> + 'a,
    inputs: &Inputs,
    expected: &Expected,
) -> Result<Verified<'a>, Refusal> {
    let mut verifier = Verifier::new(expected, network, inputs).map_err(Refusal::Failed)?;
    let checksums = run_and_check(&mut workload, inputs.count(), |set, spectrum| verifier.check(set, spectrum))?;
    Ok(Verified::exact(Box::new(workload), checksums, verifier.finish()))
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::suites::fft::problem::TransformProblem;

    #[test]
    fn a_wrong_value_is_refused() {
        let problem = TransformProblem { n: 16, batch: 2, open: 0.5 };
        let inputs = Inputs::generate(&problem, 1, 1, &Device::flex());
        let expected = Expected::new(&problem, 1, 1);
        let spectrum = || {
            let rows = expected.rows(Network::Exact, &inputs).unwrap();
            let values = || rows.iter().flat_map(|row| &row.values);
            Spectrum { re: values().map(|z| z.re as f32).collect(), im: values().map(|z| z.im as f32).collect() }
        };
        let check = |change: fn(&mut Spectrum)| {
            let mut spectrum = spectrum();
            change(&mut spectrum);
            let mut verifier = Verifier::new(&expected, Network::Exact, &inputs).unwrap();
            verifier.check(0, &spectrum).map(|()| verifier.finish())
        };
        let right = check(|_| ()).unwrap();
        assert!(right.rows == 2 && right.error < 1e-7);
        assert!(check(|spectrum| spectrum.im[20] += 1e-3).unwrap_err().contains("row 1"));
        assert!(check(|spectrum| spectrum.re[0] = f32::NAN).unwrap_err().contains("NaN"));
        assert!(check(|spectrum| spectrum.re.truncate(31)).unwrap_err().contains("31 real and 32 imaginary"));
    }
}
