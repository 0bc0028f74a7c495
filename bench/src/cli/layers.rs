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
use crate::suites::layers::{LayerKind, LayerProblem, LogMelShape, LongConvShape, SpectralConvShape};

/// Options of `layers`.
#[derive(Debug, Clone, clap::Args)]
pub struct LayersArgs {
    /// Layers
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "spectral-conv,long-conv,log-mel")]
    #[arg(value_parser = named(LayerKind::NAMED))]
    pub layer: Vec<LayerKind>,
    /// Items per call, from 1; inputs take at most 8 GiB
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "8", allow_negative_numbers = true)]
    pub batch: Vec<NumberRange>,
    /// Channels of the convolutions, from 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "64", allow_negative_numbers = true)]
    pub channels: Vec<NumberRange>,
    /// Points of the convolutions, or of each dimension as in 64x64; long convolutions have one
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1024,64x64")]
    pub n: Vec<Shapes>,
    /// Modes of spectral convolutions from 0 on, at most all; along all dimensions but the last as many negative ones
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "16", allow_negative_numbers = true)]
    pub modes: Vec<NumberRange>,
    /// Multiply the result of long convolutions by a second input
    #[arg(long)]
    pub gated: bool,
    /// Samples of the signals of mel spectra, at 16 kHz
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "160000", allow_negative_numbers = true)]
    pub samples: Vec<NumberRange>,
    /// Samples of a frame of mel spectra, from 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "400", allow_negative_numbers = true)]
    pub n_fft: Vec<NumberRange>,
    /// Samples from one frame of mel spectra to the next, from 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "160", allow_negative_numbers = true)]
    pub hop: Vec<NumberRange>,
    /// Bands of mel spectra, from 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "80", allow_negative_numbers = true)]
    pub mels: Vec<NumberRange>,
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
        let convolutions = has(LayerKind::SpectralConv) || has(LayerKind::LongConv);
        let of = |has: bool, list: &[NumberRange]| has.then(|| numbers(list));
        ParameterMap::default()
            .with("layer", layers)
            .with("batch", numbers(&self.batch))
            .with("channels", of(convolutions, &self.channels))
            .with("n", convolutions.then_some(shapes))
            .with("modes", of(has(LayerKind::SpectralConv), &self.modes))
            .with("gated", self.gated)
            .with("samples", of(has(LayerKind::LogMel), &self.samples))
            .with("n_fft", of(has(LayerKind::LogMel), &self.n_fft))
            .with("hop", of(has(LayerKind::LogMel), &self.hop))
            .with("mels", of(has(LayerKind::LogMel), &self.mels))
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
        let mut problems = Vec::new();
        for channels in numbers(&self.channels) {
            for shape in shapes.iter().filter(|shape| shape.dims().len() == 1) {
                let layer = LongConvShape { channels, n: shape.last(), gated: self.gated };
                problems.push(LayerProblem::LongConv(batch, layer));
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
