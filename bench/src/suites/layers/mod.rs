//! `firefly-bench layers`: layers of spectral models, each as one of Firefly's fused operations and from separate
//! operations, forward and backward.

mod formulations;

use std::io::Write;
use std::sync::OnceLock;

use anyhow::Result;
use burn::tensor::Device;
use clap::ValueEnum;
use firefly_app::device::DeviceName;
use firefly_ops::fft::next_fast_len;
use firefly_ops::options::MelBands;
use firefly_ops::{MelOptions, StftOptions, WelchOptions};

use self::formulations::Formulation;
pub use self::formulations::mel_definition;
use super::comparison::{Comparison, MeasureOptions};
use super::fft::{FftShape, Shapes};
use super::operation::{Function, Operation, Pass, calls};
use crate::baselines::copy;
use crate::harness::{
    BY_DEVICE_CLOCK, BenchStrategy, Calls, CaseError, CaseRecord, CaseResult, Expectation, Fill, Inputs, MAX_BYTES,
    NumberRange, ParameterMap, Problem, ProblemSpec, QUEUED, TensorSpec, distinct, gradients, numbers, read_wide,
    tolerance, value_name, whole_tensors, with_values,
};

#[derive(Debug, Clone, clap::Args)]
pub struct LayersArgs {
    /// Layers
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
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

pub fn run(arguments: &LayersArgs, out: &mut dyn Write) -> Result<Vec<CaseRecord>> {
    let layers = distinct(arguments.layer.iter().copied());
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
        problems: layers.into_iter().flat_map(|kind| arguments.problems_of(kind)).collect(),
        catalogue: &catalogue(),
        default_baseline: "separate",
    };
    comparison.run(&arguments.measure, out)
}

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

    fn options(&self) -> ParameterMap {
        let has = |option: &str| self.layer.iter().any(|kind| kind.sizes().contains(&option));
        let kinds = LayerKind::value_variants().iter().filter(|kind| self.layer.contains(kind));
        let shapes: Vec<_> = Shapes::of(&self.n).iter().map(ToString::to_string).collect();
        let options = ParameterMap::default()
            .with("layer", kinds.map(value_name).collect::<Vec<_>>())
            .with("batch", numbers(&self.batch))
            .with("n", has("n").then_some(shapes))
            .with("gated", self.gated);
        self.lists().into_iter().fold(options, |all, (name, list, _)| all.with(name, has(name).then_some(list)))
    }

    /// Every combination of the options that a layer has.
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

fn each<T>(problems: &[LayerProblem], values: &[T], set: impl Fn(&mut LayerProblem, &T)) -> Vec<LayerProblem> {
    let with = |problem: &LayerProblem, value: &T| {
        let mut problem = problem.clone();
        set(&mut problem, value);
        problem
    };
    let of_problem = |problem| values.iter().map(move |value| (problem, value));
    problems.iter().flat_map(of_problem).map(|(problem, value)| with(problem, value)).collect()
}

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

    fn allowed(&self, form: Formulation, inputs: &Inputs) -> f64 {
        let is_rounded = form == Formulation::Separate && !DeviceName::of(inputs.device()).kind().is_host();
        if is_rounded { TF32_TOLERANCE } else { TOLERANCES * tolerance(self.points()) }
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

/// Results are sums of transforms, and gradients sums over the batch: they may be off by this many times the tolerance
/// of a transform, relative to the largest value of their tensor.
const TOLERANCES: f64 = 8.0;

/// Error allowed of separate operations on an accelerator: matrix products of Burn may round their factors to TF32,
/// which has ten bits of fraction.
const TF32_TOLERANCE: f64 = 1e-3;

/// Memory of separate operations and of their reference in float64, in input sets with their results.
const SEPARATE: usize = 48;

pub fn catalogue() -> Vec<BenchStrategy<LayerProblem>> {
    use Formulation::{Fused, Separate};
    use Pass::{Backward, Forward};
    let separate = "the same from Firefly's transforms and Burn's operations";
    let backward = "as firefly, then the gradients in all inputs of a weighted sum";
    let separate_backward = "the same gradients of separate operations";
    let of = |name, summary, form, pass, kind| calls(name, summary, form, pass, kind).with_temporaries(SEPARATE);
    vec![
        of("firefly", "one operation on the device", Fused, Forward, Calls::One),
        of("firefly-queued", QUEUED, Fused, Forward, Calls::InFlight),
        of("firefly-kernels", BY_DEVICE_CLOCK, Fused, Forward, Calls::ByDeviceClock),
        of("separate", separate, Separate, Forward, Calls::One),
        of("firefly-backward", backward, Fused, Backward, Calls::One),
        of("backward-queued", QUEUED, Fused, Backward, Calls::InFlight),
        of("backward-kernels", BY_DEVICE_CLOCK, Fused, Backward, Calls::ByDeviceClock),
        of("separate-backward", separate_backward, Separate, Backward, Calls::One),
        copy::strategy(),
    ]
}

impl Operation for LayerProblem {
    type Form = Formulation;

    fn function(&self, form: Formulation) -> Function {
        let (problem, factors) = (self.clone(), OnceLock::new());
        Box::new(move |operands| Ok(vec![problem.apply(form, &factors, operands)?]))
    }

    /// By the definition, or from separate operations on the host in float64, which are checked against it: they have
    /// gradients, and take less time than long sums.
    fn expected(&self, form: Formulation, inputs: &Inputs) -> CaseResult<Expectation> {
        let function = self.function(Formulation::Separate);
        let whole = || {
            let of_set = |set| match self.defined(inputs, set) {
                Some(values) => Ok(whole_tensors(set, vec![values])),
                None => Ok(whole_tensors(set, read_wide(function(inputs.wide_operands(set))?)?)),
            };
            let sets = (0..inputs.count()).map(of_set).collect::<Result<Vec<_>>>()?;
            Ok::<_, anyhow::Error>(sets.into_iter().flatten().collect())
        };
        Ok(Expectation::of_tensors(inputs.expected_values("result", whole)?, self.batch, self.allowed(form, inputs)))
    }

    fn expected_gradients(&self, form: Formulation, weights: &[Vec<f32>], inputs: &Inputs) -> CaseResult<Expectation> {
        let whole = || {
            let operands = inputs.wide_operands(0);
            let results = self.function(Formulation::Separate)(operands.clone())?;
            self.check_separate(&read_wide(results.clone())?.concat(), inputs)?;
            let weights = results.iter().zip(weights).map(|(like, values)| with_values(like, values, &Device::flex()));
            let weights = weights.collect::<Vec<_>>();
            let gradients = gradients(operands, &weights, self.function(Formulation::Separate))?;
            Ok::<_, anyhow::Error>(whole_tensors(0, read_wide(gradients)?).collect())
        };
        Ok(Expectation::of_tensors(inputs.expected_values("gradients", whole)?, self.batch, self.allowed(form, inputs)))
    }
}
