//! Coloured Gaussian noise, generated in the frequency domain (Timmer and König, 1995).

use std::fmt;
use std::sync::Arc;

use firefly_ops::rustfft_plans::Planned;
use realfft::{ComplexToReal, num_complex::Complex};

use crate::data::draw::Draw;

/// Generator of noise frames with a power density proportional to frequency^-exponent.
///
/// The inverse transform is periodic. A frame is half a period, so that its end is not continuous with its start.
#[derive(Clone)]
pub(in crate::data) struct ColouredNoise {
    inverse: Arc<dyn ComplexToReal<f32>>,
    /// log2 of the bin number; 0 for bin 0, whose density is that of bin 1.
    log_bins: Arc<[f32]>,
}

impl fmt::Debug for ColouredNoise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColouredNoise").field("period", &self.inverse.len()).finish()
    }
}

impl ColouredNoise {
    pub(in crate::data) fn new(frame: usize) -> Self {
        let period = 2 * frame;
        Self {
            inverse: f32::inverse_real_plan(period),
            log_bins: (0..=period / 2).map(|bin| (bin.max(1) as f32).log2()).collect(),
        }
    }

    /// Overwrites `out` with noise; its level is arbitrary.
    pub(in crate::data) fn fill(&self, exponent: f64, draw: &mut Draw, out: &mut [f32]) {
        let mut parts = vec![0.0f32; 2 * self.log_bins.len()];
        draw.fill_normal(&mut parts);
        // Amplitude is the root of power.
        let slope = -0.5 * exponent as f32;
        let mut spectrum: Vec<Complex<f32>> = parts
            .chunks_exact(2)
            .zip(self.log_bins.iter())
            .map(|(part, log_bin)| Complex::new(part[0], part[1]) * (slope * log_bin).exp2())
            .collect();
        // DC and Nyquist of a real signal are real: their power is all in the real part.
        let end = spectrum.len() - 1;
        for bin in [0, end] {
            spectrum[bin] = Complex::new(spectrum[bin].re * std::f32::consts::SQRT_2, 0.0);
        }
        let mut samples = self.inverse.make_output_vec();
        self.inverse.process(&mut spectrum, &mut samples).expect("lengths come from the plan, and both ends are real");
        out.copy_from_slice(&samples[..out.len()]);
    }
}
