//! Abstract interpretation of a graph, from the inputs forward: what each value is in terms of segments,
//! spectra, power and convolutions. Rules ask for the abstract values of what they may replace.
//!
//! A value has several [`AbstractValue`]s: its own elements first, then what it is in terms of values further in front.
//! Each operation is a small function on abstract values; the output of an unknown one has its own elements alone.

mod abstract_value;
mod axes;
mod bins;
mod power;
mod spectrum;
mod transform;
mod views;

pub use abstract_value::{AbstractValue, Content, PowerSpectrum, SpectrumPart, Transform};
pub use axes::AxisRole;
pub use spectrum::Weighted;
pub use transform::{Fft, FftKind, MirroredSpectrum};

use super::constants;
use crate::graph::{AxisSlice, Graph, Node, Operation, Origin, ValueId};

/// Abstract values of a graph's values.
pub struct Interpretation<'a> {
    graph: &'a Graph,
    producers: Vec<Option<usize>>,
    values: Vec<Vec<AbstractValue>>,
}

impl<'a> Interpretation<'a> {
    /// Interprets every node of `graph`.
    pub fn new(graph: &'a Graph) -> Self {
        let values = graph.value_ids().map(|id| vec![AbstractValue::own(id, &graph.get(id).shape)]).collect();
        let mut interpretation = Self { graph, producers: graph.producers(), values };
        for node in graph.nodes() {
            let outputs = interpretation.outputs(node);
            for (derived, output) in outputs.into_iter().zip(&node.outputs) {
                let known = &mut interpretation.values[output.index()];
                for value in derived {
                    if !known.contains(&value) {
                        known.push(value);
                    }
                }
            }
        }
        interpretation
    }

    /// Abstract values of a value: its own elements, then those in terms of values further in front.
    pub fn values(&self, id: ValueId) -> &[AbstractValue] {
        &self.values[id.index()]
    }

    pub const fn graph(&self) -> &'a Graph {
        self.graph
    }

    /// The node that computes a value.
    pub fn producer(&self, id: ValueId) -> Option<&'a Node> {
        Some(&self.graph.nodes()[self.producers[id.index()]?])
    }

    /// Whether segments are all samples of their source.
    pub fn are_whole(&self, value: &AbstractValue) -> bool {
        let segments = &value.transform.segments;
        let samples = self.shape(segments.source).last().copied().unwrap_or(1);
        segments.starts == [0] && segments.length == samples && segments.window.is_none()
    }

    fn shape(&self, id: ValueId) -> &'a [usize] {
        &self.graph.get(id).shape
    }

    /// Derived abstract values of each output of a node.
    fn outputs(&self, node: &Node) -> Vec<Vec<AbstractValue>> {
        if let Some(fft) = Fft::of(self.graph, node) {
            let pairs = self.transforms(node, &fft);
            return vec![
                pairs.iter().map(|[re, _]| re.clone()).collect(),
                pairs.into_iter().map(|[_, im]| im).collect(),
            ];
        }
        if node.inputs.is_empty() || node.outputs.len() != 1 { Vec::new() } else { vec![self.single(node)] }
    }

    /// Both parts of a transform; of an inverse real one, its output twice.
    fn transforms(&self, node: &Node, fft: &Fft) -> Vec<[AbstractValue; 2]> {
        let &[input, ..] = &node.inputs[..] else { return Vec::new() };
        let second = node.inputs.get(1).copied();
        let of_samples = |value: &AbstractValue| {
            let source = self.shape(value.transform.segments.source);
            value.transformed(fft, self.shape(input), source, &node.outputs)
        };
        let is_of_samples = match fft.kind {
            FftKind::Real => true,
            FftKind::Complex(direction) => {
                direction == firefly_ops::Direction::Forward && second.is_some_and(|im| self.is_zero(im))
            }
            FftKind::InverseReal => false,
        };
        if is_of_samples {
            return self.values(input).iter().filter_map(of_samples).collect();
        }
        let Some(second) = second else { return Vec::new() };
        self.pairs(input, second, |re, im| match fft.kind {
            FftKind::InverseReal => re.convolution(im, fft).map(|output| [output.clone(), output]),
            _ => re.complex_transformed(im, fft),
        })
    }

    /// What `combine` makes of each pair of abstract values of two values.
    fn pairs<T>(
        &self,
        left: ValueId,
        right: ValueId,
        combine: impl Fn(&AbstractValue, &AbstractValue) -> Option<T>,
    ) -> Vec<T> {
        let pairs = self.values(left).iter().flat_map(|a| self.values(right).iter().map(move |b| (a, b)));
        pairs.filter_map(|(a, b)| combine(a, b)).collect()
    }

    /// Derived abstract values of the output of an operation with one output.
    fn single(&self, node: &Node) -> Vec<AbstractValue> {
        let (input, output) = (node.inputs[0], node.outputs[0]);
        let (from, to) = (self.shape(input), self.shape(output));
        let second = node.inputs.get(1).copied().unwrap_or(input);
        let each = |change: &dyn Fn(&AbstractValue) -> Option<AbstractValue>| -> Vec<AbstractValue> {
            self.values(input).iter().filter_map(change).collect()
        };
        match &node.operation {
            Operation::Reshape => each(&|value| value.reshape(from, to)),
            Operation::Expand => each(&|value| value.expand(to)),
            Operation::Permute { axes } => each(&|value| Some(value.with_axes(value.axes.permute(axes)))),
            Operation::Slice { slices } => each(&|value| value.slice(slices, from, to)),
            Operation::Unfold { axis, size, step } => each(&|value| value.unfold(*axis, *size, *step, to[*axis])),
            Operation::Concatenate { axis } => self.concatenated(node, *axis),
            Operation::AssignSlice { slices } => self.assigned(input, second, slices, from),
            Operation::Multiply => self.product(input, second, to),
            Operation::MatrixProduct => self.matrix_product(input, second, to),
            Operation::Add => self.pairs(input, second, |a, b| a.plus_power(b).or_else(|| a.plus_spectrum(b))),
            Operation::Subtract => self.pairs(input, second, |a, b| a.plus_spectrum(&b.scaled_spectrum(-1.0)?)),
            Operation::MultiplyScalar(factor) => each(&|value| scaled(value, *factor)),
            Operation::DivideScalar(divisor) => each(&|value| scaled(value, 1.0 / divisor)),
            Operation::SquareRoot | Operation::Power(0.5) => each(&AbstractValue::root),
            Operation::Power(2.0) => each(&AbstractValue::squared),
            Operation::Sum { axis } => {
                each(&|value| value.reduced(*axis, 1.0).or_else(|| value.summed(*axis, from[*axis])))
            }
            Operation::Mean { axis } => each(&|value| value.reduced(*axis, from[*axis] as f64)),
            _ => Vec::new(),
        }
    }

    /// Both sides of a spectrum; segments, samples or bins of one source behind each other; samples with zeros behind
    /// them; or spectra of one transform and zeros.
    fn concatenated(&self, node: &Node, axis: usize) -> Vec<AbstractValue> {
        let shape = self.shape(node.outputs[0]);
        if let Some(whole) = MirroredSpectrum::of(self, node) {
            let both = |half: &AbstractValue| half.mirrored(whole.part, whole.axis, shape[whole.axis]);
            return self.values(whole.half).iter().filter_map(both).collect();
        }
        let (first, rest) = (node.inputs[0], &node.inputs[1..]);
        let is_whole = |value: &AbstractValue, id: ValueId| value.axes.cover(self.shape(id));
        let mut found: Vec<AbstractValue> =
            self.values(first).iter().filter(|value| is_whole(value, first)).cloned().collect();
        if !rest.is_empty() && rest.iter().all(|id| self.is_zero(*id)) {
            found = found.iter().filter_map(|value| value.padded(axis, shape[axis])).collect();
        } else {
            for &id in rest {
                let next = self.values(id).iter().filter(|value| is_whole(value, id));
                let next: Vec<&AbstractValue> = next.collect();
                found = found.iter().filter_map(|all| next.iter().find_map(|part| all.append(part, axis))).collect();
            }
        }
        found.into_iter().chain(self.joined_spectra(node, axis, shape)).collect()
    }

    /// Spectra and zeros, one after the other.
    fn joined_spectra(&self, node: &Node, axis: usize, shape: &[usize]) -> Vec<AbstractValue> {
        let (mut whole, mut place) = (None::<Vec<AbstractValue>>, 0);
        for &input in &node.inputs {
            if !self.is_zero(input) {
                let parts: Vec<AbstractValue> =
                    self.values(input).iter().filter_map(|part| part.moved(axis, place, shape[axis])).collect();
                whole = Some(match whole {
                    None => parts,
                    Some(whole) => {
                        whole.iter().filter_map(|all| parts.iter().find_map(|part| all.plus_spectrum(part))).collect()
                    }
                });
            }
            place += self.shape(input)[axis];
        }
        whole.unwrap_or_default()
    }

    /// Samples or bins that replace zeros, or bins of power.
    fn assigned(&self, base: ValueId, part: ValueId, slices: &[AxisSlice], shape: &[usize]) -> Vec<AbstractValue> {
        let cut = self.shape(part);
        if slices.iter().any(|slice| slice.stride != 1) {
            return Vec::new();
        }
        let longer: Vec<usize> = (0..shape.len()).filter(|axis| cut[*axis] != shape[*axis]).collect();
        let placed = |value: &AbstractValue| {
            longer.iter().try_fold(value.clone(), |placed, &axis| {
                let start = slices[axis].start;
                let padded = || placed.padded(axis, shape[axis]).filter(|_| start == 0 && placed.axes.cover(cut));
                placed.moved(axis, start, shape[axis]).or_else(padded)
            })
        };
        if self.is_zero(base) {
            return self.values(part).iter().filter_map(placed).collect();
        }
        self.pairs(base, part, |base, part| {
            if base.power().is_some() {
                return base.assign(shape, slices, part);
            }
            let replaced = base.spectrum().and_then(|_| base.slice(slices, shape, cut))?;
            let replaces_zeros = replaced.spectrum()?.blocks.is_empty();
            replaces_zeros.then(|| base.plus_spectrum(&placed(part)?))?
        })
    }

    /// A spectrum times itself, samples times a window, power times known weights, or a spectrum times weights or
    /// kernels, in either order.
    fn product(&self, left: ValueId, right: ValueId, shape: &[usize]) -> Vec<AbstractValue> {
        if left == right {
            return self.values(left).iter().filter_map(AbstractValue::squared).collect();
        }
        let times_vector = |id, vector| -> Vec<AbstractValue> {
            self.values(id).iter().filter_map(|value| self.times_vector(value, id, vector, shape)).collect()
        };
        let mut products = times_vector(left, right);
        if products.is_empty() {
            products = times_vector(right, left);
        }
        for (id, other) in [(left, right), (right, left)] {
            products.extend(self.pairs(id, other, |spectrum, other| {
                let weighted = self.weights(other).and_then(|weights| spectrum.times(weights));
                let product = weighted.filter(|product| product.axes.cover(shape));
                product.or_else(|| spectrum.times_kernel(other, shape))
            }));
        }
        products
    }

    /// An abstract value that may be weights of a layer: the elements of a whole tensor.
    fn weights<'b>(&self, value: &'b AbstractValue) -> Option<&'b AbstractValue> {
        value.samples().filter(|_| self.are_whole(value)).map(|_| value)
    }

    /// The matrix product of a spectrum and weights, or of both transposed, transposed.
    fn matrix_product(&self, left: ValueId, right: ValueId, shape: &[usize]) -> Vec<AbstractValue> {
        let is_whole = |product: &AbstractValue| product.axes.cover(shape);
        let transposed = |value: &AbstractValue| value.with_axes(value.axes.transposed());
        let behind =
            self.pairs(left, right, |spectrum, weights| spectrum.matmul(self.weights(weights)?).filter(is_whole));
        let in_front = self.pairs(right, left, |spectrum, weights| {
            let product = transposed(spectrum).matmul(&transposed(self.weights(weights)?))?;
            Some(transposed(&product)).filter(is_whole)
        });
        behind.into_iter().chain(in_front).collect()
    }

    /// An abstract value of a value times a vector along its axis of samples or bins.
    fn times_vector(
        &self,
        value: &AbstractValue,
        id: ValueId,
        vector: ValueId,
        shape: &[usize],
    ) -> Option<AbstractValue> {
        // The vector must not broadcast the value to more rows or segments, and must have one element per sample or
        // bin.
        if self.shape(id) != shape || !value.axes.cover(shape) {
            return None;
        }
        let points = value.point_axis()?;
        let missing = shape.len().checked_sub(self.shape(vector).len())?;
        // The elements of a whole tensor that vary along one axis only.
        let is_along = |vector: &&AbstractValue| {
            let roles: Vec<_> = vector.axes.roles().collect();
            let elements = self.graph.get(vector.transform.segments.source).elements();
            let is_single = matches!(roles[..], [(AxisRole::Own(_), length)] if length == elements);
            is_single && points >= missing && vector.axes.0[points - missing].len() == 1 && elements == shape[points]
        };
        let vector = self.values(vector).iter().rev().filter_map(|value| self.weights(value)).find(is_along)?;
        let source = vector.transform.segments.source;
        match &value.content {
            Content::Samples => value.windowed(self.first_equal(source)),
            Content::Power(_) => value.with_weights(&constants::vector(self, source)?),
            _ => None,
        }
    }

    /// The first constant with the elements of a constant, and any other value itself: segments that are cut one by one
    /// may have a copy of the window each.
    fn first_equal(&self, id: ValueId) -> ValueId {
        let Origin::Constant(data) = &self.graph.get(id).origin else { return id };
        let is_equal =
            |other: &ValueId| matches!(&self.graph.get(*other).origin, Origin::Constant(found) if found == data);
        self.graph.value_ids().find(is_equal).unwrap_or(id)
    }

    /// Whether a value is filled with zeros, in whatever shape.
    fn is_zero(&self, id: ValueId) -> bool {
        self.producer(id).is_some_and(|node| match node.operation {
            Operation::Fill(value) => value == 0.0,
            Operation::Reshape | Operation::Permute { .. } | Operation::Expand | Operation::Cast => {
                self.is_zero(node.inputs[0])
            }
            _ => false,
        })
    }
}

/// Power or a spectrum times a factor.
fn scaled(value: &AbstractValue, factor: f64) -> Option<AbstractValue> {
    value.with_factor(factor).or_else(|| value.scaled_spectrum(factor))
}
