//! Arguments that are refused by name, and signals in float64.

use burn::tensor::{DType, Device, Tensor};
use firefly_models::{
    FnoConfig, GfNetConfig, LearnedWelchPeaksConfig, LogMelConfig, MfccConfig, S4dConfig, WelchPeaksConfig,
};
use firefly_ops::{ArgumentError, Window};

#[test]
fn windows_out_of_range_are_refused() {
    let device = Device::flex();
    let window = Window::Gaussian { std: 0.0 };
    let refused = |error: Option<ArgumentError>| assert_eq!(error.unwrap().argument, "std");
    refused(WelchPeaksConfig::new().with_window(window).try_init(&device).err());
    refused(LearnedWelchPeaksConfig::new().with_window(window).try_init(&device).err());
    // Of 64 coefficients, which text alone does not say.
    let window: Window = "dpss(40)".parse().unwrap();
    let error = WelchPeaksConfig::new().with_n_fft(64).with_window(window).try_init(&device).err();
    assert_eq!(error.unwrap().argument, "nw");
}

#[test]
fn blocks_refuse_another_number_of_channels() {
    let device = Device::flex();
    let model = S4dConfig::new().with_width(8).init(&device);
    let error = model.stack.blocks[0].try_forward(Tensor::ones([2, 6, 50], &device)).unwrap_err().to_string();
    assert_eq!(error, "SequenceBlock: `signal` is of 6 channels, but must be of 8");
    let config = GfNetConfig::new().with_image(16).with_patch(4).with_width(8).with_layers(1);
    let error = config.init(&device).blocks[0].try_forward(Tensor::ones([2, 4, 4, 6], &device)).unwrap_err();
    assert_eq!(error.to_string(), "GfNetBlock: `patches` is of 6 channels, but must be of 8");
}

#[test]
fn models_with_parameters_in_f32_take_signals_in_f64() {
    let device = Device::flex();
    let signal = |samples: usize| -> Tensor<2> { Tensor::ones([2, samples], (&device, DType::F64)) };
    let mel = LogMelConfig::new().with_learned(true);
    let bands: Tensor<3> = mel.init(&device).try_forward(signal(16_000)).unwrap();
    assert_eq!(bands.dtype(), DType::F64);
    let coefficients: Tensor<3> =
        MfccConfig::new(LogMelConfig::new()).init(&device).try_forward(signal(16_000)).unwrap();
    assert_eq!(coefficients.dtype(), DType::F64);
    let field = Tensor::<3>::ones([2, 1, 16], (&device, DType::F64));
    let operator = FnoConfig::new(vec![4]).with_width(4).with_layers(1).init::<3>(&device);
    assert_eq!(operator.try_forward(field).unwrap().dtype(), DType::F64);
}
