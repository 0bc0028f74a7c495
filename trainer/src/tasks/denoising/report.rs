//! Report sections: tables, the ratio after denoising over that before, and spectrograms of an example.

use burn::tensor::{FloatDType, Tensor};
use firefly_app::page::chart::{AxisScale, Chart, ChartAxis, ChartSeries, Mark, Point};
use firefly_app::page::figure::Figure;
use firefly_app::page::heat_map::HeatMap;
use firefly_models::ArgumentError;
use firefly_models::zoo::ZooModel;
use firefly_ops::fft::stft;
use firefly_ops::{StftOptions, Window, WindowSymmetry};

use super::evaluate::{ALL_NOISES, INPUT_SNR, SI_SNR};
use super::examples::{Condition, NoisyBatch};
use super::{Denoising, DenoisingConfig, DenoisingData, denoised};
use crate::task::{OpenRun, ReportParts, TaskError};
use crate::tasks::scores::{self, ScoreRow};

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
