//! The gain of a learned model: from its parameters, for all bins, and times the gates of blocks.

use std::f64::consts::SQRT_2;

use burn::tensor::{Device, Int, Tensor, TensorData};
use firefly_ops::WelchOptions;

use super::gates::Gates;
use super::module::LearnedWelchPeaks;

impl LearnedWelchPeaks {
    /// Gains from the bin below, the bin itself and the bin above to each bin, `[bins, 3]`, and from the products with
    /// both neighbours if there are any, `[bins, 5]`. With products the gains act on two-sided spectra: those at the ends
    /// of the spectrum, and beside them, are half or twice the parameters.
    pub fn gain(&self) -> Tensor<2> {
        let power = self.log_gain.val().exp();
        let of_bins = |gain: Tensor<2>| {
            let ([gains, taps], bins) = (gain.dims(), self.options().bins());
            match gains {
                1 => gain.expand([bins, taps]),
                _ if gains == bins => gain,
                _ => gain.select(0, self.gain_of_bins.clone()),
            }
        };
        let (Some(weights), Some(two_sided)) = (&self.product_weights, &self.two_sided) else { return of_bins(power) };
        let [below, own, above] = [0, 1, 2].map(|tap| self.log_gain.val().narrow(1, tap, 1));
        let largest = ((Tensor::cat(vec![below, above], 1) + own) / 2.0).exp() * SQRT_2;
        // Weights beyond their range keep a gradient, so that they may come back.
        let weights = weights.val();
        let products = (weights.clone() + (weights.clone().clamp(-1.0, 1.0) - weights).detach()) * largest;
        of_bins(Tensor::cat(vec![power, products], 1)) * two_sided.clone()
    }

    /// The values of blocks of bins `[blocks]` at each of the bins of the transform that the gates choose, and `others` at
    /// bins that are not searched: of a model whose blocks have gates, or else `None`.
    pub fn at_bins(&self, of_blocks: Tensor<1>, others: f64, gates: &Gates) -> Option<Tensor<1>> {
        let halved = if gates.halved() { self.halved.as_ref() } else { None };
        let indices = halved.map_or(&self.block_of_bins, |halved| &halved.block_of_bins).clone()?;
        let of_blocks = of_blocks.narrow(0, 0, self.options_with(gates).blocks());
        let others = Tensor::full([1], others, (&of_blocks.device(), of_blocks.dtype()));
        Some(Tensor::cat(vec![of_blocks, others], 0).select(0, indices))
    }

    /// [`gain`](Self::gain) of the bins of the transform that the gates choose, times the gates of the blocks that they are
    /// in.
    pub(super) fn gated_gain(&self, gates: &Gates) -> Tensor<2> {
        let bins = self.options_with(gates).bins();
        let gain = self.gain().narrow(0, 0, bins);
        match gates.blocks().and_then(|blocks| self.at_bins(blocks.clone(), 1.0, gates)) {
            Some(gates) => gain * gates.unsqueeze_dim::<2>(1),
            None => gain,
        }
    }
}

/// Index of each bin's block, `[bins]`: the number of blocks for a bin that is not searched.
pub(super) fn block_of_bins(options: &WelchOptions, device: &Device) -> Tensor<1, Int> {
    let (bins, searched, blocks) = (options.bins(), options.searched(), options.blocks());
    let block = |bin: usize| match searched.contains(&bin) {
        true => ((bin - searched.start) / options.block_len()).min(blocks - 1),
        false => blocks,
    };
    let indices: Vec<i64> = (0..bins).map(|bin| block(bin) as i64).collect();
    Tensor::from_data(TensorData::new(indices, [bins]), device)
}

/// Factors with which gains on one-sided power and products act on two-sided ones, `[bins, 5]`: the ends of the spectrum
/// count once in one-sided power, and have one neighbour twice.
pub(super) fn two_sided_factors(bins: usize, device: &Device) -> Tensor<2> {
    let mut factors = vec![[1.0f32; 5]; bins];
    factors[0] = [0.5, 1.0, 0.5, 0.5, 0.5];
    factors[bins - 1] = factors[0];
    factors[1][0] = 2.0;
    factors[bins - 2][2] = 2.0;
    Tensor::from_data(TensorData::new(factors.concat(), [bins, 5]), device)
}
