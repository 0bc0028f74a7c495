//! Export of models as [ONNX](https://onnx.ai) files of version 20 of the standard operators.
//!
//! Fourier transforms are the operator `DFT`; lengths that are no power of two, which runtimes compute inexactly, are
//! Bluestein's algorithm around it. Firefly's operations are compositions by their definition. An operation without a
//! translation, such as a gradient, a cosine transform or [`local_maxima`](firefly_ops::local_maxima), is refused by name.
//!
//! ```
//! use burn::tensor::{Device, Tensor};
//! use firefly_framework::graph::{Input, capture};
//! use firefly_framework::onnx::{Description, export};
//!
//! let rows = |batch| capture(&[Input::new("x", [batch, 4, 3])], |x: Tensor<3>, _: &Device| x.flatten::<2>(0, 1));
//! let description = Description { outputs: vec![("rows".into(), "each row".into())], ..Description::default() };
//! let model = export(rows, 1, &description)?;
//! assert_eq!((model.operators, model.fixed_batch), (vec!["Reshape", "Identity"], None));
//! assert_eq!(model.outputs[0].shape, ["4*batch", "3"]);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod burn_operations;
mod exporter;
mod fourier;
mod message;
mod spectral;

use burn::tensor::DType;
use thiserror::Error;

use crate::graph::{Graph, GraphError};
use exporter::{Exporter, shapes};

/// Batches whose graphs are compared to find which lengths follow the batch.
const BATCHES: [usize; 3] = [2, 3, 5];

/// Error of an export.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum OnnxError {
    #[error("onnx: the operation `{0}` can't be exported")]
    Operation(String),
    #[error("onnx: values of type {0:?} can't be exported")]
    Type(DType),
    #[error("onnx: {0} are not a name for each input and output, all different and none with a slash at its start")]
    Names(String),
    #[error("onnx: the batch can't stay open: {0}")]
    Batch(String),
    #[error("onnx: the model takes {0} bytes, but a file 2,147,483,647 at most")]
    TooLarge(usize),
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// Names and texts in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Description {
    /// Name of the model.
    pub name: String,
    /// The quantity that the model computes.
    pub text: String,
    /// Meaning and unit of each input, in order; inputs beyond have none.
    pub inputs: Vec<String>,
    /// Name, and meaning and unit, of each output.
    pub outputs: Vec<(String, String)>,
    /// Further keys and values.
    pub metadata: Vec<(String, String)>,
}

/// Input or output of an exported model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// The name.
    pub name: String,
    /// Lengths of the dimensions: numbers, or terms of `batch`.
    pub shape: Vec<String>,
    /// The element type.
    pub dtype: DType,
    /// Meaning and unit.
    pub text: String,
}

/// Exported model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Model {
    /// The inputs.
    pub inputs: Vec<Port>,
    /// The outputs.
    pub outputs: Vec<Port>,
    /// Operators of the nodes, in order.
    pub operators: Vec<&'static str>,
    /// The reason why the batch is that of the capture, if it is not open.
    pub fixed_batch: Option<String>,
    /// Contents of the file.
    pub bytes: Vec<u8>,
}

/// A captured model as an ONNX model of any batch, if its operations and constants do not depend on the batch and its
/// lengths are linear in it; or else of the batch `fixed`. `capture` makes the graph of a batch: `|_| Ok(graph.clone())`
/// for one graph.
///
/// # Errors
/// [`OnnxError`] for an operation or a type without a translation, a description of another model, and a model that is
/// too large for a file; errors of `capture`.
pub fn export(
    capture: impl Fn(usize) -> Result<Graph, GraphError>,
    fixed: usize,
    description: &Description,
) -> Result<Model, OnnxError> {
    let of_batches = |batches: &[usize]| {
        let graphs =
            batches.iter().map(|batch| Ok((*batch, capture(*batch)?))).collect::<Result<Vec<_>, GraphError>>()?;
        let shapes = shapes(&graphs).ok_or_else(|| OnnxError::Batch("lengths are not linear in it".into()))?;
        let models = graphs.iter().map(|(_, graph)| Exporter::new(graph, &shapes).export(description));
        let mut models = models.collect::<Result<Vec<_>, OnnxError>>()?;
        // The models of all batches are equal, unless operations or constants differ.
        models.dedup();
        let differ = || OnnxError::Batch("operations or constants depend on it".into());
        if models.len() == 1 { models.pop().ok_or_else(differ) } else { Err(differ()) }
    };
    match of_batches(&BATCHES) {
        Err(OnnxError::Batch(reason)) => Ok(Model { fixed_batch: Some(reason), ..of_batches(&[fixed])? }),
        exported => exported,
    }
}
