//! Spectral convolution.

use burn::tensor::{Device, FloatDType, Gradients, Tensor};
use firefly_ops::fft::{ComplexTensor, irfftn, rfftn};
use firefly_ops::{Norm, spectral_conv};

use super::inputs::HostTensor;
use super::layer::Layer;
use super::problem::SpectralConvShape;
use crate::harness::any_tensor::RankedTensor;
use crate::harness::routine::RoutineError;

/// A spectral convolution of tensors `[batch, channels, n…]` of `D` dimensions.
#[derive(Debug, Clone)]
pub struct SpectralConvLayer<const D: usize>(pub SpectralConvShape);

impl<const D: usize> Layer for SpectralConvLayer<D>
where
    RankedTensor: From<Tensor<D>>,
{
    /// Input, real and imaginary parts of the weights.
    type Inputs = [Tensor<D>; 3];

    fn inputs(&self, host: &[&HostTensor], device: &Device, dtype: FloatDType) -> Self::Inputs {
        std::array::from_fn(|at| host[at].tensor(device, dtype))
    }

    fn fused(&self, [input, re, im]: Self::Inputs) -> Result<RankedTensor, RoutineError> {
        Ok(spectral_conv(input, ComplexTensor::new(re, im))?.into())
    }

    fn separate(&self, [input, re, im]: Self::Inputs) -> Result<RankedTensor, RoutineError> {
        let dims: Vec<isize> = (2..D as isize).collect();
        let (kept, points) = (self.0.kept(), self.0.shape.dims());
        let [batch, channels] = [input.dims()[0], input.dims()[1]];
        // Keep the modes of the spectrum, and make the product per mode one batch of matrix products.
        let mut spectrum = rfftn(input, None, Some(&dims), Norm::Backward)?;
        for (at, &modes) in kept.iter().enumerate() {
            spectrum = spectrum.map(|part| lowest(part, at + 2, modes, at + 1 == kept.len()));
        }
        let modes = kept.iter().product::<usize>();
        let by_mode = |part: Tensor<D>, rows: usize| part.reshape([rows, channels, modes]).permute([2, 0, 1]);
        let weights = ComplexTensor::new(re, im).map(|part| by_mode(part, channels));
        let product = spectrum.map(|part| by_mode(part, batch)).matmul(weights);
        // Back among zeros, and back to samples.
        let shape: [usize; D] = std::array::from_fn(|dim| match dim {
            0 => batch,
            1 => channels,
            _ => kept[dim - 2],
        });
        let mut spectrum = product.map(|part| part.permute([1, 2, 0]).reshape(shape));
        for (at, &n) in points.iter().enumerate() {
            let is_last = at + 1 == points.len();
            spectrum = spectrum.map(|part| among_zeros(part, at + 2, if is_last { n / 2 + 1 } else { n }, is_last));
        }
        Ok(irfftn(spectrum, Some(points), Some(&dims), Norm::Backward)?.into())
    }

    fn tracked(inputs: Self::Inputs) -> Self::Inputs {
        inputs.map(|input| input.autodiff().require_grad())
    }

    fn gradients(inputs: &Self::Inputs, gradients: &Gradients) -> Option<Vec<RankedTensor>> {
        inputs.iter().map(|input| input.grad(gradients).map(RankedTensor::from)).collect()
    }
}

/// The lowest `modes` frequencies along `dim`: of a half spectrum the first ones, else half of them from either end.
fn lowest<const D: usize>(part: Tensor<D>, dim: usize, modes: usize, is_half: bool) -> Tensor<D> {
    let (n, first) = (part.dims()[dim], if is_half { modes } else { modes.div_ceil(2) });
    if first == modes {
        return part.narrow(dim, 0, modes);
    }
    Tensor::cat(vec![part.clone().narrow(dim, 0, first), part.narrow(dim, n - (modes - first), modes - first)], dim)
}

/// The inverse of [`lowest`]: `n` values along `dim`, zeros at the others.
fn among_zeros<const D: usize>(part: Tensor<D>, dim: usize, n: usize, is_half: bool) -> Tensor<D> {
    let mut dims = part.dims();
    let modes = dims[dim];
    if modes == n {
        return part;
    }
    dims[dim] = n - modes;
    let zeros = Tensor::zeros(dims, (&part.device(), part.dtype()));
    let first = if is_half { modes } else { modes.div_ceil(2) };
    if first == modes {
        return Tensor::cat(vec![part, zeros], dim);
    }
    let last = part.clone().narrow(dim, first, modes - first);
    Tensor::cat(vec![part.narrow(dim, 0, first), zeros, last], dim)
}
