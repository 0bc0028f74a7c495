//! `firefly spectrogram`: power over time and frequency of one channel.

use std::io::{BufWriter, IntoInnerError, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use firefly_app::device::DeviceName;
use firefly_app::files::{AtomicFile, ensure_writable};
use firefly_app::progress::Progress;

use super::outcome::{Outcome, print};
use crate::frames::{Cut, Frames};
use crate::model::PowerModel;
use crate::options::{EstimateOptions, InputOptions};
use crate::pipeline::{self, Message, Recording};
use crate::plot::{Figure, HeatMap, Picture, PlotFormat};
use crate::source::Sources;

const NOTES: &str = "\
One spectrum per segment. The drawing has at most 1024 columns, of the mean power of as many segments as it takes, and
256 rows, of the greatest power of neighbouring bins; white tracks join the strongest local maxima of successive
columns. Samples at the end that do not fill a segment are left out.

Example:
  firefly spectrogram recording.wav --n-fft 512 --hop 128 --plot spectrogram.html";

/// Arguments of `firefly spectrogram`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = NOTES)]
pub struct SpectrogramArgs {
    #[command(flatten)]
    input: InputOptions,
    #[command(flatten)]
    estimate: EstimateOptions,
    /// Channel to show, from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    channel: usize,
    /// Peaks per column that tracks join, 0 (no tracks) to 64
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(..=64))]
    tracks: u8,
    /// Device: cpu, ndarray, wgpu, vulkan, metal or cuda, with an index as in cuda:1
    #[arg(long, default_value = "cpu")]
    device: DeviceName,
    /// Write the power as a NumPy array of floats [segments, bins] to this file: .npy
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Draw the spectrogram into this file: .svg, .png or .html
    #[arg(long, value_name = "FILE", required_unless_present = "out")]
    plot: Option<PathBuf>,
}

/// Computes the spectrogram.
pub fn run(arguments: &SpectrogramArgs) -> Result<ExitCode> {
    let SpectrogramArgs { input, estimate, channel, .. } = arguments;
    let device = arguments.device.open()?;
    let plot = arguments.plot.as_deref().map(PlotFormat::of).transpose().context("--plot")?;
    for path in [&arguments.plot, &arguments.out].into_iter().flatten() {
        ensure_writable(path).with_context(|| path.display().to_string())?;
    }
    let mut model = PowerModel::new(estimate, device)?;
    let sources = Sources::find(input, None)?;
    let [source] = &sources.list[..] else {
        bail!("{} has {} recordings; a spectrogram shows one", input.input.display(), sources.list.len());
    };
    let bins = estimate.n_fft() / 2 + 1;
    let mut matrix = arguments.out.as_deref().map(|path| NpyMatrix::create(path, bins)).transpose().context("--out")?;
    let cut = Cut { length: estimate.n_fft(), step: estimate.hop() };
    let mut picture = Picture::new(bins);
    let (mut segments, mut rate, mut outcome) = (0u64, 0.0, Outcome::default());
    let progress = Progress::with_time_left(input.quiet, source.bytes);
    let ran = pipeline::run(
        &sources,
        cut,
        (0, None),
        &progress,
        |recording, frames| model.power(recording.rate, one_channel(recording, frames, *channel, cut.length)?),
        |message| {
            match message {
                Message::Block(recording, power) => {
                    rate = recording.rate;
                    segments += (power.len() / bins) as u64;
                    power.chunks(bins).for_each(|power| picture.add(power));
                    if let Some(matrix) = &mut matrix {
                        matrix.write(&power).context("writing the output")?;
                    }
                }
                Message::Failed(_, error) => outcome.failed(&source.name, &format!("{error:#}")),
                Message::End(_) => {}
            }
            Ok(())
        },
    );
    progress.finish();
    ran?;
    outcome.ensure_something(segments, &format!("{} samples of a segment", cut.length))?;
    if let Some(matrix) = matrix {
        matrix.finish().context("writing the output")?;
    }
    let seconds = ((segments - 1) * cut.step as u64 + cut.length as u64) as f64 / rate;
    let facts = format!("{segments} segments over {seconds:.3} s at {rate} Hz, channel {channel}");
    if let (Some(path), Some(format)) = (&arguments.plot, plot) {
        let names = [("estimate", estimate.to_string()), ("recording", facts.clone())];
        let tracks = usize::from(arguments.tracks);
        let map = HeatMap { title: source.name.clone(), nyquist: rate / 2.0, seconds, tracks, picture };
        format.write(path, &source.name, &names, &[Figure::HeatMap(map)]).context("--plot")?;
    }
    print(&format!("{estimate}\n{}: {facts}\n{}", source.name, outcome.text()))?;
    Ok(outcome.status())
}

/// Samples `[frames, length]` of one channel.
fn one_channel(recording: Recording, frames: Frames, channel: usize, length: usize) -> Result<Vec<f32>> {
    let channels = recording.channels;
    ensure!(channel < channels, "--channel {channel}: the recording has channels 0 to {}", channels - 1);
    if channels == 1 {
        return Ok(frames.samples);
    }
    let rows = frames.samples.chunks(length).skip(channel).step_by(channels);
    Ok(rows.flatten().copied().collect())
}

/// Writer of a NumPy array `[rows, columns]` of floats.
struct NpyMatrix {
    out: BufWriter<AtomicFile>,
    columns: usize,
    values: u64,
}

impl NpyMatrix {
    fn create(path: &Path, columns: usize) -> Result<Self> {
        let is_npy = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"));
        ensure!(is_npy, "{}: a spectrogram is written as .npy", path.display());
        let mut matrix = Self { out: BufWriter::new(AtomicFile::create(path)?), columns, values: 0 };
        matrix.out.write_all(&matrix.header())?;
        Ok(matrix)
    }

    /// Header of constant length, because the number of rows is known last.
    fn header(&self) -> [u8; 128] {
        let shape = [self.values / self.columns as u64, self.columns as u64];
        let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", shape[0], shape[1]);
        let mut header = [b' '; 128];
        header[..10].copy_from_slice(b"\x93NUMPY\x01\x00\x76\x00");
        header[10..10 + text.len()].copy_from_slice(text.as_bytes());
        header[127] = b'\n';
        header
    }

    fn write(&mut self, power: &[f32]) -> std::io::Result<()> {
        self.values += power.len() as u64;
        power.iter().try_for_each(|value| self.out.write_all(&value.to_le_bytes()))
    }

    fn finish(mut self) -> std::io::Result<()> {
        let header = self.header();
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&header)?;
        self.out.into_inner().map_err(IntoInnerError::into_error)?.commit()
    }
}
