//! `firefly peaks`: strongest lines of every frame of every channel.

mod drawing;
mod results;
mod rows;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use burn::tensor::Device;
use clap::value_parser;
use serde_json::json;

use self::drawing::Drawing;
use self::results::Results;
use super::outcome::print;
use super::outputs::formats;
use crate::frames::Framing;
use crate::job::{Job, complete, journal_of};
use crate::model::{ModelName, ModelRequest, PeakModel};
use crate::open_device::{OpenDevice, names_of};
use crate::options::{DeviceOptions, EstimateOptions, InputOptions, Shard};
use crate::peak_values::PeakValues;
use crate::pipeline::OpenRecording;
use crate::plot::PlotFormat;
use crate::search::SearchOptions;
use crate::source::Sources;

const EXAMPLES: &str = "\
Frames follow each other from the start of a recording, one every --step samples; samples at its end that do not fill a
frame are left out. Rows of the output are in the order of recording, frame, channel and rank. Its columns: file,
channel (from 0), frame (from 0), time_s (of the frame's start), rank (1 is the strongest), bin, frequency_hz, power (in
the unit of the scaling) and power_db (10 log10 of it).

A peak is one of the strongest bins; a frame with too few finite bins ends in bin -1. With --local-maxima it is a bin
above both of its neighbours, frequency_hz is estimated between bins, and a column prominence follows (in the unit of the
scaling); a frame with fewer than K of them has fewer rows.

A command that was killed continues where it stopped when it is started again: see --out.

Examples:
  firefly peaks recordings --model reference --n-fft 256 -k 16 --band 500..5000 --out peaks.parquet
  firefly peaks recording.wav --local-maxima --prominence 10dB --distance 100Hz --out lines.csv";

/// Arguments of `firefly peaks`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PeaksArgs {
    #[command(flatten)]
    input: InputOptions,
    /// Model: ultra, fast or reference (1, 2 or 8 segments per frame), auto (fast, by the strategy that is predicted to be
    /// fastest), universal (2 of the 8 segments of reference, for signals of any kind), or the folder of a run of
    /// `firefly train`
    #[arg(long, default_value = "fast")]
    model: ModelName,
    #[command(flatten)]
    search: SearchOptions,
    #[command(flatten)]
    estimate: EstimateOptions,
    /// Samples from one frame's start to the next, 1 or more [default: the samples of a frame, so no overlap]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    step: Option<u32>,
    /// Compute a part of the work: of several recordings every N-th, of one the I-th N-th of its frames
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    #[command(flatten)]
    device: DeviceOptions,
    /// Write the peaks to this file: .parquet, .csv, .jsonl or .npy.
    ///
    /// Until it is complete, FILE.journal has what was computed: the same command, started again, continues from it and
    /// writes the bytes of an uninterrupted one.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Draw the peaks over time and frequency into this file: .svg, .png or .html; up to 12 channels
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// Computes the peaks.
pub fn run(arguments: &PeaksArgs) -> Result<ExitCode> {
    let PeaksArgs { model, estimate, search, out, plot, .. } = arguments;
    let devices = arguments.device.open()?;
    // The weights of a run's model are read onto each device.
    let request_of = |device: &OpenDevice| ModelRequest::new(model, estimate, search, &device.device);
    let requests = devices.iter().map(request_of).collect::<Result<Vec<_>>>()?;
    let request = &requests[0];
    let (format, plot_format) = formats(out.as_ref(), plot.as_ref())?;
    let sources = Sources::find(&arguments.input, arguments.shard, [out.as_ref(), plot.as_ref()])?;
    let step = arguments.step.map_or(request.frame, |step| step as usize);
    let job = Job {
        sources: &sources,
        framing: Framing { length: request.frame, step },
        options: json!({ "peaks": request, "device": names_of(&devices, ",") }),
        quiet: arguments.input.quiet,
    };
    let mut results = Results::new(request, &sources, job.framing);
    results.drawing = plot.as_ref().map(|_| Drawing::new(request.n_fft, request.k));
    let journal = journal_of(out.as_deref(), &sources)?;
    if let (Some(path), Some(format)) = (out, format) {
        let table = format.create(path, sources.longest_name(), journal.is_some());
        results.table = Some(table.with_context(|| format!("--out {}", path.display()))?);
    }
    let computations = devices.iter().zip(&requests).map(|(device, request)| {
        let mut compute = DevicePeaks { request, model: None };
        move |recording, samples| device.run(|device| compute.peaks(device, recording, samples))
    });
    let journal = job.run(journal, computations.collect(), |entry| results.take(entry).map(|()| true))?;
    let frame = format!("{} samples of a frame of {}", request.frame, request.name);
    let computed = results.outcome.ensure_something(results.summary.rows, &frame);
    let table = results.table.take();
    complete(journal, computed, || table.map_or(Ok(()), |table| table.finish()))?;
    if let (Some(path), Some(format)) = (plot, plot_format) {
        draw(arguments, request, &results, path, format).context("--plot")?;
    }
    print(&results.text(&arguments.device.explained(&devices), out.as_deref()))?;
    Ok(results.outcome.status())
}

fn draw(
    arguments: &PeaksArgs,
    request: &ModelRequest,
    results: &Results,
    path: &Path,
    format: PlotFormat,
) -> Result<()> {
    let figures = results.drawing.as_ref().map_or(&[][..], |drawing| &drawing.figures);
    let facts = [
        ("model", request.name.clone()),
        ("estimate", request.estimate.clone()),
        ("channels", format!("{} of {}", figures.len(), results.summary.channels)),
    ];
    let title = arguments.input.input.display().to_string();
    Ok(format.write(path, &title, &facts, figures)?)
}

/// Peaks on one device, by its model of the current sample rate.
struct DevicePeaks<'a> {
    request: &'a ModelRequest,
    model: Option<(f64, PeakModel)>,
}

impl DevicePeaks<'_> {
    fn peaks(&mut self, device: &Device, recording: OpenRecording, samples: Vec<f32>) -> Result<PeakValues> {
        let model = match self.model.take() {
            Some((rate, model)) if rate == recording.rate => model,
            _ => self.request.open(recording.rate, device)?,
        };
        let values = model.peaks(samples)?;
        self.model = Some((recording.rate, model));
        Ok(values)
    }
}
