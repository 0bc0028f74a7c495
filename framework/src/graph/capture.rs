//! Capture of a model: its operations recorded without running.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use burn::backend::ir::{GraphIr, IrVisitorMut, OperationIr, TensorId, TensorIr};
use burn::tensor::{Device, TensorData};

use super::arguments::{Arguments, INPUT_MARKER, Input, Outputs, Source};
use super::burn_ir::recorded_operation;
use super::{Graph, GraphError, Node, ValueId};

/// Records `model` applied to the declared inputs, without running it: its operations, constants and outputs.
/// Operations that no output depends on are left out.
///
/// The model is called with the inputs, nested in pairs if there are several, and the capture device, which its
/// parameters have to be moved to.
///
/// # Errors
/// [`GraphError::Declaration`] where the model takes other inputs, [`GraphError::CaptureUnsupported`] where it reads a
/// computed value or uses an operation that can't be recorded, [`GraphError::ForeignTensor`] where it returns a tensor
/// of another device, [`GraphError::Model`] where it fails, [`GraphError::Capture`] where Burn's capture refuses the
/// graph.
pub fn capture<A: Arguments, O: Outputs>(
    inputs: &[Input],
    model: impl FnOnce(A, &Device) -> O,
) -> Result<Graph, GraphError> {
    let device = Device::capture();
    let (mut outcome, mut panic) = (Ok(Vec::new()), None);
    let captured = device.capture_scope(|scope| {
        let mut source = Source::new(&device, inputs);
        let arguments = A::take(&mut source).and_then(|arguments| Ok((arguments, source.finish()?)));
        let (arguments, ids) = match arguments {
            Ok(taken) => taken,
            Err(error) => {
                outcome = Err(error);
                return scope.complete([], []);
            }
        };
        // Most of Burn's tensor operations have no fallible form: one that can't be recorded panics.
        match catch_unwind(AssertUnwindSafe(|| model(arguments, &device).ids())) {
            Ok(returned) => outcome = returned,
            Err(payload) => panic = Some(message(payload.as_ref())),
        }
        // An output may be returned twice; to capture, it is one.
        let mut returned: Vec<TensorId> = outcome.as_ref().cloned().unwrap_or_default();
        returned.sort_unstable();
        returned.dedup();
        scope.complete(ids, returned)
    });
    let outputs = outcome?;
    if let Some(reason) = panic {
        let operations = captured.as_ref().map_or(&[][..], |captured| &captured.graph.operations);
        return Err(GraphError::CaptureUnsupported { operation: unsupported_action(&reason, operations), reason });
    }
    let captured = captured.map_err(|error| GraphError::Capture(error.to_string()))?;
    translate(inputs, captured.graph, captured.values, &outputs)
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("it panicked without a message").to_string()
}

/// Action at which the model panicked: it read a tensor, or did something else after the last recorded operation.
fn unsupported_action(reason: &str, operations: &[OperationIr]) -> String {
    let makes = |operation: &&OperationIr, id| operation.outputs().any(|output| output.id == id);
    let read = tensor_in_message(reason).and_then(|id| operations.iter().find(|operation| makes(operation, id)));
    if let Some(operation) = read {
        return format!("reading the result of `{}`", recorded_operation(operation).name());
    }
    match operations.iter().rfind(|operation| !is_bookkeeping(operation)) {
        Some(last) => format!("what follows `{}`", recorded_operation(last).name()),
        None => "the first operation".into(),
    }
}

/// The tensor whose value the model read, by the message of Burn's panic. Only the message names it: a captured tensor
/// has no value, and reading one has no fallible form.
fn tensor_in_message(message: &str) -> Option<TensorId> {
    let (_, rest) = message.split_once("TensorId(")?;
    let (id, _) = rest.split_once(')')?;
    id.parse().ok().map(TensorId::new)
}

/// Whether an operation records where values come from, and computes nothing.
fn is_bookkeeping(operation: &OperationIr) -> bool {
    match operation {
        OperationIr::Init(_) | OperationIr::Drop(_) => true,
        OperationIr::Custom(custom) => custom.id == INPUT_MARKER,
        _ => false,
    }
}

fn translate(
    inputs: &[Input],
    captured: GraphIr,
    mut constants: BTreeMap<TensorId, TensorData>,
    outputs: &[TensorId],
) -> Result<Graph, GraphError> {
    let mut graph = Graph::default();
    let mut values = HashMap::new();
    for (id, input) in captured.inputs.iter().zip(inputs) {
        values.insert(*id, graph.input(&input.name, &input.shape, input.dtype));
    }
    let operations = captured.operations.into_iter().filter(|operation| !is_bookkeeping(operation));
    let mut held = |id: TensorId, graph: &mut Graph, values: &mut HashMap<TensorId, ValueId>| {
        let unknown = || GraphError::Capture(format!("{id} comes from nowhere"));
        if let Some(value) = values.get(&id) {
            return Ok(*value);
        }
        let value = graph.constant(constants.remove(&id).ok_or_else(unknown)?);
        values.insert(id, value);
        Ok(value)
    };
    for mut operation in operations {
        let read = operation.inputs().map(|tensor| tensor.id).collect::<Vec<_>>();
        let read = read.into_iter().map(|id| held(id, &mut graph, &mut values)).collect::<Result<Vec<_>, _>>()?;
        let made = operation
            .outputs()
            .map(|tensor| {
                let value = graph.computed(&tensor.shape.to_vec(), tensor.dtype);
                values.insert(tensor.id, value);
                value
            })
            .collect();
        operation.visit_mut(&mut Rename(&values));
        let mut node = Node::new(recorded_operation(&operation), read, made);
        node.recorded = Some(Arc::new(operation));
        graph.push(node);
    }
    let outputs =
        outputs.iter().map(|id| held(*id, &mut graph, &mut values)).collect::<Result<Vec<_>, GraphError>>()?;
    graph.set_outputs(&outputs);
    graph.prune();
    Ok(graph)
}

/// Renames tensors to the indices of the graph's values.
struct Rename<'a>(&'a HashMap<TensorId, ValueId>);

impl IrVisitorMut for Rename<'_> {
    fn visit_tensor_mut(&mut self, tensor: &mut TensorIr) {
        if let Some(value) = self.0.get(&tensor.id) {
            tensor.id = TensorId::new(value.index() as u64);
        }
    }
}
