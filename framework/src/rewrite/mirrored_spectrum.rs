//! Whole spectra of real values, put together from the lower half.

use super::abstract_value::SpectrumPart;
use crate::graph::{AxisSlice, Graph, Node, Operation, ValueId};

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
    pub fn of(graph: &Graph, producers: &[Option<usize>], node: &Node) -> Option<Self> {
        let (&Operation::Concatenate { axis }, &[half, image]) = (&node.operation, &node.inputs[..]) else {
            return None;
        };
        let producer = |value: ValueId| producers[value.index()].map(|index| &graph.nodes()[index]);
        let last = producer(image)?;
        let (part, flip) = match last.operation {
            Operation::Negate => (SpectrumPart::Imaginary, producer(last.inputs[0])?),
            _ => (SpectrumPart::Real, last),
        };
        let between = producer(*flip.inputs.first()?)?;
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
