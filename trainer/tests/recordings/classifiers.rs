//! The classifiers that ship, on recordings they were not trained on.

use std::path::Path;

use burn::tensor::{Device, Int, Tensor};
use firefly_models::zoo;
use firefly_trainer::config::load;
use firefly_trainer::tasks::classification::{Classification, ExampleSets};
use libtest_mimic::Trial;

use crate::{assert_near, figure, trial};

/// Recordings per batch.
const BATCH: usize = 50;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("the_classifier_of_digits_that_ships_has_the_accuracy_of_its_card", "speech", |data| {
            assert_accuracies(data, "classification-digits", "mel_classifier_digits", &[(None, "200 recordings")]);
        }),
        trial("the_classifier_of_bearing_faults_that_ships_has_the_accuracies_of_its_card", "bearing", |data| {
            let noises = [(None, "without noise"), (Some(0.0), "noise at 0 dB"), (Some(-4.0), "noise at -4 dB")];
            assert_accuracies(data, "classification-bearing", "mel_classifier_bearing", &noises);
        }),
    ]
}

/// Checks the share of the test examples of a configuration, without and with noise of a signal-to-noise ratio, whose
/// class the shipped weights of a model find: it is on the card, in the result about the text beside.
fn assert_accuracies(data: &Path, config: &str, model: &str, noises: &[(Option<f64>, &str)]) {
    let path = format!("../configs/{config}.toml");
    let config = load::<Classification>(Path::new(&path), &[], Some(data)).unwrap();
    let (sets, device) = (ExampleSets::open(&config).unwrap(), Device::flex());
    let pretrained = zoo::pretrained(model, &device).unwrap();
    let classes = pretrained.settings().get("classes").unwrap().clone();
    assert_eq!(classes, serde_json::json!(sets.classes), "the names of the classes are those of the data");
    let indices: Vec<usize> = (0..sets.test.len()).collect();
    for (ratio, what) in noises {
        let mut hits = 0i64;
        for indices in indices.chunks(BATCH) {
            let batch = sets.test.batch(indices, *ratio, &device);
            let scores = pretrained.try_forward(vec![batch.signal.into()]).unwrap().remove(0);
            let found: Tensor<1, Int> = scores.try_float::<2>("test", "scores").unwrap().argmax(1).squeeze_dim(1);
            hits += found.equal(batch.classes).int().sum().into_scalar::<i64>();
        }
        let percent = |hits: f64| 100.0 * hits / indices.len() as f64;
        // One example more or less, and the digits of the card.
        assert_near(percent(hits as f64), figure(model, what), percent(1.0) + 0.05);
    }
}
