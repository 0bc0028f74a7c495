//! `firefly spectrum`: the averaged power spectrum of each channel, by Welch's method.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use firefly_app::device::DeviceName;
use firefly_app::progress::Progress;

use super::outcome::{Outcome, print};
use super::outputs::formats;
use crate::frames::Cut;
use crate::model::PowerModel;
use crate::options::{EstimateOptions, InputOptions};
use crate::pipeline::{self, Message, Recording};
use crate::plot::{Curve, Curves, Figure};
use crate::source::Sources;
use crate::summary::Summary;
use crate::table::{Column, TableWriter, Values};

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
    /// Device: cpu, ndarray, wgpu, vulkan, metal or cuda, with an index as in cuda:1
    #[arg(long, default_value = "cpu")]
    device: DeviceName,
    /// Write the spectra to this file: .parquet, .csv, .jsonl or .npy
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Draw the spectra into this file: .svg, .png or .html
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// Sums of power over segments, `[channels, bins]`, and the number of segments.
type Sums = (Vec<f64>, u64);

/// Computes the spectra.
pub fn run(arguments: &SpectrumArgs) -> Result<ExitCode> {
    let SpectrumArgs { input, estimate, .. } = arguments;
    let device = arguments.device.open()?;
    let (format, plot) = formats(arguments.out.as_ref(), arguments.plot.as_ref())?;
    let mut model = PowerModel::new(estimate, device)?;
    let sources = Sources::find(input, None)?;
    let cut = Cut { length: estimate.n_fft(), step: estimate.hop() };
    let bins = estimate.n_fft() / 2 + 1;
    let table = match (&arguments.out, format) {
        (Some(path), Some(format)) => Some(format.create(path, sources.longest_name(), false).context("--out")?),
        _ => None,
    };
    let mut spectra = Spectra {
        estimate,
        sources: &sources,
        sums: (Vec::new(), 0),
        table,
        summary: Summary::new(estimate.n_fft(), 1, "segments"),
        curves: Vec::new(),
        outcome: Outcome::default(),
    };
    let progress = Progress::with_time_left(input.quiet, sources.bytes());
    let ran = pipeline::run(
        &sources,
        cut,
        (0, None),
        &progress,
        |recording, frames| {
            let power = model.power(recording.rate, frames.samples)?;
            let mut sums = vec![0.0; recording.channels * bins];
            for segment in power.chunks(sums.len()) {
                sums.iter_mut().zip(segment).for_each(|(sum, power)| *sum += f64::from(*power));
            }
            Ok((sums, frames.count as u64))
        },
        |message| spectra.take(message),
    );
    progress.finish();
    ran?;
    let unit = format!("{} samples of a segment", estimate.n_fft());
    spectra.outcome.ensure_something(spectra.summary.rows, &unit)?;
    if let Some(table) = spectra.table.take() {
        table.finish().context("writing the output")?;
    }
    if let (Some(path), Some(format)) = (&arguments.plot, plot) {
        let names = [("estimate", estimate.to_string()), ("spectra", spectra.summary.channels.to_string())];
        let curves = std::mem::take(&mut spectra.curves);
        let figure = Figure::Curves(Curves { title: estimate.to_string(), curves });
        format.write(path, &input.input.display().to_string(), &names, &[figure]).context("--plot")?;
    }
    print(&format!("{estimate}\n\n{}{}", spectra.summary.text(), spectra.outcome.text()))?;
    Ok(spectra.outcome.status())
}

/// What becomes of the spectra.
struct Spectra<'a> {
    estimate: &'a EstimateOptions,
    sources: &'a Sources,
    sums: Sums,
    table: Option<Box<dyn TableWriter>>,
    summary: Summary,
    curves: Vec<Curve>,
    outcome: Outcome,
}

impl Spectra<'_> {
    fn take(&mut self, message: Message<Sums>) -> Result<()> {
        match message {
            Message::Block(_, (sums, segments)) => {
                self.sums.0.resize(sums.len(), 0.0);
                self.sums.0.iter_mut().zip(sums).for_each(|(sum, more)| *sum += more);
                self.sums.1 += segments;
                Ok(())
            }
            Message::Failed(source, error) => {
                self.outcome.failed(&self.sources.list[source].name, &format!("{error:#}"));
                Ok(())
            }
            Message::End(recording) => self.end(recording),
        }
    }

    fn end(&mut self, recording: Recording) -> Result<()> {
        let (sums, segments) = std::mem::take(&mut self.sums);
        let name = &self.sources.list[recording.source].name;
        if segments == 0 {
            self.outcome.shorter(recording);
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
                let column = |name, values| Column { name, values };
                table.write(&[
                    column("file", Values::Text(name.as_str().into(), bins)),
                    column("channel", Values::Int32(vec![channel as i32; bins])),
                    column("bin", Values::Int32((0..bins as i32).collect())),
                    column("frequency_hz", Values::Double((0..bins).map(|bin| bin as f64 * hertz).collect())),
                    column("power", Values::Double(power)),
                    column("power_db", Values::Double(decibels)),
                ])?;
            }
        }
        Ok(())
    }
}
