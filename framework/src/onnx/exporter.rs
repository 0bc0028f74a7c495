//! Translation of a graph: lengths in terms of the batch, values, and operators on them.

use burn::backend::ir::{OperationIr, TensorIr};
use burn::tensor::{DType, TensorData};
use serde_json::{Value, json};

use super::message::{Message, attribute, tensor, type_number, value_info};
use super::{Description, Model, OnnxError, Port};
use crate::graph::{Graph, GraphError, Node, Origin, ValueId, operation_of};

/// Version of the operators: the first one whose `DFT` has its axis as an input.
const OPSET: i64 = 20;
/// Version of the format that came with these operators.
const IR_VERSION: i64 = 9;
/// Largest message of Protocol Buffers in bytes.
const MAX_BYTES: usize = i32::MAX as usize;

/// Value of the file: the index of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot(usize);

/// The value of an input that is left out.
pub const ABSENT: Slot = Slot(0);

/// Length of a dimension: a number, plus a multiple of the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length {
    pub fixed: i64,
    pub per_batch: i64,
}

impl Length {
    /// The linear function that has these values, each behind its batch, if there is one.
    fn of(values: &[[i64; 2]]) -> Option<Self> {
        let ([batch, value], [other, of_other]) = (*values.first()?, *values.last()?);
        let per_batch = if other == batch { 0 } else { (of_other - value) / (other - batch) };
        let length = Self { fixed: value - per_batch * batch, per_batch };
        values.iter().all(|[batch, value]| length.fixed + per_batch * batch == *value).then_some(length)
    }

    fn is_open(&self) -> bool {
        self.per_batch != 0
    }

    fn text(&self) -> String {
        match (self.per_batch, self.fixed) {
            (0, fixed) => fixed.to_string(),
            (1, 0) => "batch".into(),
            (per_batch, 0) => format!("{per_batch}*batch"),
            (per_batch, fixed) => format!("{per_batch}*batch + {fixed}"),
        }
    }
}

/// Shapes of the values of a graph, from graphs of several batches, if all lengths are linear in the batch.
pub fn shapes(graphs: &[(usize, Graph)]) -> Option<Vec<Vec<Length>>> {
    let length = |value: usize, axis: usize| {
        let of = |(batch, graph): &(usize, Graph)| {
            Some([*batch as i64, *graph.values().get(value)?.shape.get(axis)? as i64])
        };
        Length::of(&graphs.iter().map(of).collect::<Option<Vec<_>>>()?)
    };
    let values = graphs.first()?.1.values().iter().enumerate();
    values.map(|(value, of)| (0..of.shape.len()).map(|axis| length(value, axis)).collect()).collect()
}

/// A graph while it is translated.
pub struct Exporter<'a> {
    graph: &'a Graph,
    shapes: &'a [Vec<Length>],
    slots: Vec<Option<Slot>>,
    /// Nodes and constants of a `GraphProto`.
    nodes: Message,
    operators: Vec<&'static str>,
    names: Vec<String>,
    /// Type of the constants of the operation that is translated.
    pub dtype: DType,
}

impl<'a> Exporter<'a> {
    pub fn new(graph: &'a Graph, shapes: &'a [Vec<Length>]) -> Self {
        let (slots, names) = (vec![None; shapes.len()], vec![String::new()]);
        Self { graph, shapes, slots, nodes: Message::default(), operators: Vec::new(), names, dtype: DType::F32 }
    }

    pub fn export(mut self, about: &Description) -> Result<Model, OnnxError> {
        let graph = self.graph;
        if let Some(value) = graph.values().iter().find(|value| type_number(value.dtype) == 0) {
            return Err(OnnxError::Type(value.dtype));
        }
        let port = |id: &ValueId, name: &str, text: &str| {
            let shape = self.shapes[id.index()].iter().map(Length::text).collect();
            Port { name: name.into(), shape, dtype: graph.get(*id).dtype, text: text.into() }
        };
        let texts = about.inputs.iter().map(String::as_str).chain(std::iter::repeat(""));
        let inputs = graph.inputs().iter().zip(texts);
        let inputs = inputs.map(|(id, text)| port(id, graph.input_name(*id).unwrap_or_default(), text));
        let outputs = graph.outputs().iter().zip(&about.outputs).map(|(id, (name, text))| port(id, name, text));
        let (inputs, outputs): (Vec<Port>, Vec<Port>) = (inputs.collect(), outputs.collect());
        // A slash begins the names of all other values.
        let mut names: Vec<&String> = inputs.iter().chain(&outputs).map(|port| &port.name).collect();
        names.sort_unstable();
        let is_refused = names.iter().any(|name| name.is_empty() || name.starts_with('/'));
        let is_twice = names.windows(2).any(|pair| pair[0] == pair[1]);
        if is_refused || is_twice || graph.outputs().len() != about.outputs.len() {
            return Err(OnnxError::Names(format!("{names:?}")));
        }
        for (id, port) in graph.inputs().iter().zip(&inputs) {
            self.slots[id.index()] = Some(self.named(&port.name));
        }
        graph.nodes().iter().try_for_each(|node| self.translate_node(node))?;
        for (id, port) in graph.outputs().iter().zip(&outputs) {
            let (value, output) = (self.value(*id)?, self.named(&port.name));
            self.write_node("Identity", &[value], &[output], &Value::Null);
        }
        let ports = |ports: &[Port]| ports.iter().map(value_info).collect::<Vec<_>>();
        let graph = self
            .nodes
            .text(2, if about.name.is_empty() { "graph" } else { &about.name })
            .messages(11, ports(&inputs))
            .messages(12, ports(&outputs));
        let file = Message::default().int(1, IR_VERSION).text(2, "firefly").text(3, env!("CARGO_PKG_VERSION"));
        let file = file.text(6, &about.text).messages(7, [graph]).messages(8, [Message::default().int(2, OPSET)]);
        let entries = about.metadata.iter().map(|(key, value)| Message::default().text(1, key).text(2, value));
        let bytes = file.messages(14, entries).0;
        if bytes.len() > MAX_BYTES {
            return Err(OnnxError::TooLarge(bytes.len()));
        }
        Ok(Model { inputs, outputs, operators: self.operators, fixed_batch: None, bytes })
    }

    /// A value of a name; without one, a number behind a slash is the name.
    fn named(&mut self, name: &str) -> Slot {
        self.names.push(if name.is_empty() { format!("/{}", self.names.len()) } else { name.into() });
        Slot(self.names.len() - 1)
    }

    fn constant(&mut self, data: &TensorData) -> Slot {
        let slot = self.named("");
        self.nodes.push(5, &tensor(&self.names[slot.0], data));
        slot
    }

    /// The outputs of a new node, whose attributes are a JSON object of whole numbers, lists of them, floats and text.
    fn node<const N: usize>(&mut self, kind: &'static str, inputs: &[Slot], attributes: &Value) -> [Slot; N] {
        let outputs = [(); N].map(|()| self.named(""));
        self.write_node(kind, inputs, &outputs, attributes);
        outputs
    }

    fn write_node(&mut self, kind: &'static str, inputs: &[Slot], outputs: &[Slot], attributes: &Value) {
        let name = |node: Message, field, slot: &Slot| node.text(field, &self.names[slot.0]);
        let node = inputs.iter().fold(Message::default(), |node, slot| name(node, 1, slot));
        let node = outputs.iter().fold(node, |node, slot| name(node, 2, slot)).text(4, kind);
        self.nodes.push(1, &node.messages(5, attributes.as_object().into_iter().flatten().map(attribute)));
        self.operators.push(kind);
    }

    /// Appends what computes the outputs of a node. An operation without a translation has none.
    fn translate_node(&mut self, node: &Node) -> Result<(), OnnxError> {
        let refused = || OnnxError::Operation(node.operation.name().into_owned());
        let operation = operation_of(self.graph, node).map_err(|_| refused())?;
        let inputs = node.inputs.iter().map(|id| self.value(*id)).collect::<Result<Vec<_>, _>>()?;
        let mut tensors = operation.inputs().chain(operation.outputs());
        // A signal of integers comes before floats.
        let of_constants =
            if let OperationIr::Custom(custom) = &operation { custom.inputs.last() } else { tensors.next() };
        self.dtype = of_constants.map_or(DType::F32, |tensor| tensor.dtype);
        let outputs = self.translate(&operation, node, &inputs)?;
        if outputs.len() != node.outputs.len() {
            return Err(refused());
        }
        node.outputs.iter().zip(outputs).for_each(|(id, slot)| self.slots[id.index()] = Some(slot));
        Ok(())
    }

    /// A value that has been computed, or a constant, which is added when it is first read.
    fn value(&mut self, id: ValueId) -> Result<Slot, OnnxError> {
        let slot = match (self.slots[id.index()], &self.graph.get(id).origin) {
            (Some(slot), _) => slot,
            (None, Origin::Constant(data)) => self.constant(data),
            _ => return Err(GraphError::Capture(format!("value {} is read before it is there", id.index())).into()),
        };
        self.slots[id.index()] = Some(slot);
        Ok(slot)
    }

    pub fn lengths(&self, tensor: &TensorIr) -> &'a [Length] {
        &self.shapes[tensor.id.value() as usize]
    }

    /// The length of a dimension that must not follow the batch.
    pub fn length(&self, tensor: &TensorIr, axis: usize) -> Result<usize, OnnxError> {
        let length = self.lengths(tensor)[axis];
        let open = || OnnxError::Batch(format!("an operation needs the length of a dimension of {}", length.text()));
        if length.is_open() { Err(open()) } else { Ok(length.fixed as usize) }
    }

    /// A shape as a value, of lengths that may follow the batch.
    pub fn shape(&mut self, lengths: &[Length]) -> Result<Slot, OnnxError> {
        let fixed = self.ints(lengths.iter().map(|length| length.fixed));
        if !lengths.iter().any(Length::is_open) {
            return Ok(fixed);
        }
        let is_batch = |length: &Length| *length == Length { fixed: 0, per_batch: 1 };
        let axis = |id: &ValueId| self.shapes[id.index()].iter().position(is_batch);
        let found = self.graph.inputs().iter().find_map(|id| Some((self.slots[id.index()]?, axis(id)?)));
        let (input, axis) = found.ok_or_else(|| OnnxError::Batch("no dimension of an input is the batch".into()))?;
        let batch = self.op_with("Shape", &[input], json!({"start": axis, "end": axis + 1}));
        let per_batch = self.ints(lengths.iter().map(|length| length.per_batch));
        let open = self.op("Mul", &[batch, per_batch]);
        Ok(self.op("Add", &[open, fixed]))
    }

    /// The values in another shape; of one open length, the runtime finds it.
    pub fn reshape(&mut self, value: Slot, lengths: &[Length]) -> Result<Slot, OnnxError> {
        let is_found = lengths.iter().filter(|length| length.is_open()).count() == 1
            && lengths.iter().all(|length| length.is_open() || length.fixed > 0);
        let number = |length: &Length| if length.is_open() { -1 } else { length.fixed };
        let shape = if is_found { self.ints(lengths.iter().map(number)) } else { self.shape(lengths)? };
        Ok(self.op("Reshape", &[value, shape]))
    }

    pub fn op_with(&mut self, kind: &'static str, inputs: &[Slot], attributes: Value) -> Slot {
        let [output] = self.node(kind, inputs, &attributes);
        output
    }

    pub fn op(&mut self, kind: &'static str, inputs: &[Slot]) -> Slot {
        self.op_with(kind, inputs, Value::Null)
    }

    pub fn values(&mut self, values: Vec<f64>, shape: &[usize]) -> Slot {
        self.constant(&TensorData::new(values, shape.to_vec()).convert_dtype(self.dtype))
    }

    pub fn scalar(&mut self, value: f64) -> Slot {
        self.values(vec![value], &[])
    }

    /// A list of numbers, such as a shape.
    pub fn ints(&mut self, values: impl IntoIterator<Item = i64>) -> Slot {
        let values: Vec<i64> = values.into_iter().collect();
        let length = values.len();
        self.constant(&TensorData::new(values, [length]))
    }

    /// A number, such as an axis.
    pub fn int(&mut self, value: i64) -> Slot {
        self.constant(&TensorData::new(vec![value], Vec::<usize>::new()))
    }

    /// The element at an index along an axis, which is removed.
    pub fn part(&mut self, value: Slot, index: usize, axis: i64) -> Slot {
        let index = self.int(index as i64);
        self.op_with("Gather", &[value, index], json!({"axis": axis}))
    }

    /// Elements along an axis by their numbers.
    pub fn gathered(&mut self, value: Slot, numbers: impl IntoIterator<Item = i64>, axis: i64) -> Slot {
        let numbers = self.ints(numbers);
        self.op_with("Gather", &[value, numbers], json!({"axis": axis}))
    }

    /// Windows of `size` elements from the `starts` on along an axis, which becomes two.
    pub fn windows(&mut self, value: Slot, starts: impl Iterator<Item = usize>, size: usize, axis: usize) -> Slot {
        let starts = self.ints(starts.map(|start| start as i64));
        let (starts, offsets) = (self.unsqueeze(starts, 1), self.ints(0..size as i64));
        let numbers = self.op("Add", &[starts, offsets]);
        self.op_with("Gather", &[value, numbers], json!({"axis": axis}))
    }

    /// Elements from `start` on, up to `end`, along an axis.
    pub fn slice(&mut self, value: Slot, axis: i64, [start, end, step]: [i64; 3]) -> Slot {
        let [start, end, axis, step] = [start, end, axis, step].map(|number| self.ints([number]));
        self.op("Slice", &[value, start, end, axis, step])
    }

    /// The values cut or padded with zeros from `length` to `wanted` along an axis.
    pub fn resized(&mut self, value: Slot, axis: i64, length: usize, wanted: usize) -> Slot {
        if wanted <= length {
            return if wanted == length { value } else { self.slice(value, axis, [0, wanted as i64, 1]) };
        }
        let (pads, axes) = (self.ints([0, (wanted - length) as i64]), self.ints([axis]));
        self.op("Pad", &[value, pads, ABSENT, axes])
    }

    pub fn concat(&mut self, values: &[Slot], axis: i64) -> Slot {
        self.op_with("Concat", values, json!({"axis": axis}))
    }

    pub fn unsqueeze(&mut self, value: Slot, axis: i64) -> Slot {
        let axes = self.ints([axis]);
        self.op("Unsqueeze", &[value, axes])
    }

    /// A reduction along an axis, which stays with length 1 or is removed.
    pub fn reduce(&mut self, kind: &'static str, value: Slot, axis: usize, keep: bool) -> Slot {
        let axes = self.ints([axis as i64]);
        self.op_with(kind, &[value, axes], json!({"keepdims": keep}))
    }

    pub fn cast(&mut self, value: Slot, [from, to]: [DType; 2]) -> Slot {
        if from == to { value } else { self.op_with("Cast", &[value], json!({"to": type_number(to)})) }
    }

    pub fn scaled(&mut self, value: Slot, factor: f64) -> Slot {
        if factor == 1.0 {
            return value;
        }
        let factor = self.scalar(factor);
        self.op("Mul", &[value, factor])
    }

    /// The `count` greatest or least elements along an axis, in order, and their positions.
    pub fn ordered(&mut self, value: Slot, axis: usize, largest: bool, count: usize) -> [Slot; 2] {
        let count = self.ints([count as i64]);
        self.node("TopK", &[value, count], &json!({"axis": axis, "largest": largest}))
    }
}
