//! Welch peaks on realfft.

use std::sync::Arc;

use realfft::num_complex::Complex;
use realfft::{RealFftPlanner, RealToComplex};

use super::instruction_set;
use super::rows::{RowPower, Rows};
use crate::peaks::expected::ExpectedRow;
use crate::peaks::input::Inputs;
use crate::peaks::problem::{PeaksProblem, SYMMETRY, WINDOW};
use crate::peaks::strategy::check_peaks;
use crate::strategy::Strategy;
use crate::workload::{Refusal, Verified};

/// One planned real-input transform of realfft per segment, then partial selection.
pub struct RealFft;

struct Segments {
    transform: Arc<dyn RealToComplex<f32>>,
    window: Arc<[f32]>,
    hop: usize,
    segments: usize,
    tapered: Vec<f32>,
    spectrum: Vec<Complex<f32>>,
    scratch: Vec<Complex<f32>>,
}

impl Strategy<PeaksProblem> for RealFft {
    fn name(&self) -> &'static str {
        "realfft"
    }

    fn summary(&self) -> &'static str {
        "host: realfft, planned, one transform per segment, select_nth top-K"
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
        let transform = RealFftPlanner::new().plan_fft_forward(options.n_fft);
        let window: Arc<[f32]> =
            WINDOW.coefficients(options.n_fft, SYMMETRY).into_iter().map(|weight| weight as f32).collect();
        let rows = Rows::new(problem, inputs.host(), || Segments {
            transform: transform.clone(),
            window: window.clone(),
            hop: options.hop,
            segments: options.segments,
            tapered: transform.make_input_vec(),
            spectrum: transform.make_output_vec(),
            scratch: transform.make_scratch_vec(),
        });
        check_peaks(Box::new(rows), problem, inputs, expected, true)
    }
}

impl RowPower for Segments {
    fn power(&mut self, frame: &[f32], power: &mut [f32]) -> Result<(), String> {
        let n = self.window.len();
        for index in 0..self.segments {
            let segment = &frame[index * self.hop..][..n];
            for ((y, &x), &weight) in self.tapered.iter_mut().zip(segment).zip(&self.window[..]) {
                *y = weight * x;
            }
            self.transform
                .process_with_scratch(&mut self.tapered, &mut self.spectrum, &mut self.scratch)
                .map_err(|error| error.to_string())?;
            let squares = power.iter_mut().zip(&self.spectrum);
            if index == 0 {
                squares.for_each(|(sum, x)| *sum = x.norm_sqr());
            } else {
                squares.for_each(|(sum, x)| *sum += x.norm_sqr());
            }
        }
        // Interior bins stand for their mirror images too.
        let mean = 1.0 / self.segments as f32;
        power[1..n / 2].iter_mut().for_each(|power| *power *= 2.0 * mean);
        power[0] *= mean;
        power[n / 2] *= mean;
        Ok(())
    }
}
