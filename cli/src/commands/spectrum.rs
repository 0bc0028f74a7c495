//! `firefly spectrum`: the averaged power spectrum of each channel, by Welch's method.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use firefly_ops::options::Average;
use serde::Serialize;
use serde_json::json;

use super::envelope::{MARGINS, envelope_power};
use super::outcome::{CommandOutcome, formats, print, print_json, table_of};
use crate::device::{DeviceOptions, names_of};
use crate::job::{Job, complete, journal_of};
use crate::journal::JournalEntry;
use crate::lines::SpectralLine;
use crate::model::{DeviceModel, ModelRequest};
use crate::options::{EstimateOptions, InputOptions};
use crate::pipeline::OpenRecording;
use crate::plot::{Curve, Curves, PlotFigure, PlotPage};
use crate::power_sums::{BlockSums, PowerSums, RecordingSums};
use crate::search::FrequencyBand;
use crate::summary::{ChannelReport, Summary};
use crate::table::{ColumnValues, TableColumn, TableWriter};

const NOTES: &str = "\
Power is averaged over all whole segments of a recording; samples at its end that do not fill a segment are left out.
Columns of the output: file, channel (from 0), bin, frequency_hz, power (in the unit of the scaling), power_db
(10 log10 of it), and label and unit of the channel, empty where the file has none.

Example:
  firefly spectrum recording.wav --n-fft 1024 --scaling density --plot spectrum.svg";
const MAX_CURVES: usize = 32;
const MAX_LINES: usize = 8;

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = NOTES)]
pub struct SpectrumArgs {
    #[command(flatten)]
    input: InputOptions,
    #[command(flatten)]
    pub(super) estimate: EstimateOptions,
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
    /// Print the spectra and the lines of every channel as one JSON document
    #[arg(long)]
    json: bool,
}

/// Checks that an estimate of a whole recording is a mean.
pub fn ensure_mean(estimate: &EstimateOptions) -> Result<()> {
    let takes_mean = estimate.average != Some(Average::Median);
    ensure!(takes_mean, "--average median: the spectrum of a whole recording is a mean; peaks and spectrogram take it");
    Ok(())
}

/// Computes the spectra, of the signal or of its envelope in a band.
pub fn run(arguments: &SpectrumArgs, band: Option<FrequencyBand>) -> Result<ExitCode> {
    let SpectrumArgs { input, estimate, out, plot, .. } = arguments;
    ensure_mean(estimate)?;
    let (command, of_band) = match band {
        Some(band) => ("envelope", format!(", envelope of {band} Hz")),
        None => ("spectrum", String::new()),
    };
    let described = format!("{estimate}{of_band}");
    let devices = arguments.device.open()?;
    let (format, plot_format) = formats(out.as_ref(), plot.as_ref())?;
    let request = ModelRequest::power(estimate, 1)?;
    let sources = input.sources(None, [out.as_ref(), plot.as_ref()])?;
    let options = json!({ "spectrum": described, "device": names_of(&devices, ",") });
    let mut job = Job::new(&sources, &request, estimate.hop(), options, input.quiet);
    if band.is_some() {
        job.framing.length *= MARGINS;
    }
    let journal = journal_of(out.as_deref(), &sources)?;
    let table = table_of(out.as_ref(), format, &sources, journal.is_some())?;
    let mut spectra = Spectra {
        estimate,
        job: &job,
        sums: BlockSums::default(),
        left_out: 0,
        table,
        summary: Summary::new(estimate.n_fft(), estimate.scaling(), "segments", arguments.json),
        curves: Vec::new(),
        unit: "".into(),
        outcome: CommandOutcome::default(),
    };
    let computations = devices.iter().map(|device| {
        let mut model = DeviceModel::new(&request);
        move |recording: OpenRecording, samples| {
            let power = device.run(|device| match &band {
                Some(band) => envelope_power(device, recording, estimate, band, samples),
                None => model.power(device, recording, samples),
            })?;
            let bins = recording.bins(estimate.n_fft());
            let mut sums = PowerSums::none(recording.channels, bins);
            for (row, power) in power.chunks(bins).enumerate() {
                sums.add(row % recording.channels, power);
            }
            Ok(sums)
        }
    });
    let journal = job.run(journal, computations.collect(), |entry| spectra.take(entry))?;
    let unit = format!("{} samples of a segment", job.framing.length);
    let computed = spectra.outcome.ensure_not_empty(spectra.summary.rows, &unit);
    let table = spectra.table.take();
    complete(journal, computed, || table.map_or(Ok(()), |table| table.finish()))?;
    if let (Some(path), Some(format)) = (plot, plot_format) {
        let facts = [("estimate", described.clone()), ("spectra", spectra.summary.channels.to_string())];
        let curves = Curves {
            title: described.clone(),
            label: estimate.scaling().label(&spectra.unit),
            curves: &spectra.curves,
            range: None,
        };
        let page = PlotPage { title: input.title(), facts: &facts, lines: Some(spectra.summary.html_table()) };
        format.write(path, &page, &[PlotFigure::Curves(curves)]).context("--plot")?;
    }
    if arguments.json {
        print_json(&SpectraReport {
            command,
            estimate: described,
            scaling: estimate.scaling().to_string(),
            n_fft: estimate.n_fft(),
            hop: estimate.hop(),
            device: names_of(&devices, ","),
            channels: &spectra.summary.reports,
            segments_left_out: spectra.left_out,
            outcome: &spectra.outcome,
        })?;
        return Ok(spectra.outcome.status());
    }
    let device = arguments.device.explained(&devices);
    let (summary, outcome) = (spectra.summary.text(), spectra.outcome.text());
    let left_out = match spectra.left_out {
        0 => String::new(),
        count => {
            format!("\nsegments with samples that are not finite, left out: {count} of {}\n", spectra.summary.rows)
        }
    };
    print(&format!("estimate: {described}\ndevice: {device}\n\n{summary}{left_out}{outcome}"))?;
    Ok(spectra.outcome.status())
}

#[derive(Serialize)]
struct SpectraReport<'a> {
    command: &'static str,
    estimate: String,
    scaling: String,
    n_fft: usize,
    hop: usize,
    device: String,
    channels: &'a [ChannelReport],
    segments_left_out: u64,
    #[serde(flatten)]
    outcome: &'a CommandOutcome,
}

/// Results of the spectra: output file, drawing and summary.
struct Spectra<'a> {
    estimate: &'a EstimateOptions,
    job: &'a Job<'a>,
    sums: BlockSums,
    /// Segments of all channels without finite power.
    left_out: u64,
    table: Option<Box<dyn TableWriter>>,
    summary: Summary,
    curves: Vec<Curve>,
    /// Unit of all curves; empty where they differ.
    unit: Arc<str>,
    outcome: CommandOutcome,
}

impl Spectra<'_> {
    fn take(&mut self, entry: JournalEntry<PowerSums>) -> Result<bool> {
        if let Some(sums) = self.sums.take(entry, self.job.sources, &mut self.outcome) {
            self.end(sums)?;
        }
        Ok(true)
    }

    fn end(&mut self, RecordingSums { recording, name, segments, sums }: RecordingSums) -> Result<()> {
        let PowerSums { counts, sums } = sums;
        let n_fft = self.estimate.n_fft();
        let bins = recording.bins(n_fft);
        self.left_out += counts.iter().map(|count| segments - count).sum::<u64>();
        let means = sums.chunks(bins).zip(&counts).flat_map(|(sums, count)| sums.iter().map(|sum| sum / *count as f64));
        let means: Vec<f64> = means.collect();
        let labels = self.job.labels.take(self.job.sources, recording);
        for (channel, (power, label)) in means.chunks(bins).zip(labels.iter()).enumerate() {
            let lines = SpectralLine::of_spectrum(recording, power, n_fft, MAX_LINES);
            let power = power.to_vec();
            if self.curves.len() < MAX_CURVES {
                self.unit = match &self.unit {
                    unit if self.curves.is_empty() || *unit == label.unit => label.unit.clone(),
                    _ => "".into(),
                };
                let title = label.full_name(&name, channel, recording.channels);
                self.curves.push(Curve::new(title, recording, n_fft, &power, &lines));
            }
            self.summary.add(recording, &name, (channel, label), segments, &power, lines);
            if let Some(table) = &mut self.table {
                let column = |name, values| TableColumn { name, values };
                let decibels = power.iter().map(|power| 10.0 * power.log10()).collect();
                let rows = [
                    column("file", ColumnValues::text(&name, bins)),
                    column("channel", ColumnValues::Int32(vec![channel as i32; bins])),
                    column("bin", ColumnValues::Int32((0..bins as i32).collect())),
                    column(
                        "frequency_hz",
                        ColumnValues::Double((0..bins).map(|bin| recording.hertz(bin, 0.0, n_fft)).collect()),
                    ),
                    column("power", ColumnValues::Double(power)),
                    column("power_db", ColumnValues::Double(decibels)),
                    column("label", ColumnValues::text(&label.title, bins)),
                    column("unit", ColumnValues::text(&label.unit, bins)),
                ];
                table.write(&rows).context("writing the output")?;
            }
        }
        Ok(())
    }
}
