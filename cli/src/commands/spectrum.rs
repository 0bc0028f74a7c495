//! `firefly spectrum`: the averaged power spectrum of each channel, by Welch's method.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use serde_json::json;

use super::outcome::{CommandOutcome, print};
use super::outputs::formats;
use crate::frames::{Block, Framing};
use crate::job::{Job, complete, journal_of};
use crate::journal::{JournalEntry, Payload};
use crate::model::PowerModel;
use crate::open_device::names_of;
use crate::options::{DeviceOptions, EstimateOptions, InputOptions};
use crate::pipeline::OpenRecording;
use crate::plot::{Curve, Curves, PlotFigure};
use crate::source::Sources;
use crate::summary::Summary;
use crate::table::{ColumnValues, TableColumn, TableWriter};

const NOTES: &str = "\
Power is averaged over all whole segments of a recording; samples at its end that do not fill a segment are left out.
Columns of the output: file, channel (from 0), bin, frequency_hz, power (in the unit of the scaling) and power_db
(10 log10 of it).

Example:
  firefly spectrum recording.wav --n-fft 1024 --scaling density --plot spectrum.svg";
/// Curves of a drawing at most.
const MOST_CURVES: usize = 32;

/// Arguments of `firefly spectrum`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = NOTES)]
pub struct SpectrumArgs {
    #[command(flatten)]
    input: InputOptions,
    #[command(flatten)]
    estimate: EstimateOptions,
    #[command(flatten)]
    device: DeviceOptions,
    /// Write the spectra to this file: .parquet, .csv, .jsonl or .npy.
    ///
    /// Until it is complete, FILE.journal has what was computed: the same command, started again, continues from it and
    /// writes the bytes of an uninterrupted one.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Draw the spectra into this file: .svg, .png or .html
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// Computes the spectra.
pub fn run(arguments: &SpectrumArgs) -> Result<ExitCode> {
    let SpectrumArgs { input, estimate, out, plot, .. } = arguments;
    let devices = arguments.device.open()?;
    let (format, plot_format) = formats(out.as_ref(), plot.as_ref())?;
    let model = PowerModel::new(estimate)?;
    let sources = Sources::find(input, None, [out.as_ref(), plot.as_ref()])?;
    let job = Job {
        sources: &sources,
        framing: Framing { length: estimate.n_fft(), step: estimate.hop() },
        options: json!({ "spectrum": estimate.to_string(), "device": names_of(&devices, ",") }),
        quiet: input.quiet,
    };
    let journal = journal_of(out.as_deref(), &sources)?;
    let table = match (out, format) {
        (Some(path), Some(format)) => {
            Some(format.create(path, sources.longest_name(), journal.is_some()).context("--out")?)
        }
        _ => None,
    };
    let mut spectra = Spectra {
        estimate,
        sources: &sources,
        sums: Vec::new(),
        segments: 0,
        table,
        summary: Summary::new(estimate.n_fft(), 1, "segments"),
        curves: Vec::new(),
        outcome: CommandOutcome::default(),
    };
    let bins = estimate.n_fft() / 2 + 1;
    let computations = devices.iter().map(|device| {
        let mut model = model.clone();
        move |recording: OpenRecording, samples| {
            let power = device.run(|device| model.power(device, recording.rate, samples))?;
            let mut sums = vec![0.0; recording.channels * bins];
            for segment in power.chunks(sums.len()) {
                sums.iter_mut().zip(segment).for_each(|(sum, power)| *sum += f64::from(*power));
            }
            Ok(PowerSums(sums))
        }
    });
    let journal = job.run(journal, computations.collect(), |entry| spectra.take(entry))?;
    let unit = format!("{} samples of a segment", estimate.n_fft());
    let computed = spectra.outcome.ensure_something(spectra.summary.rows, &unit);
    let table = spectra.table.take();
    complete(journal, computed, || table.map_or(Ok(()), |table| table.finish()))?;
    if let (Some(path), Some(format)) = (plot, plot_format) {
        let facts = [("estimate", estimate.to_string()), ("spectra", spectra.summary.channels.to_string())];
        let curves = std::mem::take(&mut spectra.curves);
        let figure = PlotFigure::Curves(Curves { title: estimate.to_string(), curves });
        format.write(path, &input.input.display().to_string(), &facts, &[figure]).context("--plot")?;
    }
    let device = arguments.device.explained(&devices);
    let (summary, outcome) = (spectra.summary.text(), spectra.outcome.text());
    print(&format!("estimate: {estimate}\ndevice: {device}\n\n{summary}{outcome}"))?;
    Ok(spectra.outcome.status())
}

/// Sums of power over the segments of a block, `[channels, bins]`.
struct PowerSums(Vec<f64>);

impl Payload for PowerSums {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.0.iter().flat_map(|sum| sum.to_le_bytes()));
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (sums, rest) = bytes.as_chunks();
        rest.is_empty().then(|| Self(sums.iter().map(|raw| f64::from_le_bytes(*raw)).collect()))
    }
}

/// Results of the spectra: output file, drawing and summary.
struct Spectra<'a> {
    estimate: &'a EstimateOptions,
    sources: &'a Sources,
    /// Sums of power over the segments of the current recording, `[channels, bins]`, and their number.
    sums: Vec<f64>,
    segments: u64,
    table: Option<Box<dyn TableWriter>>,
    summary: Summary,
    curves: Vec<Curve>,
    outcome: CommandOutcome,
}

impl Spectra<'_> {
    fn take(&mut self, entry: JournalEntry<PowerSums>) -> Result<bool> {
        match entry {
            JournalEntry::Block(_, Block { count, values: PowerSums(sums), .. }) => {
                self.sums.resize(sums.len(), 0.0);
                self.sums.iter_mut().zip(sums).for_each(|(sum, more)| *sum += more);
                self.segments += count as u64;
            }
            JournalEntry::End(recording, failure) => {
                if let Some(failure) = &failure {
                    self.outcome.failed(&self.sources.list[recording.source].name, failure);
                }
                self.end(recording, failure.is_some())?;
            }
        }
        Ok(true)
    }

    fn end(&mut self, recording: OpenRecording, failed: bool) -> Result<()> {
        let (sums, segments) = (std::mem::take(&mut self.sums), std::mem::take(&mut self.segments));
        let name = &self.sources.list[recording.source].name;
        if segments == 0 {
            if !failed {
                self.outcome.shorter(recording);
            }
            return Ok(());
        }
        self.summary.add_sums(recording, &sums, segments);
        self.summary.end(recording, name);
        let bins = self.estimate.n_fft() / 2 + 1;
        for (channel, sums) in sums.chunks(bins).enumerate() {
            let power: Vec<f64> = sums.iter().map(|sum| sum / segments as f64).collect();
            let decibels: Vec<f64> = power.iter().map(|power| 10.0 * power.log10()).collect();
            if self.curves.len() < MOST_CURVES {
                let name = if recording.channels > 1 { format!("{name}, channel {channel}") } else { name.clone() };
                self.curves.push(Curve { name, nyquist: recording.rate / 2.0, decibels: decibels.clone() });
            }
            if let Some(table) = &mut self.table {
                let hertz = recording.rate / self.estimate.n_fft() as f64;
                let column = |name, values| TableColumn { name, values };
                let rows = [
                    column("file", ColumnValues::Text(name.as_str().into(), bins)),
                    column("channel", ColumnValues::Int32(vec![channel as i32; bins])),
                    column("bin", ColumnValues::Int32((0..bins as i32).collect())),
                    column("frequency_hz", ColumnValues::Double((0..bins).map(|bin| bin as f64 * hertz).collect())),
                    column("power", ColumnValues::Double(power)),
                    column("power_db", ColumnValues::Double(decibels)),
                ];
                table.write(&rows).context("writing the output")?;
            }
        }
        Ok(())
    }
}
