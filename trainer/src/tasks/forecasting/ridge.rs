//! Forecasts by ridge regression: one linear map from a look-back to the rows behind it, the same for every channel, of
//! windows less their look-back's mean. It is the strongest of the simple baselines: A. Toner and L. Darlow, "An
//! analysis of linear time series forecasting models", 2024, find that linear models of the literature are this map
//! with constraints.
//!
//! Sums of products over all windows take about one pass over the rows: the sum for two places of the windows is that for
//! the places before them, but for the products at both ends.

use std::ops::Range;

use burn::tensor::{Device, Tensor, TensorData};

use super::series::Series;
use crate::tasks::ridge::{MAX_VALUES, Moments};

/// The map.
pub struct Ridge {
    /// Weights, `[look_back, horizon]`.
    weights: Tensor<2>,
}

impl Ridge {
    /// The map that fits the training windows of a series, with the penalty of the lowest validation error; `None` if
    /// windows have more than [`MAX_VALUES`] rows.
    pub fn fit(series: &Series, look_back: usize, horizon: usize, device: &Device) -> Option<Self> {
        let window = look_back + horizon;
        if window > MAX_VALUES {
            return None;
        }
        let of_windows = |starts: &Range<usize>| {
            let rows = series.standardised_rows(starts.start..starts.end + window - 1);
            moments(&rows, series.channels, starts.len(), look_back, window)
        };
        let weights = of_windows(&series.parts.train).best_map(&of_windows(&series.parts.validation));
        let weights: Vec<f32> = weights.into_iter().map(|weight| weight as f32).collect();
        let weights = Tensor::<2>::from_data(TensorData::new(weights, [horizon, look_back]), device);
        Some(Self { weights: weights.transpose() })
    }

    /// Number of weights.
    pub fn parameters(&self) -> usize {
        self.weights.dims().iter().product()
    }

    /// Forecasts `[windows, horizon, channels]` of look-backs `[windows, look_back, channels]`.
    pub fn forecast(&self, past: Tensor<3>) -> Tensor<3> {
        let mean = past.clone().mean_dim(1);
        let varying = (past - mean.clone()).swap_dims(1, 2);
        varying.matmul(self.weights.clone().unsqueeze()).swap_dims(1, 2) + mean
    }
}

/// Sums over `windows` windows of `window` rows with stride 1, and over all channels of `rows`, `[rows, channels]`: of
/// products of samples less the mean of their look-back.
fn moments(rows: &[f32], channels: usize, windows: usize, look_back: usize, window: usize) -> Moments {
    let products = products(rows, channels, windows, window);
    let with_past = |place: usize| &products[place * window..][..look_back];
    let mean = |values: &[f64]| values.iter().sum::<f64>() / look_back as f64;
    let means: Vec<f64> = (0..window).map(|place| mean(with_past(place))).collect();
    let of_mean = mean(&means[..look_back]);
    let less_means = |place: usize| -> Vec<f64> {
        with_past(place).iter().zip(&means).map(|(product, mean)| product - mean - means[place] + of_mean).collect()
    };
    let square = |place: usize| products[place * window + place] - 2.0 * means[place] + of_mean;
    Moments {
        inputs: (0..look_back).flat_map(less_means).collect(),
        cross: (look_back..window).flat_map(less_means).collect(),
        outputs: (look_back..window).map(square).sum(),
        count: look_back,
    }
}

/// Sums over windows and channels of the products of the samples at each two places of a window, `[window, window]`.
fn products(rows: &[f32], channels: usize, windows: usize, window: usize) -> Vec<f64> {
    let row = |row: usize| rows[row * channels..][..channels].iter().map(|value| f64::from(*value));
    let product = |a: usize, b: usize| row(a).zip(row(b)).map(|(a, b)| a * b).sum::<f64>();
    let mut sums = vec![0.0; window * window];
    for (b, sum) in sums[..window].iter_mut().enumerate() {
        *sum = (0..windows).map(|start| product(start, start + b)).sum();
    }
    for a in 1..window {
        for b in a..window {
            let before = sums[(a - 1) * window + b - 1];
            sums[a * window + b] = before - product(a - 1, b - 1) + product(windows + a - 1, windows + b - 1);
        }
        for b in 0..a {
            sums[a * window + b] = sums[b * window + a];
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::super::config::DataSection;
    use super::super::series::{Series, Windows};
    use super::*;

    fn section(look_back: usize, horizon: usize) -> DataSection {
        DataSection {
            look_back,
            horizon,
            train_rows: 300,
            validation_rows: 100,
            test_rows: 100,
            synthetic_channels: 3,
            ..DataSection::default()
        }
    }

    /// The look-backs and futures of windows without the mean of the look-back, `[windows · channels, …]`.
    fn centred(series: &Series, starts: Range<usize>) -> Vec<(Vec<f64>, Vec<f64>)> {
        let Windows { past, future } = series.windows(&starts.collect::<Vec<_>>());
        let values = |tensor: Tensor<3>| -> Vec<Vec<f64>> {
            let [windows, rows, channels] = tensor.dims();
            let flat: Vec<f32> =
                tensor.swap_dims(1, 2).reshape([windows * channels * rows]).into_data().iter().collect();
            flat.chunks(rows).map(|row| row.iter().copied().map(f64::from).collect()).collect()
        };
        let pairs = values(past).into_iter().zip(values(future));
        pairs
            .map(|(past, future)| {
                let mean = past.iter().sum::<f64>() / past.len() as f64;
                let less = |values: Vec<f64>| values.into_iter().map(|value| value - mean).collect();
                (less(past), less(future))
            })
            .collect()
    }

    #[test]
    fn the_moments_are_sums_over_windows() {
        let (look_back, horizon) = (7, 4);
        let series = Series::open(&section(look_back, horizon), 3, &Device::flex()).unwrap();
        for starts in [series.parts.train.clone(), series.parts.validation.clone()] {
            let rows = series.standardised_rows(starts.start..starts.end + look_back + horizon - 1);
            let found = moments(&rows, series.channels, starts.len(), look_back, look_back + horizon);
            let windows = centred(&series, starts);
            let sum = |term: &dyn Fn(&[f64], &[f64]) -> f64| -> f64 {
                windows.iter().map(|(past, future)| term(past, future)).sum()
            };
            for i in 0..look_back {
                for j in 0..look_back {
                    let expected = sum(&|past, _| past[i] * past[j]);
                    assert!((found.inputs[i * look_back + j] - expected).abs() < 1e-8 * windows.len() as f64);
                }
                for h in 0..horizon {
                    let expected = sum(&|past, future| past[i] * future[h]);
                    assert!((found.cross[h * look_back + i] - expected).abs() < 1e-8 * windows.len() as f64);
                }
            }
            assert!(
                (found.outputs - sum(&|_, future| future.iter().map(|value| value * value).sum())).abs()
                    < 1e-8 * windows.len() as f64
            );
        }
    }

    #[test]
    fn forecasts_are_nearer_than_the_mean_and_follow_a_change_of_level() {
        let device = Device::flex();
        let series = Series::open(&section(48, 6), 1, &device).unwrap();
        let ridge = Ridge::fit(&series, 48, 6, &device).unwrap();
        assert_eq!(ridge.parameters(), 48 * 6);
        let Windows { past, future } = series.windows(&series.parts.test.clone().collect::<Vec<_>>());
        let error = |found: Tensor<3>| (found - future.clone()).square().mean().into_scalar::<f32>();
        let forecast = ridge.forecast(past.clone());
        let of_mean = past.clone().mean_dim(1).repeat_dim(1, 6);
        let (found, mean) = (error(forecast.clone()), error(of_mean));
        assert!(found < 0.5 * mean, "{found} of {mean}");
        let shifted = ridge.forecast(past + 5.0) - 5.0;
        assert!((shifted - forecast).abs().max().into_scalar::<f32>() < 1e-4);
    }
}
