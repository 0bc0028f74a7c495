//! Fourier neural operators against compositions of plain operations.

use burn::module::Module;
use burn::tensor::activation::gelu;
use burn::tensor::{Device, Int, Tensor};
use firefly_models::channel_linear::ChannelLinear;
use firefly_models::fno::{FnoKind, FnoLayer};
use firefly_models::{ArgumentError, Fno1d, Fno2d, FnoConfig};
use firefly_ops::Norm;
use firefly_ops::fft::{ComplexTensor, irfft2_with, rfft2_with};

use crate::common::{assert_equal, random};

/// A linear layer over channels, written with a sum over input channels.
fn linear(layer: &ChannelLinear, field: Tensor<4>) -> Tensor<4> {
    let [outputs, inputs] = layer.weight.val().dims();
    let weight = layer.weight.val().reshape([1, outputs, inputs, 1, 1]);
    let sum: Tensor<4> = (field.unsqueeze_dim::<5>(1) * weight).sum_dim(2).squeeze_dim(2);
    sum + layer.bias.val().reshape([1, outputs, 1, 1])
}

#[test]
fn an_operator_is_what_its_definition_says() {
    let config = FnoConfig::new(vec![4, 3]).with_width(3).with_layers(2).with_projection(5).with_points(8);
    let model: Fno2d = config.init(&Device::flex());
    let field = random([2, 1, 8, 6]);

    // Coordinates of rows and columns, from 0 to 1.
    let line = |count: usize| Tensor::<1, Int>::arange(0..count as i64, &Device::flex()).float() / (count as f64 - 1.0);
    let rows = line(8).reshape([1, 1, 8, 1]).expand([2, 1, 8, 6]);
    let columns = line(6).reshape([1, 1, 1, 6]).expand([2, 1, 8, 6]);
    let mut hidden = linear(&model.lifting[0], Tensor::cat(vec![field.clone(), rows, columns], 1));
    for (index, layer) in model.layers.iter().enumerate() {
        let FnoLayer::Dense(layer) = layer else { panic!("layers are dense") };
        let spectrum = rfft2_with(hidden.clone(), None, [2, 3], Norm::Backward).unwrap();
        let weights = ComplexTensor::new(layer.spectral.re.val(), layer.spectral.im.val());
        let mut whole = ComplexTensor::from(Tensor::<4>::zeros([2, 3, 8, 4], &Device::flex()));
        for (row, of_weights) in [(0, 0), (1, 1), (6, 2), (7, 3)] {
            let kept = spectrum.clone().map(|part| part.narrow(2, row, 1).narrow(3, 0, 3).unsqueeze_dim::<5>(2));
            let weights = weights.clone().map(|part| part.narrow(2, of_weights, 1).unsqueeze::<5>());
            let product = (kept * weights).map(|part| part.sum_dim(1).squeeze_dim::<4>(1));
            let place = [0..2, 0..3, row..row + 1, 0..3];
            whole.re = whole.re.slice_assign(place.clone(), product.re);
            whole.im = whole.im.slice_assign(place, product.im);
        }
        let convolved = irfft2_with(whole, Some([8, 6]), [2, 3], Norm::Backward).unwrap();
        hidden = convolved + linear(&layer.linear, hidden);
        if index == 0 {
            hidden = gelu(hidden);
        }
    }
    let expected = linear(&model.projection[1], gelu(linear(&model.projection[0], hidden)));
    assert_equal("operator", model.forward(field), expected);
}

#[test]
fn a_factorised_layer_sums_convolutions_along_each_dimension() {
    let config = FnoConfig::new(vec![3, 3]).with_width(2).with_layers(1).with_kind(FnoKind::Factorized);
    let model: Fno2d = config.with_coordinates(false).with_points(8).init(&Device::flex());
    let FnoLayer::Factorized(layer) = &model.layers[0] else { panic!("layers are factorised") };
    let field = random([2, 2, 8, 6]);
    // Columns of one value per row and rows of one value per column, one at a time.
    let mut sum = Tensor::zeros([2, 2, 8, 6], &Device::flex());
    for column in 0..6 {
        let rows = field.clone().narrow(3, column, 1).squeeze_dim::<3>(3);
        let place = [0..2, 0..2, 0..8, column..column + 1];
        let convolved = layer.spectral[0].try_forward(rows).unwrap().unsqueeze_dim::<4>(3);
        sum = sum.clone().slice_assign(place.clone(), sum.slice(place) + convolved);
    }
    for row in 0..8 {
        let columns = field.clone().narrow(2, row, 1).squeeze_dim::<3>(2);
        let place = [0..2, 0..2, row..row + 1, 0..6];
        let convolved = layer.spectral[1].try_forward(columns).unwrap().unsqueeze_dim::<4>(2);
        sum = sum.clone().slice_assign(place.clone(), sum.slice(place) + convolved);
    }
    let hidden = linear(&layer.hidden, sum).clamp_min(0.0);
    assert_equal("layer", model.layers[0].try_forward(field.clone()).unwrap(), linear(&layer.output, hidden) + field);
}

#[test]
fn the_small_operator_has_as_many_parameters_as_counted_by_hand() {
    let config = FnoConfig::new(vec![8, 4]).with_width(24).with_lifting(Some(48)).with_projection(48).with_points(16);
    let model: Fno2d = config.init(&Device::flex());
    let spectral = 4 * 2 * 24 * 24 * 8 * 4;
    let pointwise = (3 * 48 + 48) + (48 * 24 + 24) + 4 * (24 * 24 + 24) + (24 * 48 + 48) + (48 + 1);
    assert_eq!(model.num_params(), spectral + pointwise);
}

#[test]
fn zeros_behind_a_field_are_removed_again() {
    let config = FnoConfig::new(vec![5]).with_width(4).with_padding(7).with_points(20);
    let model: Fno1d = config.init(&Device::flex());
    assert_eq!(model.forward(random([3, 1, 20])).dims(), [3, 1, 20]);
}

#[test]
fn operators_name_what_is_wrong() {
    let device = Device::flex();
    let message = |result: Result<Fno2d, _>| result.err().map(|error: ArgumentError| error.to_string());
    assert!(message(FnoConfig::new(vec![4]).try_init(&device)).unwrap().contains("for 1 dimensions"));
    assert!(message(FnoConfig::new(vec![4, 40]).try_init(&device)).unwrap().contains("40 along dimension 1"));
    assert!(message(FnoConfig::new(vec![4, 4]).with_width(0).try_init(&device)).unwrap().contains("`width` is 0"));
    let model: Fno2d = FnoConfig::new(vec![4, 3]).with_points(8).init(&device);
    assert!(model.try_forward(random([1, 2, 8, 8])).unwrap_err().to_string().contains("[1, 2, 8, 8]"));
    assert!(model.try_forward(random([1, 1, 8, 3])).unwrap_err().to_string().contains("3 along dimension 1"));
}

#[test]
fn zeros_are_the_same_share_of_the_domain_at_every_resolution() {
    let config = FnoConfig::new(vec![3]).with_width(2).with_layers(1).with_coordinates(false).with_points(8);
    let output = |config: FnoConfig, points: usize| {
        let device = Device::flex();
        device.seed(5);
        config.init::<3>(&device).forward(random([1, 1, points]))
    };
    // Points k/n: 8 and 16 are followed by a quarter of them.
    let open = config.clone().with_endpoint(false).with_padding_share(0.25);
    for (points, zeros) in [(8, 2), (16, 4)] {
        let plain = config.clone().with_endpoint(false).with_padding(zeros);
        assert_equal("open", output(open.clone(), points), output(plain, points));
    }
    // Points k/(n − 1): the last one of 9 or 17 is followed by a quarter of 8 or 16 intervals but one.
    let closed = config.clone().with_padding_share(0.25);
    for (points, zeros) in [(9, 1), (17, 3)] {
        assert_equal("closed", output(closed.clone(), points), output(config.clone().with_padding(zeros), points));
    }
}
