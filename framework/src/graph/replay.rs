//! Replay of a graph on a backend.

use burn::backend::ir::{
    BackendIr, BaseOperationIr, CastOpIr, CustomOpIr, HandleContainer, HandleKind, OperationIr, TensorId, TensorIr,
    TensorStatus,
};
use burn::backend::ops::TransactionPrimitive;
use burn::backend::tensor::FloatTensor;
use burn::backend::{TensorMetadata, TensorPrimitive};
use burn::signal::{SignalOps, register_fft_ops};
use burn::tensor::{DType, Shape, TensorData, try_read_sync};
use burn_router::{CustomOpRegistry, TensorInterpreter};
use firefly_ops::op::{self, SpectralOps, register_spectral_ops};

use super::burn_ir::{describe, operations};
use super::model::Origin;
use super::{Graph, GraphError, ValueId};

/// Custom operations that a replay can run on backend `B`: Burn's registry, and the names in it, which Burn does not
/// list.
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
    /// Firefly's operations.
    pub fn spectral() -> Self
    where
        B: SpectralOps,
    {
        let mut operations = Self::default();
        operations.register_with(op::NAMES, register_spectral_ops);
        operations
    }

    /// Firefly's operations and Burn's Fourier transforms.
    pub fn spectral_and_fourier() -> Self
    where
        B: SpectralOps + SignalOps,
    {
        let mut operations = Self::spectral();
        operations.register_with(&["signal::rfft", "signal::irfft"], register_fft_ops);
        operations
    }

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

/// Graph on a device, which can run any number of times.
pub struct Replay<B: BackendIr> {
    interpreter: TensorInterpreter<B>,
    operations: Vec<OperationIr>,
    inputs: Vec<(TensorIr, String)>,
    outputs: Vec<TensorIr>,
}

impl<B: BackendIr> Replay<B> {
    /// Copies the constants of the graph to a device of backend `B`.
    ///
    /// # Errors
    /// [`GraphError::UnknownOperation`] for a custom operation that is not in `custom`; [`GraphError::NotCaptured`] for
    /// a node that was not captured and whose operation can't be constructed.
    pub fn new(graph: &Graph, device: &B::Device, custom: &CustomOperations<B>) -> Result<Self, GraphError> {
        if let Some(unknown) = graph.custom_operations().find(|name| !custom.names.iter().any(|known| known == name)) {
            return Err(GraphError::UnknownOperation(unknown.to_string()));
        }
        let operations = operations(graph)?.into_iter().map(with_integer_casts).collect();
        let mut registry = custom.registry.clone();
        registry.register(INTEGER_CAST, |handles, cast, _device| cast_integers::<B>(handles, cast));
        let mut interpreter = TensorInterpreter::<B>::with_custom_ops(device.clone(), registry);
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

    /// Runs the graph and reads every output, all in one round trip, in the order in which the model returned them.
    ///
    /// # Errors
    /// [`GraphError::Input`] for inputs of another number, shape or type than the graph was captured with;
    /// [`GraphError::Read`] where the device fails.
    pub fn run(&mut self, inputs: Vec<TensorData>) -> Result<Vec<TensorData>, GraphError> {
        self.check(inputs.iter().map(|data| (data.shape().clone(), data.dtype())).collect())?;
        for ((tensor, _), data) in self.inputs.iter().zip(inputs) {
            self.interpreter.register_tensor_data_id(tensor.id, data);
        }
        self.execute()
    }

    /// Runs the graph on float inputs that are on the device, and reads every output.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_on_device(&mut self, inputs: Vec<FloatTensor<B>>) -> Result<Vec<TensorData>, GraphError> {
        self.check(inputs.iter().map(|tensor| (tensor.shape(), tensor.dtype())).collect())?;
        for ((described, _), tensor) in self.inputs.iter().zip(inputs) {
            self.interpreter.register_tensor_to_device(described.id, HandleKind::Float(tensor));
        }
        self.execute()
    }

    /// Runs the operations on registered inputs, and removes these.
    fn execute(&mut self) -> Result<Vec<TensorData>, GraphError> {
        for operation in &self.operations {
            self.interpreter.register_op(operation.clone());
        }
        let outputs = self.read_outputs();
        // The next run computes its outputs anew, and must not find those of this one.
        for tensor in self.outputs.iter().chain(self.inputs.iter().map(|(tensor, _)| tensor)) {
            let computed_or_given = TensorIr { status: TensorStatus::ReadWrite, ..tensor.clone() };
            self.interpreter.register_op(OperationIr::Drop(computed_or_given));
        }
        outputs
    }

    /// Every output, read in one transaction: reading them one by one would wait for the device each time.
    fn read_outputs(&mut self) -> Result<Vec<TensorData>, GraphError> {
        let mut reads = TransactionPrimitive::<B>::new(Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for output in &self.outputs {
            match self.interpreter.get_tensor(output) {
                HandleKind::Float(tensor) => reads.register_float(TensorPrimitive::Float(tensor)),
                HandleKind::Int(tensor) => reads.register_int(tensor),
                HandleKind::Bool(tensor) => reads.register_bool(tensor),
                HandleKind::Quantized(_) => return Err(GraphError::Read("an output is quantized".into())),
            }
        }
        try_read_sync(reads.execute_async())
            .ok_or_else(|| GraphError::Read("the device can't be read synchronously".into()))?
            .map_err(|error| GraphError::Read(format!("{error:?}")))
    }

    fn check(&self, inputs: Vec<(Shape, DType)>) -> Result<(), GraphError> {
        if inputs.len() != self.inputs.len() {
            let (got, expected) = (inputs.len().to_string(), self.inputs.len().to_string());
            return Err(GraphError::Input { what: "the number of inputs".into(), got, expected });
        }
        for ((tensor, name), got) in self.inputs.iter().zip(inputs) {
            let expected = (tensor.shape.clone(), tensor.dtype);
            if got != expected {
                let describe = |(shape, dtype): (Shape, DType)| format!("{shape} of {dtype:?}");
                let [got, expected] = [got, expected].map(describe);
                return Err(GraphError::Input { what: format!("`{name}`"), got, expected });
            }
        }
        Ok(())
    }
}

/// Custom operation that casts integers to another width, which Burn's interpreter does not support.
const INTEGER_CAST: &str = "firefly::integer_cast";

fn with_integer_casts(operation: OperationIr) -> OperationIr {
    match operation {
        OperationIr::BaseInt(BaseOperationIr::Cast(CastOpIr { input, out })) => {
            OperationIr::Custom(CustomOpIr::new(INTEGER_CAST, &[input], &[out]))
        }
        other => other,
    }
}

fn cast_integers<B: BackendIr>(handles: &mut HandleContainer<B::Handle>, cast: &CustomOpIr) {
    let (input, output) = (&cast.inputs[0], &cast.outputs[0]);
    let tensor = handles.get_int_tensor::<B>(input);
    handles.register_int_tensor::<B>(&output.id, B::int_cast(tensor, output.dtype.into()));
}
