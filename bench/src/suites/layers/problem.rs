//! Problems of the suite of layers.

use clap::ValueEnum;
use firefly_ops::fft::next_fast_len;
use firefly_ops::options::MelBands;
use firefly_ops::{MelOptions, StftOptions, WelchOptions};

use crate::harness::{CaseError, Fill, MAX_BYTES, ParameterMap, Problem, ProblemSpec, TensorSpec, value_name};
use crate::suites::fft::FftShape;

pub const MAX_MELS: usize = 4096;
pub const SAMPLE_RATE: f64 = 16_000.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LayerKind {
    // Transform, product with complex weights at few modes, inverse transform; as many output channels as input
    // channels.
    SpectralConv,
    // Causal convolution with a kernel as long as the signal.
    LongConv,
    // Frames, window, power, mel bands, logarithm.
    LogMel,
    // Window, power of a whole row.
    PowerSpectrum,
    // All segments, window, mean power.
    WelchPsd,
    TopK,
}

impl LayerKind {
    /// Names of the options with its sizes: an input has channels of a shape, `[batch, channels, n…]`, or else it is
    /// signals `[batch, samples]`, of which frames are taken.
    pub const fn sizes(self) -> &'static [&'static str] {
        match self {
            Self::SpectralConv => &["channels", "n", "modes"],
            Self::LongConv | Self::PowerSpectrum => &["channels", "n"],
            Self::LogMel => &["samples", "n_fft", "hop", "mels"],
            Self::WelchPsd => &["samples", "n_fft", "hop"],
            Self::TopK => &["channels", "n", "k"],
        }
    }
}

/// A layer, and its size. Sizes that its kind doesn't have are 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerProblem {
    pub kind: LayerKind,
    pub batch: usize,
    /// Channels: in and out, with a kernel each, or rows of an item.
    pub channels: usize,
    pub shape: FftShape,
    /// Modes from 0 on along every dimension; along all but the last as many negative ones.
    pub modes: usize,
    /// Whether the result of a long convolution is multiplied by a second input.
    pub gated: bool,
    pub samples: usize,
    pub n_fft: usize,
    /// Samples from one frame or segment to the next.
    pub hop: usize,
    pub mels: usize,
    pub k: usize,
}

impl LayerProblem {
    pub fn new(kind: LayerKind, batch: usize) -> Self {
        let shape = FftShape::row(1);
        let [channels, modes, samples, n_fft, hop, mels, k] = [1; 7];
        Self { kind, batch, channels, shape, modes, gated: false, samples, n_fft, hop, mels, k }
    }

    pub fn n(&self) -> usize {
        self.shape.points()
    }

    /// Modes that a spectral convolution keeps along each dimension.
    pub fn kept(&self) -> Vec<usize> {
        let dims = self.shape.dims();
        let kept = |(at, &n): (usize, &usize)| {
            if at + 1 == dims.len() { self.modes.min(n / 2 + 1) } else { (2 * self.modes).min(n) }
        };
        dims.iter().enumerate().map(kept).collect()
    }

    pub fn mel_options(&self) -> MelOptions {
        MelOptions::new(StftOptions::new(self.n_fft).with_hop(self.hop), MelBands::new(SAMPLE_RATE, self.mels))
    }

    /// Options of Welch spectra: as many segments as the signal has.
    pub fn welch_options(&self) -> WelchOptions {
        let segments = 1 + self.samples.saturating_sub(self.n_fft) / self.hop;
        WelchOptions::new(self.n_fft, segments).with_hop(self.hop)
    }

    /// Points of the layer's transforms; 1 where it has none.
    pub fn points(&self) -> usize {
        match self.kind {
            LayerKind::SpectralConv | LayerKind::PowerSpectrum => self.n(),
            LayerKind::LongConv => next_fast_len(2 * self.n() - 1),
            LayerKind::LogMel | LayerKind::WelchPsd => self.n_fft,
            LayerKind::TopK => 1,
        }
    }

    /// Values of the result of an item's row.
    fn output_row(&self) -> usize {
        match self.kind {
            LayerKind::SpectralConv | LayerKind::LongConv => self.n(),
            LayerKind::LogMel => self.mels.saturating_mul(self.mel_options().stft.frames(self.samples)),
            LayerKind::PowerSpectrum => self.n() / 2 + 1,
            LayerKind::WelchPsd => self.welch_options().bins(),
            LayerKind::TopK => self.k,
        }
    }

    /// The reason why no strategy could compute the result, if there is one.
    fn refused(&self, bytes: usize) -> Option<CaseError> {
        let Self { kind, batch, samples, n_fft, mels, k, .. } = self;
        let (parameter, got, expected) = match kind {
            _ if bytes > MAX_BYTES => {
                let most = batch / bytes.div_ceil(MAX_BYTES);
                ("batch", batch, format!("at most about {most}, for inputs and results of 8 GiB"))
            }
            LayerKind::LogMel if *mels > MAX_MELS => ("mels", mels, format!("at most {MAX_MELS}")),
            LayerKind::WelchPsd if samples < n_fft => {
                ("samples", samples, format!("at least the {n_fft} of a segment"))
            }
            LayerKind::LogMel if *samples <= n_fft / 2 => {
                ("samples", samples, format!("more than half the {n_fft} of a frame"))
            }
            LayerKind::TopK if *k > self.n() => ("k", k, format!("at most the {} values of a row", self.n())),
            _ => return None,
        };
        Some(CaseError::out_of_range(parameter, *got, expected))
    }
}

impl Problem for LayerProblem {
    fn spec(&self) -> ProblemSpec {
        let Self { batch, channels, shape, samples, n_fft, hop, mels, k, .. } = self;
        let size = match self.kind {
            LayerKind::LongConv if self.gated => format!("{channels} channels, {shape}, gated"),
            LayerKind::SpectralConv | LayerKind::LongConv | LayerKind::PowerSpectrum => {
                format!("{channels} channels, {shape}")
            }
            LayerKind::LogMel => format!("{samples} samples, n_fft {n_fft}, hop {hop}, {mels} mels"),
            LayerKind::WelchPsd => format!("{samples} samples, n_fft {n_fft}, hop {hop}"),
            LayerKind::TopK => format!("{channels} channels, {shape}, k {k}"),
        };
        let layer = value_name(&self.kind);
        let mut parameters = ParameterMap::default().with("layer", layer).with("batch", *batch).with("shape", size);
        if self.kind == LayerKind::SpectralConv {
            let modes: Vec<String> = self.kept().iter().map(usize::to_string).collect();
            parameters = parameters.with("modes", modes.join("x"));
        }
        let signal = if self.kind.sizes().contains(&"n") {
            [&[*batch, *channels], shape.dims()].concat()
        } else {
            vec![*batch, *samples]
        };
        let shared = match self.kind {
            LayerKind::SpectralConv => vec![[vec![*channels; 2], self.kept()].concat(); 2],
            LayerKind::LongConv if self.gated => vec![vec![*channels, self.n()], signal.clone()],
            LayerKind::LongConv => vec![vec![*channels, self.n()]],
            LayerKind::LogMel | LayerKind::WelchPsd => vec![vec![*n_fft]],
            LayerKind::PowerSpectrum => vec![vec![self.n()]],
            LayerKind::TopK => Vec::new(),
        };
        let fill = if self.kind == LayerKind::TopK { Fill::Ranks } else { Fill::Noise };
        let shared = shared.into_iter().map(TensorSpec::shared);
        let inputs = [TensorSpec::new(signal, fill)].into_iter().chain(shared).collect();
        let result = batch.saturating_mul(*channels).saturating_mul(self.output_row()).saturating_mul(size_of::<f32>());
        let spec = ProblemSpec::new(parameters, *batch, inputs, result);
        // Inputs are large, and the results of all sets are compared.
        ProblemSpec { max_sets: 2, refused: self.refused(spec.input_bytes().max(result)), ..spec }
    }
}
