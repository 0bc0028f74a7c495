//! Sequence models against sums over taps.

use burn::module::Param;
use burn::tensor::activation::{gelu, glu};
use burn::tensor::{Device, Tensor};
use firefly_models::sequence::{Channels, DirectKernel, Mixer};
use firefly_models::{HyenaConfig, LongConvConfig, S4dConfig};

use crate::common::{assert_equal, random, tensor, values};

#[test]
fn direct_kernels_convolve_with_shrunk_taps() {
    let (channels, taps, samples) = (2, 5, 9);
    let mut kernel = DirectKernel::new(channels, taps, 0.3, &Device::flex());
    kernel.taps = Param::from_tensor(random([channels, taps]));
    let signal = random([1, channels, samples]);
    let (weights, skip, input) = (values(kernel.taps.val()), values(kernel.skip.val()), values(signal.clone()));
    let shrunk = |x: f64| x.signum() * (x.abs() - 0.3).max(0.0);
    let mut expected = Vec::new();
    for channel in 0..channels {
        for time in 0..samples {
            let product = |tap: usize| shrunk(weights[channel * taps + tap]) * input[channel * samples + time - tap];
            let sum: f64 = (0..taps.min(time + 1)).map(product).sum();
            expected.push(sum + skip[channel] * input[channel * samples + time]);
        }
    }
    let expected = tensor(&expected, [1, channels, samples], &Device::flex());
    assert_equal("convolution", kernel.try_forward(signal).unwrap(), expected);
}

#[test]
fn blocks_are_residual() {
    let model = S4dConfig::new().with_width(4).with_layers(1).with_states(3).init(&Device::flex());
    let block = &model.stack.blocks[0];
    let (Mixer::Diagonal(spaces), Channels::Gated(layer)) = (&block.mixer, &block.channels) else {
        panic!("a state space and a gated linear unit")
    };
    let signal = random([2, 4, 11]);
    let normalised = block.norm.forward(signal.clone().swap_dims(1, 2)).swap_dims(1, 2);
    let mixed = gelu(spaces.try_forward(normalised).unwrap());
    let expected = signal.clone() + glu(layer.forward(mixed), 1);
    assert_equal("block", block.try_forward(signal).unwrap(), expected);
}

#[test]
fn sequence_models_are_causal() {
    let device = Device::flex();
    let (samples, changed) = (30, 17);
    let signal = random([2, 1, samples]);
    let other = signal.clone().slice_assign([0..2, 0..1, changed..samples], random([2, 1, samples - changed]));
    let direct = LongConvConfig::new().with_width(6).with_layers(2).with_length(samples).init(&device);
    let spaces = S4dConfig::new().with_width(6).with_layers(2).with_states(3).init(&device);
    let hyena = HyenaConfig::new().with_width(6).with_layers(2).with_length(samples).with_order(3).init(&device);
    let check = |name: &str, features: &dyn Fn(Tensor<3>) -> Tensor<3>| {
        let [before, after] = [signal.clone(), other.clone()].map(features);
        assert_equal(name, before.clone().narrow(2, 0, changed), after.clone().narrow(2, 0, changed));
        let moved: f32 = (before - after).narrow(2, changed, samples - changed).abs().max().into_scalar();
        assert!(moved > 1e-3, "{name} does not see its input");
    };
    check("long_conv", &|signal| direct.try_features(signal).unwrap());
    check("s4d", &|signal| spaces.try_features(signal).unwrap());
    check("hyena", &|signal| hyena.try_features(signal).unwrap());
}

#[test]
fn a_hyena_operator_is_its_recurrence() {
    let config = HyenaConfig::new().with_width(3).with_layers(1).with_length(12).with_filter_width(5);
    let model = config.init(&Device::flex());
    let Mixer::Hyena(operator) = &model.stack.blocks[0].mixer else { panic!("a Hyena operator") };
    let (width, samples) = (3, 12);
    let signal = random([1, width, samples]);
    let projected = values(operator.projection.forward(signal.clone()));
    let (taps, bias) = (values(operator.short_taps.val()), values(operator.short_bias.val()));
    let short = |channel: usize, time: usize| {
        let product = |tap: usize| taps[channel * 3 + tap] * projected[channel * samples + time - tap];
        bias[channel] + (0..3.min(time + 1)).map(product).sum::<f64>()
    };
    let (filter, skip) = (values(operator.filter.forward(samples)), values(operator.skip.val()));
    let mut mixed = Vec::new();
    for channel in 0..width {
        // The projections are x₀, x₁ and v.
        let value = |time: usize| short(2 * width + channel, time) * short(width + channel, time);
        for time in 0..samples {
            let product = |tap: usize| filter[channel * samples + tap] * value(time - tap);
            let sum: f64 = (0..=time).map(product).sum();
            mixed.push((sum + skip[channel] * value(time)) * short(channel, time));
        }
    }
    let mixed = tensor(&mixed, [1, width, samples], &Device::flex());
    assert_equal("operator", operator.try_forward(signal).unwrap(), operator.output.forward(mixed));
}

#[test]
fn signals_longer_than_a_filter_are_refused() {
    let model = HyenaConfig::new().with_width(4).with_layers(1).with_length(20).init(&Device::flex());
    let message = model.try_forward(random([1, 1, 21])).unwrap_err().to_string();
    assert!(message.contains("at most 20"), "{message}");
}
