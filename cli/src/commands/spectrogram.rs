//! `firefly spectrogram`: power over time and frequency of one channel.

mod matrix;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use firefly_app::streams::{note, print};
use firefly_models::segments::segments_named;
use firefly_ops::tracks::PeakTracker;
use serde_json::json;

use self::matrix::{NpyMatrix, checksum, ensure_npy};
use super::outcome::{CommandOutcome, ensure_outputs};
use crate::device::{DeviceOptions, names_of};
use crate::job::{Job, complete};
use crate::journal::{JournalEntry, Payload};
use crate::labels::ChannelLabel;
use crate::model::{DeviceModel, ModelRequest};
use crate::options::{EstimateOptions, InputOptions};
use crate::output_lock::OutputLock;
use crate::pipeline::OpenRecording;
use crate::plot::{Picture, PlotFigure, PlotFormat, SpectrogramPlot};
use crate::tracks::{TrackArgs, add_peaks};

const NOTES: &str = "\
One spectrum per --segments. The drawing has at most 1024 columns, of the mean power of as many spectra as it takes, and
256 rows, of the greatest power of neighbouring bins; white tracks join the strongest local maxima of successive
columns. Samples at the end that do not fill a spectrum are left out.

Rows of --tracks-out are tracks of the --tracks strongest local maxima of each spectrum, which may pause for one, the
strongest first. Its columns: start_s and end_s (of the first and the last spectrum), frequency_hz (mean), lowest_hz,
highest_hz, power and power_db (the greatest) and peaks (their number).

Examples:
  firefly spectrogram recording.wav --n-fft 512 --hop 128 --plot spectrogram.html
  firefly spectrogram recording.wav --n-fft 512 --hop 128 --tracks-out tracks.csv";

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = NOTES)]
pub struct SpectrogramArgs {
    #[command(flatten)]
    input: InputOptions,
    #[command(flatten)]
    estimate: EstimateOptions,
    /// Segments averaged per spectrum, 1 or more; the next spectrum begins after them
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = segments)]
    segments: usize,
    #[command(flatten)]
    tracks: TrackArgs,
    #[command(flatten)]
    device: DeviceOptions,
    /// Write the power as a NumPy array of floats [spectra, bins] to this file: .npy.
    ///
    /// Until it is complete, FILE.journal says what was computed: the same command, started again, continues and writes
    /// the bytes of an uninterrupted one.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Draw the spectrogram into this file: .svg, .png or .html
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

fn segments(text: &str) -> Result<usize, String> {
    segments_named(text).map_err(|error| error.to_string())
}

pub fn run(arguments: &SpectrogramArgs) -> Result<ExitCode> {
    let SpectrogramArgs { input, estimate, segments, tracks, out, plot, .. } = arguments;
    ensure!(
        plot.is_some() || out.is_some() || tracks.tracks_out.is_some(),
        "give --plot FILE (.svg, .png or .html), --out FILE (.npy), or both, or --tracks-out FILE"
    );
    let tracker = tracks.tracker()?;
    let devices = arguments.device.open()?;
    let plot_format = plot.as_deref().map(PlotFormat::of).transpose().context("--plot")?;
    out.as_deref().map(ensure_npy).transpose().context("--out")?;
    let paths = [out, plot, &tracks.tracks_out].map(Option::as_deref);
    ensure_outputs(&[("--out", paths[0]), ("--plot", paths[1]), ("--tracks-out", paths[2])])?;
    let request = ModelRequest::power(estimate, *segments)?;
    let mut sources = input.sources(None, paths)?;
    let [source] = &sources.list[..] else {
        bail!("{} has {} recordings; a spectrogram shows one", input.input.display(), sources.list.len());
    };
    let layout = sources.reader(source).with_context(|| source.name.clone())?.layout().clone();
    if sources.options.channels.is_empty() {
        let channels = ChannelLabel::all_of(&layout).len();
        if channels > 1 && !input.quiet {
            let shown = format!("channel 0 of {channels} is shown, --channel chooses another");
            note(format_args!("note: {}: {shown}", source.name));
        }
        sources.options.channels.push("0".into());
    }
    let [channel] = &sources.options.channels[..] else { bail!("a spectrogram shows one --channel") };
    let channel = channel.clone();
    let [lock, tracks_lock] = [out, &tracks.tracks_out].map(|path| path.as_deref().map(OutputLock::of).transpose());
    let (lock, tracks_lock) = (lock?, tracks_lock?);
    let step = segments.saturating_mul(estimate.hop());
    let options = json!({ "spectrogram": request.estimate, "device": names_of(&devices, ",") });
    let job = Job::new(&sources, &request, step, options, input.quiet);
    let bins = if layout.is_complex { estimate.n_fft() } else { estimate.n_fft() / 2 + 1 };
    let mut spectrogram = Spectrogram {
        bins,
        matrix: lock.as_ref().map(|lock| NpyMatrix::create(lock, bins)).transpose().context("--out")?,
        picture: Picture::new(bins),
        tracker,
        tracks: tracks.tracks,
        spectra: 0,
        recording: None,
        failure: None,
    };
    let computations = devices.iter().map(|device| {
        let mut model = DeviceModel::new(&request);
        move |recording: OpenRecording, samples| {
            let power = device.run(|device| model.power(device, recording, samples))?;
            // Less than the digits of f32 are left, or none.
            let is_beyond = |power: &f64| (f64::from(*power as f32) - power).abs() > 1e-6 * power.abs();
            ensure!(
                !power.iter().any(is_beyond),
                "{}: its power leaves the range of the 32 bits of a spectrogram: multiply it by a number",
                source.name
            );
            Ok(PowerRows::Computed(power.into_iter().map(|power| power as f32).collect()))
        }
    });
    job.run(lock.as_ref(), computations.collect(), |entry| spectrogram.take(entry))?;
    let Spectrogram { matrix, picture, tracker, spectra, recording, failure, .. } = spectrogram;
    let mut outcome = CommandOutcome::default();
    if let Some(failure) = failure {
        outcome.failed(&source.name, &failure);
    }
    let computed = outcome.ensure_not_empty(spectra, &format!("{} samples of a spectrum", job.framing.length));
    complete(lock, computed, || matrix.map_or(Ok(()), NpyMatrix::finish))?;
    let recording = recording.context("it has no spectrum")?;
    let rate = recording.rate;
    let seconds = ((spectra - 1) * job.framing.step as u64 + job.framing.length as u64) as f64 / rate;
    let label = job.labels.take(&sources, recording).first().cloned().unwrap_or_default();
    let channel = if label.title.is_empty() { channel } else { label.title.to_string() };
    let facts = format!("{spectra} spectra over {seconds:.3} s at {rate} Hz, channel {channel}");
    let (first_hertz, hertz_per_bin) = (recording.first_hertz(estimate.n_fft()), rate / estimate.n_fft() as f64);
    let mut found = String::new();
    if let (Some(lock), Some(tracker)) = (tracks_lock, tracker) {
        let seconds = |spectrum| [0, job.framing.length].map(|end| (spectrum * job.framing.step + end) as f64 / rate);
        let hertz = |place: f64| first_hertz + place * hertz_per_bin;
        found = tracks.write(&lock, tracker, seconds, hertz).with_context(|| lock.output().display().to_string())?;
        lock.remove().context("removing the journal")?;
    }
    if let (Some(path), Some(format)) = (plot, plot_format) {
        let names = [("estimate", request.estimate.clone()), ("recording", facts.clone())];
        let map = SpectrogramPlot {
            title: source.name.clone(),
            power: estimate.scaling().label(&label.unit),
            first_hertz,
            hertz_per_bin,
            seconds,
            tracks: tracks.tracks,
            picture,
        };
        format.write(path, &input.title(), &names, None, &[PlotFigure::HeatMap(&map)]).context("--plot")?;
    }
    let device = arguments.device.explained(&devices);
    print(&format!(
        "estimate: {}\ndevice: {device}\n\n{}: {facts}\n{found}{}",
        request.estimate,
        source.name,
        outcome.text()
    ))?;
    Ok(outcome.status())
}

/// Power of the spectra of a block, `[spectra, bins]`.
enum PowerRows {
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
    tracker: Option<PeakTracker>,
    /// Peaks per spectrum that tracks join.
    tracks: u8,
    spectra: u64,
    recording: Option<OpenRecording>,
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
        self.recording = Some(recording);
        self.spectra += block.count as u64;
        let power: Vec<f32> = power.chunks(self.bins).flat_map(|power| recording.by_frequency(power)).collect();
        power.chunks(self.bins).for_each(|power| self.picture.add(power));
        if let Some(tracker) = &mut self.tracker {
            let power = power.into_iter().map(f64::from).collect();
            add_peaks(tracker, power, self.bins, self.tracks).context("--tracks-out")?;
        }
        Ok(true)
    }
}
