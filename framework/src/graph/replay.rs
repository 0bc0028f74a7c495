//! Running a captured graph on a backend.

use burn::backend::ir::{BackendIr, CustomOpIr, HandleContainer, OperationIr, TensorId, TensorIr, TensorStatus};
use burn::tensor::{DType, Shape, TensorData, try_read_sync};
use burn_router::{CustomOpRegistry, TensorInterpreter};

use super::{Captured, GraphError};

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
        self.names.push(name.to_string());
    }
}

impl Captured {
    /// Runs the graph on a device of backend `B` and reads every output, in the order the model returned them.
    ///
    /// # Errors
    /// [`GraphError::UnknownOperation`] for a custom operation that is not in `operations`; [`GraphError::Input`] for an
    /// input of another shape or type than the graph was captured with;
    /// [`GraphError::Read`] where the device fails.
    pub fn replay<B: BackendIr>(
        &self,
        device: &B::Device,
        operations: CustomOperations<B>,
        input: TensorData,
    ) -> Result<Vec<TensorData>, GraphError> {
        if let Some(unknown) = self.custom_operations().find(|id| !operations.names.iter().any(|name| name == id)) {
            return Err(GraphError::UnknownOperation(unknown.to_string()));
        }
        let given = (input.shape().clone(), input.dtype());
        if given != self.input {
            let describe = |(shape, dtype): &(Shape, DType)| format!("{shape} of {dtype:?}");
            return Err(GraphError::Input { got: describe(&given), expected: describe(&self.input) });
        }
        let mut interpreter = TensorInterpreter::<B>::with_custom_ops(device.clone(), operations.registry);
        for (id, value) in &self.values {
            interpreter.register_tensor_data_id(*id, value.clone());
        }
        for id in &self.graph.inputs {
            interpreter.register_tensor_data_id(*id, input.clone());
        }
        for operation in &self.graph.operations {
            interpreter.register_op(operation.clone());
        }
        self.graph.outputs.iter().map(|id| read(&mut interpreter, self.description(*id)?)).collect()
    }

    fn description(&self, id: TensorId) -> Result<TensorIr, GraphError> {
        self.graph
            .operations
            .iter()
            .flat_map(OperationIr::nodes)
            .find(|tensor| tensor.id == id)
            .map(|tensor| TensorIr { status: TensorStatus::ReadOnly, ..tensor.clone() })
            .ok_or_else(|| GraphError::Read(format!("output {id} is not in the graph")))
    }
}

fn read<B: BackendIr>(interpreter: &mut TensorInterpreter<B>, tensor: TensorIr) -> Result<TensorData, GraphError> {
    try_read_sync(interpreter.read_tensor_async(tensor))
        .ok_or_else(|| GraphError::Read("the device can't be read synchronously".into()))?
        .map_err(|error| GraphError::Read(format!("{error:?}")))
}
