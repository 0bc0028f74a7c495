//! Sinusoidal signals. Phases are in turns, frequencies in turns per sample.

use std::f64::consts::TAU;

use super::SyntheticConfig;
use crate::data::draw::Draw;

fn amplitude(level_db: f64) -> f64 {
    10f64.powf(level_db / 20.0)
}

fn phase(draw: &mut Draw) -> f64 {
    draw.uniform([0.0, 1.0])
}

/// A unit vector. It is rotated by a complex product, which is cheaper than a sine; in double precision the error is
/// about 1e-16 per rotation.
#[derive(Clone, Copy)]
struct Rotor {
    sin: f64,
    cos: f64,
}

impl Rotor {
    fn at(turns: f64) -> Self {
        let (sin, cos) = (TAU * turns).sin_cos();
        Self { sin, cos }
    }

    fn rotated(self, by: Self) -> Self {
        Self { sin: self.sin * by.cos + self.cos * by.sin, cos: self.cos * by.cos - self.sin * by.sin }
    }
}

fn add_sinusoid(out: &mut [f32], frequency: f64, phase: f64, amplitude: f64) {
    let mut signal = Rotor::at(phase);
    let step = Rotor::at(frequency);
    for sample in out {
        *sample += (amplitude * signal.sin) as f32;
        signal = signal.rotated(step);
    }
}

/// Sinusoids of unrelated frequencies, levels and phases.
pub(super) fn tones(config: &SyntheticConfig, draw: &mut Draw, out: &mut [f32]) {
    out.fill(0.0);
    for _ in 0..draw.count(config.tones) {
        let frequency = draw.uniform(config.frequency);
        let level = draw.uniform(config.tone_level_db);
        add_sinusoid(out, frequency, phase(draw), amplitude(level));
    }
}

/// Harmonics 1..=count of one fundamental; harmonic h is `decay`·log2(h) decibels down.
pub(super) fn harmonics(config: &SyntheticConfig, draw: &mut Draw, out: &mut [f32]) {
    out.fill(0.0);
    let count = draw.count(config.harmonics);
    let [low, high] = config.frequency;
    let fundamental = draw.log_uniform([low, high / count as f64]);
    let decay = draw.uniform(config.harmonic_decay_db);
    for order in 1..=count {
        let order = order as f64;
        let level = -decay * order.log2();
        add_sinusoid(out, fundamental * order, phase(draw), amplitude(level));
    }
}

/// (1 + depth·cos) times a carrier: the carrier, and a sideband of half the depth on either side.
pub(super) fn amplitude_modulated(config: &SyntheticConfig, draw: &mut Draw, out: &mut [f32]) {
    let rate = draw.uniform(config.modulation_rate);
    let depth = draw.uniform(config.am_depth);
    let [low, high] = config.frequency;
    let carrier = draw.uniform([low + rate, high - rate]);
    let (start, turn) = (phase(draw), phase(draw));
    out.fill(0.0);
    add_sinusoid(out, carrier, start, 1.0);
    add_sinusoid(out, carrier - rate, start - turn, depth / 2.0);
    add_sinusoid(out, carrier + rate, start + turn, depth / 2.0);
}

/// A carrier whose instantaneous frequency is carrier + deviation·cos(modulation). Carson's
/// bandwidth, 2 (deviation + rate), lies within the frequency range.
pub(super) fn frequency_modulated(config: &SyntheticConfig, draw: &mut Draw, out: &mut [f32]) {
    let rate = draw.uniform(config.modulation_rate);
    let deviation = draw.uniform(config.fm_deviation);
    let [low, high] = config.frequency;
    let carrier = draw.uniform([low + deviation + rate, high - deviation - rate]);
    let (start, turn) = (phase(draw), phase(draw));
    // The phase is the integral of the frequency: its swing, in turns, is deviation / (2π rate).
    let swing = deviation / (TAU * rate);
    let mut modulation = Rotor::at(turn);
    let step = Rotor::at(rate);
    for (t, sample) in out.iter_mut().enumerate() {
        let turns = start + carrier * t as f64 + swing * modulation.sin;
        // Whole turns are subtracted in double precision; the remainder is accurate in single precision.
        *sample = (std::f32::consts::TAU * (turns - turns.floor()) as f32).sin();
        modulation = modulation.rotated(step);
    }
}

/// A frequency that changes linearly over the frame, up or down.
pub(super) fn chirp(config: &SyntheticConfig, draw: &mut Draw, out: &mut [f32]) {
    let first = draw.uniform(config.frequency);
    let last = draw.uniform(config.frequency);
    // Turns after t samples: first·t + rate·t², so that each step is 2·rate longer than the one before.
    let rate = (last - first) / (2.0 * out.len() as f64);
    let mut signal = Rotor::at(phase(draw));
    let mut step = Rotor::at(first + rate);
    let step_rotation = Rotor::at(2.0 * rate);
    for sample in out {
        *sample = signal.sin as f32;
        signal = signal.rotated(step);
        step = step.rotated(step_rotation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Part;
    use crate::data::draw::Purpose;

    /// The signal of one maker beside its formula, at the draws that the maker begins with.
    fn compare(
        make: fn(&SyntheticConfig, &mut Draw, &mut [f32]),
        formula: impl Fn(&SyntheticConfig, &mut Draw) -> Box<dyn Fn(f64) -> f64>,
    ) {
        let config = SyntheticConfig::default();
        let mut out = vec![0.0; 20_000];
        for index in 0..5 {
            make(&config, &mut Draw::at(1, Part::Train, Purpose::Frames, index), &mut out);
            let exact = formula(&config, &mut Draw::at(1, Part::Train, Purpose::Frames, index));
            for (t, sample) in out.iter().enumerate() {
                let error = f64::from(*sample) - exact(t as f64);
                assert!(error.abs() < 2e-6, "frame {index}, sample {t}: off by {error}");
            }
        }
    }

    #[test]
    fn amplitude_modulation_follows_its_formula() {
        compare(amplitude_modulated, |config, draw| {
            let rate = draw.uniform(config.modulation_rate);
            let depth = draw.uniform(config.am_depth);
            let carrier = draw.uniform([config.frequency[0] + rate, config.frequency[1] - rate]);
            let (start, turn) = (phase(draw), phase(draw));
            Box::new(move |t| {
                let envelope = 1.0 + depth * (TAU * (turn + rate * t)).cos();
                envelope * (TAU * (start + carrier * t)).sin()
            })
        });
    }

    #[test]
    fn frequency_modulation_follows_its_formula() {
        compare(frequency_modulated, |config, draw| {
            let rate = draw.uniform(config.modulation_rate);
            let deviation = draw.uniform(config.fm_deviation);
            let margin = rate + deviation;
            let [low, high] = config.frequency;
            let carrier = draw.uniform([low + deviation + rate, high - deviation - rate]);
            let (start, turn) = (phase(draw), phase(draw));
            // The instantaneous frequency, by its definition, never leaves the range.
            let frequency = move |t: f64| carrier + deviation * (TAU * (turn + rate * t)).cos();
            assert!((0..20_000).all(|t| (low..=high).contains(&frequency(f64::from(t)))));
            assert!(carrier + margin <= high + 1e-12 && carrier - margin >= low - 1e-12);
            Box::new(move |t| {
                let swing = deviation / rate * (TAU * (turn + rate * t)).sin();
                (TAU * (start + carrier * t) + swing).sin()
            })
        });
    }

    #[test]
    fn a_chirp_moves_linearly_between_its_ends() {
        compare(chirp, |config, draw| {
            let first = draw.uniform(config.frequency);
            let last = draw.uniform(config.frequency);
            let start = phase(draw);
            // Frequency first + (last - first)·t/20000, integrated.
            Box::new(move |t| (TAU * (start + first * t + (last - first) * t * t / 40_000.0)).sin())
        });
    }
}
