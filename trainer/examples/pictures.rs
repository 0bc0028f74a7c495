//! The pictures of the README as pages of one chart each, to take screenshots of.
//!
//! `cargo run --release -p firefly-trainer --example pictures -- RECORDING.wav EVALUATION.json FOLDER` writes
//! `FOLDER/spectrum.html`, the spectrum of a frame from the middle of a recording with its strongest peaks marked, and
//! `FOLDER/recall.html`, the recall of the models in a run's or a sweep's `evaluation.json` against their time.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use burn::tensor::{Device, FloatDType, Tensor, TensorData};
use firefly_app::number::fixed;
use firefly_app::page::chart::{AxisScale, Chart, ChartAxis, ChartSeries, Mark, Point};
use firefly_app::page::document::Document;
use firefly_app::page::figure::Figure;
use firefly_ops::{WelchOptions, Window, WindowSymmetry, welch_peaks, welch_psd};
use firefly_recordings::{Recording, read_recording};
use firefly_trainer::tasks::peaks::PeaksRow;
use firefly_trainer::tasks::peaks::report::against_time;

const OPTIONS: WelchOptions = WelchOptions::new(1024, 8);
const PEAKS: usize = 12;

fn main() -> Result<()> {
    let arguments: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let [recording, evaluation, folder] = arguments.as_slice() else {
        anyhow::bail!("usage: pictures RECORDING.wav EVALUATION.json FOLDER");
    };
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    write(&folder.join("spectrum.html"), "Strongest peaks of a bearing's vibration", spectrum(recording)?)?;
    write(&folder.join("recall.html"), "Recall of the reference peaks against time", recall(evaluation)?)
}

/// Power of every bin of the frame in the middle of a recording, and its peaks.
fn spectrum(path: &Path) -> Result<Figure> {
    let recordings = read_recording(path)?;
    let Recording { sample_rate, samples, .. } = recordings.first().context("no channel")?;
    let sample_rate = sample_rate.context("no sample rate")?;
    ensure!(samples.len() >= OPTIONS.frame(), "{} is too short", path.display());
    let start = (samples.len() - OPTIONS.frame()) / 2;
    let device = Device::flex();
    let frame = samples[start..start + OPTIONS.frame()].to_vec();
    let signal = Tensor::<2>::from_data(TensorData::new(frame, [1, OPTIONS.frame()]), &device);
    let window = Window::Hann.tensor(OPTIONS.n_fft, WindowSymmetry::Periodic, FloatDType::F32, &device);

    let power = welch_psd(signal.clone(), window.clone(), &OPTIONS)?.into_data();
    let peaks = welch_peaks(signal, window, &OPTIONS, PEAKS)?;
    let bins: Vec<i64> = peaks.bins.into_data().iter().collect();
    let power: Vec<f64> = power.iter::<f32>().map(f64::from).collect();
    let strongest = power.iter().copied().fold(0.0, f64::max);
    let hertz = |bin: usize| bin as f64 * sample_rate / OPTIONS.n_fft as f64;
    let point = |bin: usize| Point::at(hertz(bin), 10.0 * (power[bin] / strongest).log10());
    let peak = |bin: usize| Point { label: Some(format!("{} Hz", fixed(hertz(bin), 0))), ..point(bin) };

    let line = ChartSeries::new("power", 1, Mark::Line, (0..power.len()).map(point).collect());
    let found = bins.into_iter().filter_map(|bin| usize::try_from(bin).ok()).map(peak).collect();
    let peaks = ChartSeries::new(&format!("{PEAKS} strongest bins, by welch_peaks"), 2, Mark::Points, found);
    let chart = Chart {
        x: ChartAxis::new("frequency (Hz)", AxisScale::Linear),
        y: ChartAxis::new("power (dB below the strongest bin)", AxisScale::Linear),
        series: vec![line, peaks],
        threshold: None,
    };
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut figure = Figure::chart(&name, chart, "The recording is silent.");
    figure.caption = format!(
        "{} samples at {} Hz, {} segments of {}, Hann window.",
        fixed(OPTIONS.frame() as f64, 0),
        fixed(sample_rate, 0),
        OPTIONS.segments,
        fixed(OPTIONS.n_fft as f64, 0),
    );
    Ok(figure)
}

/// The first data set of an evaluation.
fn recall(path: &Path) -> Result<Figure> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let rows: Vec<PeaksRow> = serde_json::from_str(&text).with_context(|| format!("in {}", path.display()))?;
    let data_set = &rows.first().context("no row")?.data_set;
    let rows: Vec<_> = rows.iter().filter(|row| row.data_set == *data_set).collect();
    let folders: Vec<_> = Path::new(data_set).iter().map(|folder| folder.to_string_lossy()).collect();
    Ok(against_time(&folders[folders.len().saturating_sub(2)..].join("/"), &rows))
}

fn write(path: &Path, title: &str, figure: Figure) -> Result<()> {
    let mut page = Document::new("Firefly", title);
    page.section("", &figure.without_values().html());
    fs::write(path, page.html()).with_context(|| format!("writing {}", path.display()))
}
