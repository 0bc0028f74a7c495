//! Problems of the suite of layers.

use firefly_ops::{MelBands, MelOptions, StftOptions, WelchOptions};

use crate::suites::fft::FftShape;

/// Kinds of layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerKind {
    /// Transform, product with complex weights at few modes, inverse transform.
    SpectralConv,
    /// Causal convolution with a kernel as long as the signal.
    LongConv,
    /// Frames, window, power, mel bands, logarithm.
    LogMel,
    /// Window, power of a whole row.
    PowerSpectrum,
    /// Segments, window, mean power.
    WelchPsd,
    /// The largest values of a row.
    TopK,
}

impl LayerKind {
    /// Every kind, by the name that users type.
    pub const NAMED: [(&str, Self); 6] = [
        ("spectral-conv", Self::SpectralConv),
        ("long-conv", Self::LongConv),
        ("log-mel", Self::LogMel),
        ("power-spectrum", Self::PowerSpectrum),
        ("welch-psd", Self::WelchPsd),
        ("top-k", Self::TopK),
    ];
}

/// A spectral convolution: as many output channels as input channels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpectralConvShape {
    /// Channels in and out.
    pub channels: usize,
    /// Points along each dimension.
    pub shape: FftShape,
    /// Modes from 0 on along every dimension; along all but the last as many negative ones.
    pub modes: usize,
}

impl SpectralConvShape {
    /// Modes that are kept along each dimension.
    pub fn kept(&self) -> Vec<usize> {
        let dims = self.shape.dims();
        let kept = |(at, &n): (usize, &usize)| {
            if at + 1 == dims.len() { self.modes.min(n / 2 + 1) } else { (2 * self.modes).min(n) }
        };
        dims.iter().enumerate().map(kept).collect()
    }
}

/// A causal convolution with kernels as long as the signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongConvShape {
    /// Channels, each with a kernel.
    pub channels: usize,
    /// Samples of a row.
    pub n: usize,
    /// Whether the result is multiplied by a second input.
    pub gated: bool,
}

/// Logarithmic mel spectra of signals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogMelShape {
    /// Samples of a signal.
    pub samples: usize,
    /// Samples of a frame.
    pub n_fft: usize,
    /// Samples from one frame to the next.
    pub hop: usize,
    /// Mel bands.
    pub mels: usize,
}

impl LogMelShape {
    /// Sample rate in hertz.
    const SAMPLE_RATE: f64 = 16_000.0;

    /// Options of the operation.
    pub fn options(&self) -> MelOptions {
        MelOptions::new(StftOptions::new(self.n_fft).with_hop(self.hop), MelBands::new(Self::SAMPLE_RATE, self.mels))
    }
}

/// Power spectra of whole rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PowerSpectrumShape {
    /// Channels of an item: rows.
    pub channels: usize,
    /// Samples of a row.
    pub n: usize,
}

/// Mean power spectra of all segments of signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WelchPsdShape {
    /// Samples of a signal.
    pub samples: usize,
    /// Samples of a segment.
    pub n_fft: usize,
    /// Samples from one segment to the next.
    pub hop: usize,
}

impl WelchPsdShape {
    /// Options of the operation: as many segments as the signal has.
    pub fn options(&self) -> WelchOptions {
        let segments = 1 + self.samples.saturating_sub(self.n_fft) / self.hop;
        WelchOptions::new(self.n_fft, segments).with_hop(self.hop)
    }
}

/// The largest values of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopKShape {
    /// Channels of an item: rows.
    pub channels: usize,
    /// Values of a row.
    pub n: usize,
    /// Values that are selected.
    pub k: usize,
}

/// A layer, and its size.
#[derive(Debug, Clone, PartialEq)]
pub enum LayerProblem {
    /// Input `[batch, channels, n…]`.
    SpectralConv(usize, SpectralConvShape),
    /// Signal `[batch, channels, n]`.
    LongConv(usize, LongConvShape),
    /// Signal `[batch, samples]`.
    LogMel(usize, LogMelShape),
    /// Signal `[batch, channels, n]`.
    PowerSpectrum(usize, PowerSpectrumShape),
    /// Signal `[batch, samples]`.
    WelchPsd(usize, WelchPsdShape),
    /// Values `[batch, channels, n]`.
    TopK(usize, TopKShape),
}

impl LayerProblem {
    /// Items of the batch.
    pub const fn batch(&self) -> usize {
        match self {
            Self::SpectralConv(batch, _)
            | Self::LongConv(batch, _)
            | Self::LogMel(batch, _)
            | Self::PowerSpectrum(batch, _)
            | Self::WelchPsd(batch, _)
            | Self::TopK(batch, _) => *batch,
        }
    }

    /// Shapes of the inputs: what differs from set to set first, then the parameters, which do not.
    pub fn shapes(&self) -> Vec<Vec<usize>> {
        match self {
            Self::SpectralConv(batch, layer) => {
                let [input, weights] = [layer.shape.dims().to_vec(), layer.kept()].map(|rest| {
                    move |first: usize| {
                        [first, layer.channels].into_iter().chain(rest.iter().copied()).collect::<Vec<_>>()
                    }
                });
                vec![input(*batch), weights(layer.channels), weights(layer.channels)]
            }
            Self::LongConv(batch, layer) => {
                let (signal, kernel) = (vec![*batch, layer.channels, layer.n], vec![layer.channels, layer.n]);
                if layer.gated { vec![signal.clone(), kernel, signal] } else { vec![signal, kernel] }
            }
            Self::LogMel(batch, layer) => vec![vec![*batch, layer.samples], vec![layer.n_fft]],
            Self::PowerSpectrum(batch, layer) => vec![vec![*batch, layer.channels, layer.n], vec![layer.n]],
            Self::WelchPsd(batch, layer) => vec![vec![*batch, layer.samples], vec![layer.n_fft]],
            Self::TopK(batch, layer) => vec![vec![*batch, layer.channels, layer.n]],
        }
    }

    /// Points of the layer's transforms; 1 where it has none.
    pub fn points(&self) -> usize {
        match self {
            Self::SpectralConv(_, layer) => layer.shape.points(),
            Self::LongConv(_, layer) => 2 * layer.n,
            Self::LogMel(_, layer) => layer.n_fft,
            Self::PowerSpectrum(_, layer) => layer.n,
            Self::WelchPsd(_, layer) => layer.n_fft,
            Self::TopK(..) => 1,
        }
    }

    /// Values of the result.
    pub fn output_len(&self) -> usize {
        match self {
            Self::SpectralConv(batch, layer) => batch * layer.channels * layer.shape.points(),
            Self::LongConv(batch, layer) => batch * layer.channels * layer.n,
            Self::LogMel(batch, layer) => batch * layer.mels * layer.options().stft.frames(layer.samples),
            Self::PowerSpectrum(batch, layer) => batch * layer.channels * (layer.n / 2 + 1),
            Self::WelchPsd(batch, layer) => batch * layer.options().bins(),
            Self::TopK(batch, layer) => batch * layer.channels * layer.k,
        }
    }

    /// Bytes of all inputs.
    pub fn input_bytes(&self) -> usize {
        self.shapes().iter().map(|shape| shape.iter().product::<usize>() * size_of::<f32>()).sum()
    }
}
