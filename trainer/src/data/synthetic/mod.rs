//! Synthetic signals, generated from a seed.

mod config;
mod tonal;

use std::fmt;
use std::sync::Arc;

use firefly_ops::rustfft_plans::Planned;
use rayon::prelude::*;
use realfft::{ComplexToReal, num_complex::Complex};

pub use config::{SignalFamily, SyntheticConfig, UnknownSignalFamily};

use super::draw::{Draw, Part, Purpose};
use super::frames::Frames;
use super::{DataError, check_frame, mean_square};

/// Source of synthetic frames. Cloning shares everything.
#[derive(Debug, Clone)]
pub struct Synthetic {
    config: Arc<SyntheticConfig>,
    noise: ColouredNoise,
    frame: usize,
    seed: u64,
    part: Part,
    purpose: Purpose,
}

impl Synthetic {
    /// A source of training frames of `frame` samples. An error if `frame` is 0 or a setting is out of its range
    /// ([`SyntheticConfig::validate`]).
    pub fn new(config: SyntheticConfig, frame: usize, seed: u64) -> Result<Self, DataError> {
        check_frame(frame)?;
        config.validate()?;
        let (config, noise) = (Arc::new(config), ColouredNoise::new(frame));
        Ok(Self { config, noise, frame, seed, part: Part::Train, purpose: Purpose::Frames })
    }

    /// The same signals with the draws of another part.
    pub fn for_part(&self, part: Part) -> Self {
        Self { part, ..self.clone() }
    }

    /// The same signals with the draws of examples, which come in an order that is drawn too.
    pub fn for_examples(&self) -> Self {
        Self { purpose: Purpose::Examples, ..self.clone() }
    }

    /// Samples in one frame.
    pub fn frame_len(&self) -> usize {
        self.frame
    }

    /// The settings.
    pub fn config(&self) -> &SyntheticConfig {
        &self.config
    }

    /// Writes the frame of this index, a pure function of seed, part, purpose and index.
    ///
    /// # Panics
    /// If `out` is not one frame long.
    pub fn frame(&self, index: u64, out: &mut [f32]) {
        assert_eq!(out.len(), self.frame, "length of the frame to fill");
        let mut draw = Draw::at(self.seed, self.part, self.purpose, index);
        let config = &*self.config;
        let family = config.families[draw.count([0, config.families.len() - 1])];
        let level_db = draw.uniform(config.level_db);
        match family {
            SignalFamily::Tones => tonal::tones(config, &mut draw, out),
            SignalFamily::Harmonics => tonal::harmonics(config, &mut draw, out),
            SignalFamily::Am => tonal::amplitude_modulated(config, &mut draw, out),
            SignalFamily::Fm => tonal::frequency_modulated(config, &mut draw, out),
            SignalFamily::Chirps => tonal::chirp(config, &mut draw, out),
            SignalFamily::Noise => {
                let exponent = draw.uniform(config.noise_exponent);
                self.noise.fill(exponent, &mut draw, out);
            }
        }
        if family != SignalFamily::Noise {
            let snr_db = draw.uniform(config.snr_db);
            add_white_noise(snr_db, &mut draw, out);
        }
        let power = mean_square(out);
        if power > 0.0 {
            let factor = (from_db(level_db) / power).sqrt();
            out.iter_mut().for_each(|sample| *sample = (f64::from(*sample) * factor) as f32);
        }
    }

    /// The first `count` frames.
    pub fn frames(&self, count: usize) -> Frames {
        let mut samples = vec![0.0; count * self.frame];
        samples.par_chunks_exact_mut(self.frame).enumerate().for_each(|(index, out)| self.frame(index as u64, out));
        Frames::new(self.frame, [samples.into()])
    }
}

/// Generator of noise frames with a power density proportional to frequency^-exponent.
///
/// The inverse transform is periodic. A frame is half a period, so that its end is not continuous with its start.
#[derive(Clone)]
pub(super) struct ColouredNoise {
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
    pub(super) fn new(frame: usize) -> Self {
        let period = 2 * frame;
        Self {
            inverse: f32::inverse_real_plan(period),
            log_bins: (0..=period / 2).map(|bin| (bin.max(1) as f32).log2()).collect(),
        }
    }

    /// Overwrites `out` with noise; its level is arbitrary.
    pub(super) fn fill(&self, exponent: f64, draw: &mut Draw, out: &mut [f32]) {
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

/// Adds white noise with a signal-to-noise ratio of `snr_db`, both measured in this frame.
fn add_white_noise(snr_db: f64, draw: &mut Draw, out: &mut [f32]) {
    let mut noise = vec![0.0; out.len()];
    draw.fill_normal(&mut noise);
    let noise_power = mean_square(&noise);
    if noise_power == 0.0 {
        return;
    }
    let amplitude = (mean_square(out) / (noise_power * from_db(snr_db))).sqrt() as f32;
    for (sample, noise) in out.iter_mut().zip(&noise) {
        *sample += amplitude * noise;
    }
}

/// Power of a level in decibels.
fn from_db(db: f64) -> f64 {
    10f64.powf(db / 10.0)
}

#[cfg(test)]
mod tests;
