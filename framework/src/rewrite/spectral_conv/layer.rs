//! Layers: which weights are those of which corner of the spectrum.

use std::ops::Range;

use super::transform::{Fft, Weighted};
use super::value::{RealTransform, Spectrum};
use crate::graph::{AxisSlice, Graph, Node, Operation, ValueId};

/// Bins of a spectrum from one of its corners on, and the place of their weights.
#[derive(Debug, Clone)]
struct Corner {
    weights: [ValueId; 2],
    /// Along each dimension, the part of the weights.
    taken: Vec<Range<usize>>,
}

/// A spectral convolution found in a graph: its transform, its modes along each dimension, and the factor of its
/// output.
pub struct SpectralConvMatch<'a> {
    pub transform: &'a RealTransform,
    pub modes: Vec<usize>,
    pub factor: f64,
    /// The corners, that of the lowest bins first; along all dimensions but the last, negative frequencies come second,
    /// and the first dimension changes slowest.
    corners: Vec<Corner>,
}

impl<'a> SpectralConvMatch<'a> {
    /// The layer that ends with an inverse real transform of two parts.
    pub fn of(fft: &Fft, re: &'a Spectrum, im: &Spectrum) -> Option<Self> {
        let weighted = fft.completes(re, im)?;
        let points = &re.transform.points;
        let dims = points.len();
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
        let volume = |counts: &[usize]| counts.iter().product::<usize>();
        let all = weighted.blocks.iter().map(|(block, _)| block.bins.iter().map(|bins| bins.count).product::<usize>());
        let is_exact = all.sum::<usize>() == volume(&modes);
        is_exact.then_some(Self { transform: &re.transform, modes, factor: weighted.factor, corners })
    }

    /// Input and output channels, if all weights have the same.
    pub fn channels(&self, graph: &Graph) -> Option<[usize; 2]> {
        let channels = |id: &ValueId| [graph.get(*id).shape[0], graph.get(*id).shape[1]];
        let mut all = self.weights().map(channels);
        let first = all.next()?;
        all.all(|other| other == first).then_some(first)
    }

    /// Both parts of the weights of every corner.
    pub fn weights(&self) -> impl Iterator<Item = &ValueId> {
        self.corners.iter().flat_map(|corner| &corner.weights)
    }

    /// Both parts of the weights as [`spectral_conv`](firefly_ops::spectral_conv) takes them: those of corners joined.
    pub fn joined_weights(&self, graph: &mut Graph, nodes: &mut Vec<Node>) -> [ValueId; 2] {
        [0, 1].map(|part| {
            let joined = self.whole_weights(graph, part);
            joined.unwrap_or_else(|| {
                let parts = self.corners.iter().map(|corner| corner.part(graph, nodes, part)).collect();
                self.join(graph, nodes, parts)
            })
        })
    }

    /// The tensor that holds the weights of every corner where they belong, if there is one.
    fn whole_weights(&self, graph: &Graph, part: usize) -> Option<ValueId> {
        let first = self.corners[0].weights[part];
        let is_whole = graph.get(first).shape[2..] == self.modes;
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
    fn join(&self, graph: &mut Graph, nodes: &mut Vec<Node>, mut parts: Vec<ValueId>) -> ValueId {
        for dim in (0..self.modes.len() - 1).rev().filter(|dim| self.modes[*dim] > 1) {
            let pairs = parts.chunks_exact(2);
            parts = pairs
                .map(|pair| {
                    let mut shape = graph.get(pair[0]).shape.clone();
                    shape[dim + 2] = self.modes[dim];
                    let joined = graph.computed(&shape, graph.get(pair[0]).dtype);
                    nodes.push(Node::new(Operation::Concatenate { axis: dim + 2 }, pair.to_vec(), vec![joined]));
                    joined
                })
                .collect();
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
    fn part(&self, graph: &mut Graph, nodes: &mut Vec<Node>, part: usize) -> ValueId {
        let weights = self.weights[part];
        let (shape, dtype) = (graph.get(weights).shape.clone(), graph.get(weights).dtype);
        let cut: Vec<usize> = shape[..2].iter().copied().chain(self.taken.iter().map(ExactSizeIterator::len)).collect();
        if cut == shape {
            return weights;
        }
        let starts = [0, 0].into_iter().chain(self.taken.iter().map(|taken| taken.start));
        let slices = starts.map(|start| AxisSlice { start, stride: 1 }).collect();
        let output = graph.computed(&cut, dtype);
        nodes.push(Node::new(Operation::Slice { slices }, vec![weights], vec![output]));
        output
    }
}
