//! Running a graph on a backend.

use burn::backend::ir::{BackendIr, CustomOpIr, HandleContainer, OperationIr, TensorId, TensorIr, TensorStatus};
use burn::tensor::{Shape, TensorData, try_read_sync};
use burn_router::{CustomOpRegistry, TensorInterpreter};

use super::graph_ir::{describe, operations};
use super::model::Origin;
use super::{Graph, GraphError, ValueId};

/// The custom operations a replay knows how to run on backend `B`, by name.
pub struct CustomOperations<B: BackendIr> {
    registry: CustomOpRegistry<B>,
    names: Vec<String>,
}

impl<B: BackendIr> Default for CustomOperations<B> {
    fn default() -> Self {
        Self { registry: CustomOpRegistry::new(), names: Vec::new() }
    }
}

impl<B: BackendIr> CustomOperations<B> {
    /// Adds an operation: `execute` takes its inputs from the handles and registers its outputs there.
    pub fn register(
        &mut self,
        name: &str,
        execute: impl Fn(&mut HandleContainer<B::Handle>, &CustomOpIr) + Send + Sync + 'static,
    ) {
        self.registry.register(name, move |handles, operation, _device| execute(handles, operation));
        self.names.push(name.into());
    }

    /// Adds the operations called `names` of an extension that fills Burn's own registry.
    pub fn register_with(&mut self, names: &[&str], fill: impl FnOnce(&mut CustomOpRegistry<B>)) {
        fill(&mut self.registry);
        self.names.extend(names.iter().map(|name| name.to_string()));
    }
}

/// A graph on a device, ready to run any number of times.
pub struct Replay<B: BackendIr> {
    interpreter: TensorInterpreter<B>,
    operations: Vec<OperationIr>,
    inputs: Vec<(TensorIr, String)>,
    outputs: Vec<TensorIr>,
}

impl<B: BackendIr> Replay<B> {
    /// Puts the values that the graph holds on a device of backend `B`.
    ///
    /// # Errors
    /// [`GraphError::UnknownOperation`] for a custom operation that is not in `custom`; [`GraphError::NotCaptured`] for a
    /// node that was made by hand and is not of a kind that can be run from its description.
    pub fn new(graph: &Graph, device: &B::Device, custom: &CustomOperations<B>) -> Result<Self, GraphError> {
        if let Some(unknown) = graph.custom_operations().find(|name| !custom.names.iter().any(|known| known == name)) {
            return Err(GraphError::UnknownOperation(unknown.to_string()));
        }
        let operations = operations(graph)?;
        let mut interpreter = TensorInterpreter::<B>::with_custom_ops(device.clone(), custom.registry.clone());
        for (place, value) in graph.values().iter().enumerate() {
            if let Origin::Constant(data) = &value.origin {
                interpreter.register_tensor_data_id(TensorId::new(place as u64), data.as_ref().clone());
            }
        }
        let described = |id: &ValueId| describe(graph, *id, TensorStatus::ReadOnly);
        let named = |id: &ValueId| (described(id), graph.input_name(*id).unwrap_or_default().to_string());
        Ok(Self {
            interpreter,
            operations,
            inputs: graph.inputs().iter().map(named).collect(),
            outputs: graph.outputs().iter().map(described).collect(),
        })
    }

    /// Runs the graph and reads every output, in the order the model returned them.
    ///
    /// # Errors
    /// [`GraphError::Input`] for inputs of another number, shape or type than the graph was captured with;
    /// [`GraphError::Read`] where the device fails.
    pub fn run(&mut self, inputs: Vec<TensorData>) -> Result<Vec<TensorData>, GraphError> {
        self.check(&inputs)?;
        for ((tensor, _), data) in self.inputs.iter().zip(inputs) {
            self.interpreter.register_tensor_data_id(tensor.id, data);
        }
        for operation in &self.operations {
            self.interpreter.register_op(operation.clone());
        }
        let outputs = self.outputs.iter().map(|output| read(&mut self.interpreter, output.clone())).collect();
        // Computed values must not be found by the next run, whose operations make them again.
        for tensor in self.outputs.iter().chain(self.inputs.iter().map(|(tensor, _)| tensor)) {
            let computed_or_given = TensorIr { status: TensorStatus::ReadWrite, ..tensor.clone() };
            self.interpreter.register_op(OperationIr::Drop(computed_or_given));
        }
        outputs
    }

    fn check(&self, inputs: &[TensorData]) -> Result<(), GraphError> {
        if inputs.len() != self.inputs.len() {
            let (got, expected) = (inputs.len().to_string(), self.inputs.len().to_string());
            return Err(GraphError::Input { what: "the number of inputs".into(), got, expected });
        }
        for ((tensor, name), data) in self.inputs.iter().zip(inputs) {
            let (got, expected) = ((data.shape(), data.dtype()), (&tensor.shape, tensor.dtype));
            if got != expected {
                let describe = |(shape, dtype): (&Shape, _)| format!("{shape} of {dtype:?}");
                let [got, expected] = [got, expected].map(describe);
                return Err(GraphError::Input { what: format!("`{name}`"), got, expected });
            }
        }
        Ok(())
    }
}

fn read<B: BackendIr>(interpreter: &mut TensorInterpreter<B>, tensor: TensorIr) -> Result<TensorData, GraphError> {
    try_read_sync(interpreter.read_tensor_async(tensor))
        .ok_or_else(|| GraphError::Read("the device can't be read synchronously".into()))?
        .map_err(|error| GraphError::Read(format!("{error:?}")))
}
