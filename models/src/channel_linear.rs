//! Linear layer over channels.

use burn::module::{Initializer, Module, Param};
use burn::tensor::{Device, Tensor};

/// Linear layer over the channels of a field, the same at every point: a convolution with kernels of one point.
///
/// Weights and bias are uniform in ±1/√(input channels) at first.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::channel_linear::ChannelLinear;
///
/// let device = Device::flex();
/// let layer = ChannelLinear::new(3, 5, &device);
/// assert_eq!(layer.forward(Tensor::<4>::ones([2, 3, 8, 6], &device)).dims(), [2, 5, 8, 6]);
/// ```
#[derive(Module, Debug)]
pub struct ChannelLinear {
    /// Weights, `[out, in]`.
    pub weight: Param<Tensor<2>>,
    /// Bias, `[out]`.
    pub bias: Param<Tensor<1>>,
}

impl ChannelLinear {
    /// The untrained layer from `inputs` to `outputs` channels.
    pub fn new(inputs: usize, outputs: usize, device: &Device) -> Self {
        let bound = (inputs.max(1) as f64).sqrt().recip();
        let uniform = Initializer::Uniform { min: -bound, max: bound };
        Self { weight: uniform.init([outputs, inputs], device), bias: uniform.init([outputs], device) }
    }

    /// Values `[batch, out, …]` of a field `[batch, in, …]`.
    pub fn forward<const D: usize>(&self, field: Tensor<D>) -> Tensor<D> {
        let mut dims = field.dims();
        let points = dims[2..].iter().product();
        let rows: Tensor<3> = field.reshape([dims[0], dims[1], points]);
        // In the precision of the field.
        let [weight, bias] = [self.weight.val().unsqueeze::<3>(), self.bias.val().reshape([1, -1, 1])];
        let [weight, bias] = [weight, bias].map(|parameter| parameter.cast(rows.dtype()));
        dims[1] = weight.dims()[1];
        let product = weight.matmul(rows) + bias;
        product.reshape(dims)
    }
}
