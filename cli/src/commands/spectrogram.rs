//! `firefly spectrogram`: power over time and frequency of one channel.

mod matrix;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use firefly_app::files::ensure_writable;
use serde_json::json;

use self::matrix::{NpyMatrix, checksum, ensure_npy};
use super::outcome::{CommandOutcome, print};
use crate::frames::Framing;
use crate::job::{Job, complete, journal_of};
use crate::journal::{JournalEntry, Payload};
use crate::model::PowerModel;
use crate::open_device::names_of;
use crate::options::{DeviceOptions, EstimateOptions, InputOptions};
use crate::pipeline::OpenRecording;
use crate::plot::{Picture, PlotFigure, PlotFormat, SpectrogramPlot};
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
    #[command(flatten)]
    device: DeviceOptions,
    /// Write the power as a NumPy array of floats [segments, bins] to this file: .npy.
    ///
    /// Until it is complete, FILE.journal says what was computed: the same command, started again, continues and writes
    /// the bytes of an uninterrupted one.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Draw the spectrogram into this file: .svg, .png or .html
    #[arg(long, value_name = "FILE", required_unless_present = "out")]
    plot: Option<PathBuf>,
}

/// Computes the spectrogram.
pub fn run(arguments: &SpectrogramArgs) -> Result<ExitCode> {
    let SpectrogramArgs { input, estimate, channel, out, plot, .. } = arguments;
    let devices = arguments.device.open()?;
    let plot_format = plot.as_deref().map(PlotFormat::of).transpose().context("--plot")?;
    out.as_deref().map(ensure_npy).transpose().context("--out")?;
    for path in [plot, out].into_iter().flatten() {
        ensure_writable(path).with_context(|| path.display().to_string())?;
    }
    let model = PowerModel::new(estimate)?;
    let sources = Sources::find(input, None, [out.as_ref(), plot.as_ref()])?;
    let [source] = &sources.list[..] else {
        bail!("{} has {} recordings; a spectrogram shows one", input.input.display(), sources.list.len());
    };
    let framing = Framing { length: estimate.n_fft(), step: estimate.hop() };
    let device = names_of(&devices, ",");
    let options = json!({ "spectrogram": estimate.to_string(), "channel": channel, "device": device });
    let job = Job { sources: &sources, framing, options, quiet: input.quiet };
    let bins = estimate.n_fft() / 2 + 1;
    let journal = journal_of(out.as_deref(), &sources)?;
    let create = |path: &PathBuf| NpyMatrix::create(path, bins, journal.is_some());
    let mut spectrogram = Spectrogram {
        bins,
        matrix: out.as_ref().map(create).transpose().context("--out")?,
        picture: Picture::new(bins),
        segments: 0,
        rate: 0.0,
        failure: None,
    };
    let computations = devices.iter().map(|device| {
        let mut model = model.clone();
        move |recording: OpenRecording, samples| {
            let samples = one_channel(recording, samples, *channel, framing.length)?;
            let power = device.run(|device| model.power(device, recording.rate, samples))?;
            Ok(PowerRows::Computed(power))
        }
    });
    let journal = job.run(journal, computations.collect(), |entry| spectrogram.take(entry))?;
    let Spectrogram { matrix, picture, segments, rate, failure, .. } = spectrogram;
    let mut outcome = CommandOutcome::default();
    if let Some(failure) = failure {
        outcome.failed(&source.name, &failure);
    }
    let computed = outcome.ensure_something(segments, &format!("{} samples of a segment", framing.length));
    complete(journal, computed, || matrix.map_or(Ok(()), NpyMatrix::finish))?;
    let seconds = ((segments - 1) * framing.step as u64 + framing.length as u64) as f64 / rate;
    let facts = format!("{segments} segments over {seconds:.3} s at {rate} Hz, channel {channel}");
    if let (Some(path), Some(format)) = (plot, plot_format) {
        let names = [("estimate", estimate.to_string()), ("recording", facts.clone())];
        let tracks = usize::from(arguments.tracks);
        let map = SpectrogramPlot { title: source.name.clone(), nyquist: rate / 2.0, seconds, tracks, picture };
        format.write(path, &source.name, &names, &[PlotFigure::HeatMap(map)]).context("--plot")?;
    }
    let device = arguments.device.explained(&devices);
    print(&format!("estimate: {estimate}\ndevice: {device}\n\n{}: {facts}\n{}", source.name, outcome.text()))?;
    Ok(outcome.status())
}

/// Power of the segments of a block, `[segments, bins]`.
enum PowerRows {
    /// Rows that were just computed.
    Computed(Vec<f32>),
    /// Rows in the file that a killed command left behind, by their checksum: the journal has no copy of them.
    InFile(u32),
}

impl Payload for PowerRows {
    fn encode(&self, out: &mut Vec<u8>) {
        let checksum = match self {
            Self::Computed(power) => checksum(power),
            Self::InFile(checksum) => *checksum,
        };
        out.extend(checksum.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        Some(Self::InFile(u32::from_le_bytes(bytes.try_into().ok()?)))
    }
}

/// Results of the power: output file, drawing and summary.
struct Spectrogram {
    bins: usize,
    matrix: Option<NpyMatrix>,
    picture: Picture,
    segments: u64,
    rate: f64,
    failure: Option<String>,
}

impl Spectrogram {
    /// Takes the power of a block; false if the file lacks it.
    fn take(&mut self, entry: JournalEntry<PowerRows>) -> Result<bool> {
        let (recording, block) = match entry {
            JournalEntry::Block(recording, block) => (recording, block),
            JournalEntry::End(_, failure) => {
                self.failure = failure;
                return Ok(true);
            }
        };
        let power = match (block.values, &mut self.matrix) {
            (PowerRows::Computed(power), Some(matrix)) => {
                matrix.write(&power).context("writing the output")?;
                power
            }
            (PowerRows::Computed(power), None) => power,
            (PowerRows::InFile(checksum), Some(matrix)) => match matrix.read(block.count, checksum)? {
                Some(power) => power,
                None => return Ok(false),
            },
            (PowerRows::InFile(_), None) => return Ok(false),
        };
        self.rate = recording.rate;
        self.segments += block.count as u64;
        power.chunks(self.bins).for_each(|power| self.picture.add(power));
        Ok(true)
    }
}

/// Samples `[frames, length]` of one channel of `[frames, channels, length]`.
fn one_channel(recording: OpenRecording, samples: Vec<f32>, channel: usize, length: usize) -> Result<Vec<f32>> {
    let channels = recording.channels;
    ensure!(channel < channels, "--channel {channel}: the recording has channels 0 to {}", channels - 1);
    if channels == 1 {
        return Ok(samples);
    }
    let rows = samples.chunks(length).skip(channel).step_by(channels);
    Ok(rows.flatten().copied().collect())
}
