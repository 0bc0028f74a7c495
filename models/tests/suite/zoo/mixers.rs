//! Models that mix tokens and patches in the frequency domain against sums from their definitions.

use std::f64::consts::{PI, TAU};

use burn::module::Param;
use burn::tensor::Device;
use firefly_models::vision::{AfnoMixer, GlobalFilter};
use firefly_models::{AfnoConfig, FNetConfig, GfNetConfig};
use firefly_ops::Norm;
use firefly_ops::fft::{ComplexTensor, irfft2_with, rfft2_with};

use crate::common::{assert_equal, random, tensor, values};

#[test]
fn fnet_mixes_by_the_real_part_of_a_transform() {
    let config = FNetConfig::new().with_vocabulary(7).with_length(6).with_width(4).with_feed_forward(8).with_layers(1);
    let model = config.init(&Device::flex());
    let block = &model.blocks[0];
    let tokens = random([1, 6, 4]);
    let input = values(tokens.clone());
    let mut mixed = Vec::new();
    for (row, column) in (0..6).flat_map(|row| (0..4).map(move |column| (row, column))) {
        let term = |index: usize| {
            let turns = (row * (index / 4)) as f64 / 6.0 + (column * (index % 4)) as f64 / 4.0;
            input[index] * (TAU * turns).cos()
        };
        mixed.push((0..24).map(term).sum::<f64>());
    }
    let mixed = tensor(&mixed, [1, 6, 4], &Device::flex());
    let sum = block.mixing_norm.forward(tokens.clone() + mixed);
    let hidden = block.hidden.forward(sum.clone());
    // The Gaussian error linear unit by its tanh approximation.
    let inner = (hidden.clone() + hidden.clone().powi_scalar(3) * 0.044715) * (2.0 / PI).sqrt();
    let hidden = hidden * (inner.tanh() + 1.0) * 0.5;
    let expected = block.output_norm.forward(sum + block.output.forward(hidden));
    assert_equal("block", block.try_forward(tokens).unwrap(), expected);
}

#[test]
fn a_global_filter_is_a_circular_convolution() {
    let mut filter = GlobalFilter::new(4, 2, &Device::flex());
    let (kernel, patches) = (random([4, 4, 2]), random([1, 4, 4, 2]));
    let spectrum = rfft2_with(kernel.clone(), None, [0, 1], Norm::Backward).unwrap();
    (filter.re, filter.im) = (Param::from_tensor(spectrum.re), Param::from_tensor(spectrum.im));
    let (kernel, input) = (values(kernel), values(patches.clone()));
    let at = |row: usize, column: usize, channel: usize| (row % 4 * 4 + column % 4) * 2 + channel;
    let mut expected = Vec::new();
    for index in 0..32 {
        let (row, column, channel) = (index / 8, index / 2 % 4, index % 2);
        let term = |place: usize| {
            let (down, right) = (place / 4, place % 4);
            kernel[at(down, right, channel)] * input[at(row + 4 - down, column + 4 - right, channel)]
        };
        expected.push((0..16).map(term).sum::<f64>());
    }
    let expected = tensor(&expected, [1, 4, 4, 2], &Device::flex());
    assert_equal("filter", filter.try_forward(patches).unwrap(), expected);
}

#[test]
fn an_adaptive_operator_mixes_the_channels_of_each_bin() {
    let (channels, blocks, threshold) = (4, 2, 0.01);
    let mixer = AfnoMixer::new(channels, blocks, threshold, &Device::flex());
    let patches = random([1, 3, 4, channels]);
    let spectrum = rfft2_with(patches.clone(), None, [1, 2], Norm::Ortho).unwrap();
    let (re, im) = (values(spectrum.re), values(spectrum.im));
    let parameters = |layer: usize| {
        let layer = &mixer.layers[layer];
        [&layer.weight_re, &layer.weight_im, &layer.bias_re, &layer.bias_im].map(|part| values(part.val()))
    };
    let size = channels / blocks;
    let forward = |layer: usize, bin: &[(f64, f64)], activate: &dyn Fn(f64) -> f64| -> Vec<(f64, f64)> {
        let [weight_re, weight_im, bias_re, bias_im] = parameters(layer);
        let output = |channel: usize| {
            let (block, out) = (channel / size, channel % size);
            let (mut re, mut im) = (bias_re[channel], bias_im[channel]);
            for input in 0..size {
                let at = (block * size + input) * size + out;
                let (x, y) = bin[block * size + input];
                re += x * weight_re[at] - y * weight_im[at];
                im += x * weight_im[at] + y * weight_re[at];
            }
            (activate(re), activate(im))
        };
        (0..channels).map(output).collect()
    };
    let shrunk = |x: f64| x.signum() * (x.abs() - threshold).max(0.0);
    let bins = re.chunks(channels).zip(im.chunks(channels)).map(|(re, im)| {
        let bin: Vec<_> = re.iter().copied().zip(im.iter().copied()).collect();
        forward(1, &forward(0, &bin, &|x| x.max(0.0)), &shrunk)
    });
    let mixed: Vec<(f64, f64)> = bins.flatten().collect();
    let part = |part: fn(&(f64, f64)) -> f64| {
        let values: Vec<f64> = mixed.iter().map(part).collect();
        tensor(&values, [1, 3, 3, channels], &Device::flex())
    };
    let mixed = ComplexTensor::new(part(|value| value.0), part(|value| value.1));
    let expected = irfft2_with(mixed, Some([3, 4]), [1, 2], Norm::Ortho).unwrap() + patches.clone();
    assert_equal("mixer", mixer.try_forward(patches).unwrap(), expected);
}

#[test]
fn images_of_another_size_are_refused() {
    let device = Device::flex();
    let config = GfNetConfig::new().with_image(8).with_patch(4).with_width(4).with_layers(1).with_classes(2);
    let message = config.init(&device).try_forward(random([1, 3, 8, 9])).unwrap_err().to_string();
    assert!(message.contains("GfNet") && message.contains("[batch, 3, 8, 8]"), "{message}");
    let config = AfnoConfig::new().with_image(8).with_patch(4).with_width(6).with_blocks(4);
    assert!(config.try_init(&device).unwrap_err().to_string().contains("`blocks` is 4"));
}
