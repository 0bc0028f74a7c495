//! FITS against its definition in float64.

use std::f64::consts::TAU;

use burn::tensor::Device;
use firefly_models::{Fits, FitsConfig};

use crate::common::{assert_close, samples, tensor, values};

/// Reconstruction and forecast of one channel, with the weights of layer `layer`.
fn reference(model: &Fits, layer: usize, series: &[f64]) -> Vec<f64> {
    let config = model.config();
    let (n, long, kept, bins) = (config.look_back, config.samples(), config.cut_off, config.bins());
    let [weight_re, weight_im] = [&model.weight_re, &model.weight_im].map(|weight| values(weight.val()));
    let [bias_re, bias_im] = [&model.bias_re, &model.bias_im].map(|bias| values(bias.val()));
    let mean = series.iter().sum::<f64>() / n as f64;
    let variance = series.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
    let deviation = (variance + 1e-5).sqrt();
    let spectrum: Vec<(f64, f64)> = (0..kept)
        .map(|bin| {
            let angle = |time: usize| -TAU * (bin * time % n) as f64 / n as f64;
            let part = |part: fn(f64) -> f64| {
                series.iter().enumerate().map(|(time, value)| (value - mean) / deviation * part(angle(time))).sum()
            };
            (part(f64::cos), part(f64::sin))
        })
        .collect();
    let interpolated = (0..bins).map(|output| {
        let start = (bias_re[layer * bins + output], bias_im[layer * bins + output]);
        spectrum.iter().enumerate().fold(start, |(re, im), (input, (x, y))| {
            let place = (layer * kept + input) * bins + output;
            let (a, b) = (weight_re[place], weight_im[place]);
            (re + x * a - y * b, im + x * b + y * a)
        })
    });
    let interpolated: Vec<_> = interpolated.collect();
    (0..long)
        .map(|time| {
            let sum: f64 = interpolated.iter().enumerate().fold(0.0, |sum, (bin, (re, im))| {
                let angle = TAU * (bin * time % long) as f64 / long as f64;
                let sides = if bin == 0 || 2 * bin == long { 1.0 } else { 2.0 };
                sum + sides * (re * angle.cos() - im * angle.sin())
            });
            sum / n as f64 * deviation + mean
        })
        .collect()
}

#[test]
fn the_model_is_its_definition() {
    let device = Device::flex();
    for (look_back, horizon, cut_off) in [(24, 6, 8), (24, 24, 13), (25, 12, 5), (30, 7, 16)] {
        for individual in [false, true] {
            let config = FitsConfig::new().with_look_back(look_back).with_horizon(horizon).with_channels(3);
            let mut model = config.with_cut_off(cut_off).with_individual(individual).init(&device);
            // Imaginary parts are 0 at first.
            let shape = model.weight_im.dims();
            let im = samples(shape.iter().product(), 5);
            model.weight_im = burn::module::Param::from_tensor(tensor(&im, shape, &device) * 0.1);
            let series = samples(2 * look_back * 3, 9);
            let found = model.forward(tensor(&series, [2, look_back, 3], &device));
            assert_eq!(found.dims(), [2, look_back + horizon, 3]);
            let found = values(found);
            for (batch, channel) in [(0, 0), (0, 2), (1, 1)] {
                let of = |values: &[f64], length: usize| -> Vec<f64> {
                    (0..length).map(|time| values[(batch * length + time) * 3 + channel]).collect()
                };
                let layer = if individual { channel } else { 0 };
                let expected = reference(&model, layer, &of(&series, look_back));
                let name = format!("{look_back} + {horizon}, {cut_off} bins, individual {individual}");
                assert_close(&name, &of(&found, look_back + horizon), &expected, 1e-5);
            }
        }
    }
}

#[test]
fn another_unit_of_the_series_is_another_unit_of_the_forecast() {
    let device = Device::flex();
    let model = FitsConfig::new().with_look_back(24).with_horizon(6).with_channels(1).with_cut_off(8).init(&device);
    let series = tensor(&samples(24, 3), [1, 24, 1], &device);
    let expected = values(model.forecast(series.clone()) * 40.0 + 7.0);
    assert_close("scaled and shifted", &values(model.forecast(series * 40.0 + 7.0)), &expected, 1e-4);
}

#[test]
fn series_of_another_shape_are_refused() {
    let device = Device::flex();
    let model = FitsConfig::new().with_look_back(24).with_horizon(6).with_channels(2).with_cut_off(8).init(&device);
    let error = model.try_forward(tensor(&[0.0; 48], [1, 48, 1], &device)).unwrap_err();
    assert!(error.to_string().contains("[1, 48, 1], but must be [batch, 24, 2]"), "{error}");
}
