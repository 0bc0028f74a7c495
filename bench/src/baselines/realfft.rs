//! Welch power on realfft.

use std::sync::Arc;

use firefly_ops::WelchOptions;
use realfft::num_complex::Complex;
use realfft::{RealFftPlanner, RealToComplex};

use super::rows::RowPower;
use crate::harness::routine::RoutineError;

/// One planned real-input transform of realfft per segment, then partial selection.
#[derive(Clone)]
pub struct RealSegments {
    transform: Arc<dyn RealToComplex<f32>>,
    window: Arc<[f32]>,
    hop: usize,
    segments: usize,
    windowed: Vec<f32>,
    spectrum: Vec<Complex<f32>>,
    scratch: Vec<Complex<f32>>,
}

impl RealSegments {
    /// A row's power with a window of `n_fft` weights.
    pub fn new(options: &WelchOptions, window: Arc<[f32]>) -> Self {
        let transform = RealFftPlanner::new().plan_fft_forward(options.n_fft);
        Self {
            window,
            hop: options.hop,
            segments: options.segments,
            windowed: transform.make_input_vec(),
            spectrum: transform.make_output_vec(),
            scratch: transform.make_scratch_vec(),
            transform,
        }
    }
}

impl RowPower for RealSegments {
    fn power(&mut self, frame: &[f32], power: &mut [f32]) -> Result<(), RoutineError> {
        let n = self.window.len();
        for index in 0..self.segments {
            let segment = &frame[index * self.hop..][..n];
            for ((y, &x), &weight) in self.windowed.iter_mut().zip(segment).zip(&self.window[..]) {
                *y = weight * x;
            }
            self.transform
                .process_with_scratch(&mut self.windowed, &mut self.spectrum, &mut self.scratch)
                .map_err(|error| RoutineError::Baseline(error.to_string()))?;
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
