//! A classifier of tones that trains the spectrum it classifies by, gates included:
//! `cargo run --release -p firefly-models --example embed`

use burn::nn::{Linear, LinearConfig, loss::CrossEntropyLossConfig};
use burn::optim::{AdamConfig, GradientsParams};
use burn::{module::Module, tensor::Device, tensor::Int, tensor::Tensor};
use firefly_models::{LearnedWelchPeaks, LearnedWelchPeaksConfig};

#[derive(Module, Debug)]
struct Classifier {
    spectrum: LearnedWelchPeaks,
    head: Linear,
}

#[allow(clippy::print_stdout, reason = "an example shows its result")]
pub(crate) fn main() {
    let device = Device::flex().autodiff();
    let spectrum = LearnedWelchPeaksConfig::new().with_n_fft(64).with_segments(8).init(&device);
    let mut model = Classifier { spectrum, head: LinearConfig::new(33, 2).init(&device) };
    let mut optimizer = AdamConfig::new().init();
    let time = Tensor::<1, Int>::arange(0..288, &device).float();
    let frames = Tensor::stack::<2>(vec![(time.clone() * 0.4).sin(), (time * 1.4).sin()], 0); // one per class
    for _ in 0..150 {
        let power = model.spectrum.psd(frames.clone(), &model.spectrum.sample_gates()); // [2, 33]
        let scores = model.head.forward((power + 1e-6).log());
        let loss = CrossEntropyLossConfig::new().init(&device).forward(scores, Tensor::from_ints([0, 1], &device));
        let price = model.spectrum.expected_butterflies() * 1e-3;
        let gradients = GradientsParams::from_grads((loss + price).backward(), &model);
        model = optimizer.step(0.05, model, gradients);
    }
    let open = model.spectrum.count_open_segments();
    println!("{open} of 8 segments are left open");
    assert!(open < 8, "training closes gates");
}
