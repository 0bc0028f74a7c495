//! Noise that gates are drawn from.

use burn::tensor::{Tensor, TensorData};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Uniform noise for the gates of a batch, a function of the seed and the number of the batch alone.
pub(super) struct GateNoise(ChaCha8Rng);

impl GateNoise {
    /// The noise of batch `number`.
    pub(super) fn new(seed: u64, number: usize) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(number as u64);
        Self(generator)
    }

    /// The next random numbers from 0 to 1, of the shape of `like`, on its device.
    pub(super) fn like<const D: usize>(&mut self, like: Tensor<D>) -> Tensor<D> {
        let shape = like.dims();
        let draws: Vec<f32> = (0..shape.iter().product()).map(|_| self.0.random()).collect();
        Tensor::from_data(TensorData::new(draws, shape), &like.device().inner())
    }
}
