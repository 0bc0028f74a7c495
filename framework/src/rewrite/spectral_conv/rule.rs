//! The rule: inverse transforms of products by weights become spectral convolutions.

use super::axes::AxisRole;
use super::conv_interpretation::SpectralConvValues;
use super::layer::SpectralConvMatch;
use super::transform::{Fft, FftKind};
use super::value::Spectrum;
use crate::graph::{Graph, Node, Operation};
use crate::rewrite::spectral_nodes::spectral_conv_operation;
use crate::rewrite::{Replacement, Rule};

/// Relative tolerance of the factor of a layer.
const TOLERANCE: f64 = 1e-6;

/// Rule that replaces a spectral convolution of separate operations, in one to three dimensions, by one
/// [`spectral_conv`](firefly_ops::spectral_conv).
///
/// Recognised patterns: a real transform of a tensor `[batch, in, n…]` along its last dimension
/// (`firefly_ops::fft::rfft` or `burn::signal::rfft`) and complex ones along the other dimensions n, as in
/// [`rfftn`](firefly_ops::fft::rfftn); modes cut by slices, the lowest bins along the last dimension and the corners
/// of the spectrum along any other; their complex products with weights `[in, out, modes…]`, one tensor per corner or
/// one for several, summed over input channels, either element by element or as matrix products; zeros around them by
/// concatenation, by assignment into zeros, or none; and the inverse transforms to the same points. The norms of both
/// cancel. Left alone is whatever differs in its numbers, and a model in which something else reads the spectrum too.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpectralConvRule;

impl Rule for SpectralConvRule {
    fn name(&self) -> &str {
        "spectral convolution"
    }

    fn find(&self, graph: &Graph) -> Vec<Replacement> {
        let is_inverse =
            |index: &usize| Fft::of(graph, &graph.nodes()[*index]).is_some_and(|fft| fft.kind == FftKind::InverseReal);
        let inverses: Vec<usize> = (0..graph.nodes().len()).filter(is_inverse).collect();
        if inverses.is_empty() {
            return Vec::new();
        }
        let interpretation = SpectralConvValues::new(graph);
        inverses.into_iter().filter_map(|index| replace(graph, &interpretation, index)).collect()
    }
}

/// The graph with `spectral_conv` in place of the inverse transform at `index`.
fn replace(graph: &Graph, interpretation: &SpectralConvValues<'_>, index: usize) -> Option<Replacement> {
    let node = &graph.nodes()[index];
    let fft = Fft::of(graph, node)?;
    let (&[re_id, im], &[output]) = (&node.inputs[..], &node.outputs[..]) else { return None };
    let (re, im) = (interpretation.value(re_id).spectrum()?, interpretation.value(im).spectrum()?);
    let layer = SpectralConvMatch::of(&fft, re, im)?;
    let (source, points) = (layer.transform.source, &layer.transform.points);
    let (batch, dtype) = (graph.get(source).shape[0], graph.get(source).dtype);
    let [inputs, outputs] = layer.channels(graph)?;
    let is_normalised = (layer.factor * points.iter().product::<usize>() as f64 - 1.0).abs() <= TOLERANCE;
    let is_of_one_type = layer.weights().all(|id| graph.get(*id).dtype == dtype);
    let shape = [&[batch, outputs][..], points].concat();
    let has_axes = inputs == graph.get(source).shape[1] && has_axes(re, &shape) && fft.axis + 1 == re.axes.0.len();
    let is_whole = graph.get(output).elements() == shape.iter().product::<usize>();
    if !is_normalised || !is_of_one_type || !has_axes || !is_whole {
        return None;
    }

    let (mut after, mut nodes) = (graph.clone(), Vec::new());
    let weights = layer.joined_weights(&mut after, &mut nodes);
    let is_same_shape = graph.get(output).shape == shape;
    let whole = if is_same_shape { output } else { after.computed(&shape, dtype) };
    nodes.push(Node::new(spectral_conv_operation(), vec![source, weights[0], weights[1]], vec![whole]));
    if !is_same_shape {
        nodes.push(Node::new(Operation::Reshape, vec![whole], vec![output]));
    }
    after.replace(&[index], nodes);
    let obsolete = layer.transform.spectra.to_vec();
    Some(Replacement { graph: after, target: output, obsolete, batch: batch as u64 })
}

/// Whether the elements of a spectrum are in the order of a tensor `[batch, out, n…]`.
fn has_axes(spectrum: &Spectrum, shape: &[usize]) -> bool {
    let dims = shape.len() - 2;
    let roles = [AxisRole::Batch, AxisRole::Output].into_iter().chain((0..dims).map(AxisRole::Mode));
    let last_modes = spectrum.axes.0.last().map_or(1, |axis| axis.iter().map(|(_, length)| length).product());
    let lengths = shape[..=dims].iter().copied().chain([last_modes]);
    let expected: Vec<AxisRole> = roles.zip(lengths).filter(|(_, length)| *length > 1).map(|(role, _)| role).collect();
    spectrum.axes.roles() == expected
}
