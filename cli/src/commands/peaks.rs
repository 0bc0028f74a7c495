//! `firefly peaks`: strongest lines of every frame of every channel.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use burn::tensor::Device;
use clap::value_parser;
use firefly_app::device::DeviceName;
use firefly_app::progress::Progress;
use firefly_app::streams::note;

use super::outcome::{Outcome, print};
use super::outputs::formats;
use crate::frames::{Cut, Frames};
use crate::journal::{Entry, Journal, LockedJournal, PeakBlock};
use crate::model::{ModelName, ModelRequest, PeakModel};
use crate::options::{EstimateOptions, InputOptions, Shard};
use crate::pipeline::{self, Message, Recording, Start};
use crate::plot::{Figure, HeatMap, Picture, PlotFormat};
use crate::source::Sources;
use crate::summary::Summary;
use crate::table::{Column, TableWriter, Values};

const EXAMPLES: &str = "\
Frames follow each other from the start of a recording, one every --step samples; samples at its end that do not fill a
frame are left out. Rows of the output are in the order of recording, frame, channel and rank. Its columns: file,
channel (from 0), frame (from 0), time_s (of the frame's start), rank (1 is the strongest), bin, frequency_hz, power (in
the unit of the scaling) and power_db (10 log10 of it). A frame with too few finite bins ends in bin -1.

A command that was killed continues where it stopped when it is started again: see --out.

Example:
  firefly peaks recordings --model reference --n-fft 256 -k 16 --out peaks.parquet";

/// Channels of a drawing at most.
const MOST_FIGURES: usize = 12;

/// Arguments of `firefly peaks`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PeaksArgs {
    #[command(flatten)]
    input: InputOptions,
    /// Model: ultra, fast or reference (1, 2 or 8 segments per frame), auto (fast, by the strategy that is predicted to be
    /// fastest), or the folder of a run of `firefly train`
    #[arg(long, default_value = "fast")]
    model: ModelName,
    /// Peaks per frame, 1 to n_fft / 2 + 1 [default: 16]
    #[arg(short, long, value_name = "N")]
    k: Option<usize>,
    #[command(flatten)]
    estimate: EstimateOptions,
    /// Samples from one frame's start to the next, 1 or more [default: the samples of a frame, so no overlap]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    step: Option<u32>,
    /// Compute a part of the work: of several recordings every N-th, of one the I-th N-th of its frames
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Device: cpu, ndarray, wgpu, vulkan, metal or cuda, with an index as in cuda:1
    #[arg(long, default_value = "cpu")]
    device: DeviceName,
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
    let device = arguments.device.open()?;
    let request = ModelRequest::new(&arguments.model, &arguments.estimate, arguments.k, &device)?;
    let (format, plot) = formats(arguments.out.as_ref(), arguments.plot.as_ref())?;
    let sources = Sources::find(&arguments.input, arguments.shard)?;
    let step = arguments.step.map_or(request.frame, |step| step as usize);
    let cut = Cut { length: request.frame, step };

    let mut results = Results::new(&request, &sources, cut);
    results.drawing = plot.map(|_| Drawing::new(request.n_fft, request.k));
    if let (Some(path), Some(format)) = (&arguments.out, format) {
        let journal = sources.can_resume().then(|| LockedJournal::of(path)).transpose()?;
        let created = format.create(path, sources.longest_name(), journal.is_some());
        results.table = Some(created.with_context(|| format!("--out {}", path.display()))?);
        if let Some(journal) = journal {
            let job = job(&request, &sources, cut)?;
            results.journal = Some(journal.replay(&job, |entry| results.take(entry))?);
        }
    }
    let start = results.next;
    if start != (0, None) && !arguments.input.quiet {
        note(format_args!("continuing after {} frames of {} recordings", results.summary.rows, start.0));
    }
    let progress = Progress::with_time_left(arguments.input.quiet, sources.bytes());
    let mut compute = Compute { request: &request, device, model: None };
    let mut failure = None;
    let outcome = pipeline::run(
        &sources,
        cut,
        start,
        &progress,
        |recording, frames| compute.peaks(recording, frames),
        |message| match message {
            Message::Block(recording, block) => results.add(Entry::Block(recording, block)),
            Message::Failed(_, error) => {
                failure = Some(format!("{error:#}"));
                Ok(())
            }
            Message::End(recording) => results.add(Entry::End(recording, failure.take())),
        },
    );
    progress.finish();
    outcome?;
    results.finish(arguments, plot)
}

/// The statement of a job, on one line: what the bytes of its output follow from.
fn job(request: &ModelRequest, sources: &Sources, cut: Cut) -> Result<String> {
    let job = serde_json::json!({
        "firefly": env!("CARGO_PKG_VERSION"),
        "model": request,
        "step": cut.step,
        "part": sources.part.map(|part| part.to_string()),
        "recordings": sources.list,
    });
    serde_json::to_string(&job).context("stating the job")
}

/// Model of the current sample rate.
struct Compute<'a> {
    request: &'a ModelRequest,
    device: Device,
    model: Option<(f64, PeakModel)>,
}

impl Compute<'_> {
    fn peaks(&mut self, recording: Recording, frames: Frames) -> Result<PeakBlock> {
        let model = match self.model.take() {
            Some((rate, model)) if rate == recording.rate => model,
            _ => self.request.open(recording.rate, &self.device)?,
        };
        let (bins, power) = model.peaks(frames.samples)?;
        self.model = Some((recording.rate, model));
        Ok(PeakBlock { first: frames.first, bins, power })
    }
}

/// What becomes of the peaks: journal, table and summary.
struct Results<'a> {
    request: &'a ModelRequest,
    sources: &'a Sources,
    cut: Cut,
    names: Vec<Arc<str>>,
    journal: Option<Journal>,
    table: Option<Box<dyn TableWriter>>,
    summary: Summary,
    /// Recording and frame that come next.
    next: Start,
    drawing: Option<Drawing>,
    outcome: Outcome,
}

impl<'a> Results<'a> {
    fn new(request: &'a ModelRequest, sources: &'a Sources, cut: Cut) -> Self {
        Self {
            request,
            sources,
            cut,
            names: sources.list.iter().map(|source| source.name.as_str().into()).collect(),
            journal: None,
            table: None,
            summary: Summary::new(request.n_fft, request.k, "frames"),
            next: (0, None),
            drawing: None,
            outcome: Outcome::default(),
        }
    }

    /// Writes an entry to the journal, then takes it.
    fn add(&mut self, entry: Entry) -> Result<()> {
        if let Some(journal) = &mut self.journal {
            journal.append(&entry).context("writing the journal")?;
        }
        self.take(entry)
    }

    /// Takes an entry into the table and the summary.
    fn take(&mut self, entry: Entry) -> Result<()> {
        match entry {
            Entry::Block(recording, block) => {
                ensure!(recording.source < self.names.len() && recording.channels > 0, "the journal is damaged");
                self.summary.add(recording, &block);
                if let Some(drawing) = &mut self.drawing {
                    drawing.add(recording, &block);
                }
                let frames = block.bins.len() / self.request.k / recording.channels;
                self.next = (recording.source, Some(block.first + frames as u64));
                if self.table.is_some() {
                    let rows = self.rows(recording, block);
                    if let Some(table) = &mut self.table {
                        table.write(&rows).context("writing the output")?;
                    }
                }
            }
            Entry::End(recording, failure) => {
                let name = self.names.get(recording.source).context("the journal is damaged")?;
                let frames = self.summary.end(recording, name);
                if let Some(drawing) = &mut self.drawing {
                    drawing.end(recording, name, self.cut, frames);
                }
                match failure {
                    Some(failure) => self.outcome.failed(name, &failure),
                    None if frames == 0 && self.sources.part.is_none() => self.outcome.shorter(recording),
                    None => {}
                }
                self.next = (recording.source + 1, None);
            }
        }
        Ok(())
    }

    /// Rows of the table.
    fn rows(&self, recording: Recording, block: PeakBlock) -> Vec<Column> {
        let k = self.request.k;
        let rows = block.bins.len();
        let hertz_per_bin = recording.rate / self.request.n_fft as f64;
        // A frame of a channel has k rows.
        let frame = |row: usize| block.first + (row / k / recording.channels) as u64;
        let channels = (0..rows).map(|row| (row / k % recording.channels) as i32).collect();
        let frames = (0..rows).map(|row| frame(row) as i64).collect();
        let times = (0..rows).map(|row| (frame(row) * self.cut.step as u64) as f64 / recording.rate).collect();
        let ranks = (0..rows).map(|row| (row % k) as i32 + 1).collect();
        let frequency = |bin: &i32| if *bin < 0 { f64::NAN } else { f64::from(*bin) * hertz_per_bin };
        let frequencies = block.bins.iter().map(frequency).collect();
        let decibels = block.power.iter().map(|power| 10.0 * f64::from(*power).log10()).collect();
        let column = |name, values| Column { name, values };
        vec![
            column("file", Values::Text(self.names[recording.source].clone(), rows)),
            column("channel", Values::Int32(channels)),
            column("frame", Values::Int64(frames)),
            column("time_s", Values::Double(times)),
            column("rank", Values::Int32(ranks)),
            column("bin", Values::Int32(block.bins)),
            column("frequency_hz", Values::Double(frequencies)),
            column("power", Values::Float(block.power)),
            column("power_db", Values::Double(decibels)),
        ]
    }

    /// Completes the outputs, then prints the summary.
    fn finish(mut self, arguments: &PeaksArgs, plot: Option<PlotFormat>) -> Result<ExitCode> {
        let frame = format!("{} samples of a frame of {}", self.cut.length, self.request.name);
        let something = self.outcome.ensure_something(self.summary.rows, &frame);
        if let Some(table) = self.table.take().filter(|_| something.is_ok()) {
            table.finish().context("writing the output")?;
        }
        if let Some(journal) = self.journal.take() {
            journal.remove().context("removing the journal")?;
        }
        something?;
        if let (Some(path), Some(format), Some(drawing)) = (&arguments.plot, plot, self.drawing.take()) {
            let names = [
                ("model", self.request.name.clone()),
                ("estimate", self.request.estimate.clone()),
                ("channels", format!("{} of {}", drawing.figures.len(), self.summary.channels)),
            ];
            let title = arguments.input.input.display().to_string();
            format.write(path, &title, &names, &drawing.figures).context("--plot")?;
        }
        print(&self.text(arguments))?;
        Ok(self.outcome.status())
    }

    fn text(&self, arguments: &PeaksArgs) -> String {
        let request = self.request;
        let mut text = format!(
            "{}: {} peaks per frame of {} samples, one every {} ({})\n\n{}{}",
            request.name,
            request.k,
            self.cut.length,
            self.cut.step,
            request.estimate,
            self.summary.text(),
            self.outcome.text()
        );
        if let Some(path) = &arguments.out {
            text += &format!("\n{}: {} rows\n", path.display(), self.summary.rows * request.k as u64);
        }
        text
    }
}

/// Drawing of the peaks of the first channels.
struct Drawing {
    k: usize,
    /// Power of a frame's peaks at their bins.
    power: Vec<f32>,
    /// Picture per channel of the current recording.
    pictures: Vec<Picture>,
    figures: Vec<Figure>,
}

impl Drawing {
    fn new(n_fft: usize, k: usize) -> Self {
        Self { k, power: vec![0.0; n_fft / 2 + 1], pictures: Vec::new(), figures: Vec::new() }
    }

    fn add(&mut self, recording: Recording, block: &PeakBlock) {
        let shown = recording.channels.min(MOST_FIGURES - self.figures.len());
        self.pictures.resize(shown, Picture::new(self.power.len()));
        let rows = block.bins.chunks(self.k).zip(block.power.chunks(self.k));
        for (row, (bins, power)) in rows.enumerate() {
            let Some(picture) = self.pictures.get_mut(row % recording.channels) else { continue };
            self.power.fill(0.0);
            for (bin, power) in bins.iter().zip(power).filter(|(bin, _)| **bin >= 0) {
                self.power[*bin as usize] = *power;
            }
            picture.add(&self.power);
        }
    }

    fn end(&mut self, recording: Recording, name: &str, cut: Cut, frames: u64) {
        let seconds = (frames.saturating_sub(1) * cut.step as u64 + cut.length as u64) as f64 / recording.rate;
        for (channel, picture) in self.pictures.drain(..).enumerate() {
            let title = if recording.channels > 1 { format!("{name}, channel {channel}") } else { name.to_owned() };
            let map = HeatMap { title, nyquist: recording.rate / 2.0, seconds, tracks: 0, picture };
            self.figures.push(Figure::HeatMap(map));
        }
    }
}
