//! Darcy flow is solved as accurately as its configuration and its weights are for.

use std::path::Path;

use burn::tensor::{Device, Tensor};
use firefly_models::zoo;
use firefly_recordings::Array;
use firefly_trainer::tasks::operator::Closing;
use libtest_mimic::Trial;

use crate::common::{errors, evaluation, run, text};
use crate::{assert_near, figure, trial};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("an_operator_of_darcy_flow_is_accurate_at_the_training_resolution_and_at_another", "darcy", trained),
        trial("shipped_weights_solve_darcy_flow_as_their_card_says", "darcy", shipped),
    ]
}

fn trained(data: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let output = run(&["../configs/operator-darcy.toml", "--data", text(data), "--out", text(&out)]);
    assert!(output.status.success(), "{}", errors(&output));
    for (points, limit) in [(16, 0.100), (32, 0.120)] {
        let data_set = format!("darcy_test_{points}_x, {points} × {points} points");
        let rows = evaluation(&out);
        let learned = rows.iter().find(|row| row["data_set"] == *data_set && row["name"] == "learned").unwrap();
        let error = learned["relative_l2"].as_f64().unwrap();
        assert!(error <= limit, "{data_set}: {error}");
    }
}

fn shipped(data: &Path) {
    let device = Device::flex();
    let model = zoo::pretrained("fno2d_darcy", &device).unwrap();
    for points in [16, 32] {
        let array =
            |name: &str| Array::read(&data.join(format!("darcy/darcy_test_{points}_{name}.npy")), name).unwrap();
        let (permeability, pressure, grid) = (array("x"), array("y"), [points, points]);
        let closed = Closing::Nearest.closed(&permeability.values, &grid);
        let samples = pressure.shape[0];
        let field = Tensor::<1>::from_floats(&closed[..], &device).reshape([samples, 1, points + 1, points + 1]);
        let output = model.try_forward(vec![field.into()]).unwrap().remove(0).try_float::<4>("test", "field").unwrap();
        let found = Closing::Zero.opened(&output.into_data().iter().collect::<Vec<f32>>(), &grid);
        let relative = |(found, wanted): (&[f32], &[f32])| {
            let square = |values: &mut dyn Iterator<Item = f32>| values.map(|value| value * value).sum::<f32>();
            let error = square(&mut found.iter().zip(wanted).map(|(a, b)| a - b));
            (error / square(&mut wanted.iter().copied())).sqrt()
        };
        let pairs = found.chunks_exact(points * points).zip(pressure.values.chunks_exact(points * points));
        let error = pairs.map(relative).sum::<f32>() / samples as f32;
        let what = format!("{points} × {points} points, the shipped weights");
        assert_near(f64::from(error), figure("fno2d_darcy", &what), 1e-3);
    }
}
