//! Models of the zoo on a server and here.

use std::path::Path;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use firefly_app::device::DeviceName;
use firefly_bench::suites::models::inputs;
use firefly_models::zoo::{self, Settings, ZooModel};

use super::server::ServerProcess;

/// Elements of a batch.
const BATCH: usize = 2;

fn tiny() -> Vec<&'static str> {
    zoo::list("").into_iter().filter(|name| name.ends_with("_tiny")).collect()
}

/// Float outputs, flattened.
fn outputs(model: &ZooModel, device: &Device) -> Vec<Tensor<1>> {
    let outputs = model.try_forward(inputs(model, BATCH, device)).unwrap();
    let floats = outputs.into_iter().filter(|output| output.is_float());
    floats.map(|output| output.try_flatten("test", "output").unwrap()).collect()
}

#[test]
fn every_family_has_the_outputs_of_a_local_device() {
    let server = ServerProcess::start();
    let (local, remote) = (Device::flex(), server.device().parse::<DeviceName>().unwrap().open().unwrap());
    assert!(tiny().len() >= 19, "{:?}", tiny());
    for name in tiny() {
        // Initial weights are drawn on the device, so that those of one model go to both.
        let model = zoo::create(name, &Settings::new(), &local).unwrap();
        let weights = model.to_bytes().unwrap();
        let copy = zoo::from_bytes(Path::new(name), weights, &remote).unwrap();
        let (expected, found) = (outputs(&model, &local), outputs(&copy, &remote));
        assert_eq!(found.len(), expected.len(), "{name}");
        for (found, expected) in found.into_iter().zip(expected) {
            let [found, expected]: [Vec<f32>; 2] =
                [found, expected].map(|output| output.into_data().try_to_vec().unwrap());
            let scale = expected.iter().fold(0.0f32, |most, value| most.max(value.abs()));
            assert_eq!(found.len(), expected.len(), "{name}");
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() <= 1e-5 * scale, "{name}: {found}, and {expected} here");
            }
        }
    }
}

#[test]
fn gradients_of_every_family_are_taken() {
    let server = ServerProcess::start();
    let device = server.device().parse::<DeviceName>().unwrap().open().unwrap().autodiff();
    for name in tiny() {
        let model = zoo::create(name, &Settings::new(), &device).unwrap();
        if model.num_params() == 0 {
            continue;
        }
        let squares = outputs(&model, &device).into_iter().map(|output| output.square().sum());
        let loss = squares.reduce(|sum, square| sum + square).unwrap();
        drop(loss.clone().backward());
        // A session that has ended has no value.
        assert!(loss.into_scalar::<f32>().is_finite(), "{name}");
    }
}
