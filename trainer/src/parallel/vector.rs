//! All gradients of a module as one vector, so that one reduction over devices takes them all.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;

/// Gradients of a module, concatenated in the order of its parameters, `[values]`; `None` if it has none.
pub(super) fn joined<M: Module>(model: &M, gradients: &GradientsParams) -> Option<Tensor<1>> {
    let mut join = Join { gradients, parts: Vec::new() };
    model.visit(&mut join);
    (!join.parts.is_empty()).then(|| Tensor::cat(join.parts, 0))
}

/// Gradients with values from a vector in the layout of [`joined`].
pub(super) fn split<M: Module>(model: &M, gradients: GradientsParams, vector: Tensor<1>) -> GradientsParams {
    let mut split = Split { gradients, vector, next: 0 };
    model.visit(&mut split);
    split.gradients
}

struct Join<'a> {
    gradients: &'a GradientsParams,
    parts: Vec<Tensor<1>>,
}

impl ModuleVisitor for Join<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.get::<D>(param.id) {
            let values = gradient.shape().num_elements();
            self.parts.push(gradient.reshape([values]));
        }
    }
}

struct Split {
    gradients: GradientsParams,
    vector: Tensor<1>,
    next: usize,
}

impl ModuleVisitor for Split {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.remove::<D>(param.id) {
            let values = gradient.shape().num_elements();
            let part = self.vector.clone().narrow(0, self.next, values);
            self.next += values;
            self.gradients.register::<D>(param.id, part.reshape(gradient.dims()));
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::nn::{Linear, LinearConfig};
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn a_vector_holds_every_gradient_and_gives_it_back() {
        let device = Device::flex().autodiff();
        let layer: Linear = LinearConfig::new(3, 2).init(&device);
        let input = Tensor::<2>::from_floats([[3.0, 0.5, 4.0]], &device);
        let gradients = GradientsParams::from_grads(layer.forward(input).sum().backward(), &layer);
        let vector = joined(&layer, &gradients).unwrap();
        let values: Vec<f32> = vector.clone().into_data().try_to_vec().unwrap();
        assert_eq!(values, [3.0, 3.0, 0.5, 0.5, 4.0, 4.0, 1.0, 1.0]);
        let gradients = split(&layer, gradients, vector * 2.0);
        let weight = gradients.get::<2>(layer.weight.id).unwrap();
        assert_eq!(weight.dims(), [3, 2]);
        assert_eq!(weight.into_data().try_to_vec::<f32>().unwrap(), [6.0, 6.0, 1.0, 1.0, 8.0, 8.0]);
        assert!(joined(&layer, &GradientsParams::new()).is_none());
    }
}
