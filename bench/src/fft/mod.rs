//! Complex transforms: problems, inputs, what must come out, and the strategies that compute it.

mod backward;
mod burn_stock;
mod copy;
mod expected;
mod forward;
mod from_host;
mod input;
mod network;
mod problem;
mod rustfft;

pub use backward::Backward;
pub use burn_stock::BurnStock;
pub use expected::{Expected, Spectrum};
pub use forward::Forward;
pub use from_host::FromHost;
pub use input::Inputs;
pub use network::{Network, Networks};
pub use problem::{TransformProblem, grid};
pub use rustfft::{RustFftInPlace, RustFftOutOfPlace};

use burn::tensor::Tensor;

use crate::strategy::Strategy;

/// A tensor's numbers, in host memory.
fn values<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>, String> {
    let data = tensor.try_into_data().map_err(|error| error.to_string())?;
    data.try_to_vec::<f32>().map_err(|error| error.to_string())
}

/// Every strategy, in the order of the table's rows.
pub fn catalogue() -> Vec<Box<dyn Strategy<TransformProblem>>> {
    vec![
        Box::new(Forward(Network::Exact)),
        Box::new(FromHost),
        Box::new(Forward(Network::Open)),
        Box::new(Forward(Network::Soft)),
        Box::new(Forward(Network::Hard)),
        Box::new(Backward),
        Box::new(RustFftInPlace),
        Box::new(RustFftOutOfPlace),
        Box::new(BurnStock),
        Box::new(copy::CopyInput),
    ]
}
