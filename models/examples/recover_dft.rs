//! A butterfly model that learns the Fourier transform from its matrix, permutation included:
//! `cargo run --release -p firefly-models --example recover_dft -- 8 16 [--save FOLDER]`

use std::path::Path;

use burn::module::Module;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Tensor};
use firefly_models::zoo::{ZooError, ZooModel};
use firefly_models::{Butterfly, ButterflyConfig};
use firefly_ops::Norm;
use firefly_ops::fft::{ComplexTensor, fft_with};

/// Steps with a relaxed permutation, and their learning rates at both ends.
const SEARCH: (usize, [f64; 2]) = (600, [0.1, 0.02]);
/// Steps with the permutation rounded, and their learning rates at both ends.
const REFINEMENT: (usize, [f64; 2]) = (2_000, [0.1, 1e-5]);

/// Best of several random starts.
#[derive(Debug)]
pub struct Recovered {
    /// The best model.
    pub model: Butterfly,
    /// Root of the mean squared error of the matrix, whose entries have a magnitude of 1/√n.
    pub rmse: f64,
    /// Starts that it took.
    pub starts: usize,
}

/// The unitary Fourier transform of `n` points, learned from at most `starts` random starts; the first one below
/// `tolerance` is taken.
pub fn recover(n: usize, starts: usize, tolerance: f64) -> Recovered {
    let device = Device::flex().autodiff();
    let unit = ComplexTensor::from(Tensor::<2>::eye(n, &device));
    let target = fft_with(unit, None, 1, Norm::Ortho).expect("the identity has rows of n values");
    let mut best: Option<Recovered> = None;
    for start in 1..=starts.max(1) {
        device.seed(start as u64);
        let model = ButterflyConfig::new().with_n(n).init(&device);
        let model = train(train(model, &target, SEARCH).rounded(), &target, REFINEMENT);
        let rmse = mean_square(&model, &target).into_scalar::<f64>().sqrt();
        if best.as_ref().is_none_or(|best| rmse < best.rmse) {
            best = Some(Recovered { model, rmse, starts: start });
        }
        if rmse <= tolerance {
            break;
        }
    }
    best.expect("there is one start at least")
}

/// Mean squared error of a model's matrix.
fn mean_square(model: &Butterfly, target: &ComplexTensor<2>) -> Tensor<1> {
    (model.matrix() - target.clone()).abs_squared().mean()
}

/// Adam with a learning rate that falls exponentially.
fn train(mut model: Butterfly, target: &ComplexTensor<2>, (steps, [first, last]): (usize, [f64; 2])) -> Butterfly {
    let mut optimizer = AdamConfig::new().init();
    for step in 0..steps {
        let rate = first * (last / first).powf(step as f64 / steps as f64);
        let gradients = GradientsParams::from_grads(mean_square(&model, target).backward(), &model);
        model = optimizer.step(rate, model, gradients);
    }
    model
}

#[allow(
    dead_code,
    clippy::print_stdout,
    reason = "the test of the example calls `recover`; an example shows its result"
)]
fn main() -> Result<(), ZooError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = arguments.iter().position(|argument| argument == "--save").and_then(|place| arguments.get(place + 1));
    let sizes: Vec<usize> = arguments.iter().filter_map(|size| size.parse().ok()).collect();
    for n in if sizes.is_empty() { vec![8, 16] } else { sizes } {
        let found = recover(n, 64, 1e-5);
        println!("n {n}: RMSE {:.1e} after {} random starts", found.rmse, found.starts);
        if let Some(folder) = folder {
            let path = Path::new(folder).join(format!("butterfly_dft_{n}.safetensors"));
            ZooModel::from(found.model.valid()).save(&path)?;
        }
    }
    Ok(())
}
