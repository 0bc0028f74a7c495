//! Graph of a model: values, and the nodes that compute them, as plain data.

use std::sync::Arc;

use burn::backend::ir::OperationIr;
use burn::tensor::{DType, TensorData};

use super::Operation;

/// Identifier of a value: its index among the graph's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(pub(super) usize);

impl ValueId {
    /// The index among the graph's values.
    pub const fn index(self) -> usize {
        self.0
    }
}

/// Origin of a value.
#[derive(Debug, Clone)]
pub enum Origin {
    /// An input, by its name.
    Input(String),
    /// A constant of the model.
    Constant(Arc<TensorData>),
    /// An output of a node.
    Computed,
}

/// Tensor of a graph.
#[derive(Debug, Clone)]
pub struct Value {
    /// The shape.
    pub shape: Vec<usize>,
    /// The element type.
    pub dtype: DType,
    /// The origin.
    pub origin: Origin,
}

impl Value {
    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.elements() as u64 * self.dtype.size() as u64
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}

/// One operation of a graph, with its inputs and outputs.
#[derive(Debug, Clone)]
pub struct Node {
    /// The operation.
    pub operation: Operation,
    /// The values it reads.
    pub inputs: Vec<ValueId>,
    /// The values it computes.
    pub outputs: Vec<ValueId>,
    /// Burn's record of the operation, with the indices of the graph's values as identifiers; none if it was not
    /// captured.
    pub(super) recorded: Option<Arc<OperationIr>>,
}

impl Node {
    /// A node that computes `outputs` from `inputs`.
    pub fn new(operation: Operation, inputs: Vec<ValueId>, outputs: Vec<ValueId>) -> Self {
        Self { operation, inputs, outputs, recorded: None }
    }
}

/// Values, and the nodes that compute them in execution order.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    values: Vec<Value>,
    nodes: Vec<Node>,
    inputs: Vec<ValueId>,
    outputs: Vec<ValueId>,
}

impl Graph {
    /// Adds an input.
    pub fn input(&mut self, name: &str, shape: &[usize], dtype: DType) -> ValueId {
        let id = self.value(shape, dtype, Origin::Input(name.into()));
        self.inputs.push(id);
        id
    }

    /// Adds a constant.
    pub fn constant(&mut self, data: TensorData) -> ValueId {
        let shape = data.shape().to_vec();
        let dtype = data.dtype();
        self.value(&shape, dtype, Origin::Constant(Arc::new(data)))
    }

    /// Adds a value for a node that is added later.
    pub fn computed(&mut self, shape: &[usize], dtype: DType) -> ValueId {
        self.value(shape, dtype, Origin::Computed)
    }

    /// Adds a node at the end.
    pub fn push(&mut self, node: Node) {
        self.nodes.push(node);
    }

    /// Adds a node with one output at the end, and returns that output.
    pub fn apply(&mut self, operation: Operation, inputs: &[ValueId], shape: &[usize], dtype: DType) -> ValueId {
        let output = self.computed(shape, dtype);
        self.push(Node::new(operation, inputs.to_vec(), vec![output]));
        output
    }

    /// Sets the outputs.
    pub fn set_outputs(&mut self, outputs: &[ValueId]) {
        self.outputs = outputs.to_vec();
    }

    /// Keeps only the outputs at these indices, in this order. Indices past the last output are ignored. Nodes that
    /// become unused stay until [`prune`](Self::prune).
    pub fn restrict_outputs(&mut self, indices: &[usize]) {
        self.outputs = indices.iter().filter_map(|&index| self.outputs.get(index).copied()).collect();
    }

    fn value(&mut self, shape: &[usize], dtype: DType, origin: Origin) -> ValueId {
        self.values.push(Value { shape: shape.to_vec(), dtype, origin });
        ValueId(self.values.len() - 1)
    }

    /// A value.
    ///
    /// # Panics
    /// For the id of another graph's value, if this one has fewer.
    pub fn get(&self, id: ValueId) -> &Value {
        &self.values[id.0]
    }

    /// The name of an input.
    pub fn input_name(&self, id: ValueId) -> Option<&str> {
        match &self.get(id).origin {
            Origin::Input(name) => Some(name),
            _ => None,
        }
    }

    /// Every value, including those whose node was removed.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The id of every value.
    pub fn value_ids(&self) -> impl Iterator<Item = ValueId> + use<> {
        (0..self.values.len()).map(ValueId)
    }

    /// Every node, in execution order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The inputs, in the order in which they were declared.
    pub fn inputs(&self) -> &[ValueId] {
        &self.inputs
    }

    /// The outputs.
    pub fn outputs(&self) -> &[ValueId] {
        &self.outputs
    }

    /// The names of the custom operations, in order.
    pub fn custom_operations(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().filter_map(|node| match &node.operation {
            Operation::Custom { name, .. } => Some(name.as_str()),
            _ => None,
        })
    }

    /// Index of the node that computes each value; `None` for inputs and constants.
    pub fn producers(&self) -> Vec<Option<usize>> {
        self.last_with(|node| &node.outputs)
    }

    /// Index of the last node that reads each value; `None` where none does.
    pub fn last_readers(&self) -> Vec<Option<usize>> {
        self.last_with(|node| &node.inputs)
    }

    /// Index of the last node that has each value among `values` of the node.
    fn last_with(&self, values: fn(&Node) -> &[ValueId]) -> Vec<Option<usize>> {
        let mut last = vec![None; self.values.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            values(node).iter().for_each(|value| last[value.0] = Some(index));
        }
        last
    }

    /// Whether an output depends on each node.
    pub fn live(&self) -> Vec<bool> {
        let mut needed = vec![false; self.values.len()];
        for output in &self.outputs {
            needed[output.0] = true;
        }
        let mut live = vec![false; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate().rev() {
            live[index] = node.outputs.iter().any(|output| needed[output.0]);
            if live[index] {
                node.inputs.iter().for_each(|input| needed[input.0] = true);
            }
        }
        live
    }

    /// Removes nodes that no output depends on, and returns their number.
    pub fn prune(&mut self) -> usize {
        let mut live = self.live().into_iter();
        let before = self.nodes.len();
        self.nodes.retain(|_| live.next().unwrap_or(true));
        before - self.nodes.len()
    }

    /// Indices of the views that the node at `index` reads its inputs through, in execution order.
    fn views_before(&self, index: usize) -> Vec<usize> {
        let mut viewed = vec![false; self.values.len()];
        self.nodes[index].inputs.iter().for_each(|input| viewed[input.0] = true);
        let mut views = Vec::new();
        for (place, node) in self.nodes[..index].iter().enumerate().rev() {
            if node.operation.is_view() && node.outputs.iter().any(|output| viewed[output.0]) {
                views.push(place);
                node.inputs.iter().for_each(|input| viewed[input.0] = true);
            }
        }
        views.reverse();
        views
    }

    /// A graph for measuring the time of the node at `index`: the node alone, `repeats` times, on constants in place of
    /// values that other nodes compute. The views through which it reads its inputs run before it each time, because
    /// they determine its memory accesses. The only input, an f32 tensor `[1, 1]`, is also the only output.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn measurement_graph(&self, index: usize, repeats: usize) -> Self {
        let nodes: Vec<Node> =
            self.views_before(index).into_iter().chain([index]).map(|place| self.nodes[place].clone()).collect();
        let is_read = |id: ValueId| {
            let computes = |node: &Node| node.outputs.contains(&id);
            nodes.iter().any(|node| node.inputs.contains(&id)) && !nodes.iter().any(computes)
        };
        let value = |(place, value): (usize, &Value)| {
            let origin = match &value.origin {
                Origin::Constant(data) if is_read(ValueId(place)) => Origin::Constant(data.clone()),
                _ if is_read(ValueId(place)) => Origin::Constant(Arc::new(placeholder(value))),
                _ => Origin::Computed,
            };
            Value { origin, ..value.clone() }
        };
        let mut measurement = Self {
            values: self.values.iter().enumerate().map(value).collect(),
            nodes: vec![nodes; repeats].concat(),
            ..Self::default()
        };
        let start = measurement.input("start", &[1, 1], DType::F32);
        measurement.set_outputs(&[start]);
        measurement
    }

    /// Replaces the nodes at the indices `replaced` by `nodes`, at the index of the first of them.
    pub fn replace(&mut self, replaced: &[usize], nodes: Vec<Node>) {
        let first = replaced.iter().min().copied().unwrap_or(self.nodes.len());
        let mut index = 0;
        self.nodes.retain(|_| {
            index += 1;
            !replaced.contains(&(index - 1))
        });
        self.nodes.splice(first..first, nodes);
    }
}

/// Data of a value's shape and type. Floats are spread over [0.5, 1.5), so that no arithmetic overflows and sorting has
/// work to do. Other types are zeros, which are valid indices.
fn placeholder(value: &Value) -> TensorData {
    let spread = |index: usize| (index as u32).wrapping_mul(2_654_435_761) as f32 / u32::MAX as f32 + 0.5;
    let number = |index: usize| if value.dtype.is_float() { spread(index) } else { 0.0 };
    let numbers: Vec<f32> = (0..value.elements()).map(number).collect();
    TensorData::new(numbers, value.shape.clone()).convert_dtype(value.dtype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_nodes_are_removed_and_shared_nodes_are_kept_once() {
        let mut graph = Graph::default();
        let x = graph.input("x", &[2, 3], DType::F32);
        let shared = graph.apply(Operation::MultiplyScalar(2.0), &[x], &[2, 3], DType::F32);
        let dead = graph.apply(Operation::Add, &[shared, x], &[2, 3], DType::F32);
        graph.apply(Operation::Power(2.0), &[dead], &[2, 3], DType::F32);
        let left = graph.apply(Operation::AddScalar(1.0), &[shared], &[2, 3], DType::F32);
        let sum = graph.apply(Operation::Add, &[left, shared], &[2, 3], DType::F32);
        graph.set_outputs(&[sum]);
        assert_eq!(graph.live(), [true, false, false, true, true]);
        assert_eq!(graph.prune(), 2);
        assert_eq!(graph.nodes().len(), 3);
        assert_eq!(graph.producers()[sum.index()], Some(2));
        assert_eq!(graph.last_readers()[shared.index()], Some(2));
        assert_eq!((graph.get(sum).bytes(), graph.input_name(x), graph.input_name(sum)), (24, Some("x"), None));
    }

    #[test]
    fn a_measured_node_reads_through_the_same_views() {
        let mut graph = Graph::default();
        let x = graph.input("x", &[2, 3], DType::F32);
        let doubled = graph.apply(Operation::MultiplyScalar(2.0), &[x], &[2, 3], DType::F32);
        let turned = graph.apply(Operation::Permute { axes: vec![1, 0] }, &[doubled], &[3, 2], DType::F32);
        let flat = graph.apply(Operation::Reshape, &[turned], &[6], DType::F32);
        graph.apply(Operation::Reshape, &[x], &[6], DType::F32);
        let sum = graph.apply(Operation::Add, &[flat, flat], &[6], DType::F32);
        graph.set_outputs(&[sum]);
        assert_eq!(graph.views_before(4), [1, 2]);
        let measurement = graph.measurement_graph(4, 2);
        let kinds: Vec<&str> = measurement.nodes().iter().map(|node| node.operation.kind()).collect();
        assert_eq!(kinds, ["permute", "reshape", "add", "permute", "reshape", "add"]);
        let constants = |id: &ValueId| matches!(measurement.get(*id).origin, Origin::Constant(_));
        assert_eq!(measurement.value_ids().filter(constants).collect::<Vec<_>>(), [doubled]);
    }

    #[test]
    fn restricted_outputs_make_nodes_unused() {
        let mut graph = Graph::default();
        let x = graph.input("x", &[4], DType::F32);
        let [a, b] = [2.0, 3.0].map(|factor| graph.apply(Operation::MultiplyScalar(factor), &[x], &[4], DType::F32));
        graph.set_outputs(&[a, b]);
        graph.restrict_outputs(&[1, 7]);
        assert_eq!(graph.outputs(), [b]);
        assert_eq!(graph.prune(), 1);
    }
}
