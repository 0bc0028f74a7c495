//! Welch power on rustfft.

use std::sync::Arc;

use firefly_ops::WelchOptions;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};

use super::rows::RowPower;
use crate::harness::routine::RoutineError;

/// One planned complex transform of rustfft for two real segments, then partial selection.
///
/// With Z the transform of x₁ + i·x₂: |Z\[k\]|² + |Z\[n−k\]|² = 2·(|X₁\[k\]|² + |X₂\[k\]|²), and interior bins of
/// one-sided power count twice. An odd last segment is paired with zeros.
#[derive(Clone)]
pub struct PairedSegments {
    transform: Arc<dyn Fft<f32>>,
    window: Arc<[f32]>,
    hop: usize,
    segments: usize,
    spectrum: Vec<Complex<f32>>,
    scratch: Vec<Complex<f32>>,
    sums: Vec<f32>,
}

impl PairedSegments {
    /// A row's power with a window of `n_fft` weights.
    pub fn new(options: &WelchOptions, window: Arc<[f32]>) -> Self {
        let transform = FftPlanner::new().plan_fft_forward(options.n_fft);
        Self {
            window,
            hop: options.hop,
            segments: options.segments,
            spectrum: vec![Complex::default(); options.n_fft],
            scratch: vec![Complex::default(); transform.get_inplace_scratch_len()],
            sums: vec![0.0; options.n_fft],
            transform,
        }
    }
}

impl RowPower for PairedSegments {
    fn power(&mut self, frame: &[f32], power: &mut [f32]) -> Result<(), RoutineError> {
        let n = self.window.len();
        for first in (0..self.segments).step_by(2) {
            let segment = |index: usize| &frame[index * self.hop..][..n];
            let windowed = self.spectrum.iter_mut().zip(segment(first)).zip(&self.window[..]);
            if first + 1 < self.segments {
                for (((z, &re), &weight), &im) in windowed.zip(segment(first + 1)) {
                    *z = Complex { re: weight * re, im: weight * im };
                }
            } else {
                for ((z, &re), &weight) in windowed {
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

/// The instruction set that rustfft, and realfft on top of it, chooses on this processor.
pub fn instruction_set() -> &'static str {
    if rustfft::FftPlannerAvx::<f32>::new().is_ok() {
        "avx"
    } else if rustfft::FftPlannerSse::<f32>::new().is_ok() {
        "sse4.1"
    } else if rustfft::FftPlannerNeon::<f32>::new().is_ok() {
        "neon"
    } else {
        "scalar"
    }
}
