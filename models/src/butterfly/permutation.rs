//! Relaxed permutations.

use burn::module::{Module, Param};
use burn::nn::Initializer;
use burn::tensor::activation::sigmoid;
use burn::tensor::{Device, Tensor, s};

use super::config::{ButterflyConfig, PermutationKind};
use crate::rows::Leading;

/// Logit of a step with probability 1 (its sigmoid is 1 in f32); its negative is that of a step with probability 0.
const CERTAIN: f32 = 50.0;

/// Product of permutations of blocks, each applied with a probability, after Dao et al. 2019, section 3.2.
///
/// Blocks of n, n/2, … 4 values go through three steps: values at even places before those at odd ones, the first half
/// reversed, the second half reversed. A step with probability p returns p · permuted + (1 − p) · unpermuted values,
/// with one p per step and length of the blocks, or one per step. Three more steps on whole rows may come first.
#[derive(Module, Debug)]
pub struct RelaxedPermutation {
    /// Logits of the steps' probabilities, `[log2 n − 1, 3]`, longest blocks first, or `[1, 3]` if blocks of every
    /// length share them; none if the permutation is fixed.
    pub logits: Option<Param<Tensor<2>>>,
    /// Logits of the steps on whole rows that come first, `[1, 3]`, if there are any.
    pub extra: Option<Param<Tensor<2>>>,
    #[module(skip)]
    kind: PermutationKind,
}

impl RelaxedPermutation {
    /// The permutation of a configuration, whose logits are drawn from a normal distribution of variance 1.
    pub(super) fn new(config: &ButterflyConfig, device: &Device) -> Self {
        let levels = if config.shared_steps { 1 } else { config.n.trailing_zeros() as usize - 1 };
        let drawn = |levels| Initializer::Normal { mean: 0.0, std: 1.0 }.init([levels, 3], device);
        let kind = config.permutation;
        Self {
            logits: (kind == PermutationKind::Relaxed).then(|| drawn(levels)),
            extra: config.extra_steps.then(|| drawn(1)),
            kind,
        }
    }

    /// `rows` `[.., n]`, permuted.
    ///
    /// ```
    /// use burn::tensor::{Device, Int, Tensor};
    /// use firefly_models::{ButterflyConfig, PermutationKind};
    ///
    /// let device = Device::flex();
    /// let config = ButterflyConfig::new().with_n(8).with_permutation(PermutationKind::BitReversal);
    /// let row = Tensor::<1, Int>::arange(0..8, &device).float();
    /// let permuted = config.init(&device).permutation(0).forward(row);
    /// assert_eq!(permuted.into_data().iter::<f32>().collect::<Vec<_>>(), [0.0, 4.0, 2.0, 6.0, 1.0, 5.0, 3.0, 7.0]);
    /// ```
    pub fn forward<const D: usize>(&self, rows: Tensor<D>) -> Tensor<D> {
        let levels = rows.dims()[D - 1].trailing_zeros() as usize - 1;
        let rows = match &self.extra {
            Some(logits) => relaxed_at_level(rows, 0, &sigmoid(logits.val())),
            None => rows,
        };
        match (&self.logits, self.kind) {
            (Some(logits), _) => {
                let probabilities = sigmoid(logits.val());
                (0..levels).fold(rows, |rows, level| relaxed_at_level(rows, level, &probabilities))
            }
            (None, PermutationKind::BitReversal) => {
                (0..levels).fold(rows, |rows, level| at_level(rows, level, even_before_odd))
            }
            (None, _) => rows,
        }
    }

    /// The permutation whose steps are those that are more likely than not.
    pub fn rounded(self) -> Self {
        let round = |logits: Param<Tensor<2>>| {
            logits.map(|logits| {
                let taken = logits.detach().greater_equal_elem(0.0).float();
                (taken * (2.0 * CERTAIN) - CERTAIN).detach()
            })
        };
        Self { logits: self.logits.map(round), extra: self.extra.map(round), ..self }
    }
}

/// `change` applied to the blocks of n/2^level values of each row.
fn at_level<const D: usize>(rows: Tensor<D>, level: usize, change: impl Fn(Tensor<2>) -> Tensor<2>) -> Tensor<D> {
    let dims = rows.dims();
    change(rows.reshape([Leading::of(dims).rows() << level, dims[D - 1] >> level])).reshape(dims)
}

/// The three steps on the blocks of n/2^level values of each row, with the probabilities `[levels, 3]` of that level,
/// or with the only ones.
fn relaxed_at_level<const D: usize>(rows: Tensor<D>, level: usize, probabilities: &Tensor<2>) -> Tensor<D> {
    let of_level = level.min(probabilities.dims()[0] - 1);
    let probability = |step| probabilities.clone().slice([of_level..of_level + 1, step..step + 1]);
    at_level(rows, level, |blocks| relaxed(blocks, [0, 1, 2].map(probability)))
}

/// The three steps on blocks `[blocks, length]`, with probabilities `[1, 1]`.
fn relaxed(blocks: Tensor<2>, [separate, first, second]: [Tensor<2>; 3]) -> Tensor<2> {
    let half = blocks.dims()[1] / 2;
    let blocks = mixed(even_before_odd(blocks.clone()), blocks, separate);
    let reversed = |start, probability| {
        let part = blocks.clone().narrow(1, start, half);
        // A slice and no flip, which Burn's remote devices take for one of integers.
        mixed(part.clone().slice_dim(1, s![..;-1]), part, probability)
    };
    Tensor::cat(vec![reversed(0, first), reversed(half, second)], 1)
}

/// Values at even places, then those at odd ones, of blocks `[blocks, length]`.
fn even_before_odd(blocks: Tensor<2>) -> Tensor<2> {
    let [count, length] = blocks.dims();
    let pairs: Tensor<3> = blocks.reshape([count, length / 2, 2]);
    pairs.swap_dims(1, 2).reshape([count, length])
}

/// The mean of permuted and unpermuted values, weighted by the probability; exact for probabilities 0 and 1.
fn mixed(taken: Tensor<2>, not_taken: Tensor<2>, probability: Tensor<2>) -> Tensor<2> {
    taken * probability.clone() + not_taken * (-probability + 1.0)
}
