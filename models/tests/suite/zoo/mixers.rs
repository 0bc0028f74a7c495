//! Models that mix tokens and patches in the frequency domain against sums from their definitions.

use std::f64::consts::{PI, TAU};

use burn::module::Param;
use burn::tensor::Device;
use firefly_models::gfnet::GlobalFilter;
use firefly_models::{FNetConfig, GfNetConfig};
use firefly_ops::Norm;
use firefly_ops::fft::rfft2_with;

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
fn images_of_another_size_are_refused() {
    let device = Device::flex();
    let config = GfNetConfig::new().with_image(8).with_patch(4).with_width(4).with_layers(1).with_classes(2);
    let message = config.init(&device).try_forward(random([1, 3, 8, 9])).unwrap_err().to_string();
    assert!(message.contains("GfNet") && message.contains("[batch, 3, 8, 8]"), "{message}");
}
