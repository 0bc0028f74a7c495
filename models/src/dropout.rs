//! Dropout whose masks follow from a seed, so that a training step that is repeated draws the same ones.
//!
//! Burn's dropout draws from one generator per process, whose state no checkpoint has.

use std::cell::Cell;

use burn::nn::Dropout;
use burn::tensor::{Tensor, TensorData};

thread_local! {
    static DRAWS: Cell<Option<Draws>> = const { Cell::new(None) };
}

/// Masks that were drawn of a seed, and the rows that they are for.
#[derive(Debug, Clone, Copy)]
struct Draws {
    seed: u64,
    first_row: u64,
    masks: u64,
}

/// Runs `work`, in which dropout draws masks that follow from `seed` and the rows of its inputs, of which the first has
/// the number `first_row`: a batch that is divided has the masks of the whole one. Elsewhere Burn's generator draws.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::TimesNetConfig;
/// use firefly_models::dropout::with_dropout_seed;
///
/// let device = Device::flex().autodiff();
/// let config = TimesNetConfig::new().with_look_back(24).with_horizon(6).with_channels(2).with_dropout(0.5);
/// let model = config.init(&device);
/// let series = Tensor::<3>::ones([4, 24, 2], &device); // [batch, look_back, channels]
/// let forecast = |seed| with_dropout_seed(seed, 0, || model.forward(series.clone())).into_data();
/// assert!(forecast(1) == forecast(1) && forecast(1) != forecast(2));
/// ```
pub fn with_dropout_seed<R>(seed: u64, first_row: u64, work: impl FnOnce() -> R) -> R {
    /// The draws outside, put back also where `work` panics.
    struct Outside(Option<Draws>);
    impl Drop for Outside {
        fn drop(&mut self) {
            DRAWS.set(self.0);
        }
    }
    let _outside = Outside(DRAWS.replace(Some(Draws { seed, first_row, masks: 0 })));
    work()
}

/// The dropout of `input` `[rows, ..]`.
pub(crate) fn dropped<const D: usize>(dropout: &Dropout, input: Tensor<D>) -> Tensor<D> {
    let is_identity = !dropout.training.is_enabled() || !input.device().is_autodiff() || dropout.prob == 0.0;
    let Some(draws) = DRAWS.get().filter(|_| !is_identity) else {
        return dropout.forward(input);
    };
    DRAWS.set(Some(Draws { masks: draws.masks + 1, ..draws }));
    let kept = 1.0 - dropout.prob;
    let limit = (kept * (1u64 << 53) as f64) as u64;
    let factor = (1.0 / kept) as f32;
    let dims = input.dims();
    let values: usize = dims.iter().product();
    let start = draws.first_row * (values / dims[0].max(1)) as u64;
    let key = mixed(mixed(draws.seed) ^ draws.masks);
    let mask = (start..).take(values).map(|value| if mixed(key ^ value) >> 11 < limit { factor } else { 0.0 });
    let mask = TensorData::new(mask.collect::<Vec<_>>(), dims);
    let options = (&input.device(), input.dtype());
    input * Tensor::from_data(mask, options)
}

/// Output of SplitMix64 for a state (Steele, Lea and Flood, 2014).
fn mixed(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use burn::nn::DropoutConfig;
    use burn::tensor::Device;

    use super::*;

    fn values(seed: u64, first_row: u64, rows: usize) -> Vec<f32> {
        let ones = Tensor::<2>::ones([rows, 1000], &Device::flex().autodiff());
        let dropout = DropoutConfig::new(0.25).init();
        with_dropout_seed(seed, first_row, || dropped(&dropout, ones)).into_data().iter().collect()
    }

    #[test]
    fn a_divided_batch_has_the_masks_of_the_whole_one() {
        let whole = values(7, 12, 8);
        assert_eq!(whole, [values(7, 12, 3), values(7, 15, 5)].concat());
        assert_ne!(whole, values(8, 12, 8));
        let kept = whole.iter().filter(|value| **value > 0.0).count() as f64 / whole.len() as f64;
        assert!((kept - 0.75).abs() < 0.02, "{kept}");
        assert!(whole.iter().all(|value| [0.0, 1.0 / 0.75].map(|value| value as f32).contains(value)));
    }

    #[test]
    fn the_masks_of_one_pass_differ_and_inference_has_none() {
        let dropout = DropoutConfig::new(0.5).init();
        let ones = Tensor::<2>::ones([1, 1000], &Device::flex().autodiff());
        let [first, second] =
            with_dropout_seed(1, 0, || [ones.clone(), ones.clone()].map(|ones| dropped(&dropout, ones).into_data()));
        assert_ne!(first, second);
        let inference = with_dropout_seed(1, 0, || dropped(&dropout, ones.inner()));
        assert_eq!(inference.min().into_scalar::<f32>(), 1.0);
    }
}
