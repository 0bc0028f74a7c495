//! Abstract values of a graph in terms of convolutions by Fourier transforms, from the inputs forward.

use firefly_ops::Direction;
use firefly_ops::descriptor::OpDescriptor;

use super::abstract_value::SpectrumPart;
use super::interpretation::RFFT;
use crate::graph::{AxisSlice, Graph, Node, Operation, ScalarIr, ValueId};

/// Name of Burn's transform of one-sided spectra to real samples.
const IRFFT: &str = "signal::irfft";

/// Spectra of the rows of a value, along its last axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowSpectra {
    /// The value.
    pub source: ValueId,
    /// Points of the transform, at least as many as a row has samples.
    pub points: usize,
    /// Factor on every bin.
    scale: f64,
    /// An output of the transform.
    pub transform: ValueId,
}

/// Products of the spectra of a signal with those of one kernel per channel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpectraPair {
    pub signal: RowSpectra,
    pub kernel: RowSpectra,
}

/// Abstract value of a tensor, whatever its leading axes that its rows are spread over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ConvolutionValue {
    /// The rows of a value, continued with zeros.
    Rows(ValueId),
    /// One part of their spectra.
    Spectrum(RowSpectra, SpectrumPart),
    /// The product of a part of the signal's spectra with one of the kernels'.
    Term(SpectraPair, [SpectrumPart; 2]),
    /// One part of the complex product.
    Product(SpectraPair, SpectrumPart),
    /// The circular convolution of as many samples as the transform has points, or the first of them, times a factor.
    Convolution(SpectraPair, f64),
}

use ConvolutionValue::{Convolution, Product, Rows, Spectrum, Term};

/// Abstract value of each value of a graph, as far as it is known.
pub struct ConvolutionValues<'a> {
    graph: &'a Graph,
    producers: Vec<Option<usize>>,
    values: Vec<Option<ConvolutionValue>>,
}

impl<'a> ConvolutionValues<'a> {
    /// Visits every node of `graph`.
    pub fn new(graph: &'a Graph) -> Self {
        let values = vec![None; graph.values().len()];
        let mut known = Self { graph, producers: graph.producers(), values };
        for node in graph.nodes() {
            for (output, value) in node.outputs.iter().zip(known.outputs(node)) {
                known.values[output.index()] = Some(value);
            }
        }
        known
    }

    /// The abstract value of a value; its own rows at least.
    pub fn get(&self, id: ValueId) -> ConvolutionValue {
        self.values[id.index()].unwrap_or(Rows(id))
    }

    fn shape(&self, id: ValueId) -> &'a [usize] {
        &self.graph.get(id).shape
    }

    fn last(&self, id: ValueId) -> usize {
        self.shape(id).last().copied().unwrap_or(1)
    }

    /// Number of rows along the last axis.
    pub fn rows(&self, id: ValueId) -> usize {
        self.graph.get(id).elements() / self.last(id).max(1)
    }

    /// The abstract values of a node's outputs; fewer where nothing is known.
    fn outputs(&self, node: &Node) -> Vec<ConvolutionValue> {
        let (Some(&input), Some(&output)) = (node.inputs.first(), node.outputs.first()) else { return Vec::new() };
        if let Operation::Custom { name, scalars } = &node.operation
            && let Some((points, scale)) = self.real_transform(name, scalars, input)
        {
            return self.spectra(input, points, scale, output);
        }
        self.output(node, input, output).into_iter().collect()
    }

    /// Points and scale of a transform of real rows along the last axis.
    fn real_transform(&self, name: &str, scalars: &[ScalarIr], input: ValueId) -> Option<(usize, f64)> {
        if let Some(OpDescriptor::RealFft { options }) = OpDescriptor::parse(name, scalars) {
            let is_plain = options.direction == Direction::Forward && options.interior == 1.0;
            return is_plain.then_some((options.length, options.scale));
        }
        (name == RFFT).then(|| self.of_burn(scalars, input, self.last(input))).flatten().map(|points| (points, 1.0))
    }

    /// Points of one of Burn's transforms, if it runs along the last axis of its input.
    fn of_burn(&self, scalars: &[ScalarIr], input: ValueId, default: usize) -> Option<usize> {
        let [ScalarIr::UInt(axis), ScalarIr::Bool(is_given), ScalarIr::UInt(length)] = *scalars else { return None };
        let is_last = axis as usize + 1 == self.shape(input).len();
        is_last.then_some(if is_given { length as usize } else { default })
    }

    /// Both parts of the spectra of an input's rows, if none of them is cut.
    fn spectra(&self, input: ValueId, points: usize, scale: f64, output: ValueId) -> Vec<ConvolutionValue> {
        let Rows(source) = self.get(input) else { return Vec::new() };
        if points < self.last(source) || self.rows(source) != self.rows(input) {
            return Vec::new();
        }
        let spectra = RowSpectra { source, points, scale, transform: output };
        vec![Spectrum(spectra, SpectrumPart::Real), Spectrum(spectra, SpectrumPart::Imaginary)]
    }

    /// The abstract value of the output of an operation with one output.
    fn output(&self, node: &Node, input: ValueId, output: ValueId) -> Option<ConvolutionValue> {
        let second = node.inputs.get(1).copied();
        match &node.operation {
            Operation::Reshape if self.last(input) == self.last(output) => self.reshaped(input),
            Operation::Permute { axes } if axes.iter().enumerate().all(|(at, axis)| at == *axis) => {
                Some(self.get(input))
            }
            Operation::Expand => self.repeated(input, output),
            Operation::Concatenate { axis } if axis + 1 == self.shape(output).len() => {
                let is_padding = node.inputs[1..].iter().all(|rest| self.is_zero(*rest));
                self.rows_of(input).filter(|_| is_padding)
            }
            Operation::AssignSlice { slices } if self.is_zero(input) => {
                let keeps_rows = self.rows(second?) == self.rows(input) && starts_at_zero(slices);
                self.rows_of(second?).filter(|_| keeps_rows)
            }
            Operation::Slice { slices } => {
                let value = self.get(input);
                let keeps_rows = self.rows(input) == self.rows(output) && starts_at_zero(slices);
                (keeps_rows && matches!(value, Convolution(..))).then_some(value)
            }
            Operation::Multiply => self.term(input, second?, output),
            Operation::Subtract => self.product(input, second?, SpectrumPart::Real),
            Operation::Add => self.product(input, second?, SpectrumPart::Imaginary),
            Operation::Custom { name, scalars } => self.inverse(name, scalars, input, second?),
            _ => None,
        }
    }

    /// The same rows with other leading axes. Rows that were repeated are not followed further.
    fn reshaped(&self, input: ValueId) -> Option<ConvolutionValue> {
        let value = self.get(input);
        match value {
            Spectrum(spectra, _) if self.rows(spectra.source) != self.rows(input) => None,
            _ => Some(value),
        }
    }

    /// Spectra of kernels `[1, channels, bins]` or `[channels, bins]`, repeated for each element of a batch.
    fn repeated(&self, input: ValueId, output: ValueId) -> Option<ConvolutionValue> {
        let (Spectrum(spectra, part), [_, channels, _]) = (self.get(input), self.shape(output)) else { return None };
        let is_per_channel = self.per_channel(input) == Some(*channels) && self.last(input) == self.last(output);
        (is_per_channel && self.rows(spectra.source) == *channels).then_some(Spectrum(spectra, part))
    }

    /// The channels of a value `[1, channels, …]` or `[channels, …]`.
    fn per_channel(&self, id: ValueId) -> Option<usize> {
        match *self.shape(id) {
            [channels, _] | [1, channels, _] => Some(channels),
            _ => None,
        }
    }

    fn rows_of(&self, id: ValueId) -> Option<ConvolutionValue> {
        let value = self.get(id);
        matches!(value, Rows(_)).then_some(value)
    }

    fn is_zero(&self, id: ValueId) -> bool {
        let producer = self.producers[id.index()].map(|index| &self.graph.nodes()[index]);
        producer.is_some_and(|node| match node.operation {
            Operation::Fill(value) => value == 0.0,
            Operation::Expand | Operation::Reshape => self.is_zero(node.inputs[0]),
            _ => false,
        })
    }

    /// The product of a part of a signal's spectra `[batch, channels, bins]` with a part of the kernels'.
    fn term(&self, left: ValueId, right: ValueId, output: ValueId) -> Option<ConvolutionValue> {
        let (Spectrum(a, of_a), Spectrum(b, of_b)) = (self.get(left), self.get(right)) else { return None };
        let [batch, channels, bins] = *self.shape(output) else { return None };
        if a.points != b.points || bins != a.points / 2 + 1 {
            return None;
        }
        let is_signal = |id: ValueId, spectra: &RowSpectra| {
            self.shape(id) == self.shape(output) && self.rows(spectra.source) == batch * channels
        };
        let is_kernel = |id: ValueId, spectra: &RowSpectra| {
            let is_repeated = self.shape(id) == self.shape(output) || self.per_channel(id) == Some(channels);
            is_repeated && self.rows(spectra.source) == channels
        };
        // Of a batch of one either may be the signal: the order of their values decides.
        let both = batch == 1 && is_signal(left, &a) && is_signal(right, &b);
        if is_signal(left, &a) && is_kernel(right, &b) && (!both || a.source <= b.source) {
            Some(Term(SpectraPair { signal: a, kernel: b }, [of_a, of_b]))
        } else if is_signal(right, &b) && is_kernel(left, &a) {
            Some(Term(SpectraPair { signal: b, kernel: a }, [of_b, of_a]))
        } else {
            None
        }
    }

    /// The difference of products of equal parts is the real part, the sum of products of different ones the imaginary
    /// part.
    fn product(&self, left: ValueId, right: ValueId, part: SpectrumPart) -> Option<ConvolutionValue> {
        use SpectrumPart::{Imaginary, Real};
        let (Term(pair, left), Term(other, right)) = (self.get(left), self.get(right)) else { return None };
        let expected = match part {
            Real => (left, right) == ([Real, Real], [Imaginary, Imaginary]),
            _ => {
                (left, right) == ([Real, Imaginary], [Imaginary, Real])
                    || (left, right) == ([Imaginary, Real], [Real, Imaginary])
            }
        };
        (expected && pair == other).then_some(Product(pair, part))
    }

    /// The inverse transform of a product, of as many points.
    fn inverse(&self, name: &str, scalars: &[ScalarIr], re: ValueId, im: ValueId) -> Option<ConvolutionValue> {
        let (Product(pair, SpectrumPart::Real), Product(other, SpectrumPart::Imaginary)) = (self.get(re), self.get(im))
        else {
            return None;
        };
        let points = pair.signal.points;
        let scale = match OpDescriptor::parse(name, scalars) {
            Some(OpDescriptor::InverseRealFft { options }) => {
                let is_plain = options.direction == Direction::Inverse && options.interior == 1.0;
                (is_plain && options.length == points).then_some(options.scale)?
            }
            _ if name == IRFFT => {
                let default = 2 * (self.last(re) - 1);
                (self.of_burn(scalars, re, default)? == points).then_some(1.0 / points as f64)?
            }
            _ => return None,
        };
        (pair == other).then_some(Convolution(pair, pair.signal.scale * pair.kernel.scale * scale))
    }
}

/// Whether a slice starts at the first element of every axis.
fn starts_at_zero(slices: &[AxisSlice]) -> bool {
    slices.iter().all(|slice| *slice == AxisSlice { start: 0, stride: 1 })
}
