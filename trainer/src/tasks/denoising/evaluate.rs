//! Evaluation of models, compared with the noisy signals and classical estimates, and its report: tables, the ratio after
//! denoising over that before, and spectrograms of an example.

use burn::tensor::FloatDType;
use firefly_app::page::chart::{AxisScale, Chart, ChartAxis, ChartSeries, Mark, Point};
use firefly_app::page::figure::Figure;
use firefly_app::page::heat_map::HeatMap;
use firefly_ops::fft::stft;
use firefly_ops::{StftOptions, Window, WindowSymmetry};

use super::baselines::{Noisy, SpectralSubtraction, WienerFilter, tuned};
use super::examples::{Condition, Examples, NoisyBatch};
use super::quality::{si_snr, snr};
use super::{BATCH, Denoising, DenoisingConfig, DenoisingData, denoised};
use crate::tasks::prelude::*;
use crate::tasks::scores;

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
    pub(super) fn rows(&self, name: &str) -> Result<Vec<ScoreRow>, TaskError> {
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
    fn estimates(&self, condition: Condition) -> Result<Vec<EstimateRatios>, TaskError> {
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
    fn classical(&self, condition: Condition) -> Result<(SpectralSubtraction, WienerFilter), TaskError> {
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

/// The parts of a run's page.
pub(super) fn parts(
    run: &OpenRun<'_, Denoising>,
    model: &ZooModel,
    rows: &[ScoreRow],
) -> Result<ReportParts, TaskError> {
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
    let chart = Chart {
        x: ChartAxis::new("signal-to-noise ratio of the input (dB)", AxisScale::Linear),
        y: ChartAxis::new("SI-SNR (dB)", AxisScale::Linear),
        series: series.collect(),
        threshold: None,
    };
    let title = if last.ends_with(ALL_NOISES) { "Ratio after denoising, all noises" } else { "Ratio after denoising" };
    Figure::chart(title, chart, "Nothing was evaluated.")
}

/// Spectrograms of the first test example: clean, with noise of the first kind, and denoised.
fn spectrograms(config: &DenoisingConfig, data: &DenoisingData, model: &ZooModel) -> Result<Vec<Figure>, TaskError> {
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
    /// Width of a band in hertz.
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
