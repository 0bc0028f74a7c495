//! Tensors of any rank, for problems of several.

use burn::tensor::{Gradients, Tensor, TensorData};

use super::device_routine::ReadValues;
use super::routine::RoutineError;

/// A tensor of one of the ranks that problems have.
#[derive(Debug, Clone)]
pub enum RankedTensor {
    /// `[a]`.
    Rank1(Tensor<1>),
    /// `[a, b]`.
    Rank2(Tensor<2>),
    /// `[a, b, c]`.
    Rank3(Tensor<3>),
    /// `[a, b, c, d]`.
    Rank4(Tensor<4>),
    /// `[a, b, c, d, e]`.
    Rank5(Tensor<5>),
}

/// Calls a generic expression with the tensor.
macro_rules! each_rank {
    ($tensor:expr, $inner:ident => $result:expr) => {
        match $tensor {
            RankedTensor::Rank1($inner) => $result,
            RankedTensor::Rank2($inner) => $result,
            RankedTensor::Rank3($inner) => $result,
            RankedTensor::Rank4($inner) => $result,
            RankedTensor::Rank5($inner) => $result,
        }
    };
}

impl RankedTensor {
    /// The values in host memory.
    ///
    /// # Errors
    /// If they can't be read.
    pub fn data(&self) -> Result<TensorData, RoutineError> {
        each_rank!(self, tensor => tensor.clone().try_into_data().map_err(RoutineError::burn))
    }

    /// Gradients of Σ weights · tensor, for `weights` of the same shape.
    ///
    /// # Errors
    /// If they have another rank.
    pub fn backward(self, weights: &Self) -> Result<Gradients, RoutineError> {
        macro_rules! of_ranks {
            ($($variant:ident),*) => {
                match (self, weights.clone()) {
                    $((Self::$variant(tensor), Self::$variant(weights)) => {
                        // The gradients of a tensor are those of the sum of its values.
                        Ok((tensor * weights.autodiff()).backward())
                    })*
                    _ => Err(RoutineError::burn("the weights of the loss have another rank")),
                }
            };
        }
        of_ranks!(Rank1, Rank2, Rank3, Rank4, Rank5)
    }

    /// A tensor of these values with the shape, device and type of this one.
    pub fn with_values(&self, values: &[f32]) -> Self {
        each_rank!(self, tensor => filled(tensor, values).into())
    }
}

impl ReadValues for RankedTensor {
    fn values(&self) -> Result<Vec<f32>, RoutineError> {
        self.data()?.try_to_vec::<f32>().map_err(RoutineError::burn)
    }
}

/// A tensor of these values with the shape, device and type of another.
fn filled<const D: usize>(like: &Tensor<D>, values: &[f32]) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values.to_vec(), like.dims()), (&like.device(), like.dtype()))
}

macro_rules! from_rank {
    ($($rank:literal $variant:ident),*) => {
        $(impl From<Tensor<$rank>> for RankedTensor {
            fn from(tensor: Tensor<$rank>) -> Self {
                Self::$variant(tensor)
            }
        })*
    };
}

from_rank!(1 Rank1, 2 Rank2, 3 Rank3, 4 Rank4, 5 Rank5);
