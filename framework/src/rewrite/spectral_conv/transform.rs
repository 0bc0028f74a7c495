//! Fourier transforms of graphs, whichever library they are of.

use firefly_ops::Direction;
use firefly_ops::descriptor::OpDescriptor;

use super::axes::AxisRole;
use super::bins::BinBlock;
use super::value::{RealTransform, Spectrum, Stage, View};
use crate::graph::{Graph, Node, Operation, ScalarIr, ValueId};
use crate::rewrite::abstract_value::SpectrumPart;
use crate::rewrite::interpretation::RFFT;

/// Name of Burn's transform to real samples.
const IRFFT: &str = "signal::irfft";

/// Kind of a transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FftKind {
    /// Real values to the lower half of a spectrum.
    Real,
    /// Complex values to complex ones.
    Complex(Direction),
    /// The lower half of a spectrum to real values.
    InverseReal,
}

/// Transform along one axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fft {
    pub kind: FftKind,
    pub axis: usize,
    pub points: usize,
    pub scale: f64,
}

impl Fft {
    /// The transform that a node computes.
    pub fn of(graph: &Graph, node: &Node) -> Option<Self> {
        let Operation::Custom { name, scalars } = &node.operation else { return None };
        let shape = &graph.get(*node.inputs.first()?).shape;
        if name != RFFT && name != IRFFT {
            return Self::of_rank(&OpDescriptor::parse(name, scalars)?, shape.len());
        }
        let [ScalarIr::UInt(axis), ScalarIr::Bool(is_given), ScalarIr::UInt(points)] = scalars[..] else { return None };
        let axis = axis as usize;
        let points = |default| if is_given { points as usize } else { default };
        Some(if name == RFFT {
            Self { kind: FftKind::Real, axis, points: points(shape[axis]), scale: 1.0 }
        } else {
            let points = points(2 * (shape[axis] - 1));
            Self { kind: FftKind::InverseReal, axis, points, scale: 1.0 / points as f64 }
        })
    }

    /// One of Firefly's transforms, of a tensor of `rank` dimensions: along the last one, or of columns.
    fn of_rank(operation: &OpDescriptor, rank: usize) -> Option<Self> {
        let is_of_columns = matches!(operation, OpDescriptor::ComplexFftColumns { .. });
        let axis = rank.checked_sub(if is_of_columns { 2 } else { 1 })?;
        let (kind, options) = match *operation {
            OpDescriptor::RealFft { options } if options.direction == Direction::Forward => (FftKind::Real, options),
            OpDescriptor::ComplexFft { options } | OpDescriptor::ComplexFftColumns { options } => {
                (FftKind::Complex(options.direction), options)
            }
            OpDescriptor::InverseRealFft { options } if options.direction == Direction::Inverse => {
                (FftKind::InverseReal, options)
            }
            _ => return None,
        };
        (options.interior == 1.0).then_some(Self { kind, axis, points: options.length, scale: options.scale })
    }

    /// Both parts of the spectra of a tensor `[batch, in, n…]`, transformed whole along its last dimension: the nearest
    /// one that the input is a view of.
    pub fn of_real(
        &self,
        graph: &Graph,
        views: &[View],
        input: ValueId,
        spectra: [ValueId; 2],
    ) -> Option<[Spectrum; 2]> {
        let input = graph.get(input);
        let is_source = |view: &&View| {
            let source = graph.get(view.source);
            let last = (AxisRole::Own(source.shape.len() - 1), self.points);
            let is_whole = view.axes.cover(&input.shape) && source.elements() == input.elements();
            (3..=5).contains(&source.shape.len()) && is_whole && view.axes.0[self.axis] == [last]
        };
        let view = views.iter().find(is_source)?;
        let points = graph.get(view.source).shape[2..].to_vec();
        let transform = RealTransform { source: view.source, points, spectra };
        let part = |part| Spectrum::of_real(transform.clone(), &view.axes, self.axis, self.scale, part);
        Some([part(SpectrumPart::Real), part(SpectrumPart::Imaginary)])
    }

    /// Both parts of what a complex transform makes of a spectrum: bins along one more dimension, or points again.
    pub fn of_complex(&self, re: &Spectrum, im: &Spectrum) -> Option<[Spectrum; 2]> {
        let dim = re.dim_along(self.axis)?;
        if !are_parts(re, im) || self.points != re.transform.points[dim] {
            return None;
        }
        let stage = match self.kind {
            FftKind::Complex(Direction::Forward) => {
                let is_weighted = re.blocks.iter().flat_map(|block| &block.terms).any(|term| term.weights.is_some());
                (re.stages[dim] == Stage::Points && !is_weighted).then_some(Stage::Bins)?
            }
            _ => {
                let is_spectrum = re.stages[dim] == Stage::Bins && re.blocks.iter().all(|block| block.is_in_place(dim));
                is_spectrum.then_some(Stage::Inverted)?
            }
        };
        Some([re, im].map(|part| {
            let mut part = part.with_blocks(|block| block.scaled(self.scale));
            part.stages[dim] = stage;
            part.with_axes(part.axes.with_modes(self.axis, dim, self.points))
        }))
    }
}

/// Whether two values are the real and the imaginary part of one, block by block.
fn are_parts(re: &Spectrum, im: &Spectrum) -> bool {
    (&re.transform, &re.stages, &re.axes, re.blocks.len()) == (&im.transform, &im.stages, &im.axes, im.blocks.len())
        && re.blocks.iter().zip(&im.blocks).all(|(re, im)| re.complex_with(im).is_some())
}

/// The bins and weights of each block of a spectrum that an inverse real transform completes, and their common factor.
pub struct Weighted {
    pub blocks: Vec<(BinBlock, [ValueId; 2])>,
    pub factor: f64,
}

impl Fft {
    /// The weighted modes that the inverse real transform of two parts transforms; `None` unless all other dimensions
    /// have been inverted.
    pub fn completes(&self, re: &Spectrum, im: &Spectrum) -> Option<Weighted> {
        let last = re.bins_along(self.axis)?;
        let (final_stage, others) = re.stages.split_last()?;
        let is_last = last == others.len() && self.points == re.transform.points[last];
        let is_complete = *final_stage == Stage::Bins && others.iter().all(|stage| *stage == Stage::Inverted);
        if !is_last || !is_complete || !are_parts(re, im) {
            return None;
        }
        let mut factors = Vec::new();
        let blocks = re.blocks.iter().zip(&im.blocks).map(|(re, im)| {
            let (factor, weights) = re.complex_with(im)?;
            factors.push(factor);
            re.is_in_place(last).then_some((re.clone(), weights?))
        });
        let blocks = blocks.collect::<Option<Vec<_>>>()?;
        let factor = *factors.first()?;
        factors.iter().all(|other| *other == factor).then_some(Weighted { blocks, factor: factor * self.scale })
    }
}
