//! `firefly spectrum`: the averaged power spectrum of each channel, by Welch's method.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use burn::tensor::Device;
use firefly_models::{Detrend, WindowSymmetry};
use firefly_ops::multitaper::{MultitaperOptions, multitaper_psd};
use firefly_ops::options::Average;
use firefly_ops::welch_psd;
use firefly_recordings::FrameSamples;
use serde_json::json;

use super::bearings::{Bearing, BearingReport, TITLES};
use super::envelope::{MARGINS, envelope};
use super::outcome::{CommandOutcome, OutputOptions, Report};
use crate::device::{DeviceOptions, names_of};
use crate::job::{Job, complete};
use crate::journal::JournalEntry;
use crate::lines::SpectralLine;
use crate::model::{DeviceModel, ModelRequest};
use crate::options::{EstimateOptions, InputOptions, ScalingName};
use crate::peak_values::read_power;
use crate::pipeline::OpenRecording;
use crate::plot::{Curve, Curves, PlotFigure};
use crate::power_sums::{BlockSums, PowerSums, RecordingSums};
use crate::row_scales::of_frames;
use crate::search::FrequencyBand;
use crate::segments::FrameSegments;
use crate::summary::Summary;
use crate::table::{ColumnValues, OutputTable, TableColumn};

const NOTES: &str = "\
Power is averaged over all whole segments of a recording; samples at its end that do not fill a segment are left out.
Columns of the output: file, channel (its number in the recording, from 0), bin, frequency_hz, power (in the unit of the
scaling), power_db (10 log10 of it), and label and unit of the channel, empty where the file has none.

Example:
  firefly spectrum recording.wav --n-fft 1024 --scaling density --plot spectrum.svg";
const MAX_CURVES: usize = 32;
const MAX_LINES: usize = 8;

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = NOTES, mut_arg("average", |average| average.hide(true)))]
pub struct SpectrumArgs {
    #[command(flatten)]
    input: InputOptions,
    #[command(flatten)]
    pub(super) estimate: EstimateOptions,
    #[command(flatten)]
    device: DeviceOptions,
    /// Mean, weighted by eigenvalues, over several tapers of each segment instead of a window: the first 2 NW − 1 discrete
    /// prolate spheroidal sequences, whose band is NW bins wide on either side, from 1 to half of --n-fft; with --scaling
    /// density and --detrend constant unless something else is said [default without =NW: 4]
    #[arg(long, value_name = "NW", num_args = 0..=1, require_equals = true, default_missing_value = "4")]
    pub(super) multitaper: Option<f64>,
    #[command(flatten)]
    output: OutputOptions,
}

/// Checks that an estimate of a whole recording is a mean.
pub fn ensure_mean(estimate: &EstimateOptions) -> Result<()> {
    let takes_mean = estimate.average != Some(Average::Median);
    ensure!(takes_mean, "--average median: the spectrum of a whole recording is a mean; peaks and spectrogram take it");
    Ok(())
}

/// Computes the spectra, of the signal or of its envelope in a band, with the lines of a bearing.
pub fn run(mut arguments: SpectrumArgs, band: Option<FrequencyBand>, bearing: Option<&Bearing>) -> Result<ExitCode> {
    let tapers = match arguments.multitaper {
        Some(half_bandwidth) => set_tapers(&mut arguments.estimate, half_bandwidth)?,
        None => arguments.estimate.window().to_string(),
    };
    let arguments = &arguments;
    let SpectrumArgs { input, estimate, output, .. } = arguments;
    ensure_mean(estimate)?;
    let (command, of_band) = match (band, bearing) {
        (Some(band), None) => ("envelope", format!(", envelope of {band} Hz")),
        (Some(band), Some(_)) => ("bearings", format!(", envelope of {band} Hz")),
        (None, _) => ("spectrum", String::new()),
    };
    let described = estimate.described(&tapers) + &of_band;
    let devices = arguments.device.open()?;
    let request = ModelRequest::power(estimate, 1)?;
    let sources = output.sources(input, None)?;
    let options = json!({ "spectrum": described, "device": names_of(&devices, ",") });
    let mut job = Job::new(&sources, &request, estimate.hop(), options, input.quiet);
    if band.is_some() {
        job.framing.length *= MARGINS;
    }
    let (lock, table) = output.open(&sources)?;
    let mut spectra = Spectra {
        estimate,
        bearing,
        bearings: BearingReport::default(),
        job: &job,
        sums: BlockSums::default(),
        left_out: 0,
        table,
        summary: Summary::new(estimate.n_fft(), estimate.scaling(), "segments", output.json),
        curves: Vec::new(),
        unit: "".into(),
        outcome: CommandOutcome::default(),
    };
    let list = &sources.list;
    let computations = devices.iter().map(|device| {
        let mut model = DeviceModel::new(&request);
        move |recording: OpenRecording, samples| {
            let name = &list[recording.source].name;
            let takes_it = band.is_none() && arguments.multitaper.is_none() || recording.centre.is_none();
            ensure!(takes_it, "{name}: --band and --multitaper take real samples, and these are complex");
            let power = device.run(|device| match (&band, arguments.multitaper) {
                (None, None) => model.power(device, recording, samples),
                _ => segment_power(device, recording, arguments, band.as_ref(), samples),
            })?;
            bearing.map_or(Ok(()), |test| test.lines(recording).map(drop))?;
            let bins = recording.bins(estimate.n_fft());
            let mut sums = PowerSums::none(recording.channels, bins);
            for (row, power) in power.chunks(bins).enumerate() {
                sums.add(row % recording.channels, power);
            }
            Ok(sums)
        }
    });
    job.run(lock.as_ref(), computations.collect(), |entry| spectra.take(entry))?;
    let Spectra { bearings, left_out, table, summary, curves, unit, outcome, .. } = spectra;
    let computed = outcome.ensure_not_empty(summary.rows, &format!("{} samples of a segment", job.framing.length));
    complete(lock, computed, || table.map_or(Ok(()), |table| table.finish()))?;
    let facts = [("estimate", described.clone()), ("spectra", summary.channels.to_string())];
    let (title, label) = (described.clone(), estimate.scaling().label(&unit));
    let figure = PlotFigure::Curves(Curves { title, label, curves: &curves, range: None });
    let mut lines = summary.html_table();
    if bearing.is_some() {
        (lines.columns, lines.rows) = (TITLES.map(str::to_owned).to_vec(), bearings.rows);
    }
    output.draw(&input.title(), &facts, lines, &[figure])?;
    let found = if bearing.is_some() { bearings.text } else { summary.text() };
    let device = arguments.device.explained(&devices);
    let mut text = format!("estimate: {described}\ndevice: {device}\n\n{found}");
    if left_out > 0 {
        text += &format!("\nsegments with samples that are not finite, left out: {left_out} of {}\n", summary.rows);
    }
    let report = Report {
        command,
        estimate: &described,
        n_fft: estimate.n_fft(),
        device: names_of(&devices, ","),
        more: json!({
            "scaling": estimate.scaling().to_string(), "hop": estimate.hop(), "segments_left_out": left_out,
        }),
        channels: Some(&summary.reports),
        outcome: &outcome,
    };
    output.print(&report, &(text + &outcome.text()))
}

/// Sets the defaults of a multitaper estimate, and describes its tapers. An error for a window, a scaling that it does
/// not have, and a band that is not within the bins.
fn set_tapers(estimate: &mut EstimateOptions, half_bandwidth: f64) -> Result<String> {
    ensure!(estimate.window.is_none(), "--window is set by --multitaper");
    let most = estimate.n_fft() as f64 / 2.0;
    ensure!(
        (1.0..=most).contains(&half_bandwidth),
        "--multitaper is {half_bandwidth}, but must be from 1 to half of --n-fft, {most}"
    );
    let scaling = *estimate.scaling.get_or_insert(ScalingName::Density);
    ensure!(scaling != ScalingName::Spectrum, "--scaling is spectrum, but must be density or power with --multitaper");
    estimate.detrend.get_or_insert(Detrend::Constant);
    Ok(format!("multitaper of NW {half_bandwidth} (K = {})", MultitaperOptions::new(half_bandwidth, 1.0).tapers))
}

/// Power `[rows, bins]` of frames of real samples, of their envelopes in a band, if there is one, and by the tapers of
/// the options, if there are any.
fn segment_power(
    device: &Device,
    recording: OpenRecording,
    arguments: &SpectrumArgs,
    band: Option<&FrequencyBand>,
    samples: FrameSamples,
) -> Result<Vec<f64>> {
    let SpectrumArgs { estimate, multitaper, .. } = arguments;
    let (n_fft, rate) = (estimate.n_fft(), recording.rate);
    let frame = if band.is_some() { MARGINS * n_fft } else { n_fft };
    of_frames(device, [1, frame], samples, |frames, scales| {
        let frames = frames.squeeze_dim(1);
        let segments = match band {
            Some(band) => envelope(frames, recording, band)?,
            None => frames,
        };
        let power = match multitaper {
            Some(half_bandwidth) => {
                let (scaling, detrend) = (estimate.scaling().at(rate), estimate.detrend());
                let options = MultitaperOptions { scaling, detrend, ..MultitaperOptions::new(*half_bandwidth, rate) };
                multitaper_psd(segments, &options)?
            }
            None => {
                let options = estimate.config(FrameSegments::adjacent(1), 1, rate).options();
                let (dtype, device) = (segments.dtype().into(), segments.device());
                let window = estimate.window().tensor(n_fft, WindowSymmetry::Periodic, dtype, &device);
                welch_psd(segments, window, &options)?
            }
        };
        read_power(power, scales)
    })
}

/// Results of the spectra: output file, drawing and summary.
struct Spectra<'a> {
    estimate: &'a EstimateOptions,
    bearing: Option<&'a Bearing>,
    bearings: BearingReport,
    job: &'a Job<'a>,
    sums: BlockSums,
    /// Segments of all channels without finite power.
    left_out: u64,
    table: Option<OutputTable>,
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

    fn end(&mut self, RecordingSums { recording, name, segments, sums, .. }: RecordingSums) -> Result<()> {
        let PowerSums { counts, sums } = sums;
        let n_fft = self.estimate.n_fft();
        let bins = recording.bins(n_fft);
        self.left_out += counts.iter().map(|count| segments - count).sum::<u64>();
        let means = sums.chunks(bins).zip(&counts).flat_map(|(sums, count)| sums.iter().map(|sum| sum / *count as f64));
        let means: Vec<f64> = means.collect();
        let labels = self.job.labels.take(self.job.sources, recording);
        for (count, (power, label)) in counts.iter().zip(means.chunks(bins).zip(labels.iter())) {
            let lines = SpectralLine::of_spectrum(recording, power, n_fft, MAX_LINES);
            let mut marks: Vec<f64> = lines.iter().map(|line| line.frequency_hz).collect();
            let title = label.full_name(&name);
            let found = self.bearing.map(|test| {
                let found = test.measure(recording, power)?;
                let notes = test.notes(recording, power, &found)?;
                anyhow::Ok((found, notes))
            });
            let bearing = found.transpose()?.map(|(found, notes)| {
                marks = found.iter().map(|line| line.expected_hz).collect();
                let heading = format!("{title}: {} Hz, {count} segments", recording.rate);
                self.bearings.add(&heading, &found, &notes)
            });
            let power = power.to_vec();
            if self.curves.len() < MAX_CURVES {
                self.unit = match &self.unit {
                    unit if self.curves.is_empty() || *unit == label.unit => label.unit.clone(),
                    _ => "".into(),
                };
                self.curves.push(Curve { marks, ..Curve::new(title, recording, n_fft, &power, &[]) });
            }
            self.summary.add(recording, &name, label, segments, &power, lines);
            if let Some(report) = self.summary.reports.last_mut() {
                report.bearing = bearing;
            }
            if let Some(table) = &mut self.table {
                let column = |name, values| TableColumn { name, values };
                let decibels = power.iter().map(|power| 10.0 * power.log10()).collect();
                let rows = [
                    column("file", ColumnValues::text(&name, bins)),
                    column("channel", ColumnValues::Int32(vec![label.number as i32; bins])),
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
