//! Recognition of spectral convolutions in models of separate operations: inverse transforms of products by weights, and
//! which weights are those of which corner of the spectrum.

use std::ops::Range;

use firefly_ops::op::OpDescriptor;

use super::Replacement;
use super::constants::is_one;
use super::edit::Edit;
use super::interpretation::{AbstractValue, AxisRole, Fft, FftKind, Interpretation, Transform, Weighted};
use crate::graph::{AxisSlice, Graph, Operation, ValueId};

/// The graph with `spectral_conv` in place of the inverse transform at `index`.
pub fn replace(found: &Interpretation<'_>, index: usize) -> Option<Replacement> {
    let graph = found.graph();
    let node = &graph.nodes()[index];
    let fft = Fft::of(graph, node).filter(|fft| fft.kind == FftKind::InverseReal)?;
    let (&[re_id, im], &[output]) = (&node.inputs[..], &node.outputs[..]) else { return None };
    let parts = found.values(re_id).iter().filter(|re| is_layer_input(found, re));
    let mut pairs = parts.flat_map(|re| found.values(im).iter().map(move |im| (re, im)));
    let (re, layer) = pairs.find_map(|(re, im)| Some((re, SpectralConvMatch::of(&fft, re, im)?)))?;
    let (source, points) = (layer.transform.segments.source, &layer.transform.points);
    let (batch, dtype) = (graph.get(source).shape[0], graph.get(source).dtype);
    let [inputs, outputs] = layer.channels(graph)?;
    let is_normalised = is_one(layer.factor * points.iter().product::<usize>() as f64);
    let is_of_one_type = layer.weights().all(|id| graph.get(*id).dtype == dtype);
    let shape = [&[batch, outputs][..], points].concat();
    let has_axes = inputs == graph.get(source).shape[1] && has_axes(re, &shape) && fft.axis + 1 == re.axes.0.len();
    let is_whole = graph.get(output).elements() == shape.iter().product::<usize>();
    if !is_normalised || !is_of_one_type || !has_axes || !is_whole {
        return None;
    }

    let mut edit = Edit::new(graph);
    let [re, im] = layer.joined_weights(&mut edit);
    let whole = edit.unshaped(output, &shape);
    edit.push(OpDescriptor::SpectralConv {}, &[source, re, im], &[whole]);
    Some(edit.replace(&[index], output, layer.transform.outputs.clone(), batch))
}

/// Whether a value is a spectrum of a whole tensor `[batch, in, n…]`.
fn is_layer_input(found: &Interpretation<'_>, value: &AbstractValue) -> bool {
    let shape = &found.graph().get(value.transform.segments.source).shape;
    let is_tensor = (3..=5).contains(&shape.len()) && value.transform.points == shape[2..];
    value.spectrum().is_some() && is_tensor && found.are_whole(value)
}

/// Whether the elements of a spectrum are in the order of a tensor `[batch, out, n…]`.
fn has_axes(spectrum: &AbstractValue, shape: &[usize]) -> bool {
    let modes = spectrum.axes.0.last().map_or(1, |axis| axis.iter().map(|(_, length)| length).product());
    let roles = [AxisRole::Own(0), AxisRole::Output].into_iter().chain((2..shape.len()).map(AxisRole::Own));
    let lengths = shape[..shape.len() - 1].iter().copied().chain([modes]);
    spectrum.axes.are(&roles.zip(lengths).collect::<Vec<_>>())
}

/// Bins of a spectrum from one of its corners on, and the place of their weights.
#[derive(Debug, Clone)]
struct Corner {
    weights: [ValueId; 2],
    /// Along each dimension, the part of the weights.
    taken: Vec<Range<usize>>,
}

/// A spectral convolution found in a graph: its transform, its modes along each dimension, and the factor of its
/// output.
struct SpectralConvMatch<'a> {
    transform: &'a Transform,
    modes: Vec<usize>,
    factor: f64,
    /// The corners, that of the lowest bins first; along all dimensions but the last, negative frequencies come second,
    /// and the first dimension changes slowest.
    corners: Vec<Corner>,
}

impl<'a> SpectralConvMatch<'a> {
    /// The layer that ends with an inverse real transform of two parts.
    fn of(fft: &Fft, re: &'a AbstractValue, im: &AbstractValue) -> Option<Self> {
        let transform = &re.transform;
        let points = &transform.points;
        let dims = points.len();
        let weighted = re.completes(im, fft, 0..dims)?;
        // The halves of the modes along each dimension: frequencies from 0 on, then negative ones.
        let (mut halves, mut modes) = (Vec::new(), Vec::new());
        for (dim, &points) in points.iter().enumerate() {
            let is_kept = |bin: &usize| {
                weighted.blocks.iter().any(|(block, _)| {
                    let bins = block.bins[dim];
                    (bins.first..bins.first + bins.count).contains(bin)
                })
            };
            let count = (0..points).filter(is_kept).count();
            let low = if dim + 1 == dims { count } else { count.div_ceil(2) };
            halves.push([0..low, points - (count - low)..points]);
            modes.push(count);
        }
        let corners =
            corners(&halves).iter().map(|corner| Corner::of(&weighted, corner)).collect::<Option<Vec<_>>>()?;
        let all = weighted.blocks.iter().map(|(block, _)| block.bins.iter().map(|bins| bins.count).product::<usize>());
        let is_exact = all.sum::<usize>() == modes.iter().product::<usize>();
        is_exact.then_some(Self { transform, modes, factor: weighted.factor, corners })
    }

    /// Input and output channels, if all weights have the same.
    fn channels(&self, graph: &Graph) -> Option<[usize; 2]> {
        let channels = |id: &ValueId| match graph.get(*id).shape[..] {
            [inputs, outputs, ref modes @ ..] if modes.len() == self.modes.len() => Some([inputs, outputs]),
            _ => None,
        };
        let mut all = self.weights().map(channels);
        let first = all.next()?;
        all.all(|other| other == first).then_some(first)?
    }

    /// Both parts of the weights of every corner.
    fn weights(&self) -> impl Iterator<Item = &ValueId> {
        self.corners.iter().flat_map(|corner| &corner.weights)
    }

    /// Both parts of the weights as [`spectral_conv`](firefly_ops::spectral_conv) takes them: those of corners joined.
    fn joined_weights(&self, edit: &mut Edit) -> [ValueId; 2] {
        [0, 1].map(|part| {
            self.whole_weights(edit, part).unwrap_or_else(|| {
                let parts = self.corners.iter().map(|corner| corner.part(edit, part)).collect();
                self.join(edit, parts)
            })
        })
    }

    /// The tensor that holds the weights of every corner where they belong, if there is one.
    fn whole_weights(&self, edit: &Edit, part: usize) -> Option<ValueId> {
        let first = self.corners[0].weights[part];
        let is_whole = edit.get(first).shape[2..] == self.modes;
        // Corners that differ along a dimension lie one behind the other in it.
        let halves: Vec<_> = self.modes.iter().map(|modes| [0, modes.div_ceil(2)]).collect();
        let is_in_place = |corner: &Corner| {
            let mut starts = corner.taken.iter().zip(&halves);
            corner.weights[part] == first && starts.all(|(taken, halves)| halves.contains(&taken.start))
        };
        let starts = |corner: &Corner| corner.taken.iter().map(|taken| taken.start).collect::<Vec<_>>();
        let is_sorted = self.corners.windows(2).all(|pair| starts(&pair[0]) < starts(&pair[1]));
        (is_whole && is_sorted && self.corners.iter().all(is_in_place)).then_some(first)
    }

    /// The weights of corners, concatenated along each dimension that has two of them, the innermost first.
    fn join(&self, edit: &mut Edit, mut parts: Vec<ValueId>) -> ValueId {
        for dim in (0..self.modes.len() - 1).rev().filter(|dim| self.modes[*dim] > 1) {
            let join = |pair: &[ValueId]| {
                let mut shape = edit.get(pair[0]).shape.clone();
                shape[dim + 2] = self.modes[dim];
                edit.apply(Operation::Concatenate { axis: dim + 2 }, pair, &shape)
            };
            parts = parts.chunks_exact(2).map(join).collect();
        }
        parts[0]
    }
}

/// The bins of every corner along each dimension, the first dimension slowest.
fn corners(halves: &[[Range<usize>; 2]]) -> Vec<Vec<Range<usize>>> {
    halves.iter().fold(vec![Vec::new()], |corners, halves| {
        let kept = halves.iter().filter(|half| !half.is_empty());
        let extended = |corner: &Vec<Range<usize>>| {
            kept.clone().map(|half| [corner.as_slice(), std::slice::from_ref(half)].concat()).collect::<Vec<_>>()
        };
        corners.iter().flat_map(extended).collect()
    })
}

impl Corner {
    /// The weights of a corner's bins, if they are those of one block.
    fn of(weighted: &Weighted, corner: &[Range<usize>]) -> Option<Self> {
        weighted.blocks.iter().find_map(|(block, weights)| {
            let taken = block.bins.iter().zip(corner).map(|(bins, corner)| {
                let is_inside = bins.first <= corner.start && corner.end <= bins.first + bins.count;
                let start = is_inside.then(|| bins.weight + corner.start - bins.first)?;
                Some(start..start + corner.len())
            });
            Some(Self { weights: *weights, taken: taken.collect::<Option<_>>()? })
        })
    }

    /// One part of the weights of the corner.
    fn part(&self, edit: &mut Edit, part: usize) -> ValueId {
        let weights = self.weights[part];
        let shape = &edit.get(weights).shape;
        let cut: Vec<usize> = shape[..2].iter().copied().chain(self.taken.iter().map(ExactSizeIterator::len)).collect();
        if cut == *shape {
            return weights;
        }
        let starts = [0, 0].into_iter().chain(self.taken.iter().map(|taken| taken.start));
        let slices = starts.map(|start| AxisSlice { start, stride: 1 }).collect();
        edit.apply(Operation::Slice { slices }, &[weights], &cut)
    }
}
