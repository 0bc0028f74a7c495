//! Recording what a model does to its input.

use std::collections::BTreeMap;

use burn::backend::Capture;
use burn::backend::ir::{GraphIr, OperationIr, TensorId};
use burn::tensor::{DType, Device, Int, Shape, Tensor, TensorData};
use thiserror::Error;

/// Why a model could not be captured or replayed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GraphError {
    /// Burn's capture refused the graph.
    #[error("capture: {0}")]
    Capture(String),
    /// A tensor handed to the capture lives on another device.
    #[error("capture: the model returned a tensor that is not on the capture device")]
    ForeignTensor,
    /// The graph holds an operation the registry has no handler for.
    #[error("replay: no handler is registered for the custom operation `{0}`")]
    UnknownOperation(String),
    /// The input is not of the shape and type the graph was captured with.
    #[error("replay: the input is {got}, but the graph was captured with {expected}")]
    Input {
        /// What was given.
        got: String,
        /// What is accepted.
        expected: String,
    },
    /// Reading an output back failed.
    #[error("replay: {0}")]
    Read(String),
}

/// A model's operations in order, with the values it holds and its boundaries.
#[derive(Debug, Clone)]
pub struct Captured {
    pub(super) graph: GraphIr,
    pub(super) values: BTreeMap<TensorId, TensorData>,
    pub(super) input: (Shape, DType),
}

impl Captured {
    /// The names of the custom operations in the graph, in order.
    pub fn custom_operations(&self) -> impl Iterator<Item = &str> {
        self.graph.operations.iter().filter_map(|operation| match operation {
            OperationIr::Custom(custom) => Some(custom.id.as_str()),
            _ => None,
        })
    }

    /// How many operations the graph holds, those that only free a tensor left out.
    pub fn len(&self) -> usize {
        self.graph.operations.iter().filter(|operation| !matches!(operation, OperationIr::Drop(_))).count()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What a model may return: a tensor or a pair of them.
pub trait Outputs {
    /// The graph's names of the tensors.
    ///
    /// # Errors
    /// [`GraphError::ForeignTensor`] for a tensor of another device.
    fn ids(self) -> Result<Vec<TensorId>, GraphError>;
}

impl<const D: usize> Outputs for Tensor<D> {
    fn ids(self) -> Result<Vec<TensorId>, GraphError> {
        let primitive = self.try_into_primitive::<Capture>().map_err(|_| GraphError::ForeignTensor)?;
        Ok(vec![primitive.id()])
    }
}

impl<const D: usize> Outputs for Tensor<D, Int> {
    fn ids(self) -> Result<Vec<TensorId>, GraphError> {
        let primitive = self.try_into_primitive::<Capture>().map_err(|_| GraphError::ForeignTensor)?;
        Ok(vec![primitive.id()])
    }
}

impl<A: Outputs, B: Outputs> Outputs for (A, B) {
    fn ids(self) -> Result<Vec<TensorId>, GraphError> {
        let mut ids = self.0.ids()?;
        ids.extend(self.1.ids()?);
        Ok(ids)
    }
}

/// Records `model` applied to a tensor with the shape and type of `example` (its values are not used).
///
/// The model gets the input and the capture device, to move its parameters there.
///
/// # Errors
/// [`GraphError::Capture`] where Burn's capture refuses the graph, [`GraphError::ForeignTensor`] where the model returns a
/// tensor of another device.
pub fn capture<const D: usize, O: Outputs>(
    example: TensorData,
    model: impl FnOnce(Tensor<D>, &Device) -> O,
) -> Result<Captured, GraphError> {
    let device = Device::capture();
    let described = (example.shape().clone(), example.dtype());
    let mut failure = None;
    let mut input = None;
    let captured = device
        .capture_scope(|scope| {
            let dtype = described.1;
            let example = Tensor::<D>::from_data(example, (&device, dtype));
            let ids = example.clone().ids().and_then(|inputs| Ok((inputs, model(example, &device).ids()?)));
            let (inputs, outputs) = ids.unwrap_or_else(|error| {
                failure = Some(error);
                (Vec::new(), Vec::new())
            });
            input = inputs.first().copied();
            scope.complete(inputs, outputs)
        })
        .map_err(|error| GraphError::Capture(error.to_string()));
    if let Some(error) = failure {
        return Err(error);
    }
    let captured = captured?;
    let mut values = captured.values;
    if let Some(id) = input {
        values.remove(&id);
    }
    Ok(Captured { graph: captured.graph, values, input: described })
}
