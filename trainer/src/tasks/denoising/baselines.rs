//! Classical estimates that a model is compared with: spectral subtraction, and a Wiener filter that knows the noise,
//! with settings that are tuned one after the other.

use burn::tensor::{FloatDType, Tensor, TensorData};
use firefly_models::ArgumentError;
use firefly_ops::fft::{ComplexTensor, istft, stft};
use firefly_ops::{StftOptions, Window, WindowSymmetry};
use rayon::prelude::*;

const FRAME_SECONDS: f64 = 0.032;

/// Settings of a spectral subtraction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpectralSubtraction {
    /// Exponent of the amplitudes that are subtracted: 1 for amplitude, 2 for power.
    pub exponent: f64,
    /// Factor of the noise that is subtracted.
    pub over_subtraction: f64,
    /// Least gain.
    pub floor: f64,
    /// Share of the frames, the quietest ones, whose mean power is that of the noise.
    pub quiet_share: f64,
    /// Frames on either side that a frame's power is averaged over before the subtraction.
    pub averaged: usize,
}

impl Default for SpectralSubtraction {
    /// Values of the literature.
    fn default() -> Self {
        Self { exponent: 2.0, over_subtraction: 2.0, floor: 0.1, quiet_share: 0.1, averaged: 1 }
    }
}

/// Settings of a Wiener filter with a decision-directed estimate of the signal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WienerFilter {
    /// Smoothing factor α: weight of the frame before in the estimate.
    pub smoothing: f64,
    /// Least gain.
    pub least_gain: f64,
}

impl Default for WienerFilter {
    /// Values of the literature.
    fn default() -> Self {
        Self { smoothing: 0.98, least_gain: 0.03 }
    }
}

/// Noisy rows with their short-time spectra.
pub struct Noisy {
    options: StftOptions,
    window: Tensor<1>,
    samples: usize,
    spectra: ComplexTensor<3>,
    /// Power of each bin of each frame, `[rows, bins, frames]`.
    power: Vec<f32>,
    bins: usize,
    frames: usize,
}

impl Noisy {
    /// The spectra of rows `[rows, samples]` of a sample rate in hertz: frames of 32 ms, or of what the rows have. An
    /// error for rows of fewer than 8 samples.
    pub fn new(rows: Tensor<2>, sample_rate: f64) -> Result<Self, ArgumentError> {
        let samples = rows.dims()[1];
        let frame = (sample_rate * FRAME_SECONDS).clamp(8.0, samples.max(8) as f64) as usize;
        let n_fft = if frame.is_power_of_two() { frame } else { frame.next_power_of_two() / 2 };
        let options = StftOptions::new(n_fft);
        let window = Window::Hann.tensor(n_fft, WindowSymmetry::Periodic, FloatDType::F32, &rows.device());
        let spectra: ComplexTensor<3> = stft(rows, Some(window.clone()), &options)?;
        let [_, bins, frames] = spectra.dims();
        let power = spectra.clone().abs_squared().into_data().iter().collect();
        Ok(Self { options, window, samples, spectra, power, bins, frames })
    }

    /// The rows by spectral subtraction (Boll 1979; Berouti, Schwartz and Makhoul 1979): the noise, estimated from the
    /// quietest frames, is subtracted from powers of amplitudes, down to a floor. An error of the inverse transform.
    pub fn subtracted(&self, settings: &SpectralSubtraction) -> Result<Tensor<2>, ArgumentError> {
        let gains = |row: usize, gains: &mut [f32]| {
            let power = self.row(row);
            let noise = quiet_power(power, self.frames, settings.quiet_share);
            let exponent = settings.exponent;
            for (bin, gains) in gains.chunks_mut(self.frames).enumerate() {
                let power = &power[bin * self.frames..][..self.frames];
                let subtracted = settings.over_subtraction * noise[bin].powf(exponent / 2.0);
                for (frame, gain) in gains.iter_mut().enumerate() {
                    let first = frame.saturating_sub(settings.averaged);
                    let around = &power[first..(frame + settings.averaged + 1).min(self.frames)];
                    let mean = around.iter().copied().map(f64::from).sum::<f64>() / around.len() as f64;
                    let share = 1.0 - subtracted / mean.powf(exponent / 2.0).max(f64::MIN_POSITIVE);
                    *gain = share.max(0.0).powf(1.0 / exponent).max(settings.floor) as f32;
                }
            }
        };
        self.with_gains(gains)
    }

    /// The rows by a Wiener filter for noise of known mean power per bin, with a decision-directed estimate of the
    /// signal (Ephraim and Malah 1984). The mean is that of `noise`, the noise in each row, over the frames of the row.
    /// An error for noise of another shape.
    pub fn filtered(&self, settings: &WienerFilter, noise: Tensor<2>) -> Result<Tensor<2>, ArgumentError> {
        let WienerFilter { smoothing, least_gain } = *settings;
        let noise: ComplexTensor<3> = stft(noise, Some(self.window.clone()), &self.options)?;
        if noise.dims() != self.spectra.dims() {
            let (got, expected) = (format!("{:?}", noise.dims()), format!("spectra {:?}", self.spectra.dims()));
            return Err(ArgumentError::new("WienerFilter", "noise", got, expected));
        }
        let noise: Vec<f32> = noise.abs_squared().into_data().iter().collect();
        let gains = |row: usize, gains: &mut [f32]| {
            let of_row = &noise[row * self.bins * self.frames..][..self.bins * self.frames];
            let noise = quiet_power(of_row, self.frames, 1.0);
            for (bin, gains) in gains.chunks_mut(self.frames).enumerate() {
                let mut before = 0.0;
                for (power, gain) in self.row(row)[bin * self.frames..].iter().zip(gains) {
                    // Ratios of the noisy power, and of the signal's, to the noise.
                    let posterior = f64::from(*power) / noise[bin].max(f64::MIN_POSITIVE);
                    let prior = smoothing * before + (1.0 - smoothing) * (posterior - 1.0).max(0.0);
                    let filter = (prior / (1.0 + prior)).max(least_gain);
                    before = filter * filter * posterior;
                    *gain = filter as f32;
                }
            }
        };
        self.with_gains(gains)
    }

    /// Power of a row, `[bins, frames]`.
    fn row(&self, row: usize) -> &[f32] {
        &self.power[row * self.bins * self.frames..][..self.bins * self.frames]
    }

    /// The rows with a gain for each bin of each frame; `fill` writes those of a row, `[bins, frames]`.
    fn with_gains(&self, fill: impl Fn(usize, &mut [f32]) + Sync) -> Result<Tensor<2>, ArgumentError> {
        let mut gains = vec![0.0; self.power.len()];
        gains.par_chunks_mut(self.bins * self.frames).enumerate().for_each(|(row, gains)| fill(row, gains));
        let gains = Tensor::<3>::from_data(TensorData::new(gains, self.spectra.dims()), &self.window.device());
        let spectra = self.spectra.clone().scale(gains);
        istft(spectra, Some(self.window.clone()), &self.options, Some(self.samples))
    }
}

/// Mean power of each bin over the quietest frames of a row `[bins, frames]`.
fn quiet_power(power: &[f32], frames: usize, share: f64) -> Vec<f64> {
    let energy = |frame: &usize| power.iter().skip(*frame).step_by(frames).copied().map(f64::from).sum::<f64>();
    let mut order: Vec<(f64, usize)> = (0..frames).map(|frame| (energy(&frame), frame)).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    order.truncate(((share * frames as f64).round() as usize).clamp(1, frames));
    let mean = |bin: &[f32]| order.iter().map(|(_, frame)| f64::from(bin[*frame])).sum::<f64>() / order.len() as f64;
    power.chunks(frames).map(mean).collect()
}

/// Change of settings.
pub type Change<S> = Box<dyn Fn(&mut S)>;

/// Settings that can be tuned.
pub trait Tunable: Copy + PartialEq + Default {
    /// A change for every value that every setting is tuned over.
    fn changes() -> Vec<Change<Self>>;
}

/// The settings with the greatest `score`: each setting in turn takes the best of its values, until none changes.
/// Errors are those of `score`.
pub fn tuned<S: Tunable, E>(score: impl Fn(&S) -> Result<f64, E>) -> Result<S, E> {
    let changes = S::changes();
    let mut best = S::default();
    let mut best_score = score(&best)?;
    loop {
        let before = best;
        for change in &changes {
            let mut settings = best;
            change(&mut settings);
            if settings != best {
                let found = score(&settings)?;
                if found > best_score {
                    (best, best_score) = (settings, found);
                }
            }
        }
        if best == before {
            return Ok(best);
        }
    }
}

/// A change for each value of a setting.
fn each<S: 'static, V: Copy + 'static>(values: &[V], set: fn(&mut S, V)) -> Vec<Change<S>> {
    values.iter().map(|&value| Box::new(move |settings: &mut S| set(settings, value)) as Change<S>).collect()
}

impl Tunable for SpectralSubtraction {
    fn changes() -> Vec<Change<Self>> {
        let settings = [
            each(&[0.5, 1.0, 2.0], |settings: &mut Self, value| settings.exponent = value),
            each(&[0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0], |settings, value| settings.over_subtraction = value),
            each(&[0.0, 0.03, 0.1, 0.2, 0.3, 0.5], |settings, value| settings.floor = value),
            each(&[0.05, 0.1, 0.2, 0.3, 0.4, 0.6], |settings, value| settings.quiet_share = value),
            each(&[0, 1, 2, 3], |settings, value| settings.averaged = value),
        ];
        settings.into_iter().flatten().collect()
    }
}

impl Tunable for WienerFilter {
    fn changes() -> Vec<Change<Self>> {
        let settings = [
            each(&[0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98], |settings: &mut Self, value| settings.smoothing = value),
            each(&[0.0, 0.03, 0.1, 0.2], |settings, value| settings.least_gain = value),
        ];
        settings.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use burn::tensor::Device;

    use super::*;
    use crate::data::{Part, normal_rows};
    use crate::tasks::denoising::si_snr;

    const SAMPLES: usize = 4000;

    /// A tone in the middle of silence, and white noise 5 dB below it.
    fn signals() -> (Vec<f32>, Vec<f32>) {
        let tone = |index: usize| if (1000..2500).contains(&index) { (index as f32 * 0.4).sin() } else { 0.0 };
        let clean: Vec<f32> = (0..SAMPLES).map(tone).collect();
        let noise = normal_rows(1, Part::Test, 0, 1, SAMPLES).into_iter().map(|noise| 0.24 * noise).collect();
        (clean, noise)
    }

    fn row(values: &[f32]) -> Tensor<2> {
        Tensor::from_data(TensorData::new(values.to_vec(), [1, values.len()]), &Device::flex())
    }

    #[test]
    fn subtraction_and_filter_raise_the_ratio_of_a_tone() {
        let (clean, noise) = signals();
        let mixture: Vec<f32> = clean.iter().zip(&noise).map(|(a, b)| a + b).collect();
        let noisy = Noisy::new(row(&mixture), 8_000.0).unwrap();
        let ratio = |rows: Tensor<2>| si_snr(&rows.into_data().iter::<f32>().collect::<Vec<_>>(), &clean).unwrap();
        let before = si_snr(&mixture, &clean).unwrap();
        let subtracted = ratio(noisy.subtracted(&SpectralSubtraction::default()).unwrap());
        let filtered = ratio(noisy.filtered(&WienerFilter::default(), row(&noise)).unwrap());
        assert!(subtracted > before + 3.0 && filtered > before + 6.0, "{before}, {subtracted} and {filtered}");
        assert!(noisy.filtered(&WienerFilter::default(), row(&noise[..SAMPLES / 2])).is_err(), "noise of other rows");
        let nothing = SpectralSubtraction { over_subtraction: 0.0, ..SpectralSubtraction::default() };
        assert!((ratio(noisy.subtracted(&nothing).unwrap()) - before).abs() < 1e-3);
    }

    #[test]
    fn tuning_finds_the_best_value_of_every_setting() {
        let wanted =
            SpectralSubtraction { exponent: 1.0, over_subtraction: 3.0, floor: 0.2, quiet_share: 0.4, averaged: 3 };
        let distance = |settings: &SpectralSubtraction| {
            (settings.exponent - wanted.exponent).abs()
                + (settings.over_subtraction - wanted.over_subtraction).abs()
                + (settings.floor - wanted.floor).abs()
                + (settings.quiet_share - wanted.quiet_share).abs()
                + settings.averaged.abs_diff(wanted.averaged) as f64
        };
        assert_eq!(tuned(|settings| Ok::<_, Infallible>(-distance(settings))), Ok(wanted));
    }
}
