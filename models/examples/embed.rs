//! A module of one's own around Firefly's: it learns which of three machines a frame of vibration comes from, the spectral
//! front end trained together with the classifier, and is saved as one.
//!
//! `cargo run --release -p firefly-models --example embed`

use std::f32::consts::TAU;

use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Int, Tensor, TensorData};
use firefly_models::{ArgumentError, LearnedWelchPeaks, LearnedWelchPeaksConfig};

const CLASSES: usize = 3;
const BATCH: usize = 48;

/// A spectral front end and a linear classifier of its log power.
#[derive(Module, Debug)]
struct MachineClassifier {
    spectrum: LearnedWelchPeaks,
    classifier: Linear,
}

impl MachineClassifier {
    fn new(device: &Device) -> Result<Self, ArgumentError> {
        let spectrum = LearnedWelchPeaksConfig::new().with_n_fft(64).with_k(4).init(device)?;
        let classifier = LinearConfig::new(spectrum.options().bins(), CLASSES).init(device);
        Ok(Self { spectrum, classifier })
    }

    /// Frames `[batch, frame]` → scores `[batch, classes]`.
    fn forward(&self, frames: Tensor<2>) -> Result<Tensor<2>, ArgumentError> {
        let power = self.spectrum.power(frames, &self.spectrum.mean_gates())?;
        Ok(self.classifier.forward((power + 1e-6).log()))
    }
}

/// Frames of three machines that hum at different pitches, and which is which.
fn recordings(frame: usize, device: &Device) -> (Tensor<2>, Tensor<1, Int>) {
    let machine = |row: usize| row % CLASSES;
    let sample = |row: usize, t: usize| {
        let pitch = 0.08 + 0.11 * machine(row) as f32 + 0.001 * row as f32;
        (TAU * pitch * t as f32).sin() + 0.3 * (TAU * 0.45 * t as f32 + row as f32).cos()
    };
    let samples: Vec<f32> = (0..BATCH * frame).map(|i| sample(i / frame, i % frame)).collect();
    let labels: Vec<i64> = (0..BATCH).map(|row| machine(row) as i64).collect();
    (
        Tensor::from_data(TensorData::new(samples, [BATCH, frame]), device),
        Tensor::from_data(TensorData::new(labels, [BATCH]), device),
    )
}

#[allow(clippy::print_stdout, reason = "an example shows what it does")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::flex().autodiff();
    let mut model = MachineClassifier::new(&device)?;
    let (frames, labels) = recordings(model.spectrum.options().frame(), &device);
    let mut optimizer = AdamConfig::new().init();
    for step in 0..=60 {
        let scores = model.forward(frames.clone())?;
        let loss = CrossEntropyLossConfig::new().init(&device).forward(scores, labels.clone());
        if step % 20 == 0 {
            println!("step {step}: cross entropy {:.4}", loss.clone().into_scalar::<f32>());
        }
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimizer.step(0.02, model, gradients);
    }

    let path = std::env::temp_dir().join("firefly-embed.bpk");
    let trained = model.valid();
    trained.clone().save_file(&path)?;
    let plain = Device::flex();
    let restored = MachineClassifier::new(&plain)?.try_load_file(&path)?;
    std::fs::remove_file(&path)?;
    let frames = frames.inner();
    let difference = (restored.forward(frames.clone())? - trained.forward(frames.clone())?).abs().max();
    println!("largest difference after saving and loading: {}", difference.into_scalar::<f32>());

    let peaks = restored.spectrum.forward(frames)?;
    println!("strongest bins of the first three frames:\n{}", peaks.bins.narrow(0, 0, 3).into_data());
    Ok(())
}
