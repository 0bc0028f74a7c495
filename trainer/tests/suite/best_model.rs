//! The model that a run keeps: that of the lowest validation loss, and never one worse than before training.

use std::fs;
use std::path::Path;

use crate::common::{errors, evaluation, run, small_config, text};

/// Steps and losses of the validations of a run.
fn validations(run: &Path) -> Vec<(u64, f64)> {
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let points = metrics.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    points.filter_map(|point| Some((point["step"].as_u64().unwrap(), point["validation_loss"].as_f64()?))).collect()
}

#[test]
fn the_lowest_validation_loss_is_kept_without_patience() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    // A rate at which the loss goes up and down.
    let settings = ["--set", "training.learning_rate=1.0", "--set", "optimizer.schedule=constant"];
    let arguments = ["../configs/forecasting-tiny.toml", "--out", text(&out)];
    let output = run(&[&arguments[..], &settings].concat());
    assert!(output.status.success(), "{}", errors(&output));
    let validations = validations(&out);
    let (best, _) = *validations.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    let last = validations.last().unwrap().0;
    let message = format!("the model of step {best} is kept");
    assert_eq!(errors(&output).contains(&message), best < last, "{validations:?}: {}", errors(&output));
    let model = |name: &str| fs::read(out.join(name).join("model.safetensors")).unwrap();
    assert!(model("model") == model("best"), "the finished model is the best one");
}

#[test]
fn training_that_makes_a_model_worse_keeps_the_exact_estimate_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let config = small_config(folder.path());
    for seed in ["seed=1", "seed=2", "seed=3"] {
        let out = folder.path().join(seed);
        let mut arguments = vec![text(&config), "--out", text(&out)];
        // Without a price, and at a rate that no window survives.
        let settings = [
            seed,
            "model.segments=2",
            "loss.price=0",
            "training.learning_rate=1",
            "training.learn=[\"taper\",\"gain\"]",
        ];
        settings.iter().for_each(|setting| arguments.extend(["--set", setting]));
        let output = run(&arguments);
        assert!(output.status.success(), "{}", errors(&output));
        assert!(errors(&output).contains("the untrained one, which is kept"), "{}", errors(&output));
        let rows = evaluation(&out);
        let of = |name: &str, score: &str| {
            rows.iter().find(|row| row["name"] == name).and_then(|row| row[score].as_f64()).unwrap()
        };
        for score in ["recall", "median_power_error_db"] {
            let (learned, exact) = (of("learned", score), of("fast", score));
            assert!((learned - exact).abs() < 0.01, "{seed}, {score}: {learned} and not {exact}");
        }
    }
}

#[test]
fn a_price_is_paid_by_the_last_model() {
    let folder = tempfile::tempdir().unwrap();
    let (config, out) = (small_config(folder.path()), folder.path().join("run"));
    let output = run(&[text(&config), "--out", text(&out)]);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(!errors(&output).contains("is kept") && !out.join("best").exists(), "{}", errors(&output));
}
