//! Norm of all gradients of a module, and its limit.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;

/// Added to the norm that gradients are divided by.
const MIN_NORM: f64 = 1e-12;

/// Scales all gradients of a module by one factor, so that their Euclidean norm is at most `limit` (Pascanu, Mikolov
/// and Bengio, 2013). Gradients that are short enough keep their bits.
pub fn clip_norm<M: Module>(model: &M, mut gradients: GradientsParams, limit: f64) -> GradientsParams {
    let mut squares = SumOfSquares { gradients: &gradients, sum: None };
    model.visit(&mut squares);
    if let Some(sum) = squares.sum {
        let factor = ((sum.sqrt() + MIN_NORM).recip() * limit).clamp_max(1.0);
        model.visit(&mut GradientScaler { gradients: &mut gradients, factor });
    }
    gradients
}

/// Visitor that sums the squares of all gradients.
struct SumOfSquares<'a> {
    gradients: &'a GradientsParams,
    sum: Option<Tensor<1>>,
}

impl ModuleVisitor for SumOfSquares<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.get::<D>(param.id) {
            let square = gradient.square().sum();
            self.sum = Some(match self.sum.take() {
                Some(sum) => sum + square,
                None => square,
            });
        }
    }
}

/// Visitor that multiplies all gradients by a factor `[1]`.
struct GradientScaler<'a> {
    gradients: &'a mut GradientsParams,
    factor: Tensor<1>,
}

impl ModuleVisitor for GradientScaler<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.remove::<D>(param.id) {
            self.gradients.register(param.id, gradient * self.factor.clone().unsqueeze());
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::nn::{Linear, LinearConfig};
    use burn::tensor::Device;

    use super::*;

    /// Norm of the gradients of a layer after clipping, and the first of them before and after.
    fn clipped(limit: f64) -> (f32, f32, f32) {
        let device = Device::flex().autodiff();
        let layer: Linear = LinearConfig::new(3, 2).init(&device);
        let input = Tensor::<2>::from_floats([[3.0, 0.0, 4.0]], &device);
        let gradients = GradientsParams::from_grads(layer.forward(input).sum().backward(), &layer);
        let first = |gradients: &GradientsParams| {
            gradients.get::<2>(layer.weight.id).unwrap().slice([0..1, 0..1]).into_scalar::<f32>()
        };
        let before = first(&gradients);
        let gradients = clip_norm(&layer, gradients, limit);
        let mut squares = SumOfSquares { gradients: &gradients, sum: None };
        layer.visit(&mut squares);
        (squares.sum.unwrap().sqrt().into_scalar::<f32>(), before, first(&gradients))
    }

    #[test]
    fn the_norm_of_all_gradients_together_is_limited() {
        // Two outputs with gradients 3, 0, 4 and 1 each: a norm of √52.
        let (norm, before, after) = clipped(1.0);
        assert!((norm - 1.0).abs() < 1e-6, "{norm}");
        assert_eq!(before, 3.0);
        assert!((after - 3.0 / 52f32.sqrt()).abs() < 1e-6, "{after}");
    }

    #[test]
    fn short_gradients_keep_their_bits() {
        let (norm, before, after) = clipped(100.0);
        assert!((norm - 52f32.sqrt()).abs() < 1e-5, "{norm}");
        assert_eq!(before.to_bits(), after.to_bits());
    }
}
