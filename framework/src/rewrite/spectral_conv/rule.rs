//! The rule: inverse transforms of products by weights become spectral convolutions.

use firefly_ops::Direction;
use firefly_ops::descriptor::OpDescriptor;

use super::axes::Role;
use super::interpretation::Interpretation;
use super::value::{Kind, Term, Transform};
use crate::graph::{Graph, Node, Operation, ScalarIr, ValueId};
use crate::rewrite::abstract_value::Part;
use crate::rewrite::spectral_nodes::spectral_conv_operation;
use crate::rewrite::{Replacement, Rule};

/// Name of Burn's transform to real samples.
const IRFFT: &str = "signal::irfft";
/// Relative tolerance of the factor of a layer.
const TOLERANCE: f64 = 1e-6;

/// Rule that replaces a one-dimensional spectral convolution of separate operations by one
/// [`spectral_conv`](firefly_ops::spectral_conv).
///
/// What is recognised: a real transform of a tensor `[batch, in, n]` along its last dimension
/// (`firefly_ops::fft::rfft` or `burn::signal::rfft`); its lowest bins, cut by slices; their complex product with
/// weights `[in, out, modes]`, summed over input channels, either element by element or as matrix products; zeros
/// after them by concatenation, by assignment into zeros, or none; and the inverse transform to n samples (`irfft`).
/// Both transforms have the same norm. Left alone is whatever differs in its numbers, and a model in which something
/// else reads the spectrum too.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpectralConvRule;

impl Rule for SpectralConvRule {
    fn name(&self) -> &str {
        "spectral convolution"
    }

    fn find(&self, graph: &Graph) -> Vec<Replacement> {
        let inverses: Vec<usize> =
            (0..graph.nodes().len()).filter(|&index| Inverse::of(&graph.nodes()[index]).is_some()).collect();
        if inverses.is_empty() {
            return Vec::new();
        }
        let interpretation = Interpretation::new(graph);
        inverses.into_iter().filter_map(|index| replace(graph, &interpretation, index)).collect()
    }
}

/// A transform of half spectra to real samples.
struct Inverse {
    /// Points, if they are given.
    points: Option<usize>,
    /// Factor of the samples; none for 1/n.
    scale: Option<f64>,
    /// Whether batch and channels are one axis.
    is_flat: bool,
}

impl Inverse {
    fn of(node: &Node) -> Option<Self> {
        let Operation::Custom { name, scalars } = &node.operation else { return None };
        if name == IRFFT {
            let [ScalarIr::UInt(2), ScalarIr::Bool(given), ScalarIr::UInt(length)] = scalars[..] else { return None };
            return Some(Self { points: given.then_some(length as usize), scale: None, is_flat: false });
        }
        let OpDescriptor::InverseRealFft { options } = OpDescriptor::parse(name, scalars)? else { return None };
        let is_plain = options.direction == Direction::Inverse && options.interior == 1.0;
        is_plain.then_some(Self { points: Some(options.length), scale: Some(options.scale), is_flat: true })
    }
}

/// A layer: its signal, its weights, and its factor.
struct Layer<'a> {
    transform: &'a Transform,
    weights: [ValueId; 2],
    factor: f64,
}

impl<'a> Layer<'a> {
    /// The layer whose product has these parts.
    fn of(re: &'a Kind, im: &'a Kind) -> Option<Self> {
        let (
            Kind::Product { transform, terms: re, is_summed: true },
            Kind::Product { transform: same, terms: im, is_summed: true },
        ) = (re, im)
        else {
            return None;
        };
        let ([a, b], [c, d]) = (parts(re)?, parts(im)?);
        // (x + iy)(u + iv) = xu − yv + i (xv + yu).
        let factor = a.factor;
        let factors = [-b.factor, c.factor, d.factor];
        let is_complex = a.weights == d.weights && b.weights == c.weights && a.weights != b.weights;
        let matches = transform == same && is_complex && factors.iter().all(|other| *other == factor);
        matches.then_some(Self { transform, weights: [a.weights, b.weights], factor: factor * transform.scale })
    }
}

/// The term of the real part of the spectrum, and that of the imaginary part.
fn parts(terms: &[Term]) -> Option<[Term; 2]> {
    match terms {
        [real @ Term { part: Part::Real, .. }, imaginary @ Term { part: Part::Imaginary, .. }]
        | [imaginary @ Term { part: Part::Imaginary, .. }, real @ Term { part: Part::Real, .. }] => {
            Some([*real, *imaginary])
        }
        _ => None,
    }
}

/// The graph with `spectral_conv` in place of the inverse transform at `index`.
fn replace(graph: &Graph, interpretation: &Interpretation<'_>, index: usize) -> Option<Replacement> {
    let node = &graph.nodes()[index];
    let inverse = Inverse::of(node)?;
    let ([re, im], [output]) = (&node.inputs[..], &node.outputs[..]) else { return None };
    let [re, im] = [re, im].map(|id| interpretation.value(*id));
    let layer = Layer::of(&re.kind, &im.kind)?;
    let roles = if inverse.is_flat {
        vec![vec![Role::Batch, Role::Output], vec![Role::Mode]]
    } else {
        vec![vec![Role::Batch], vec![Role::Output], vec![Role::Mode]]
    };
    let (source, points) = (layer.transform.source, layer.transform.points);
    let [batch, _, _] = graph.get(source).shape[..] else { return None };
    let [_, outputs, _] = graph.get(layer.weights[0]).shape[..] else { return None };
    let bins = graph.get(node.inputs[0]).shape.last()?;
    let scale = inverse.scale.unwrap_or(1.0 / points as f64);
    let is_normalised = (layer.factor * scale * points as f64 - 1.0).abs() <= TOLERANCE;
    let dtype = graph.get(source).dtype;
    let values = layer.weights.map(|id| graph.get(id));
    let fits = re.axes.roles() == roles
        && im.axes == re.axes
        && inverse.points.unwrap_or(2 * (bins - 1)) == points
        && values[0].shape == values[1].shape
        && values.iter().all(|weights| weights.dtype == dtype);
    if !fits || !is_normalised {
        return None;
    }
    let mut after = graph.clone();
    let inputs = vec![source, layer.weights[0], layer.weights[1]];
    let nodes = if inverse.is_flat {
        let whole = after.computed(&[batch, outputs, points], dtype);
        let convolution = Node::new(spectral_conv_operation(), inputs, vec![whole]);
        vec![convolution, Node::new(Operation::Reshape, vec![whole], vec![*output])]
    } else {
        vec![Node::new(spectral_conv_operation(), inputs, vec![*output])]
    };
    after.replace(&[index], nodes);
    let obsolete = layer.transform.spectra.to_vec();
    Some(Replacement { graph: after, target: *output, obsolete, batch: batch as u64 })
}
