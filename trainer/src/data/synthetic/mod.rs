//! Synthetic signals, generated from a seed.

mod tonal;

use std::fmt::{self, Debug, Display};
use std::str::FromStr;
use std::sync::Arc;

use firefly_ops::rustfft_plans::Planned;
use rayon::prelude::*;
use realfft::ComplexToReal;
use realfft::num_complex::Complex;
use thiserror::Error;

use super::draw::{Draw, Part, Purpose};
use super::frames::Frames;
use super::{DataError, check_frame, ensure, mean_square};
use crate::config::{choice, section};

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

choice! {
    /// Family of synthetic signals.
    pub enum SignalFamily {
        /// Sinusoids of unrelated frequencies and levels, in white noise.
        Tones = "tones",
        /// A fundamental and its harmonics, with levels that fall per octave, in white noise.
        Harmonics = "harmonics",
        /// A carrier with sinusoidal amplitude modulation, in white noise.
        Am = "am",
        /// A carrier with sinusoidal frequency modulation, in white noise.
        Fm = "fm",
        /// A linear chirp, in white noise.
        Chirps = "chirps",
        /// Gaussian noise with a power density proportional to frequency^-exponent.
        Noise = "noise",
    }
}

/// A name that is not a family's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no family of signals is called {0:?}; there are tones, harmonics, am, fm, chirps and noise")]
pub struct UnknownSignalFamily(pub String);

impl FromStr for SignalFamily {
    type Err = UnknownSignalFamily;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|family| family.as_str() == name).ok_or_else(|| UnknownSignalFamily(name.to_owned()))
    }
}

section! {
    /// Settings of the synthetic signals. A pair is the least and the greatest value, between which each frame draws
    /// uniformly unless said. Frequencies are fractions of the sample rate: 0.5 is Nyquist.
    pub struct SyntheticConfig {
        pub families: Vec<SignalFamily> = SignalFamily::ALL.to_vec(),
        pub frequency: [f64; 2] = [0.01, 0.45],
        pub tones: [usize; 2] = [1, 8],
        pub tone_level_db: [f64; 2] = [-20.0, 0.0],
        pub harmonics: [usize; 2] = [3, 12],
        pub harmonic_decay_db: [f64; 2] = [3.0, 12.0],
        pub am_depth: [f64; 2] = [0.2, 1.0],
        pub modulation_rate: [f64; 2] = [0.001, 0.02],
        pub fm_deviation: [f64; 2] = [0.002, 0.05],
        pub noise_exponent: [f64; 2] = [0.0, 2.0],
        pub snr_db: [f64; 2] = [0.0, 40.0],
        pub level_db: [f64; 2] = [-20.0, 0.0],
    }
}

impl SyntheticConfig {
    /// Name of the signals: `synthetic`, or the families where not all of them are drawn.
    pub(super) fn name(&self) -> String {
        if SignalFamily::ALL.iter().all(|family| self.families.contains(family)) {
            return "synthetic".into();
        }
        self.families.iter().map(|family| family.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Checks every setting by itself, and together those that a listed family uses together. The error has the key,
    /// its value, and the values accepted.
    pub fn validate(&self) -> Result<(), DataError> {
        let accepted = "at least one of tones, harmonics, am, fm, chirps, noise";
        ensure(!self.families.is_empty(), "families", "empty", accepted)?;
        check_range("frequency", self.frequency, 1e-6, 0.4999)?;
        check_range("tones", self.tones, 1, 1000)?;
        check_range("tone_level_db", self.tone_level_db, -120.0, 120.0)?;
        check_range("harmonics", self.harmonics, 1, 1000)?;
        check_range("harmonic_decay_db", self.harmonic_decay_db, 0.0, 60.0)?;
        check_range("am_depth", self.am_depth, 0.0, 1.0)?;
        check_range("modulation_rate", self.modulation_rate, 1e-6, 0.25)?;
        check_range("fm_deviation", self.fm_deviation, 0.0, 0.25)?;
        check_range("noise_exponent", self.noise_exponent, -2.0, 4.0)?;
        check_range("snr_db", self.snr_db, -60.0, 200.0)?;
        check_range("level_db", self.level_db, -200.0, 200.0)?;
        self.validate_together()
    }

    /// Checks settings that depend on each other, for the families that use them.
    fn validate_together(&self) -> Result<(), DataError> {
        let [low, high] = self.frequency;
        let room = high - low;
        let has = |family| self.families.contains(&family);
        let (harmonics, rate, deviation) = (self.harmonics, self.modulation_rate, self.fm_deviation);
        let sidebands = format!("at most {}, for both sidebands within `frequency`", room / 2.0);
        let bandwidth = "together with `modulation_rate`, for Carson's bandwidth within `frequency`";
        let wider = format!("at most {}, or `frequency` wider", (high / low).floor());
        let are_below = !has(SignalFamily::Harmonics) || harmonics[1] as f64 * low <= high;
        ensure(are_below, "harmonics", format_args!("{harmonics:?}"), wider)?;
        let have_room = !has(SignalFamily::Am) || 2.0 * rate[1] <= room;
        ensure(have_room, "modulation_rate", format_args!("{rate:?}"), sidebands)?;
        let has_room = !has(SignalFamily::Fm) || 2.0 * (rate[1] + deviation[1]) <= room;
        let carson = format!("at most {} {bandwidth}", room / 2.0);
        ensure(has_room, "fm_deviation", format_args!("{deviation:?}"), carson)
    }
}

fn check_range<T>(key: &'static str, got: [T; 2], least: T, greatest: T) -> Result<(), DataError>
where
    T: PartialOrd + Debug + Display,
{
    let [low, high] = &got;
    // Written so that a NaN fails.
    let holds = *low >= least && low <= high && *high <= greatest;
    let accepted = format!("[least, greatest] in ascending order within {least} to {greatest}");
    ensure(holds, key, format_args!("{got:?}"), accepted)
}

#[cfg(test)]
mod tests;
