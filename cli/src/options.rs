//! Options that several commands share.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::value_parser;
use firefly_app::device::{DeviceChoice, DeviceName};
use firefly_app::device_list::{DeviceList, DeviceListError};
use firefly_models::{Detrend, Scaling, Tier, WelchPeaksConfig, Window, WindowSymmetry};
use firefly_trainer::data::formats::NumberFormat;

use crate::open_device::{OpenDevice, names_of};

/// The recordings of a command.
#[derive(Debug, Clone, clap::Args)]
pub struct InputOptions {
    /// Recording, folder of recordings, or - for samples on standard input (with --rate and --format).
    ///
    /// Formats by extension: wav (also RF64 and BW64), flac, ogg, edf, bdf, npy, npz, safetensors, csv, tsv, parquet. In a
    /// folder, npy to parquet count only where it has none of the others.
    #[arg(value_name = "FILE|FOLDER|-")]
    pub input: PathBuf,
    /// Samples per second: of standard input, and of files that do not say, 0.000001 to 1e12
    #[arg(long, value_name = "HZ", value_parser = rate)]
    pub rate: Option<f64>,
    /// Format of samples on standard input: u8, s16, s24, s32, f32 or f64, followed by le (the default) or be
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<NumberFormat>,
    /// Channels of samples on standard input, interleaved, 1 to 65536
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..=65_536))]
    pub channels: u32,
    /// Show no progress and no notes
    #[arg(long)]
    pub quiet: bool,
}

/// The devices of a command.
#[derive(Debug, Clone, clap::Args)]
pub struct DeviceOptions {
    /// Device: auto (a GPU where there is one, or else the CPU), cpu, ndarray, wgpu, vulkan, metal, cuda or rocm, with an index as
    /// in cuda:1, or remote:HOST:PORT; several, which share the frames, as in cuda:0,cuda:1 or cuda:*
    #[arg(long, default_value = "auto", value_name = "DEVICE,…")]
    device: DeviceList,
}

impl DeviceOptions {
    /// Opens the devices: one at least, all of one kind.
    ///
    /// # Errors
    /// For a list that names one twice or mixes kinds, and for a device that this build or this machine lacks.
    pub fn open(&self) -> Result<Vec<OpenDevice>, DeviceListError> {
        let open = |name: DeviceName| Ok(OpenDevice { name, device: name.open()? });
        self.device.names()?.into_iter().map(open).collect()
    }

    /// The names of the open devices, and why it is this one if that was left open.
    pub fn explained(&self, devices: &[OpenDevice]) -> String {
        if self.device.is_auto() { DeviceChoice::Auto.explained() } else { names_of(devices, ", ") }
    }
}

/// The Welch estimate of a command.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct EstimateOptions {
    /// Samples per segment: a power of two from 8 to 65536 [default: 256]
    #[arg(long, value_name = "N")]
    pub n_fft: Option<usize>,
    /// Samples from one segment's start to the next, 1 or more [default: half of --n-fft]
    #[arg(long, value_name = "N")]
    pub hop: Option<usize>,
    /// Window of a segment: hann, hamming, blackman or rectangular, periodic [default: hann]
    #[arg(long)]
    pub window: Option<Window>,
    /// Scaling of power: power (|X|², unscaled), spectrum or density, as in SciPy [default: power]
    #[arg(long)]
    pub scaling: Option<ScalingName>,
    /// What is subtracted from each segment: none or constant (its mean) [default: none]
    #[arg(long)]
    pub detrend: Option<DetrendName>,
}

impl EstimateOptions {
    /// Samples per segment.
    pub fn n_fft(&self) -> usize {
        self.n_fft.unwrap_or(256)
    }

    /// Samples between the starts of segments.
    pub fn hop(&self) -> usize {
        self.hop.unwrap_or(self.n_fft() / 2)
    }

    /// Window of a segment.
    pub fn window(&self) -> Window {
        self.window.unwrap_or(Window::Hann)
    }

    /// Scaling of power.
    pub fn scaling(&self) -> ScalingName {
        self.scaling.unwrap_or_default()
    }

    /// Detrending of a segment.
    pub fn detrend(&self) -> Detrend {
        self.detrend.unwrap_or_default().0
    }

    /// Configuration of the exact estimate of a tier at a sample rate.
    pub fn config(&self, tier: Tier, k: usize, sample_rate: f64) -> WelchPeaksConfig {
        WelchPeaksConfig::new()
            .with_n_fft(self.n_fft())
            .with_hop(Some(self.hop()))
            .with_tier(tier)
            .with_k(k)
            .with_window(self.window())
            .with_symmetry(WindowSymmetry::Periodic)
            .with_scaling(self.scaling().at(sample_rate))
            .with_detrend(self.detrend())
    }

    /// The options that were given, by name.
    pub fn given(&self) -> Vec<&'static str> {
        let given = [
            (self.n_fft.is_some(), "--n-fft"),
            (self.hop.is_some(), "--hop"),
            (self.window.is_some(), "--window"),
            (self.scaling.is_some(), "--scaling"),
            (self.detrend.is_some(), "--detrend"),
        ];
        given.iter().filter(|(is_given, _)| *is_given).map(|(_, name)| *name).collect()
    }
}

impl fmt::Display for EstimateOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n_fft, hop, window) = (self.n_fft(), self.hop(), self.window());
        write!(f, "n_fft {n_fft}, hop {hop}, {window}, {} scaling, detrend {}", self.scaling(), self.detrend())
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
    /// Power spectral density.
    Density,
}

impl ScalingName {
    /// The scaling at a sample rate.
    pub fn at(self, sample_rate: f64) -> Scaling {
        match self {
            Self::Power => Scaling::Power,
            Self::Spectrum => Scaling::Spectrum,
            Self::Density => Scaling::Density { sample_rate },
        }
    }
}

impl FromStr for ScalingName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "power" => Ok(Self::Power),
            "spectrum" => Ok(Self::Spectrum),
            "density" => Ok(Self::Density),
            _ => Err(unknown("scaling", text, &["power", "spectrum", "density"])),
        }
    }
}

impl fmt::Display for ScalingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Power => "power",
            Self::Spectrum => "spectrum",
            Self::Density => "density",
        })
    }
}

/// Detrending by its name.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DetrendName(pub Detrend);

impl FromStr for DetrendName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self(Detrend::None)),
            "constant" => Ok(Self(Detrend::Constant)),
            _ => Err(unknown("detrending", text, &["none", "constant"])),
        }
    }
}

/// Part of the work: shard `index` of `count`, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Number of the shard, from 1 to `count`.
    pub index: u64,
    /// Number of shards.
    pub count: u64,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match parsed {
            Some((index, count)) if (1..=count).contains(&index) => Ok(Self { index, count }),
            _ => Err(format!("`{text}` is not a shard: I/N with I from 1 to N, as in 1/4")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// Least and greatest sample rate, in hertz.
pub const RATES: [f64; 2] = [1e-6, 1e12];

fn rate(text: &str) -> Result<f64, String> {
    let [least, most] = RATES;
    match text.parse() {
        Ok(rate) if (least..=most).contains(&rate) => Ok(rate),
        _ => Err(format!("`{text}` is not a sample rate: a number from 0.000001 to 1e12")),
    }
}

fn unknown(kind: &str, text: &str, names: &[&str]) -> String {
    let hint = firefly_app::suggest::hint(text, names.iter().copied());
    format!("unknown {kind} `{text}`{hint}; accepted: {}", names.join(", "))
}
