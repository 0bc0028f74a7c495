//! Rules, the replacements that they find, and the rewriter, which applies them to a graph where the fusion gate passes.

use super::interpretation::Interpretation;
use super::{complex_fft, long_conv, mel, spectral_conv, welch};
use crate::cost::FusionDecision;
use crate::graph::{Graph, ValueId};
use crate::movement::{MovementOptions, count};
use crate::profile::DeviceProfile;

/// Rule that finds parts of a graph which one of Firefly's operations can compute.
///
/// Parts of which something else reads the spectra are left alone, and whatever differs in its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// A complex Fourier transform for one made of two real ones, as `burn::signal::cfft` in f32.
    ///
    /// Burn transforms the real and the imaginary part as real values, completes both half spectra by their reversed
    /// conjugates, and adds the second one times i to the first one. With an imaginary part that is negated before and
    /// directly after, it is an inverse transform without a factor. Transforms that cut or pad their input are left
    /// alone.
    ComplexFft,
    /// [`welch_peaks`](firefly_ops::welch_peaks) for the strongest bins of a Welch spectrum of stock operations.
    ///
    /// Segments are cut from the rows of a matrix by any mix of slicing, unfolding, reshaping, stacking and permuting,
    /// equally spaced. Then follow one window; a real transform along the samples (`burn::signal::rfft`,
    /// `burn::signal::stft`, the transforms of rows of [`firefly_ops::fft`], or [`butterfly`](firefly_ops::butterfly)
    /// with exact twiddles), of which the lower bins are taken if it has both sides; squared magnitude; a mean or sum
    /// over segments, or one by one; interior bins doubled by a constant vector, by slice assignment or by concatenation;
    /// constant scales anywhere in between; then `topk`, `topk_with_indices`, `argtopk`, or a descending sort that is cut
    /// to its first `k`, along the bins.
    ///
    /// Rows with non-finite samples follow the [contract](firefly_ops) afterwards, not the stock operations.
    WelchPeaks,
    /// [`welch_psd`](firefly_ops::welch_psd), which is also [`power_spectrum`](firefly_ops::power_spectrum), for a Welch
    /// spectrum of stock operations, whatever reads it, of segments of any length from 2 on.
    ///
    /// A constant factor becomes the scaling where the window is a constant or missing, and is applied to the result
    /// otherwise. It comes after the rule for peaks: where peaks alone are wanted, power is not written.
    WelchPsd,
    /// [`mel`](firefly_ops::mel()) or [`log_mel`](firefly_ops::log_mel) for frames, transforms, power, the product with
    /// mel filters and its logarithm.
    ///
    /// Frames and their transforms are those of [`WelchPeaks`](Self::WelchPeaks), without normalisation. Then follow
    /// magnitude, squared or not; the matrix product with constant mel filters, from either side; then, if that is read
    /// by nothing else, ln(x + ε) or ln(max(x, ε)), and the factors that make it a decimal logarithm or decibels. Padding
    /// of centred frames stays before the operation. Filters are those of HTK's and Slaney's scales and norms, at the
    /// usual sample rates, with edges at whole hertz.
    Mel,
    /// [`spectral_conv`](firefly_ops::spectral_conv) for a spectral convolution in one to three dimensions.
    ///
    /// A tensor `[batch, in, n…]` has a real transform along its last dimension and complex ones along the other
    /// dimensions n, as in [`rfftn`](firefly_ops::fft::rfftn). Slices cut the lowest bins along the last dimension, and
    /// the corners of the spectrum along any other. Then follow complex products with weights `[in, out, modes…]`, one
    /// tensor per corner or one for several, summed over input channels, either element by element or as matrix products;
    /// zeros around them by concatenation, by assignment into zeros, or none; and the inverse transforms to the same
    /// points. The norms of both cancel.
    SpectralConv,
    /// [`long_conv`](firefly_ops::long_conv) for a causal convolution by Fourier transforms.
    ///
    /// A signal `[batch, channels, n]` and kernels `[channels, k]` have real transforms, padded by the transform, by
    /// concatenation or by slice assignment. Then follow their complex product, the kernels broadcast or expanded over
    /// the batch; the inverse transform, of as many points; the first n samples, as also
    /// [`fft_convolve`](firefly_ops::fft::fft_convolve) cut to them has; and the product with a gate of the same shape, if
    /// it is all that reads them. A convolution whose end comes round to its start is left alone.
    LongConv,
}

/// Graph with one part replaced.
#[derive(Debug, Clone)]
pub struct Replacement {
    /// The graph with the part replaced; it may still hold nodes that became unused.
    pub graph: Graph,
    /// The value that the replacement computes, which identifies it.
    pub target: ValueId,
    /// Values that must be unused after the replacement: if one is still read, nothing is gained and the graph is left
    /// as it is.
    pub obsolete: Vec<ValueId>,
    /// Number of rows.
    pub batch: u64,
}

impl Rule {
    /// Every rule, in the order in which they are tried: other rules find the complex transforms of the first one.
    pub const ALL: [Self; 6] =
        [Self::ComplexFft, Self::WelchPeaks, Self::WelchPsd, Self::Mel, Self::SpectralConv, Self::LongConv];

    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ComplexFft => "complex transform",
            Self::WelchPeaks => "welch peaks",
            Self::WelchPsd => "welch psd",
            Self::Mel => "mel",
            Self::SpectralConv => "spectral convolution",
            Self::LongConv => "long convolution",
        }
    }

    /// Every replacement that the rule finds, the last one first: parts of a sum over segments are estimates too.
    fn find(self, found: &Interpretation<'_>) -> impl Iterator<Item = Replacement> {
        let replace: fn(&Interpretation<'_>, usize) -> Option<Replacement> = match self {
            Self::ComplexFft => complex_fft::replace,
            Self::WelchPeaks => welch::replace_search,
            Self::WelchPsd => welch::replace_power,
            Self::Mel => mel::replace,
            Self::SpectralConv => spectral_conv::replace,
            Self::LongConv => long_conv::replace,
        };
        (0..found.graph().nodes().len()).rev().filter_map(move |index| replace(found, index))
    }
}

/// Outcome of one replacement.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplacementOutcome {
    /// The rule's name.
    pub rule: &'static str,
    /// The value that the replacement computes, or would compute.
    pub target: ValueId,
    /// The decision.
    pub decision: FusionDecision,
}

/// A rewritten graph, and the decisions that led to it.
#[derive(Debug, Clone)]
pub struct Rewritten {
    /// The rewritten graph.
    pub graph: Graph,
    /// Every replacement that was found, in order.
    pub outcomes: Vec<ReplacementOutcome>,
}

impl Rewritten {
    /// Number of replacements that were made.
    pub fn applied(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.decision.fuse()).count()
    }

    /// Every decision with its terms, as text.
    pub fn explain(&self) -> String {
        let lines = self.outcomes.iter().map(|outcome| format!("{}: {}", outcome.rule, outcome.decision.explain()));
        lines.collect()
    }
}

/// Rules, and the options by which data movement is counted.
#[derive(Debug, Clone)]
pub struct Rewriter {
    rules: Vec<Rule>,
    options: MovementOptions,
}

impl Rewriter {
    /// The rewriter of every rule.
    pub fn spectral() -> Self {
        Self::new(&Rule::ALL)
    }

    /// The rewriter of some rules, which are tried in this order.
    pub fn new(rules: &[Rule]) -> Self {
        Self { rules: rules.to_vec(), options: MovementOptions::default() }
    }

    /// The same rewriter with other options of counting data movement.
    pub fn with_options(self, options: MovementOptions) -> Self {
        Self { options, ..self }
    }

    /// Every replacement that a rule finds, whatever the fusion gate decides on it.
    pub fn find(&self, graph: &Graph) -> Vec<Replacement> {
        let found = Interpretation::new(graph);
        self.rules.iter().flat_map(|rule| rule.find(&found)).collect()
    }

    /// Applies the rules until none finds a replacement that the fusion gate passes on `device`. Nodes that no output
    /// depends on are removed.
    pub fn run(&self, graph: &Graph, device: &DeviceProfile) -> Rewritten {
        let mut graph = graph.clone();
        graph.prune();
        let mut outcomes: Vec<ReplacementOutcome> = Vec::new();
        while let Some((outcome, after)) = self.next(&graph, device, &outcomes) {
            if outcome.decision.fuse() {
                graph = after;
            }
            outcomes.push(outcome);
        }
        Rewritten { graph, outcomes }
    }

    /// The first replacement without a decision yet, and the graph after it.
    fn next(
        &self,
        graph: &Graph,
        device: &DeviceProfile,
        known: &[ReplacementOutcome],
    ) -> Option<(ReplacementOutcome, Graph)> {
        let found = Interpretation::new(graph);
        let replacements = self.rules.iter().flat_map(|rule| rule.find(&found).map(|found| (rule.name(), found)));
        for (rule, Replacement { graph: mut after, target, obsolete, batch }) in replacements {
            after.prune();
            let producers = after.producers();
            let is_decided = known.iter().any(|outcome| (outcome.rule, outcome.target) == (rule, target));
            if is_decided || obsolete.iter().any(|value| producers[value.index()].is_some()) {
                continue;
            }
            let [old, new] = [graph, &after].map(|graph| count(graph, &self.options));
            let decision = FusionDecision::of_graphs(device, &old, &new, batch);
            return Some((ReplacementOutcome { rule, target, decision }, after));
        }
        None
    }
}
