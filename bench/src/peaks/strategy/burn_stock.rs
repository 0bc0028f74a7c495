//! Peaks written with nothing but Burn.

use burn::signal::rfft;
use burn::tensor::{Device, FloatDType, Tensor, TensorData};
use firefly_models::Peaks;
use firefly_ops::WelchOptions;

use super::check_peaks;
use crate::peaks::expected::ExpectedRow;
use crate::peaks::input::Inputs;
use crate::peaks::problem::{PeaksProblem, SYMMETRY, WINDOW};
use crate::peaks::program::{Memory, Program};
use crate::strategy::Strategy;
use crate::workload::{Refusal, Verified};

/// Windowed segments, `burn::signal::rfft`, power, mean over segments and `topk_with_indices`, as a user of Burn
/// alone would write them.
pub struct BurnStock;

impl Strategy<PeaksProblem> for BurnStock {
    fn name(&self) -> &'static str {
        "burn-stock"
    }

    fn summary(&self) -> &'static str {
        "Burn's own operations on the device: unfold, window, rfft, power, mean, topk_with_indices"
    }

    fn verify<'a>(
        &self,
        problem: &PeaksProblem,
        inputs: &'a Inputs,
        expected: &Vec<ExpectedRow>,
    ) -> Result<Verified<'a>, Refusal> {
        let stock = StockPower::new(problem.options, inputs.device());
        let k = problem.k;
        let program = Program::new(inputs, Memory::Device, move |signal| {
            let (power, bins) = stock.power(signal).topk_with_indices(k, 1);
            Ok(Peaks { bins, power })
        });
        // Burn's sort leaves the order of equals open.
        check_peaks(program, problem, inputs, expected, false)
    }
}

/// Welch power by Burn's own operations.
pub struct StockPower {
    options: WelchOptions,
    /// `[1, 1, n_fft]`.
    window: Tensor<3>,
    /// What each bin counts in one-sided power, `[1, bins]`.
    one_sided: Tensor<2>,
}

impl StockPower {
    /// The estimate that `options` describe, scaling `power`, on `device`.
    pub fn new(options: WelchOptions, device: &Device) -> Self {
        let (n, bins) = (options.n_fft, options.bins());
        let mut one_sided = vec![2f32; bins];
        (one_sided[0], one_sided[bins - 1]) = (1.0, 1.0);
        Self {
            options,
            window: WINDOW.tensor(n, SYMMETRY, FloatDType::F32, device).reshape([1, 1, n]),
            one_sided: Tensor::from_data(TensorData::new(one_sided, [1, bins]), device),
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
