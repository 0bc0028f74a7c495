//! Welch peaks on rustfft.

use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};

use super::instruction_set;
use super::rows::{RowPower, Rows};
use crate::peaks::expected::ExpectedRow;
use crate::peaks::input::Inputs;
use crate::peaks::problem::{PeaksProblem, SYMMETRY, WINDOW};
use crate::peaks::strategy::check_peaks;
use crate::strategy::Strategy;
use crate::workload::{Refusal, Verified};

/// One planned complex transform of rustfft for two real segments, then partial selection.
///
/// With Z the transform of x₁ + i·x₂: |Z\[k\]|² + |Z\[n−k\]|² = 2·(|X₁\[k\]|² + |X₂\[k\]|²), and interior bins of one-sided
/// power count twice. An odd last segment is paired with zeros.
pub struct RustFft;

struct PairedSegments {
    transform: Arc<dyn Fft<f32>>,
    window: Arc<[f32]>,
    hop: usize,
    segments: usize,
    spectrum: Vec<Complex<f32>>,
    scratch: Vec<Complex<f32>>,
    sums: Vec<f32>,
}

impl Strategy<PeaksProblem> for RustFft {
    fn name(&self) -> &'static str {
        "rustfft"
    }

    fn summary(&self) -> &'static str {
        "host: rustfft, planned, two segments in one transform, select_nth top-K"
    }

    fn instruction_set(&self, _problem: &PeaksProblem) -> Option<&'static str> {
        Some(instruction_set())
    }

    fn verify<'a>(
        &self,
        problem: &PeaksProblem,
        inputs: &'a Inputs,
        expected: &Vec<ExpectedRow>,
    ) -> Result<Verified<'a>, Refusal> {
        let options = problem.options;
        let transform = FftPlanner::new().plan_fft_forward(options.n_fft);
        let window: Arc<[f32]> =
            WINDOW.coefficients(options.n_fft, SYMMETRY).into_iter().map(|weight| weight as f32).collect();
        let rows = Rows::new(problem, inputs.host(), || PairedSegments {
            transform: transform.clone(),
            window: window.clone(),
            hop: options.hop,
            segments: options.segments,
            spectrum: vec![Complex::default(); options.n_fft],
            scratch: vec![Complex::default(); transform.get_inplace_scratch_len()],
            sums: vec![0.0; options.n_fft],
        });
        check_peaks(Box::new(rows), problem, inputs, expected, true)
    }
}

impl RowPower for PairedSegments {
    fn power(&mut self, frame: &[f32], power: &mut [f32]) -> Result<(), String> {
        let n = self.window.len();
        for first in (0..self.segments).step_by(2) {
            let segment = |index: usize| &frame[index * self.hop..][..n];
            let tapered = self.spectrum.iter_mut().zip(segment(first)).zip(&self.window[..]);
            if first + 1 < self.segments {
                for (((z, &re), &weight), &im) in tapered.zip(segment(first + 1)) {
                    *z = Complex { re: weight * re, im: weight * im };
                }
            } else {
                for ((z, &re), &weight) in tapered {
                    *z = Complex { re: weight * re, im: 0.0 };
                }
            }
            self.transform.process_with_scratch(&mut self.spectrum, &mut self.scratch);
            let squares = self.sums.iter_mut().zip(&self.spectrum);
            if first == 0 {
                squares.for_each(|(sum, z)| *sum = z.norm_sqr());
            } else {
                squares.for_each(|(sum, z)| *sum += z.norm_sqr());
            }
        }
        let mean = 1.0 / self.segments as f32;
        power[0] = mean * self.sums[0];
        power[n / 2] = mean * self.sums[n / 2];
        let (lower, upper) = self.sums.split_at(n / 2);
        for ((power, &bin), &mirror) in power[1..n / 2].iter_mut().zip(&lower[1..]).zip(upper[1..].iter().rev()) {
            *power = mean * (bin + mirror);
        }
        Ok(())
    }
}
