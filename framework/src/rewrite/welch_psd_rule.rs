//! Recognition of Welch power in models of stock operations.

use std::ops::RangeInclusive;

use firefly_ops::{Scaling, WelchOptions};

use super::interpretation::Interpretation;
use super::operands::only_reader;
use super::power_estimate::{PowerEstimate, TOLERANCE};
use super::spectral_nodes::welch_psd_operation;
use super::{Replacement, Rule, constants};
use crate::graph::{Graph, Node, Operation, ValueId};

/// Factors and sample rates far from the limits of f32.
const USUAL: RangeInclusive<f64> = 1e-30..=1e30;

/// Rule that replaces a Welch spectrum of stock operations by one [`welch_psd`](firefly_ops::welch_psd), which is also
/// [`power_spectrum`](firefly_ops::power_spectrum).
///
/// Recognised patterns: those of [`WelchPeaksRule`](super::WelchPeaksRule) up to the power, of segments of any length
/// from 2 on, whatever reads it. A constant factor becomes the scaling where the window is a constant or missing, and
/// is applied to the result otherwise. Left alone are power without doubled interior bins, segments that are not averaged
/// or not equally spaced, and a model in which something else reads the spectra too.
///
/// Registered after the rule for peaks: where peaks alone are wanted, power is not written.
#[derive(Debug, Clone, Copy, Default)]
pub struct WelchPsdRule;

impl Rule for WelchPsdRule {
    fn name(&self) -> &str {
        "welch psd"
    }

    fn find(&self, graph: &Graph) -> Vec<Replacement> {
        if graph.custom_operations().next().is_none() {
            return Vec::new();
        }
        let interpretation = Interpretation::new(graph);
        // The last estimate first: parts of a sum over segments are estimates too.
        let indices = (0..graph.nodes().len()).rev();
        indices.filter_map(|index| replace(graph, &interpretation, index)).collect()
    }
}

/// Whether a value is only a step towards another estimate, which replaces it as well.
fn is_step(graph: &Graph, interpretation: &Interpretation<'_>, value: ValueId) -> bool {
    let is_estimate = |id: &ValueId| interpretation.value(*id).and_then(PowerEstimate::of).is_some();
    only_reader(graph, value).is_some_and(|(_, reader)| reader.outputs.iter().any(is_estimate))
}

/// The scaling that has the factor of an estimate, if one does.
fn scaling(graph: &Graph, interpretation: &Interpretation<'_>, estimate: &PowerEstimate<'_>) -> Option<Scaling> {
    if !estimate.is_scaled() {
        return Some(Scaling::Power);
    }
    let window = match estimate.spectrum.segments.window {
        Some(window) => constants::vector(graph, interpretation.producers(), window)?,
        None => vec![1.0; estimate.options.n_fft],
    };
    let (sum, energy) = (window.iter().sum::<f64>(), window.iter().map(|value| value * value).sum::<f64>());
    if (estimate.factor * sum * sum - 1.0).abs() <= TOLERANCE {
        return Some(Scaling::Spectrum);
    }
    // Any other factor is that of a density, at a sample rate that kernels compute with in f32.
    let sample_rate = 1.0 / (estimate.factor * energy);
    let is_usual = [estimate.factor, sample_rate].iter().all(|value| USUAL.contains(value));
    is_usual.then_some(Scaling::Density { sample_rate })
}

/// The graph with `welch_psd` in place of the node that computes an estimate.
fn replace(graph: &Graph, interpretation: &Interpretation<'_>, index: usize) -> Option<Replacement> {
    let &[target] = graph.nodes()[index].outputs.as_slice() else { return None };
    let estimate = PowerEstimate::of(interpretation.value(target)?)?;
    if is_step(graph, interpretation, target) {
        return None;
    }
    let (mut after, mut nodes) = (graph.clone(), Vec::new());
    let PowerEstimate { spectrum, options, factor, .. } = estimate;
    let source = graph.get(spectrum.segments.source);
    let (rows, dtype) = (source.shape[0], source.dtype);
    let scaling = scaling(graph, interpretation, &estimate);

    let inputs = estimate.inputs(&mut after, &mut nodes)?;
    // The result, without axes of length 1 and the factor that is no scaling, and the steps from it to the target.
    let shape = [rows, options.bins()];
    let mut steps = Vec::new();
    let mut power = target;
    if graph.get(target).shape != shape {
        let flat = after.computed(&shape, dtype);
        steps.push(Node::new(Operation::Reshape, vec![flat], vec![power]));
        power = flat;
    }
    if scaling.is_none() {
        let unscaled = after.computed(&shape, dtype);
        steps.push(Node::new(Operation::MultiplyScalar(factor), vec![unscaled], vec![power]));
        power = unscaled;
    }
    let options: WelchOptions = options.with_scaling(scaling.unwrap_or_default());
    nodes.push(Node::new(welch_psd_operation(options), inputs, vec![power]));
    nodes.extend(steps.into_iter().rev());
    after.replace(&[index], nodes);
    Some(Replacement { graph: after, target, obsolete: spectrum.spectra.clone(), batch: rows as u64 })
}
