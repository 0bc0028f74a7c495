//! Abstract interpretation of a graph in terms of spectral convolutions, from the inputs forward.

use super::axes::ValueAxes;
use super::transform::{Fft, FftKind};
use super::value::{SpectralConvValue, Spectrum, View};
use crate::graph::{AxisSlice, Graph, Node, Operation, ValueId};

/// Abstract values of a graph's values.
pub struct SpectralConvValues<'a> {
    graph: &'a Graph,
    producers: Vec<Option<usize>>,
    values: Vec<SpectralConvValue>,
}

impl<'a> SpectralConvValues<'a> {
    /// Interprets every node of `graph`.
    pub fn new(graph: &'a Graph) -> Self {
        let values = graph.value_ids().map(|id| SpectralConvValue::tensor(id, &graph.get(id).shape)).collect();
        let mut interpretation = Self { graph, producers: graph.producers(), values };
        for node in graph.nodes() {
            let outputs = interpretation.evaluate(node);
            for (value, &id) in outputs.into_iter().zip(&node.outputs) {
                interpretation.values[id.index()] = value;
            }
        }
        interpretation
    }

    /// The abstract value of a value.
    pub fn value(&self, id: ValueId) -> &SpectralConvValue {
        &self.values[id.index()]
    }

    fn spectrum(&self, id: ValueId) -> Option<&Spectrum> {
        self.value(id).spectrum()
    }

    fn shape(&self, id: ValueId) -> &'a [usize] {
        &self.graph.get(id).shape
    }

    /// Abstract values of a node's outputs; fewer where nothing is known.
    fn evaluate(&self, node: &Node) -> Vec<SpectralConvValue> {
        let (Some(&input), Some(&output)) = (node.inputs.first(), node.outputs.first()) else { return Vec::new() };
        if let Some(fft) = Fft::of(self.graph, node) {
            return self.transformed(node, &fft).into_iter().flatten().map(SpectralConvValue::Spectrum).collect();
        }
        match self.value(input) {
            SpectralConvValue::Tensor(views) if node.operation.is_view() => vec![self.viewed(node, views, output)],
            _ => self.spectrum_of(node, output).map(SpectralConvValue::Spectrum).into_iter().collect(),
        }
    }

    /// Both parts of a transform that is not the last one of a layer.
    fn transformed(&self, node: &Node, fft: &Fft) -> Option<[Spectrum; 2]> {
        match (fft.kind, &node.inputs[..], &node.outputs[..]) {
            (FftKind::Real, &[input], &[re, im]) => fft.of_real(self.graph, self.value(input).views(), input, [re, im]),
            (FftKind::Complex(_), &[re, im], _) => fft.of_complex(self.spectrum(re)?, self.spectrum(im)?),
            _ => None,
        }
    }

    /// A view of tensors, and a tensor itself.
    fn viewed(&self, node: &Node, views: &[View], output: ValueId) -> SpectralConvValue {
        let own = View { source: output, axes: ValueAxes::own(self.shape(output)) };
        let view = |view: &View| Some(View { source: view.source, axes: self.layout(node, &view.axes)? });
        SpectralConvValue::Tensor(std::iter::once(own).chain(views.iter().filter_map(view)).collect())
    }

    /// The axes after a change of layout.
    fn layout(&self, node: &Node, axes: &ValueAxes) -> Option<ValueAxes> {
        let (from, to) = (self.shape(node.inputs[0]), self.shape(node.outputs[0]));
        match &node.operation {
            Operation::Reshape => axes.cover(from).then(|| axes.reshape(to))?,
            Operation::Permute { axes: order } => Some(axes.permute(order)),
            Operation::Expand => axes.expand(to),
            _ => None,
        }
    }

    /// The part of a spectrum that an operation with one output computes.
    fn spectrum_of(&self, node: &Node, output: ValueId) -> Option<Spectrum> {
        let first = self.spectrum(node.inputs[0]);
        let shape = self.shape(output);
        match &node.operation {
            Operation::Reshape | Operation::Permute { .. } | Operation::Expand => {
                Some(first?.with_axes(self.layout(node, &first?.axes)?))
            }
            Operation::Slice { slices } => first?.cut(slices, self.shape(node.inputs[0]), shape),
            Operation::Concatenate { axis } => self.joined(node, *axis, shape),
            Operation::AssignSlice { slices } => self.assigned(node, slices, shape),
            Operation::Multiply => self.product(node, shape, Spectrum::times),
            Operation::MatrixProduct => {
                self.product(node, shape, Spectrum::matmul).or_else(|| self.transposed_product(node, shape))
            }
            Operation::Add => first?.plus(self.spectrum(node.inputs[1])?),
            Operation::Subtract => first?.plus(&scaled(self.spectrum(node.inputs[1])?, -1.0)),
            Operation::MultiplyScalar(factor) => Some(scaled(first?, *factor)),
            Operation::DivideScalar(divisor) => Some(scaled(first?, 1.0 / divisor)),
            Operation::Sum { axis } => first?.summed(*axis, self.shape(node.inputs[0])[*axis]),
            _ => None,
        }
    }

    /// Spectra and zeros, one after the other.
    fn joined(&self, node: &Node, axis: usize, shape: &[usize]) -> Option<Spectrum> {
        let (mut whole, mut place) = (None::<Spectrum>, 0);
        for &input in &node.inputs {
            if let Some(part) = self.spectrum(input) {
                let part = part.moved(axis, place, shape[axis])?;
                whole = Some(whole.map_or_else(|| Some(part.clone()), |whole| whole.plus(&part))?);
            } else if !self.is_zero(input) {
                return None;
            }
            place += self.shape(input)[axis];
        }
        whole
    }

    /// Bins that replace zeros.
    fn assigned(&self, node: &Node, slices: &[AxisSlice], shape: &[usize]) -> Option<Spectrum> {
        let &[base, part] = &node.inputs[..] else { return None };
        let (mut placed, cut) = (self.spectrum(part)?.clone(), self.shape(part));
        for (axis, slice) in slices.iter().enumerate() {
            if slice.stride != 1 {
                return None;
            }
            if cut[axis] != shape[axis] {
                placed = placed.moved(axis, slice.start, shape[axis])?;
            }
        }
        if self.is_zero(base) {
            return Some(placed);
        }
        let base = self.spectrum(base)?;
        let replaces_zeros = base.cut(slices, shape, cut)?.blocks.is_empty();
        replaces_zeros.then(|| base.plus(&placed))?
    }

    /// The product of a spectrum and weights `[in, out, modes…]`, in either order.
    fn product(
        &self,
        node: &Node,
        shape: &[usize],
        multiply: impl Fn(&Spectrum, &View) -> Option<Spectrum>,
    ) -> Option<Spectrum> {
        let &[left, right] = &node.inputs[..] else { return None };
        let (spectrum, weights) = match (self.spectrum(left), self.spectrum(right)) {
            (Some(spectrum), None) => (spectrum, right),
            (None, Some(spectrum)) if node.operation == Operation::Multiply => (spectrum, left),
            _ => return None,
        };
        self.weighted(spectrum, self.value(weights).views(), multiply).filter(|product| product.axes.cover(shape))
    }

    /// The matrix product of weights and a spectrum: that of both transposed, transposed.
    fn transposed_product(&self, node: &Node, shape: &[usize]) -> Option<Spectrum> {
        let &[left, right] = &node.inputs[..] else { return None };
        let spectrum = self.spectrum(right)?;
        let transposed = |view: &View| View { source: view.source, axes: view.axes.transposed() };
        let views: Vec<_> = self.value(left).views().iter().map(transposed).collect();
        let product = self.weighted(&spectrum.with_axes(spectrum.axes.transposed()), &views, Spectrum::matmul)?;
        Some(product.with_axes(product.axes.transposed())).filter(|product| product.axes.cover(shape))
    }

    /// The product of a spectrum and the first view that has the axes of weights.
    fn weighted(
        &self,
        spectrum: &Spectrum,
        views: &[View],
        multiply: impl Fn(&Spectrum, &View) -> Option<Spectrum>,
    ) -> Option<Spectrum> {
        let rank = spectrum.transform.points.len() + 2;
        views.iter().filter(|view| self.shape(view.source).len() == rank).find_map(|view| multiply(spectrum, view))
    }

    /// Whether a value is made of zeros.
    fn is_zero(&self, id: ValueId) -> bool {
        let producer = self.producers[id.index()].map(|index| &self.graph.nodes()[index]);
        producer.is_some_and(|node| match node.operation {
            Operation::Fill(value) => value == 0.0,
            Operation::Reshape | Operation::Expand | Operation::Cast => self.is_zero(node.inputs[0]),
            _ => false,
        })
    }
}

fn scaled(spectrum: &Spectrum, factor: f64) -> Spectrum {
    spectrum.with_blocks(|block| block.scaled(factor))
}
