//! The model of a training run of the task `peaks` as one file of the zoo:
//! `cargo run --release -p firefly-models --example learned_to_zoo -- RUN/model FILE`

use std::path::Path;

use burn::tensor::Device;
use firefly_models::LearnedWelchPeaks;
use firefly_models::zoo::ZooModel;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, file] = &arguments[..] else { return Err("usage: learned_to_zoo RUN/model FILE".into()) };
    ZooModel::from(LearnedWelchPeaks::load(Path::new(folder), &Device::flex())?).save(Path::new(file))?;
    Ok(())
}
