//! TimesNet against its definition in float64.

use std::collections::HashMap;
use std::f64::consts::TAU;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Tensor};
use firefly_models::timesnet::find_periods;
use firefly_models::{TimesNet, TimesNetConfig};

use crate::common::{assert_close, samples, tensor, values};

#[test]
fn periods_are_the_largest_mean_amplitudes_but_for_the_mean() {
    let (batch, length, channels, k) = (3, 30, 2, 4);
    let series = samples(batch * length * channels, 3);
    // Amplitude of each frequency of each series, averaged over channels.
    let amplitude = |batch: usize, frequency: usize| -> f64 {
        let of_channel = |channel: usize| {
            let part = |part: fn(f64) -> f64| -> f64 {
                let value = |time: usize| series[(batch * length + time) * channels + channel];
                (0..length).map(|time| value(time) * part(TAU * (frequency * time) as f64 / length as f64)).sum()
            };
            part(f64::cos).hypot(part(f64::sin))
        };
        (0..channels).map(of_channel).sum::<f64>() / channels as f64
    };
    let mean = |frequency: usize| (0..batch).map(|batch| amplitude(batch, frequency)).sum::<f64>();
    let mut frequencies: Vec<usize> = (1..=length / 2).collect();
    frequencies.sort_by(|a, b| mean(*b).total_cmp(&mean(*a)));
    frequencies.truncate(k);
    let mut weights = Vec::new();
    for batch in 0..batch {
        let exponentials: Vec<f64> = frequencies.iter().map(|frequency| amplitude(batch, *frequency).exp()).collect();
        let sum: f64 = exponentials.iter().sum();
        weights.extend(exponentials.iter().map(|value| value / sum));
    }
    let found = find_periods(tensor(&series, [batch, length, channels], &Device::flex()), k).unwrap();
    let found_frequencies: Vec<usize> = found.frequencies.into_data().iter::<i64>().map(|f| f as usize).collect();
    assert_eq!(found_frequencies, frequencies);
    assert_close("weights", &values(found.weights), &weights, 1e-4);
}

#[test]
fn as_many_periods_as_half_the_samples_are_accepted_and_no_more() {
    let series: Tensor<3> = tensor(&samples(12, 3), [1, 12, 1], &Device::flex());
    assert!(find_periods(series.clone(), 6).is_ok());
    for k in [0, 7] {
        let error = find_periods(series.clone(), k).unwrap_err();
        assert!(error.to_string().contains("from 1 to half the samples, 6"), "{error}");
    }
}

#[test]
fn another_unit_of_the_series_is_another_unit_of_the_forecast() {
    let device = Device::flex();
    let config = TimesNetConfig::new().with_look_back(24).with_horizon(7).with_channels(2).with_features(4);
    let model = config.with_hidden(4).with_kernels(2).with_periods(3).init(&device);
    let series: Tensor<3> = tensor(&samples(48, 3), [1, 24, 2], &device);
    let expected = values(model.forward(series.clone()) * 30.0 + 5.0);
    assert_close("scaled and shifted", &values(model.forward(series * 30.0 + 5.0)), &expected, 1e-3);
}

/// Values of every parameter, by name.
#[derive(Default)]
struct ParameterValues {
    path: Vec<String>,
    values: HashMap<String, Vec<f64>>,
}

impl ModuleVisitor for ParameterValues {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.push(name.into());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<D>>) {
        self.values.insert(self.path.join("."), values(parameter.val()));
    }
}

/// Rows of a series, `[samples][features]`.
type SeriesRows = Vec<Vec<f64>>;

fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for k in 1..80 {
        term *= -x * x / k as f64;
        sum += term / (2 * k + 1) as f64;
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + erf(x / 2f64.sqrt()))
}

impl ParameterValues {
    fn get(&self, name: &str) -> &[f64] {
        self.values.get(name).unwrap_or_else(|| panic!("no `{name}` among {:?}", self.values.keys()))
    }

    /// Mean of the convolutions of a picture, `[features][rows × columns]`.
    fn inception(&self, name: &str, kernels: usize, picture: &SeriesRows, columns: usize) -> SeriesRows {
        let rows = picture[0].len() / columns;
        let outputs = self.get(&format!("{name}.convolutions.0.bias")).len();
        let mut mean = vec![vec![0.0; rows * columns]; outputs];
        for reach in 0..kernels {
            let weight = self.get(&format!("{name}.convolutions.{reach}.weight"));
            let bias = self.get(&format!("{name}.convolutions.{reach}.bias"));
            let side = 2 * reach + 1;
            for (output, result) in mean.iter_mut().enumerate() {
                for (place, result) in result.iter_mut().enumerate() {
                    let mut sum = bias[output];
                    for (input, values) in picture.iter().enumerate() {
                        for tap in 0..side * side {
                            let row = (place / columns + tap / side).checked_sub(reach).filter(|row| *row < rows);
                            let column = (place % columns + tap % side).checked_sub(reach);
                            if let (Some(row), Some(column)) = (row, column.filter(|column| *column < columns)) {
                                let weight = weight[(output * picture.len() + input) * side * side + tap];
                                sum += weight * values[row * columns + column];
                            }
                        }
                    }
                    *result += sum / kernels as f64;
                }
            }
        }
        mean
    }
}

/// Forecast of one series, which is its whole batch.
fn reference(model: &TimesNet, series: &SeriesRows) -> SeriesRows {
    let TimesNetConfig { look_back, horizon, channels, features, blocks, periods, kernels, .. } = *model.config();
    let mut parameters = ParameterValues::default();
    model.visit(&mut parameters);
    let column = |series: &SeriesRows, channel: usize| series.iter().map(|row| row[channel]).collect::<Vec<_>>();
    let statistics: Vec<(f64, f64)> = (0..channels)
        .map(|channel| {
            let values = column(series, channel);
            let mean = values.iter().sum::<f64>() / look_back as f64;
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / look_back as f64;
            (mean, (variance + 1e-5).sqrt())
        })
        .collect();
    let normal = |time: usize, channel: usize| (series[time][channel] - statistics[channel].0) / statistics[channel].1;
    // Embedding: the sample before, the sample, the sample after, and the position.
    let embedding = parameters.get("embedding");
    let embedded = |time: usize, feature: usize| {
        let wave = 10_000f64.powf(-((feature / 2 * 2) as f64) / features as f64) * time as f64;
        let position = if feature.is_multiple_of(2) { wave.sin() } else { wave.cos() };
        (0..3 * channels).fold(position, |sum, input| {
            let neighbour = (time + look_back + input / channels - 1) % look_back;
            sum + normal(neighbour, input % channels) * embedding[input * features + feature]
        })
    };
    let long = look_back + horizon;
    let (weight, bias) = (parameters.get("extension.weight"), parameters.get("extension.bias"));
    let extended = |time: usize, feature: usize| {
        (0..look_back).fold(bias[time], |sum, past| sum + embedded(past, feature) * weight[past * long + time])
    };
    let mut values: SeriesRows =
        (0..long).map(|time| (0..features).map(|feature| extended(time, feature)).collect()).collect();
    for block in 0..blocks {
        let amplitude = |frequency: usize| {
            let of_feature = |feature: usize| {
                let part = |part: fn(f64) -> f64| -> f64 {
                    let angle = |time: usize| TAU * (frequency * time % long) as f64 / long as f64;
                    (0..long).map(|time| values[time][feature] * part(angle(time))).sum()
                };
                part(f64::cos).hypot(part(f64::sin))
            };
            (0..features).map(of_feature).sum::<f64>() / features as f64
        };
        let mut strongest: Vec<(f64, usize)> =
            (1..=long / 2).map(|frequency| (amplitude(frequency), frequency)).collect();
        strongest.sort_by(|a, b| b.0.total_cmp(&a.0));
        strongest.truncate(periods);
        let total: f64 = strongest.iter().map(|(amplitude, _)| (amplitude - strongest[0].0).exp()).sum();
        let mut sum = values.clone();
        for (amplitude, frequency) in &strongest {
            let columns = long / frequency;
            let cells = long.div_ceil(columns) * columns;
            let cell = |time: usize, feature: usize| values.get(time).map_or(0.0, |row| row[feature]);
            let picture = (0..features).map(|feature| (0..cells).map(|time| cell(time, feature)).collect()).collect();
            let hidden = parameters.inception(&format!("blocks.{block}.first"), kernels, &picture, columns);
            let hidden = hidden.iter().map(|row| row.iter().map(|value| gelu(*value)).collect()).collect();
            let result = parameters.inception(&format!("blocks.{block}.second"), kernels, &hidden, columns);
            let share = (amplitude - strongest[0].0).exp() / total;
            for (time, row) in sum.iter_mut().enumerate() {
                row.iter_mut().zip(&result).for_each(|(value, result)| *value += share * result[time]);
            }
        }
        let (gamma, beta) = (parameters.get("norm.gamma"), parameters.get("norm.beta"));
        for row in &mut sum {
            let mean = row.iter().sum::<f64>() / features as f64;
            let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / features as f64;
            for (place, value) in row.iter_mut().enumerate() {
                *value = (*value - mean) / (variance + 1e-5).sqrt() * gamma[place] + beta[place];
            }
        }
        values = sum;
    }
    let (weight, bias) = (parameters.get("projection.weight"), parameters.get("projection.bias"));
    let forecast = |time: usize, channel: usize| {
        let start = bias[channel];
        let value = (0..features)
            .fold(start, |sum, feature| sum + values[time][feature] * weight[feature * channels + channel]);
        value * statistics[channel].1 + statistics[channel].0
    };
    (look_back..long).map(|time| (0..channels).map(|channel| forecast(time, channel)).collect()).collect()
}

#[test]
fn the_model_is_its_definition() {
    let device = Device::flex();
    let config = TimesNetConfig::new().with_look_back(17).with_horizon(6).with_channels(2).with_features(5);
    let model = config.with_hidden(3).with_kernels(3).with_periods(3).init(&device);
    let series = samples(17 * 2, 9);
    let expected = reference(&model, &series.chunks(2).map(<[f64]>::to_vec).collect()).concat();
    assert_close("forecast", &values(model.forward(tensor(&series, [1, 17, 2], &device))), &expected, 1e-4);
}
