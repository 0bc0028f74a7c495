//! Adaptive Welch peaks trained and evaluated on bearing vibrations, beside estimates from a fixed number of segments:
//! `FIREFLY_DATA=… cargo run --release -p firefly-models --example adaptive_bearing -- [PRICE] [ROUNDS] [FILE]`
//!
//! The folders `bearing/train` and `bearing/test` of the data hold WAV files at 12 kHz. A frame has 1,152 samples; the
//! peaks to find are the 16 strongest bins of its eight segments of 256 samples.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use burn::module::Module;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Int, Tensor, TensorData};
use firefly_models::zoo::ZooModel;
use firefly_models::{AdaptiveWelchPeaks, AdaptiveWelchPeaksConfig};
use firefly_ops::{Window, WindowSymmetry, top_k, welch_peaks};

/// Training steps, and their learning rate.
const STEPS: (usize, f64) = (200, 0.02);
/// Cost of a segment, in shares of the peaks.
const PRICE: f64 = 0.028;
/// Calls that a time is the shortest of.
const CALLS: usize = 40;

#[allow(clippy::print_stdout, reason = "an example shows its result")]
fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let price = arguments.next().map_or(Ok(PRICE), |price| price.parse()).context("the price is no number")?;
    let rounds = arguments.next().map(|rounds| rounds.split(',').map(str::parse).collect()).transpose();
    let mut config = AdaptiveWelchPeaksConfig::new();
    config.rounds = rounds.context("rounds are numbers, separated by commas")?.unwrap_or(config.rounds);
    let folder = PathBuf::from(std::env::var_os("FIREFLY_DATA").context("FIREFLY_DATA names no folder")?);

    let device = Device::flex().autodiff();
    let frame = config.options().frame();
    let model = config.init(&device);
    let train = frames(&folder.join("bearing/train"), frame, &device)?;
    let test = frames(&folder.join("bearing/test"), frame, &device.clone().inner())?;
    for segments in 1..=8 {
        println!("{segments} segments: recall {:.4}", share(&fixed(&model.valid(), &test, segments)?, &model, &test)?);
    }
    let model = trained(model, &train, price)?;
    println!(
        "trained at a price of {price}: {:?}, sharpness {}",
        model.thresholds.val().into_data(),
        model.log_sharpness.val().exp().into_data()
    );
    let model = model.valid();
    for (name, signal) in [("train", train.inner()), ("test", test.clone())] {
        let found = model.try_forward(signal.clone())?;
        let segments = found.segments.mean().into_scalar::<f64>();
        println!("{name}: recall {:.4} with {segments:.2} segments", share(&found.peaks.bins, &model, &signal)?);
    }
    // One after the other, so that the load of the machine is that of both.
    let (mut adaptive, mut eight) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..CALLS {
        adaptive = adaptive.min(seconds(|| Ok(model.try_forward(test.clone())?.peaks.bins))?);
        eight = eight.min(seconds(|| fixed(&model, &test, 8))?);
    }
    let rows = test.dims()[0];
    println!("{rows} frames: {:.2} ms adaptive, {:.2} ms with eight segments", adaptive * 1e3, eight * 1e3);
    if let Some(path) = arguments.next() {
        ZooModel::from(model).save(path.as_ref())?;
    }
    Ok(())
}

/// Time of a call until its result is in host memory.
fn seconds(call: impl FnOnce() -> Result<Tensor<2, Int>>) -> Result<f64> {
    let start = Instant::now();
    call()?.into_data();
    Ok(start.elapsed().as_secs_f64())
}

/// The model with thresholds and sharpness that minimise lost peaks and the price of segments.
fn trained(mut model: AdaptiveWelchPeaks, signal: &Tensor<2>, price: f64) -> Result<AdaptiveWelchPeaks> {
    let config = model.config().clone();
    let rows = signal.dims()[0];
    // What a frame costs if it stops after a round, `[rows, rounds]`.
    let (plain, samples) = (model.valid(), signal.clone().inner());
    let reference = fixed(&plain, &samples, 8)?;
    let cost = |(power, count): (Tensor<2>, &usize)| -> Result<Tensor<2>> {
        let found = top_k(power, config.k)?.bins;
        Ok(-hits(&found, &reference) / config.k as f64 + 1.0 + price * *count as f64)
    };
    let costs: Result<Vec<_>> = plain.try_rounds(samples)?.power.into_iter().zip(&config.rounds).map(cost).collect();
    let costs = Tensor::from_inner(Tensor::cat(costs?, 1));
    let (steps, rate) = STEPS;
    let mut optimizer = AdamConfig::new().init();
    for _ in 0..steps {
        let loss = (model.try_rounds(signal.clone())?.stops * costs.clone()).sum() / rows as f64;
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimizer.step(rate, model, gradients);
    }
    Ok(model)
}

/// Bins that the reference has and an estimate finds, per frame: `[rows, 1]`.
fn hits(found: &Tensor<2, Int>, reference: &Tensor<2, Int>) -> Tensor<2> {
    let [rows, k] = found.dims();
    let all: Tensor<3, Int> = found.clone().reshape([rows, k, 1]).repeat_dim(2, k);
    let same = all.equal(reference.clone().reshape([rows, 1, k]).repeat_dim(1, k));
    same.float().sum_dim(1).sum_dim(2).reshape([rows, 1])
}

/// Share of the peaks of eight segments that are found.
fn share(found: &Tensor<2, Int>, model: &AdaptiveWelchPeaks, signal: &Tensor<2>) -> Result<f64> {
    let reference = fixed(&model.valid(), signal, 8)?;
    Ok(hits(found, &reference).mean().into_scalar::<f64>() / model.config().k as f64)
}

/// Peaks of the first `segments` segments of each frame.
fn fixed(model: &AdaptiveWelchPeaks, signal: &Tensor<2>, segments: usize) -> Result<Tensor<2, Int>> {
    let config = model.config();
    let window =
        Window::Hann.tensor(config.n_fft, WindowSymmetry::Periodic, burn::tensor::FloatDType::F32, &signal.device());
    Ok(welch_peaks(signal.clone(), window, &model.options().with_segments(segments), config.k)?.bins)
}

/// Frames of every WAV file of `folder`, one after the other: `[rows, frame]`.
fn frames(folder: &Path, frame: usize, device: &Device) -> Result<Tensor<2>> {
    let mut samples: Vec<f32> = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("{} can't be read", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        let file = hound::WavReader::open(&path).with_context(|| path.display().to_string())?;
        let recording = file.into_samples::<f32>().collect::<Result<Vec<_>, _>>()?;
        samples.extend(recording.chunks_exact(frame).flatten());
    }
    let rows = samples.len() / frame;
    Ok(Tensor::from_data(TensorData::new(samples, [rows, frame]), device))
}
