//! The classifiers that ship, on recordings they were not trained on.

use std::path::Path;

use burn::tensor::{Device, Int, Tensor};
use firefly_models::zoo;
use firefly_trainer::config::load;
use firefly_trainer::tasks::classification::{Classification, ExampleSets};
use libtest_mimic::Trial;

use crate::trial;

/// Recordings per batch.
const BATCH: usize = 50;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("the_classifier_of_digits_that_ships_finds_985_of_1000", "speech", |data| {
            assert_accuracy(data, "classification-digits", "mel_classifier_digits", 0.985);
        }),
        trial("the_classifier_of_bearing_faults_that_ships_finds_99_of_100", "bearing", |data| {
            assert_accuracy(data, "classification-bearing", "mel_classifier_bearing", 0.99);
        }),
    ]
}

/// Checks the share of the test examples of a configuration whose class the shipped weights of a model find.
fn assert_accuracy(data: &Path, config: &str, model: &str, least: f64) {
    let path = format!("../configs/{config}.toml");
    let config = load::<Classification>(Path::new(&path), &[], Some(data)).unwrap().config;
    let (sets, device) = (ExampleSets::open(&config).unwrap(), Device::flex());
    let pretrained = zoo::pretrained(model, &device).unwrap();
    let classes = pretrained.settings().get("classes").unwrap().clone();
    assert_eq!(classes, serde_json::json!(sets.classes), "the names of the classes are those of the data");
    let indices: Vec<usize> = (0..sets.test.len()).collect();
    let mut hits = 0i64;
    for indices in indices.chunks(BATCH) {
        let batch = sets.test.batch(indices, None, &device);
        let scores = pretrained.try_forward(vec![batch.signal.into()]).unwrap().remove(0);
        let found: Tensor<1, Int> = scores.try_float::<2>("test", "scores").unwrap().argmax(1).squeeze_dim(1);
        hits += found.equal(batch.classes).int().sum().into_scalar::<i64>();
    }
    let accuracy = hits as f64 / indices.len() as f64;
    assert!(accuracy >= least, "{accuracy}");
}
