//! Welch power by Burn's own operations.

use burn::signal::rfft;
use burn::tensor::{Tensor, TensorData};
use firefly_ops::WelchOptions;

/// Welch power by Burn's own operations.
pub struct StockPower {
    options: WelchOptions,
    /// `[1, 1, n_fft]`.
    window: Tensor<3>,
    /// What each bin counts in one-sided power, `[1, bins]`.
    one_sided: Tensor<2>,
}

impl StockPower {
    /// The estimate that `options` describe, scaling `power`, through a window `[n_fft]`, on the window's device.
    pub fn new(options: WelchOptions, window: Tensor<1>) -> Self {
        let (n, bins) = (options.n_fft, options.bins());
        let mut one_sided = vec![2f32; bins];
        (one_sided[0], one_sided[bins - 1]) = (1.0, 1.0);
        Self {
            options,
            one_sided: Tensor::from_data(TensorData::new(one_sided, [1, bins]), &window.device()),
            window: window.reshape([1, 1, n]),
        }
    }

    /// Frames `[batch, frame]` to power `[batch, bins]`.
    pub fn power(&self, signal: Tensor<2>) -> Tensor<2> {
        let segments: Tensor<3> = signal.unfold(1, self.options.n_fft, self.options.hop);
        let (re, im) = rfft(segments * self.window.clone(), 2, None);
        let power = (re.square() + im.square()).mean_dim(1);
        power.squeeze_dim(1) * self.one_sided.clone()
    }
}
