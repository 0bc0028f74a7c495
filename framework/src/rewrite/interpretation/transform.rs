//! Fourier transforms of graphs, whichever library they are of, and whole spectra put together from the lower half.

use firefly_ops::Direction;
use firefly_ops::op::OpDescriptor;

use super::Interpretation;
use super::abstract_value::SpectrumPart;
use crate::graph::{AxisSlice, Graph, Node, Operation, ScalarIr, ValueId};
use crate::rewrite::constants::are_exact_twiddles;

const RFFT: &str = "signal::rfft";
const IRFFT: &str = "signal::irfft";

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
            return Self::of_firefly(graph, node, &OpDescriptor::parse(name, scalars)?, shape);
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

    /// One of Firefly's transforms: along the last dimension, or of columns.
    fn of_firefly(graph: &Graph, node: &Node, operation: &OpDescriptor, shape: &[usize]) -> Option<Self> {
        let is_of_columns = matches!(operation, OpDescriptor::ComplexFftColumns { .. });
        let axis = shape.len().checked_sub(if is_of_columns { 2 } else { 1 })?;
        let (kind, options) = match *operation {
            OpDescriptor::Butterfly {} if node.inputs.len() == 3 => {
                let (points, kind) = (shape[axis], FftKind::Complex(Direction::Forward));
                let is_exact = node.inputs.get(2).is_some_and(|twiddles| are_exact_twiddles(graph, *twiddles, points));
                return is_exact.then_some(Self { kind, axis, points, scale: 1.0 });
            }
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
}

/// One part of whole spectra along an axis: its lower bins, and behind them the reversed conjugates of those from bin 1
/// on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MirroredSpectrum {
    /// The lower bins.
    pub half: ValueId,
    /// The real part, or the imaginary part, whose reversed bins are negated.
    pub part: SpectrumPart,
    /// The axis of bins.
    pub axis: usize,
}

impl MirroredSpectrum {
    /// The spectrum that a node completes, in the form of `burn::signal::cfft` and of two-sided `burn::signal::stft`.
    pub fn of(found: &Interpretation<'_>, node: &Node) -> Option<Self> {
        let (&Operation::Concatenate { axis }, &[half, image]) = (&node.operation, &node.inputs[..]) else {
            return None;
        };
        let last = found.producer(image)?;
        let (part, flip) = match last.operation {
            Operation::Negate => (SpectrumPart::Imaginary, found.producer(last.inputs[0])?),
            _ => (SpectrumPart::Real, last),
        };
        let between = found.producer(*flip.inputs.first()?)?;
        let Operation::Slice { slices } = &between.operation else { return None };
        let starts = |(slice_axis, slice): (usize, &AxisSlice)| {
            *slice == AxisSlice { start: usize::from(slice_axis == axis), stride: 1 }
        };
        let is_image = flip.operation == Operation::Flip { axes: vec![axis] }
            && between.inputs[0] == half
            && slices.iter().enumerate().all(starts);
        is_image.then_some(Self { half, part, axis })
    }
}
