//! `firefly peaks`: strongest lines of every frame of every channel.

mod drawing;
mod live;
mod results;
mod significance;

use std::process::ExitCode;

use anyhow::Result;
use clap::value_parser;
use firefly_recordings::{FrameSamples, Shard};
use serde_json::json;

use self::drawing::Drawing;
use self::live::LiveLines;
use self::results::Results;
use self::significance::Significance;
use super::outcome::OutputOptions;
use crate::device::{DeviceOptions, OpenDevice, names_of};
use crate::job::{Job, complete};
use crate::model::{DeviceModel, ModelOptions, ModelRequest};
use crate::options::{EstimateOptions, InputOptions};
use crate::pipeline::OpenRecording;
use crate::search::SearchOptions;

const PLOT: &str = "Draw the peaks over time and frequency into this file: .svg, .png or .html; up to 12 channels";
const EXAMPLES: &str = "\
Frames follow each other from the start of a recording, one every --step samples; samples at its end that do not fill a
frame are left out. Rows of the output are in the order of recording, frame, channel and rank. Its columns: file, channel
(its number in the recording, from 0), frame (from 0), time_s (of the frame's start), rank (1 is the strongest), bin,
frequency_hz, power (in the unit of the scaling), power_db (10 log10 of it), and label and unit of the channel, empty
where the file has none.

A peak is one of the strongest bins; a frame with too few finite bins ends in bin -1. With --local-maxima it is a bin
above both of its neighbours, frequency_hz is estimated between bins, and a column prominence follows (in the unit of the
scaling); a frame with fewer than K of them has fewer rows. So has one with --significance, whose prominence is above the
noise without --local-maxima; then follow false_alarm, frequency_error_hz, amplitude and amplitude_error.

Without --out the lines of each channel are printed: the K frequencies that most of its frames have among their peaks. Of
samples on standard input they are printed for each second as it comes, too.

A command that was killed continues where it stopped when it is started again: see --out.

Examples:
  firefly peaks recordings --segments 3 --n-fft 1000 -k 16 --band 500..5000 --out peaks.parquet
  firefly peaks recording.wav --local-maxima --prominence 10dB --distance 100Hz --out lines.csv";

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("plot", |plot| plot.help(PLOT)))]
pub struct PeaksArgs {
    #[command(flatten)]
    input: InputOptions,
    #[command(flatten)]
    model: ModelOptions,
    #[command(flatten)]
    search: SearchOptions,
    #[command(flatten)]
    estimate: EstimateOptions,
    /// Keep peaks of which noise alone, as strong in all of 64 bins on either side, has one in a frame with a probability
    /// of P at most, with the frequencies of their lines: above 0, at most 1; of the exact estimate of real samples
    /// [default: all peaks]
    #[arg(long, value_name = "P")]
    significance: Option<f64>,
    /// Samples from one frame's start to the next, 1 or more [default: the samples of a frame, so no overlap]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    step: Option<u32>,
    /// Compute a part of the work: of several recordings every N-th, of one the I-th N-th of its frames
    #[arg(long, value_name = "I/N", allow_hyphen_values = true)]
    shard: Option<Shard>,
    #[command(flatten)]
    device: DeviceOptions,
    #[command(flatten)]
    output: OutputOptions,
}

pub fn run(arguments: &PeaksArgs) -> Result<ExitCode> {
    let PeaksArgs { input, model, estimate, search, significance, output, .. } = arguments;
    let devices = arguments.device.open()?;
    // The weights of a run's model are read onto each device.
    let request_of = |device: &OpenDevice| ModelRequest::new(model, estimate, search, &device.device);
    let mut requests = devices.iter().map(request_of).collect::<Result<Vec<_>>>()?;
    requests.iter_mut().for_each(|request| request.may_be_fewer |= significance.is_some());
    let request = &requests[0];
    let sources = output.sources(input, arguments.shard)?;
    let step = arguments.step.map_or(request.frame, |step| step as usize);
    let options = json!({ "peaks": request, "device": names_of(&devices, ","), "significance": significance });
    let job = Job::new(&sources, request, step, options, input.quiet);
    let (lock, table) = output.open(&sources)?;
    let mut results = Results::new(request, &job, output.json);
    results.table = table;
    results.drawing = output.plot.as_ref().map(|_| Drawing::new(request));
    if !sources.can_resume() && lock.is_none() && !output.json {
        results.live = Some(LiveLines::new(request, job.framing));
    }
    let computations = devices.iter().zip(&requests).map(|(device, request)| {
        let mut model = DeviceModel::new(request);
        let mut test = significance.map(|_| Significance::new(arguments, request, None)).transpose()?;
        Ok(move |recording: OpenRecording, samples: FrameSamples| {
            let tested = test.as_mut().map(|test| (test, samples.clone()));
            let peaks = device.run(|device| model.peaks(device, recording, samples))?;
            let Some((test, samples)) = tested else { return Ok(peaks) };
            test.kept(recording, samples, &peaks)
        })
    });
    job.run(lock.as_ref(), computations.collect::<Result<_>>()?, |entry| results.take(entry).map(|()| true))?;
    let frame = format!("{} samples of a frame of {}", request.frame, request.name);
    let computed = results.outcome.ensure_not_empty(results.summary.rows, &frame);
    let table = results.table.take();
    complete(lock, computed, || table.map_or(Ok(()), |table| table.finish()))?;
    let figures = results.drawing.as_ref().map_or_else(Vec::new, Drawing::figures);
    let facts = [
        ("model", request.name.clone()),
        ("estimate", request.estimate.clone()),
        ("channels", format!("{} of {}", figures.len().saturating_sub(1), results.summary.channels)),
    ];
    output.draw(&input.title(), &facts, results.summary.html_table(), &figures)?;
    let text = results.text(&arguments.device.explained(&devices), output.out.as_deref());
    output.print(&results.report(names_of(&devices, ",")), &text)
}
