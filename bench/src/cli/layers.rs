//! `firefly-bench layers`: layers of spectral models, fused and from separate operations.

use std::io::Write;

use super::ExitStatus;
use super::comparison::Comparison;
use super::options::MeasureOptions;
use super::values::named;
use crate::harness::number_list::{NumberRange, distinct, numbers};
use crate::harness::parameters::ParameterMap;
use crate::harness::strategy::BenchStrategy;
use crate::suites::fft::{FftShape, Shapes};
use crate::suites::layers::{
    LayerKind, LayerProblem, LogMelShape, LongConvShape, PowerSpectrumShape, SpectralConvShape, TopKShape,
    WelchPsdShape,
};

/// Options of `layers`.
#[derive(Debug, Clone, clap::Args)]
pub struct LayersArgs {
    /// Layers
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = named(LayerKind::NAMED))]
    #[arg(default_value = "spectral-conv,long-conv,log-mel,power-spectrum,welch-psd,top-k")]
    pub layer: Vec<LayerKind>,
    /// Items per call, from 1; inputs take at most 8 GiB
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "8", allow_negative_numbers = true)]
    pub batch: Vec<NumberRange>,
    /// Channels of convolutions, and rows per item of power spectra and top-k, from 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "64", allow_negative_numbers = true)]
    pub channels: Vec<NumberRange>,
    /// Points of convolutions, power spectra and top-k; of each dimension, as in 64x64, for spectral convolutions alone
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1024,64x64")]
    pub n: Vec<Shapes>,
    /// Modes of spectral convolutions from 0 on, at most all; along all dimensions but the last as many negative ones
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "16", allow_negative_numbers = true)]
    pub modes: Vec<NumberRange>,
    /// Multiply the result of long convolutions by a second input
    #[arg(long)]
    pub gated: bool,
    /// Samples of the signals of mel spectra, at 16 kHz, and of Welch spectra
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "160000", allow_negative_numbers = true)]
    pub samples: Vec<NumberRange>,
    /// Samples of a frame of mel spectra, or of a segment of Welch spectra, from 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "400", allow_negative_numbers = true)]
    pub n_fft: Vec<NumberRange>,
    /// Samples from one frame or segment to the next, from 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "160", allow_negative_numbers = true)]
    pub hop: Vec<NumberRange>,
    /// Bands of mel spectra, from 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "80", allow_negative_numbers = true)]
    pub mels: Vec<NumberRange>,
    /// Values that top-k selects, from 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "16", allow_negative_numbers = true)]
    pub k: Vec<NumberRange>,
    /// Device, execution and iterations
    #[command(flatten)]
    pub measure: MeasureOptions,
}

/// Runs the layers that `arguments` describe over strategies of `catalogue`, and prints the table to `out`.
///
/// # Errors
/// For arguments out of range, a device that is not there, and output that can't be written. A case that fails is a row
/// of the table and an [`ExitStatus`].
pub fn run(
    arguments: &LayersArgs,
    catalogue: &[BenchStrategy<LayerProblem>],
    out: &mut dyn Write,
) -> anyhow::Result<ExitStatus> {
    let problems = arguments.problems();
    let comparison = Comparison {
        command: "layers",
        heading: vec![
            "GB/s: every input read once and the result written once; error: of a value, of its tensor's largest \
             magnitude"
                .into(),
        ],
        facts: ParameterMap::default().with("values", "f32"),
        options: arguments.options(),
        columns: &["layer", "batch", "shape", "modes"],
        problems,
        catalogue,
        added: Vec::new(),
        default_baseline: "separate",
    };
    Ok(ExitStatus::of(&comparison.run(&arguments.measure, out)?))
}

impl LayersArgs {
    /// The options that the layers have, by their names.
    fn options(&self) -> ParameterMap {
        let has = |kind| self.layer.contains(&kind);
        let layers: Vec<_> =
            LayerKind::NAMED.into_iter().filter(|(_, kind)| has(*kind)).map(|(name, _)| name).collect();
        let shapes: Vec<_> = Shapes::of(&self.n).iter().map(ToString::to_string).collect();
        let any = |kinds: &[LayerKind]| kinds.iter().any(|kind| has(*kind));
        let rows = any(&[LayerKind::SpectralConv, LayerKind::LongConv, LayerKind::PowerSpectrum, LayerKind::TopK]);
        let signals = any(&[LayerKind::LogMel, LayerKind::WelchPsd]);
        let of = |has: bool, list: &[NumberRange]| has.then(|| numbers(list));
        ParameterMap::default()
            .with("layer", layers)
            .with("batch", numbers(&self.batch))
            .with("channels", of(rows, &self.channels))
            .with("n", rows.then_some(shapes))
            .with("modes", of(has(LayerKind::SpectralConv), &self.modes))
            .with("gated", self.gated)
            .with("samples", of(signals, &self.samples))
            .with("n_fft", of(signals, &self.n_fft))
            .with("hop", of(signals, &self.hop))
            .with("mels", of(has(LayerKind::LogMel), &self.mels))
            .with("k", of(has(LayerKind::TopK), &self.k))
    }

    /// Every combination of the options that a layer has.
    fn problems(&self) -> Vec<LayerProblem> {
        let shapes = Shapes::of(&self.n);
        let mut problems = Vec::new();
        for kind in distinct(self.layer.iter().copied()) {
            for batch in numbers(&self.batch) {
                match kind {
                    LayerKind::SpectralConv => problems.extend(self.spectral_convs(batch, &shapes)),
                    LayerKind::LongConv => problems.extend(self.long_convs(batch, &shapes)),
                    LayerKind::LogMel => problems.extend(self.log_mels(batch)),
                    LayerKind::PowerSpectrum => problems.extend(self.power_spectra(batch, &shapes)),
                    LayerKind::WelchPsd => problems.extend(self.welch_psds(batch)),
                    LayerKind::TopK => problems.extend(self.top_ks(batch, &shapes)),
                }
            }
        }
        problems
    }

    fn spectral_convs(&self, batch: usize, shapes: &[FftShape]) -> Vec<LayerProblem> {
        let mut problems = Vec::new();
        for channels in numbers(&self.channels) {
            for shape in shapes {
                for modes in numbers(&self.modes) {
                    let layer = SpectralConvShape { channels, shape: shape.clone(), modes };
                    problems.push(LayerProblem::SpectralConv(batch, layer));
                }
            }
        }
        problems
    }

    fn long_convs(&self, batch: usize, shapes: &[FftShape]) -> Vec<LayerProblem> {
        let layer = |(channels, n)| LayerProblem::LongConv(batch, LongConvShape { channels, n, gated: self.gated });
        self.rows(shapes).into_iter().map(layer).collect()
    }

    /// Channels of an item, and points of a row, of layers along one dimension.
    fn rows(&self, shapes: &[FftShape]) -> Vec<(usize, usize)> {
        let lengths: Vec<usize> = shapes.iter().filter(|shape| shape.dims().len() == 1).map(FftShape::last).collect();
        let channels = numbers(&self.channels);
        channels.into_iter().flat_map(|channels| lengths.iter().map(move |&n| (channels, n))).collect()
    }

    fn power_spectra(&self, batch: usize, shapes: &[FftShape]) -> Vec<LayerProblem> {
        let layer = |(channels, n)| LayerProblem::PowerSpectrum(batch, PowerSpectrumShape { channels, n });
        self.rows(shapes).into_iter().map(layer).collect()
    }

    fn top_ks(&self, batch: usize, shapes: &[FftShape]) -> Vec<LayerProblem> {
        let mut problems = Vec::new();
        for (channels, n) in self.rows(shapes) {
            for k in numbers(&self.k) {
                problems.push(LayerProblem::TopK(batch, TopKShape { channels, n, k }));
            }
        }
        problems
    }

    fn welch_psds(&self, batch: usize) -> Vec<LayerProblem> {
        let mut problems = Vec::new();
        for samples in numbers(&self.samples) {
            for n_fft in numbers(&self.n_fft) {
                for hop in numbers(&self.hop) {
                    problems.push(LayerProblem::WelchPsd(batch, WelchPsdShape { samples, n_fft, hop }));
                }
            }
        }
        problems
    }

    fn log_mels(&self, batch: usize) -> Vec<LayerProblem> {
        let mut problems = Vec::new();
        for samples in numbers(&self.samples) {
            for n_fft in numbers(&self.n_fft) {
                for hop in numbers(&self.hop) {
                    for mels in numbers(&self.mels) {
                        problems.push(LayerProblem::LogMel(batch, LogMelShape { samples, n_fft, hop, mels }));
                    }
                }
            }
        }
        problems
    }
}
