//! `firefly-bench layers`: layers of spectral models, fused and from separate operations.

use std::io::Write;

use super::ExitStatus;
use super::comparison::Comparison;
use super::options::MeasureOptions;
use super::problem_options::named;
use crate::harness::{NumberRange, ParameterMap, distinct, numbers};
use crate::suites::fft::{FftShape, Shapes};
use crate::suites::layers::{LayerKind, LayerProblem, catalogue};

/// Options of `layers`.
#[derive(Debug, Clone, clap::Args)]
pub struct LayersArgs {
    /// Layers
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = named(LayerKind::NAMED))]
    #[arg(default_value = "spectral-conv,long-conv,log-mel,power-spectrum,welch-psd,top-k")]
    pub layer: Vec<LayerKind>,
    /// Items per call, from 1; inputs take at most 8 GiB
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "8")]
    pub batch: Vec<NumberRange>,
    /// Channels of convolutions, and rows per item of power spectra and top-k, from 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "64")]
    pub channels: Vec<NumberRange>,
    /// Points of convolutions, power spectra and top-k; of each dimension, as in 64x64, for spectral convolutions alone
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1024,64x64")]
    pub n: Vec<Shapes>,
    /// Modes of spectral convolutions from 0 on, at most all; along all dimensions but the last as many negative ones
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "16")]
    pub modes: Vec<NumberRange>,
    /// Multiply the result of long convolutions by a second input
    #[arg(long)]
    pub gated: bool,
    /// Samples of the signals of mel spectra, at 16 kHz, and of Welch spectra
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "160000")]
    pub samples: Vec<NumberRange>,
    /// Samples of a frame of mel spectra, or of a segment of Welch spectra, from 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "400")]
    pub n_fft: Vec<NumberRange>,
    /// Samples from one frame or segment to the next, from 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "160")]
    pub hop: Vec<NumberRange>,
    /// Bands of mel spectra, from 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "80")]
    pub mels: Vec<NumberRange>,
    /// Values that top-k selects, from 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "16")]
    pub k: Vec<NumberRange>,
    #[command(flatten)]
    pub measure: MeasureOptions,
}

/// Runs the layers that `arguments` describe, and prints the table to `out`.
pub fn run(arguments: &LayersArgs, out: &mut dyn Write) -> anyhow::Result<ExitStatus> {
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
        catalogue: &catalogue(),
        added: Vec::new(),
        default_baseline: "separate",
    };
    Ok(ExitStatus::of(&comparison.run(&arguments.measure, out)?))
}

/// Sets a size of a layer.
type SetSize = fn(&mut LayerProblem, usize);

impl LayersArgs {
    /// The lists of numbers by the names of their options, and the sizes that they are of.
    fn lists(&self) -> [(&'static str, Vec<usize>, SetSize); 7] {
        [
            ("channels", numbers(&self.channels), |problem, number| problem.channels = number),
            ("samples", numbers(&self.samples), |problem, number| problem.samples = number),
            ("n_fft", numbers(&self.n_fft), |problem, number| problem.n_fft = number),
            ("hop", numbers(&self.hop), |problem, number| problem.hop = number),
            ("mels", numbers(&self.mels), |problem, number| problem.mels = number),
            ("modes", numbers(&self.modes), |problem, number| problem.modes = number),
            ("k", numbers(&self.k), |problem, number| problem.k = number),
        ]
    }

    /// The options that the layers have, by their names.
    fn options(&self) -> ParameterMap {
        let has = |option: &str| self.layer.iter().any(|kind| kind.sizes().contains(&option));
        let kinds = LayerKind::NAMED.into_iter().filter(|(_, kind)| self.layer.contains(kind));
        let shapes: Vec<_> = Shapes::of(&self.n).iter().map(ToString::to_string).collect();
        let options = ParameterMap::default()
            .with("layer", kinds.map(|(name, _)| name).collect::<Vec<_>>())
            .with("batch", numbers(&self.batch))
            .with("n", has("n").then_some(shapes))
            .with("gated", self.gated);
        self.lists().into_iter().fold(options, |all, (name, list, _)| all.with(name, has(name).then_some(list)))
    }

    /// Every combination of the options that a layer has.
    fn problems(&self) -> Vec<LayerProblem> {
        distinct(self.layer.iter().copied()).into_iter().flat_map(|kind| self.problems_of(kind)).collect()
    }

    fn problems_of(&self, kind: LayerKind) -> Vec<LayerProblem> {
        let layer = LayerProblem { gated: self.gated, ..LayerProblem::new(kind, 1) };
        let mut problems = each(&[layer], &numbers(&self.batch), |problem, batch| problem.batch = *batch);
        if kind.sizes().contains(&"n") {
            // Layers along one dimension leave out shapes of several.
            let fits = |shape: &FftShape| kind == LayerKind::SpectralConv || shape.dims().len() == 1;
            let shapes: Vec<FftShape> = Shapes::of(&self.n).into_iter().filter(fits).collect();
            problems = each(&problems, &shapes, |problem, shape| problem.shape = shape.clone());
        }
        for (_, list, set) in self.lists().into_iter().filter(|(name, ..)| kind.sizes().contains(name)) {
            problems = each(&problems, &list, |problem, number| set(problem, *number));
        }
        problems
    }
}

/// Every problem with each of the values.
fn each<T>(problems: &[LayerProblem], values: &[T], set: impl Fn(&mut LayerProblem, &T)) -> Vec<LayerProblem> {
    let with = |problem: &LayerProblem, value: &T| {
        let mut problem = problem.clone();
        set(&mut problem, value);
        problem
    };
    problems
        .iter()
        .flat_map(|problem| values.iter().map(move |value| (problem, value)))
        .map(|(p, v)| with(p, v))
        .collect()
}
