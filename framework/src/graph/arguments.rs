//! Arguments and results of a model on the capture device.

use burn::backend::Capture;
use burn::backend::ir::{CustomOpIr, OperationIr, TensorId, TensorIr, TensorStatus};
use burn::backend::tensor::FloatTensor;
use burn::tensor::{DType, Device, Int, Shape, Tensor};
use burn_router::{RouterClient, RouterTensor};

use super::GraphError;
use super::any_tensor::{AnyTensor, is_integer};

/// Name of the operation that records an input, so that capture knows it even if the model never reads it.
pub(super) const INPUT_MARKER: &str = "firefly::input";

/// Declared input of a model.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// The name.
    pub name: String,
    /// The shape.
    pub shape: Vec<usize>,
    /// The element type.
    pub dtype: DType,
}

impl Input {
    /// An input of 32-bit floats.
    pub fn new(name: &str, shape: impl Into<Vec<usize>>) -> Self {
        Self { name: name.into(), shape: shape.into(), dtype: DType::F32 }
    }

    /// The same input with another element type.
    pub fn with_dtype(self, dtype: DType) -> Self {
        Self { dtype, ..self }
    }
}

/// Declared inputs on the capture device, taken in order.
pub struct Source<'a> {
    device: &'a Device,
    declared: &'a [Input],
    ids: Vec<TensorId>,
}

impl<'a> Source<'a> {
    pub(super) const fn new(device: &'a Device, declared: &'a [Input]) -> Self {
        Self { device, declared, ids: Vec::new() }
    }

    /// The identifiers of the inputs, once all have been taken.
    pub(super) fn finish(self) -> Result<Vec<TensorId>, GraphError> {
        match self.declared.get(self.ids.len()) {
            None => Ok(self.ids),
            Some(input) => Err(GraphError::Declaration {
                place: self.ids.len(),
                expected: "no more inputs".into(),
                declared: format!("`{}` is declared", input.name),
            }),
        }
    }

    fn next(&mut self, rank: usize, kind: &str, fits: fn(DType) -> bool) -> Result<&'a Input, GraphError> {
        let place = self.ids.len();
        let wrong = |declared| GraphError::Declaration { place, expected: format!("{rank} axes of {kind}"), declared };
        let input = self.declared.get(place).ok_or_else(|| wrong("none is declared".into()))?;
        if input.shape.len() != rank || !fits(input.dtype) {
            return Err(wrong(format!("`{}` is {:?} of {:?}", input.name, input.shape, input.dtype)));
        }
        Ok(input)
    }
}

/// Uninitialised tensor of an input on the capture device.
fn uninitialised(device: &Device, input: &Input) -> Result<FloatTensor<Capture>, GraphError> {
    // A tensor for its client alone, which creates inputs without data.
    let client = Tensor::<1>::from_data([0f32], device)
        .try_into_primitive::<Capture>()
        .map_err(|_| GraphError::ForeignTensor)?
        .client
        .clone();
    let id = client.create_empty_handle();
    let shape = Shape::from(input.shape.clone());
    let description = TensorIr { id, shape: shape.clone(), status: TensorStatus::ReadOnly, dtype: input.dtype };
    // Without it, capture would not know an input that the model never reads.
    client.register_op(OperationIr::Custom(CustomOpIr::new(INPUT_MARKER, &[description], &[])));
    Ok(RouterTensor::new(id, shape, input.dtype, client))
}

/// Arguments of a model: float or int tensors, pairs of arguments, and lists of any tensors.
pub trait Arguments: Sized {
    /// Takes the arguments from the declared inputs.
    ///
    /// # Errors
    /// [`GraphError::Declaration`] where the declared inputs differ.
    fn take(source: &mut Source<'_>) -> Result<Self, GraphError>;
}

/// Tensors of one kind as arguments and as results.
macro_rules! tensors {
    ($tensor:ty, $kind:literal, $fits:expr) => {
        impl<const D: usize> Arguments for $tensor {
            fn take(source: &mut Source<'_>) -> Result<Self, GraphError> {
                let input = source.next(D, $kind, $fits)?;
                let tensor = uninitialised(source.device, input)?;
                source.ids.push(tensor.id());
                Ok(Self::from_primitive::<Capture>(tensor))
            }
        }

        impl<const D: usize> Outputs for $tensor {
            fn ids(self) -> Result<Vec<TensorId>, GraphError> {
                let primitive = self.try_into_primitive::<Capture>().map_err(|_| GraphError::ForeignTensor)?;
                Ok(vec![primitive.id()])
            }
        }
    };
}
tensors!(Tensor<D>, "floats", |dtype| dtype.is_float());
tensors!(Tensor<D, Int>, "integers", is_integer);

impl<A: Arguments, B: Arguments> Arguments for (A, B) {
    fn take(source: &mut Source<'_>) -> Result<Self, GraphError> {
        Ok((A::take(source)?, B::take(source)?))
    }
}

/// All inputs that are left, of any rank.
impl Arguments for Vec<AnyTensor> {
    fn take(source: &mut Source<'_>) -> Result<Self, GraphError> {
        let left = &source.declared[source.ids.len()..];
        let take = |input: &Input| {
            let rank = input.shape.len();
            let is_int = is_integer(input.dtype);
            let fits = if is_int { is_integer } else { |dtype: DType| dtype.is_float() };
            let input = source.next(rank, "floats or integers", fits)?;
            let tensor = uninitialised(source.device, input)?;
            source.ids.push(tensor.id());
            Ok(if is_int {
                Tensor::<1, Int>::from_primitive::<Capture>(tensor).into()
            } else {
                Tensor::<1>::from_primitive::<Capture>(tensor).into()
            })
        };
        left.iter().map(take).collect()
    }
}

/// Results of a model: float or int tensors, pairs and lists of results, and a `Result` of them.
pub trait Outputs {
    /// Identifiers of the tensors.
    ///
    /// # Errors
    /// [`GraphError::ForeignTensor`] for a tensor of another device, [`GraphError::Model`] for a model that failed.
    fn ids(self) -> Result<Vec<TensorId>, GraphError>;
}

impl<A: Outputs, B: Outputs> Outputs for (A, B) {
    fn ids(self) -> Result<Vec<TensorId>, GraphError> {
        let mut ids = self.0.ids()?;
        ids.extend(self.1.ids()?);
        Ok(ids)
    }
}

impl<O: Outputs> Outputs for Vec<O> {
    fn ids(self) -> Result<Vec<TensorId>, GraphError> {
        let ids: Result<Vec<_>, _> = self.into_iter().map(Outputs::ids).collect();
        Ok(ids?.concat())
    }
}

impl Outputs for AnyTensor {
    fn ids(self) -> Result<Vec<TensorId>, GraphError> {
        // The identifier does not depend on the rank.
        if self.is_float() {
            Tensor::<1>::from_dispatch(self.0).ids()
        } else {
            Tensor::<1, Int>::from_dispatch(self.0).ids()
        }
    }
}

impl<O: Outputs, E: std::error::Error> Outputs for Result<O, E> {
    fn ids(self) -> Result<Vec<TensorId>, GraphError> {
        self.map_err(|error| GraphError::Model(error.to_string()))?.ids()
    }
}
