//! Options that several commands share.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use clap::{Arg, value_parser};
use firefly_app::files::ensure_no_input;
use firefly_models::{Detrend, Scaling, WelchPeaksConfig, Window, WindowSymmetry};
use firefly_ops::options::Average;
use firefly_recordings::{NumberFormat, RATES, ReadOptions, Shard, Sources, unit_of};

use crate::segments::FrameSegments;

#[derive(Debug, Clone, clap::Args)]
pub struct InputOptions {
    /// Recording, folder of recordings, or - for samples on standard input (with --rate and --format).
    ///
    /// Formats by extension: wav (also RIFX, RF64 and BW64), flac, ogg, mp3, aac, m4a, aiff, caf, mka, webm, edf, bdf,
    /// vhdr, hea, mseed, tdms, sigmf-meta, npy, npz, mat, h5, safetensors, csv, tsv, parquet, arrow, feather. In a folder,
    /// npy to feather count only where it has none of the others.
    #[arg(value_name = "FILE|FOLDER|-")]
    pub input: PathBuf,
    /// Samples per second, instead of what a file says: 0.000001 to 1e12
    #[arg(long, value_name = "HZ", value_parser = rate)]
    pub rate: Option<f64>,
    /// Format of samples on standard input, or of a file without a header: u8, s8, s16, s24, s32, f16, f32 or f64, or of
    /// complex samples cu8, ci8, ci16, ci32, cf32 or cf64, followed by le (the default) or be
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<NumberFormat>,
    /// Channels of samples with --format, interleaved, 1 to 65536 [default: 1]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=65_536))]
    pub channels: Option<u32>,
    /// Channel to read, by label or by number from 0, which results have, too; may be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    pub channel: Vec<String>,
    /// Data set of an HDF5 or MATLAB 7.3 file to read, by its path in the file [default: the longest]
    #[arg(long, value_name = "NAME")]
    pub dataset: Option<String>,
    /// Column of times of a table, by title or by number from 0 [default: found by its title]
    #[arg(long, value_name = "NAME")]
    pub time_column: Option<String>,
    /// Unit of a table's column of times: s, ms, us, ns, min, h or d [default: that of its title, or s]
    #[arg(long, value_name = "UNIT", value_parser = units)]
    pub units: Option<f64>,
    /// Capture of a SigMF recording to read, by number from 0 [default: all, which have one centre frequency]
    #[arg(long, value_name = "N")]
    pub capture: Option<usize>,
    /// Pairs of channels are the in-phase and quadrature parts of complex samples, as in IQ recordings in WAV
    #[arg(long)]
    pub iq: bool,
    /// Centre frequency of complex samples, which is added to their frequencies: 0 to 1e12 [default: what a file says,
    /// or 0]
    #[arg(long, value_name = "HZ", value_parser = centre)]
    pub centre: Option<f64>,
    /// Lines at the start of a table of text that are not read
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub skip_rows: usize,
    /// Damaged lines of a table of text and damaged records of miniSEED are NaN; the exit status stays 1
    #[arg(long)]
    pub repair: bool,
    /// Show no progress and no notes
    #[arg(long)]
    pub quiet: bool,
}

impl InputOptions {
    /// Title of a page about the recordings: the name of their file or folder.
    pub fn title(&self) -> String {
        let name =
            self.input.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        name.unwrap_or_else(|| self.input.display().to_string())
    }

    /// Finds the recordings, or a shard of them. An error if there is none, or one of `outputs` would replace one.
    pub fn sources<const N: usize>(&self, shard: Option<Shard>, outputs: [Option<&Path>; N]) -> Result<Sources> {
        ensure!(
            self.channels.is_none() || self.format.is_some(),
            "--channels is for samples with --format; --channel chooses among the channels of a recording"
        );
        let channels = self.channels.unwrap_or(1) as usize;
        let mut sources = if self.input == Path::new("-") {
            let (Some(rate), Some(format)) = (self.rate, self.format) else {
                bail!("samples on standard input need --rate and --format, as in --rate 48000 --format s16le")
            };
            Sources::standard_input(format, channels, rate)
        } else if let Some(format) = self.format {
            let rate = self.rate.context("samples with --format need --rate, as in --rate 48000 --format s16le")?;
            Sources::raw_file(&self.input, format, channels, rate)?
        } else {
            Sources::find(&self.input)?
        };
        sources.options = ReadOptions {
            rate: self.rate,
            channels: self.channel.clone(),
            dataset: self.dataset.clone(),
            time_column: self.time_column.clone(),
            units: self.units,
            skip_rows: self.skip_rows,
            repair: self.repair,
            capture: self.capture,
            is_complex: self.iq,
            centre: self.centre,
            ignores_times: false,
        };
        for output in outputs.into_iter().flatten() {
            let inputs = sources.list.iter().filter_map(|source| source.path.as_deref());
            ensure_no_input(output, inputs).with_context(|| output.display().to_string())?;
        }
        match shard {
            Some(shard) => sources.shard(shard).context("--shard"),
            None => Ok(sources),
        }
    }
}

#[derive(Debug, Clone, Default, clap::Args)]
pub struct EstimateOptions {
    /// Samples per segment, 1 to 16777216 [default: 256]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1 << 24))]
    pub n_fft: Option<u32>,
    /// Samples from one segment's start to the next, 1 or more [default: half of --n-fft]
    #[arg(long, value_name = "N")]
    pub hop: Option<usize>,
    /// Window of a segment, periodic: hann, hamming, blackman, rectangular, nuttall, blackmanharris, flattop,
    /// kaiser(BETA), gaussian(STD), tukey(ALPHA) or dpss(NW) [default: hann]
    #[arg(long)]
    pub window: Option<Window>,
    /// Scaling of power: power (|X|², unscaled), spectrum or density, as in SciPy [default: power]
    #[arg(long)]
    pub scaling: Option<ScalingName>,
    /// What is subtracted from each segment: none, constant (its mean) or linear (its straight line) [default: none]
    #[arg(long, value_parser = detrend)]
    pub detrend: Option<Detrend>,
    /// Average of the power of segments: mean or median, over its bias, which transients hardly move [default: mean]
    #[arg(long, value_parser = average)]
    pub average: Option<Average>,
}

impl EstimateOptions {
    pub fn n_fft(&self) -> usize {
        self.n_fft.unwrap_or(256) as usize
    }

    pub fn hop(&self) -> usize {
        self.hop.unwrap_or((self.n_fft() / 2).max(1))
    }

    pub fn window(&self) -> Window {
        self.window.unwrap_or(Window::Hann)
    }

    pub fn scaling(&self) -> ScalingName {
        self.scaling.unwrap_or_default()
    }

    pub fn detrend(&self) -> Detrend {
        self.detrend.unwrap_or(Detrend::None)
    }

    /// Configuration of the exact estimate of these segments at a sample rate.
    pub fn config(&self, segments: FrameSegments, k: usize, sample_rate: f64) -> WelchPeaksConfig {
        WelchPeaksConfig::new()
            .with_n_fft(self.n_fft())
            .with_hop(Some(self.hop()))
            .with_segments(segments.count)
            .with_placement(segments.placement)
            .with_k(k)
            .with_window(self.window())
            .with_symmetry(WindowSymmetry::Periodic)
            .with_scaling(self.scaling().at(sample_rate))
            .with_detrend(self.detrend())
            .with_average(self.average)
    }

    /// Description of the estimate with this window, or with others instead.
    pub fn described(&self, window: &str) -> String {
        let (n_fft, hop, scaling, detrend) = (self.n_fft(), self.hop(), self.scaling(), self.detrend());
        let median = if self.average == Some(Average::Median) { ", median" } else { "" };
        format!("n_fft {n_fft}, hop {hop}, {window}, {scaling} scaling, detrend {detrend}{median}")
    }

    /// The options that were given, by name.
    pub fn given(&self) -> Vec<&'static str> {
        let given = [
            (self.n_fft.is_some(), "--n-fft"),
            (self.hop.is_some(), "--hop"),
            (self.window.is_some(), "--window"),
            (self.scaling.is_some(), "--scaling"),
            (self.detrend.is_some(), "--detrend"),
            (self.average.is_some(), "--average"),
        ];
        given.iter().filter(|(is_given, _)| *is_given).map(|(_, name)| *name).collect()
    }
}

impl fmt::Display for EstimateOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.described(&self.window().to_string()))
    }
}

/// Help of the options of estimates that are means, of real samples, whose default is to subtract the mean.
pub fn of_real_samples(argument: Arg) -> Arg {
    match argument.get_id().as_str() {
        "average" | "iq" | "centre" => argument.hide(true),
        "detrend" => argument.help(
            "What is subtracted from each segment: none, constant (its mean) or linear (its straight line) [default: \
             constant]",
        ),
        _ => argument,
    }
}

/// Scaling of power without a sample rate, which each recording has its own of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScalingName {
    /// |X|².
    #[default]
    Power,
    /// Power of a sinusoid at its bin.
    Spectrum,
    Density,
}

const SCALINGS: [(&str, ScalingName); 3] =
    [("power", ScalingName::Power), ("spectrum", ScalingName::Spectrum), ("density", ScalingName::Density)];

impl ScalingName {
    pub fn at(self, sample_rate: f64) -> Scaling {
        match self {
            Self::Power => Scaling::Power,
            Self::Spectrum => Scaling::Spectrum,
            Self::Density => Scaling::Density { sample_rate },
        }
    }

    /// Unit of power in decibels, of samples in a unit, which may be empty.
    pub fn decibels(self, unit: &str) -> String {
        let space = if unit.is_empty() { "" } else { " " };
        match self {
            Self::Power if unit.is_empty() => "dB".to_owned(),
            Self::Power | Self::Spectrum => format!("dB re 1{space}{unit}²"),
            Self::Density => format!("dB re 1{space}{unit}²/Hz"),
        }
    }

    /// Label of an axis of power in decibels, of samples in a unit, which may be empty.
    pub fn label(self, unit: &str) -> String {
        format!("power{}, {}", if self == Self::Power { " |X|²" } else { "" }, self.decibels(unit))
    }
}

impl FromStr for ScalingName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        named("scaling", text, &SCALINGS)
    }
}

impl fmt::Display for ScalingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SCALINGS[*self as usize].0)
    }
}

fn detrend(text: &str) -> Result<Detrend, String> {
    let names = [("none", Detrend::None), ("constant", Detrend::Constant), ("linear", Detrend::Linear)];
    named("detrending", text, &names)
}

fn average(text: &str) -> Result<Average, String> {
    named("average", text, &[("mean", Average::Mean), ("median", Average::Median)])
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (RATES[0]..=RATES[1]).contains(rate));
    rate.ok_or_else(|| format!("`{text}` is not a sample rate: a number from 0.000001 to 1e12"))
}

fn centre(text: &str) -> Result<f64, String> {
    let centre = text.parse().ok().filter(|centre| (0.0..=RATES[1]).contains(centre));
    centre.ok_or_else(|| format!("`{text}` is not a centre frequency: a number from 0 to 1e12"))
}

fn units(text: &str) -> Result<f64, String> {
    let units = ["s", "ms", "us", "ns", "min", "h", "d"];
    unit_of(text).map_or_else(|| named("unit of times", text, &units.map(|unit| (unit, 1.0))), Ok)
}

fn named<T: Copy>(kind: &str, text: &str, values: &[(&str, T)]) -> Result<T, String> {
    let names = || values.iter().map(|(name, _)| *name);
    let hint = firefly_app::suggest::hint(text, names());
    let unknown = || format!("unknown {kind} `{text}`{hint}; accepted: {}", names().collect::<Vec<_>>().join(", "));
    values.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(unknown)
}

/// The format that a path's extension, in upper or lower case, names among `formats`; `kind` and `accepted` describe
/// them in the error.
pub fn format_of<F: Copy>(path: &Path, kind: &str, accepted: &str, formats: &[(&str, F)]) -> Result<F> {
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    let found = formats.iter().find(|(name, _)| name.eq_ignore_ascii_case(extension));
    found
        .map(|(_, format)| *format)
        .with_context(|| format!("{}: its extension names no format of {kind} (accepted: {accepted})", path.display()))
}
