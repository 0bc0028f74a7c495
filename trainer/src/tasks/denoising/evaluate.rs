//! Evaluation of models, compared with the noisy signals and classical estimates, and its report: tables, the ratio after
//! denoising over that before, and spectrograms of an example.

use burn::tensor::FloatDType;
use firefly_app::page::chart::{AxisScale, ChartSeries, Mark, Point};
use firefly_app::page::figure::Figure;
use firefly_app::page::heat_map::HeatMap;
use firefly_ops::fft::stft;
use firefly_ops::{StftOptions, Window, WindowSymmetry};

use super::baselines::{Noisy, SpectralSubtraction, WienerFilter, tuned};
use super::examples::{Condition, Examples, NoisyBatch};
use super::{BATCH, Denoising, DenoisingConfig, DenoisingData, denoised};
use crate::report::chart;
use crate::tasks::prelude::*;

/// Training examples that classical estimates are tuned on, for each kind of noise and ratio.
const TUNED_ON: usize = 48;
/// Name of the rows over all kinds of noise.
const ALL_NOISES: &str = "all noises";
/// Score by which rows over all kinds of noise are drawn.
const INPUT_SNR: &str = "input_snr_db";
/// Score that is drawn.
const SI_SNR: &str = "si_snr_db";

/// Sums of the ratios of estimates.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ratios {
    si_snr: f64,
    snr: f64,
    examples: usize,
}

impl Ratios {
    /// Adds those of the rows of a batch whose clean signal has power.
    pub(super) fn add(&mut self, estimate: Tensor<2>, clean: Tensor<2>) {
        let samples = clean.dims()[1];
        let [estimate, clean] = [estimate, clean].map(|rows| rows.into_data().iter().collect::<Vec<f32>>());
        for (estimate, clean) in estimate.chunks(samples).zip(clean.chunks(samples)) {
            if let (Some(si_snr), Some(snr)) = (si_snr(estimate, clean), snr(estimate, clean)) {
                self.si_snr += si_snr;
                self.snr += snr;
                self.examples += 1;
            }
        }
    }

    fn plus(self, other: Self) -> Self {
        let (si_snr, snr) = (self.si_snr + other.si_snr, self.snr + other.snr);
        Self { si_snr, snr, examples: self.examples + other.examples }
    }

    /// Mean scale-invariant ratio in decibels.
    pub(super) fn si_snr(&self) -> f64 {
        self.si_snr / self.examples as f64
    }

    /// Mean ratio in decibels.
    pub(super) fn snr(&self) -> f64 {
        self.snr / self.examples as f64
    }
}

/// Estimate of the clean signals: name, whether it was trained, and ratios.
type EstimateRatios = (String, bool, Ratios);

/// Models that are compared on test examples with classical estimates, which are tuned on training examples.
pub(super) struct Comparison<'a> {
    pub(super) config: &'a DenoisingConfig,
    pub(super) train: &'a Examples,
    pub(super) test: &'a Examples,
    pub(super) models: &'a [(String, ZooModel)],
    pub(super) device: &'a Device,
}

impl Comparison<'_> {
    /// Scores of the noisy signals, of spectral subtraction, of a Wiener filter that knows the noise, and of models:
    /// for each kind of noise and all together, at each ratio. `name` is that of the test examples. An error if no
    /// example has power, or a model does not fit.
    pub(super) fn rows(&self, name: &str) -> Result<Vec<ScoreRow>> {
        let data = &self.config.data;
        let mut rows = Vec::new();
        let mut of_all: Vec<Vec<EstimateRatios>> = Vec::new();
        for kind in &data.noises {
            for (place, snr_db) in data.test_snr_db.iter().enumerate() {
                let condition = Condition { kind: *kind, snr_db: *snr_db };
                let estimates = self.estimates(condition)?;
                if estimates.iter().any(|(.., ratios)| ratios.examples == 0) {
                    return Err(TaskError::NoFrames(name.into()));
                }
                let data_set = format!("{name}, {} noise", kind.as_str());
                rows.extend(estimates.iter().map(|estimate| row(&data_set, *snr_db, &estimates[0].2, estimate)));
                match of_all.get_mut(place) {
                    None => of_all.push(estimates),
                    Some(all) => {
                        all.iter_mut().zip(estimates).for_each(|(all, other)| all.2 = all.2.plus(other.2));
                    }
                }
            }
        }
        if data.noises.len() > 1 {
            let data_set = format!("{name}, {ALL_NOISES}");
            for (snr_db, estimates) in data.test_snr_db.iter().zip(&of_all) {
                rows.extend(estimates.iter().map(|estimate| row(&data_set, *snr_db, &estimates[0].2, estimate)));
            }
        }
        Ok(rows)
    }

    /// Ratios of every estimate of the test examples with noise of one condition; the noisy signals come first.
    fn estimates(&self, condition: Condition) -> Result<Vec<EstimateRatios>> {
        let Self { config, test, models, device, .. } = *self;
        let (subtraction, filter) = self.classical(condition)?;
        let baselines = ["noisy input", "spectral subtraction", "Wiener filter, known noise"];
        let mut estimates: Vec<EstimateRatios> =
            baselines.iter().map(|name| (name.to_string(), false, Ratios::default())).collect();
        estimates.extend(models.iter().map(|(name, _)| (name.clone(), true, Ratios::default())));
        let indices: Vec<usize> = (0..test.len()).collect();
        for indices in indices.chunks(BATCH) {
            let NoisyBatch { clean, noisy } = test.mixed(indices, |_| condition, device);
            let spectra = Noisy::new(noisy.clone(), config.data.sample_rate)?;
            let noise = noisy.clone() - clean.clone();
            let mut found = vec![noisy.clone(), spectra.subtracted(&subtraction)?, spectra.filtered(&filter, noise)?];
            for (_, model) in models {
                found.push(denoised(model, noisy.clone())?);
            }
            estimates.iter_mut().zip(found).for_each(|((.., ratios), estimate)| ratios.add(estimate, clean.clone()));
        }
        Ok(estimates)
    }

    /// The settings that are best for training examples with noise of one condition.
    fn classical(&self, condition: Condition) -> Result<(SpectralSubtraction, WienerFilter)> {
        let Self { config, train, device, .. } = *self;
        let count = train.len().min(TUNED_ON);
        let indices: Vec<usize> = (0..count).map(|index| index * train.len() / count).collect();
        let NoisyBatch { clean, noisy } = train.mixed(&indices, |_| condition, device);
        let (noise, noisy) = (noisy.clone() - clean.clone(), Noisy::new(noisy, config.data.sample_rate)?);
        let ratio = |estimate: Tensor<2>| {
            let mut ratios = Ratios::default();
            ratios.add(estimate, clean.clone());
            Ok::<_, TaskError>(ratios.si_snr())
        };
        let subtraction = tuned(|settings| ratio(noisy.subtracted(settings)?))?;
        Ok((subtraction, tuned(|settings| ratio(noisy.filtered(settings, noise.clone())?))?))
    }
}

fn row(data_set: &str, snr_db: f64, noisy: &Ratios, (name, is_learned, ratios): &EstimateRatios) -> ScoreRow {
    ScoreRow {
        name: name.clone(),
        is_learned: *is_learned,
        data_set: data_set.into(),
        scores: vec![
            Metric::real(INPUT_SNR, snr_db),
            Metric::real(SI_SNR, ratios.si_snr()),
            Metric::real("si_snr_improvement_db", ratios.si_snr() - noisy.si_snr()),
            Metric::real("snr_db", ratios.snr()),
            Metric::whole("examples", ratios.examples),
        ],
    }
}

/// Rows of a spectrogram.
const BANDS: usize = 16;
/// Frames per spectrogram, about.
const FRAMES: usize = 128;
/// Decibels below the greatest power of the clean signal that are drawn.
const RANGE_DB: f64 = 60.0;

pub(super) fn parts(run: &OpenRun<'_, Denoising>, model: &ZooModel, rows: &[ScoreRow]) -> Result<ReportParts> {
    let OpenRun { config, data } = *run;
    let [least, greatest] = config.data.snr_db;
    let noises: Vec<&str> = config.data.noises.iter().map(|kind| kind.as_str()).collect();
    let facts = [
        ("model", config.model.name.clone()),
        ("settings", model.settings().to_string()),
        ("noise", noises.join(", ")),
        ("ratios in training", format!("{least} to {greatest} dB SNR")),
        ("examples", format!("{} to train on, {} to test on", data.sets.train.len(), data.sets.test.len())),
    ];
    let mut figures = vec![ratios(rows)];
    figures.extend(spectrograms(config, data, model)?);
    Ok(ReportParts { figures, ..scores::report(data.sets.test_name.clone(), facts, rows) })
}

/// Ratio of each estimate over the ratio of its input: over all kinds of noise, or the only one.
fn ratios(rows: &[ScoreRow]) -> Figure {
    let last = rows.last().map(|row| row.data_set.clone()).unwrap_or_default();
    let mut names: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| row.data_set == last) {
        if !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    let series = names.iter().enumerate().map(|(colour, name)| {
        let of_name = rows.iter().filter(|row| row.data_set == last && row.name == *name);
        let mut points: Vec<Point> =
            of_name.filter_map(|row| Some(Point::at(row.score(INPUT_SNR)?, row.score(SI_SNR)?))).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        ChartSeries::new(name, colour, Mark::Line, points)
    });
    let axes = ["signal-to-noise ratio of the input (dB)", "SI-SNR (dB)"].map(|label| (label, AxisScale::Linear));
    let chart = chart(axes, series.collect());
    let title = if last.ends_with(ALL_NOISES) { "Ratio after denoising, all noises" } else { "Ratio after denoising" };
    Figure::chart(title, chart, "Nothing was evaluated.")
}

/// Spectrograms of the first test example: clean, with noise of the first kind, and denoised.
fn spectrograms(config: &DenoisingConfig, data: &DenoisingData, model: &ZooModel) -> Result<Vec<Figure>> {
    let (Some(kind), false) = (config.data.noises.first(), data.sets.test.is_empty()) else { return Ok(Vec::new()) };
    let ratios = &config.data.test_snr_db;
    let snr_db = ratios.get(ratios.len() / 2).copied().unwrap_or_default();
    let condition = Condition { kind: *kind, snr_db };
    let NoisyBatch { clean, noisy } = data.sets.test.mixed(&[0], |_| condition, &data.device);
    let denoised = denoised(model, noisy.clone())?;
    let with_noise = format!("{} noise at {snr_db} dB", kind.as_str());
    let signals = [("clean".to_string(), clean.clone()), (with_noise, noisy), ("denoised".to_string(), denoised)];
    let full_scale = Bands::of(clean, config)?.power.into_iter().flatten().fold(0.0, f32::max);
    let figure = |(name, signal): (String, Tensor<2>)| Ok(Bands::of(signal, config)?.figure(&name, full_scale));
    signals.into_iter().map(figure).collect()
}

/// Power of a signal in bands of equal width.
struct Bands {
    /// Power of each frame in each band, the highest band first.
    power: Vec<Vec<f32>>,
    width: f64,
    /// Length of the signal in seconds.
    seconds: f64,
}

impl Bands {
    /// The bands of a row `[1, samples]`.
    fn of(signal: Tensor<2>, config: &DenoisingConfig) -> Result<Self, ArgumentError> {
        let (samples, rate) = (signal.dims()[1], config.data.sample_rate);
        let n_fft = (2 * samples / FRAMES).next_power_of_two().clamp(4 * BANDS, 512).min(samples / 2 * 2);
        let options = StftOptions::new(n_fft).with_hop((samples / FRAMES).clamp(1, n_fft));
        let window = Window::Hann.tensor(n_fft, WindowSymmetry::Periodic, FloatDType::F32, &signal.device());
        let spectra = stft::<2, 3>(signal, Some(window), &options)?.abs_squared();
        let [_, bins, frames] = spectra.dims();
        let spectra: Vec<f32> = spectra.into_data().iter().collect();
        let bins_per_band = bins.div_ceil(BANDS);
        let band = |bins: &[f32]| (0..frames).map(|frame| bins.iter().skip(frame).step_by(frames).sum()).collect();
        let mut power: Vec<Vec<f32>> = spectra.chunks(bins_per_band * frames).map(band).collect();
        power.reverse();
        Ok(Self { power, width: bins_per_band as f64 * rate / n_fft as f64, seconds: samples as f64 / rate })
    }

    /// Heat map of the bands, in decibels below `full_scale`.
    fn figure(&self, name: &str, full_scale: f32) -> Figure {
        let axes = [format!("time, {:.2} s in all", self.seconds), "frequency from (Hz)".to_string()];
        let ends = [format!("{RANGE_DB} dB below the greatest power"), "0 dB".to_string()];
        let frames = self.power.first().map_or(0, Vec::len);
        let mut map = HeatMap::new(frames, axes.each_ref().map(String::as_str), ends.each_ref().map(String::as_str));
        for (index, band) in self.power.iter().enumerate() {
            let level = |power: &f32| {
                let db = 10.0 * f64::from(power / full_scale).max(1e-12).log10();
                (1.0 + db / RANGE_DB).clamp(0.0, 1.0) as f32
            };
            let lowest = self.width * (self.power.len() - 1 - index) as f64;
            map.row(format!("{lowest:.0}"), String::new(), &band.iter().map(level).collect::<Vec<f32>>());
        }
        Figure::heat_map(&format!("Spectrogram: {name}"), &map, "").without_values()
    }
}

/// Added to energies before they are divided, as a share of the energy of the clean signal.
const OFFSET: f64 = 1e-8;

/// Samples per frame of each resolution; frames are a quarter of that apart.
const RESOLUTIONS: [usize; 3] = [128, 256, 512];
/// Added to power before its root, relative to the mean power of the clean spectra.
const POWER_OFFSET: f64 = 1e-6;

/// Scale-invariant signal-to-noise ratio in decibels: energy of the part of the estimate that is proportional to the
/// clean signal, divided by the energy of the rest; both signals without their mean (Luo and Mesgarani, "TasNet", 2018;
/// Le Roux et al., "SDR – half-baked or well done?", 2019). None for a clean signal without power.
pub fn si_snr(estimate: &[f32], clean: &[f32]) -> Option<f64> {
    let centred = |signal: &[f32]| -> Vec<f64> {
        let mean = signal.iter().copied().map(f64::from).sum::<f64>() / signal.len() as f64;
        signal.iter().map(|sample| f64::from(*sample) - mean).collect()
    };
    let (estimate, clean) = (centred(estimate), centred(clean));
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (energy, common) = (product(&clean, &clean), product(&estimate, &clean));
    // As decibels of finite numbers: an estimate of zeros has the ratio of the offset.
    let target = common * common / energy;
    let offset = OFFSET * energy;
    let rest = (product(&estimate, &estimate) - target).max(0.0);
    (energy > 0.0).then(|| decibels((target + offset) / (rest + offset)))
}

/// Signal-to-noise ratio in decibels: energy of the clean signal divided by the energy of the error. None for a clean
/// signal without power.
pub fn snr(estimate: &[f32], clean: &[f32]) -> Option<f64> {
    let energy: f64 = clean.iter().map(|sample| f64::from(*sample).powi(2)).sum();
    let error: f64 = estimate.iter().zip(clean).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum();
    (energy > 0.0).then(|| decibels(energy / (error + OFFSET * energy)))
}

fn decibels(ratio: f64) -> f64 {
    10.0 * ratio.log10()
}

/// Scale-invariant signal-to-noise ratio of each row of `estimate` and `clean`, `[rows, samples]`, in decibels:
/// `[rows, 1]`. A clean row without power counts as one of energy 1 that the estimate has nothing of: 0 for an estimate
/// without power, else a negative ratio.
pub fn si_snr_rows(estimate: Tensor<2>, clean: Tensor<2>) -> Tensor<2> {
    let centred = |signal: Tensor<2>| signal.clone() - signal.mean_dim(1);
    let (estimate, clean) = (centred(estimate), centred(clean));
    let energy = clean.clone().square().sum_dim(1);
    // A row of zeros is divided by 1.
    let divisor = energy.clone() + energy.clone().equal_elem(0.0).float();
    let share = (estimate.clone() * clean.clone()).sum_dim(1) / divisor.clone();
    let target = share * clean;
    let rest = (estimate - target.clone()).square().sum_dim(1);
    let offset = divisor * OFFSET;
    let ratio = (target.square().sum_dim(1) + offset.clone()) / (rest + offset);
    ratio.log() * (10.0 / 10f64.ln())
}

/// Mean over the resolutions of the spectral convergence and of the mean difference of log amplitudes, `[1]` (Yamamoto
/// et al., "Parallel WaveGAN", 2020). Resolutions longer than the rows of `[rows, samples]` are left out. An error if
/// all of them are.
pub fn spectral_difference(estimate: Tensor<2>, clean: Tensor<2>) -> Result<Tensor<1>, ArgumentError> {
    let [_, samples] = clean.dims();
    let mut terms: Vec<Tensor<1>> = Vec::new();
    for n_fft in RESOLUTIONS.into_iter().filter(|n_fft| *n_fft <= samples) {
        let window = Window::Hann.tensor(n_fft, WindowSymmetry::Periodic, FloatDType::F32, &clean.device());
        let power = |signal: Tensor<2>| -> Result<Tensor<3>, ArgumentError> {
            Ok(stft::<2, 3>(signal, Some(window.clone()), &StftOptions::new(n_fft))?.abs_squared())
        };
        let (estimate, clean) = (power(estimate.clone())?, power(clean.clone())?);
        let offset = clean.clone().mean() * POWER_OFFSET + f64::from(f32::MIN_POSITIVE);
        let amplitude = |power: Tensor<3>| (power + offset.clone().reshape([1, 1, 1])).sqrt();
        let (estimate, clean) = (amplitude(estimate), amplitude(clean));
        let difference = (clean.clone() - estimate.clone()).square().sum();
        // The root has no gradient at 0.
        terms.push((difference / clean.clone().square().sum() + POWER_OFFSET).sqrt());
        terms.push((clean.log() - estimate.log()).abs().mean());
    }
    let resolutions = terms.len() as f64 / 2.0;
    let sum = terms.into_iter().reduce(|sum, term| sum + term);
    let expected = format!("at least {} samples per row", RESOLUTIONS[0]);
    sum.map(|sum| sum / resolutions)
        .ok_or_else(|| ArgumentError::new("spectral_difference", "clean", format!("{samples} samples"), expected))
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Distribution, TensorData};

    use super::*;

    fn signals() -> (Vec<f32>, Vec<f32>) {
        let clean: Vec<f32> = (0..200).map(|index| (index as f32 * 0.3).sin()).collect();
        let estimate =
            clean.iter().enumerate().map(|(index, clean)| clean + 0.1 * (index as f32 * 2.9).cos()).collect();
        (estimate, clean)
    }

    #[test]
    fn ratios_have_the_values_of_their_definitions() {
        // The error is a tenth of the signal and orthogonal to it.
        let clean = [1.0, -1.0, 1.0, -1.0];
        let estimate = [1.1, -0.9, 0.9, -1.1];
        assert!((si_snr(&estimate, &clean).unwrap() - 20.0).abs() < 1e-4);
        assert!((snr(&estimate, &clean).unwrap() - 20.0).abs() < 1e-4);
        assert_eq!(si_snr(&estimate, &[0.0; 4]), None);
    }

    #[test]
    fn scale_and_mean_count_for_the_ratio_to_the_error_alone() {
        let (estimate, clean) = signals();
        let other: Vec<f32> = estimate.iter().map(|sample| 3.0 * sample + 0.5).collect();
        assert!((si_snr(&other, &clean).unwrap() - si_snr(&estimate, &clean).unwrap()).abs() < 1e-3);
        assert!(snr(&other, &clean).unwrap() < snr(&estimate, &clean).unwrap() - 20.0);
    }

    #[test]
    fn tensors_have_the_same_ratio() {
        let (estimate, clean) = signals();
        let row = |values: &[f32]| {
            let both = [values, &[0.0; 200]].concat();
            Tensor::<2>::from_data(TensorData::new(both, [2, 200]), &Device::flex())
        };
        let found: Vec<f32> = si_snr_rows(row(&estimate), row(&clean)).into_data().iter().collect();
        assert!((f64::from(found[0]) - si_snr(&estimate, &clean).unwrap()).abs() < 1e-3, "{found:?}");
        assert_eq!(found[1], 0.0);
        let device = Device::flex();
        let loud = si_snr_rows(Tensor::from_floats([[0.0, 1.0]], &device), Tensor::zeros([1, 2], &device));
        assert!(loud.into_scalar::<f32>() < -70.0);
    }

    #[test]
    fn equal_signals_differ_by_little_and_louder_ones_by_more() {
        let device = Device::flex();
        let clean = Tensor::<2>::random([2, 300], Distribution::Normal(0.0, 1.0), &device);
        let of = |estimate| spectral_difference(estimate, clean.clone()).unwrap().into_scalar::<f32>();
        let (same, louder) = (of(clean.clone()), of(clean.clone() * 2.0));
        assert!(same < 2e-3, "{same}");
        // Convergence 1, and ln 2 of log amplitude.
        assert!((louder - 1.0 - 2f32.ln()).abs() < 0.01, "{louder}");
        assert!(spectral_difference(clean.clone().narrow(1, 0, 100), clean.narrow(1, 0, 100)).is_err());
    }
}
