//! Exponential moving average of a module's weights.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;

/// The average after a step: `decay` times the average before, and the rest the weights. Both modules are without
/// autodiff. In the first steps the decay is at most `(1 + step) / (10 + step)`, so that the initial weights are soon
/// forgotten.
pub fn blended<M: Module>(average: M, model: &M, decay: f64, step: usize) -> M {
    let decay = decay.min((1 + step) as f64 / (10 + step) as f64);
    // A container of tensors by their parameter, of any rank.
    let mut weights = WeightsVisitor(GradientsParams::new());
    model.visit(&mut weights);
    average.map(&mut Blend { weights: weights.0, decay })
}

struct WeightsVisitor(GradientsParams);

impl ModuleVisitor for WeightsVisitor {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.register(param.id, param.val());
    }
}

/// Mapper of an average to the next.
struct Blend {
    weights: GradientsParams,
    decay: f64,
}

impl ModuleMapper for Blend {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        match self.weights.remove::<D>(param.id) {
            Some(weights) => param.map(|average| average * self.decay + weights * (1.0 - self.decay)),
            None => param,
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::nn::{Linear, LinearConfig};
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn an_average_moves_towards_the_weights() {
        let start: Linear = LinearConfig::new(2, 1).with_bias(false).init(&Device::flex());
        let weights = |layer: &Linear| layer.weight.val().into_data().try_to_vec::<f32>().unwrap();
        let mut moved = start.clone();
        moved.weight = moved.weight.map(|weight| weight + 1.0);
        let average = blended(start.clone(), &moved, 0.75, 1000);
        for (average, start) in weights(&average).iter().zip(weights(&start)) {
            assert!((average - start - 0.25).abs() < 1e-6, "{average} from {start}");
        }
        let early = blended(start.clone(), &moved, 0.75, 0);
        assert!((weights(&early)[0] - weights(&start)[0] - 0.9).abs() < 1e-6, "a tenth of the start is left");
    }
}
