//! TimesNet: its periods and its shapes.

use std::f64::consts::TAU;

use burn::tensor::{Device, Tensor};
use firefly_models::{TimesNetConfig, find_periods};

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
