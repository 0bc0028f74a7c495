//! Problem of butterfly transforms: rows of complex values.

use firefly_ops::{MAX_N_FFT, MIN_N_FFT};

use crate::harness::problem::ProblemError;

/// Bytes of a complex value.
const COMPLEX: usize = 2 * size_of::<f32>();
/// Largest input of a problem, in bytes.
const MAX_INPUT_BYTES: usize = 8 << 30;

/// The unnormalised forward transform of each of `batch` rows of `n` complex f32.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ButterflyProblem {
    /// Values per row.
    pub n: usize,
    /// Rows.
    pub batch: usize,
    /// Share of open gates among the hard gates.
    pub open: f64,
}

impl ButterflyProblem {
    /// Checks that a strategy could solve the problem.
    ///
    /// # Errors
    /// [`ProblemError`] if `n` or the input's size is out of range.
    pub fn validate(&self) -> Result<(), ProblemError> {
        let refuse = |parameter, got, expected| Err(ProblemError::OutOfRange { parameter, got, expected });
        if !(self.n.is_power_of_two() && (MIN_N_FFT..=MAX_N_FFT).contains(&self.n)) {
            return refuse("n", self.n, format!("a power of two from {MIN_N_FFT} to {MAX_N_FFT}"));
        }
        let most = MAX_INPUT_BYTES / (self.n * COMPLEX);
        if self.batch > most {
            return refuse("batch", self.batch, format!("at most {most}, for an input of 8 GiB"));
        }
        Ok(())
    }

    /// Bytes of the input.
    pub const fn input_bytes(&self) -> usize {
        self.batch * self.n * COMPLEX
    }
}

/// All problems of a grid.
pub fn grid(lengths: &[usize], batches: &[usize], open: f64) -> Vec<ButterflyProblem> {
    let of_length = |&n: &usize| batches.iter().map(move |&batch| ButterflyProblem { n, batch, open });
    lengths.iter().flat_map(of_length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::problem::Problem;

    #[test]
    fn parameters_out_of_range_are_errors() {
        let reason = |n, batch| ButterflyProblem { n, batch, open: 0.5 }.validate().unwrap_err().to_string();
        assert_eq!(reason(12, 1), "n is 12, but must be a power of two from 8 to 65536");
        assert!(reason(131_072, 1).contains("65536"));
        assert!(reason(1024, 1 << 21).contains("at most 1048576"));
    }

    #[test]
    fn a_grid_is_every_combination() {
        let problems = grid(&[8, 16], &[1, 2, 3], 0.5);
        assert_eq!(problems.len(), 6);
        assert_eq!((problems[1].batch, problems[3].n, problems[0].size().useful_bytes), (2, 16, 128));
    }
}
