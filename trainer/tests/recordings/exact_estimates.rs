//! Recall of the exact estimates is that of plain Welch estimates.

use std::path::Path;

use burn::tensor::Device;
use firefly_trainer::data::{Corpus, frames_without_overlap};
use firefly_trainer::tasks::peaks::ModelSection;
use firefly_trainer::tasks::peaks::evaluate::compare;
use libtest_mimic::Trial;

use crate::trial;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("exact_estimates_reach_their_recall_on_bearings", "bearing", |data| {
            assert_recall(data, "bearing/test", 949, [0.741, 0.914], [0.829, 0.945], 0.908);
        }),
        trial("exact_estimates_reach_their_recall_on_speech", "speech", |data| {
            assert_recall(data, "speech", 4583, [0.659, 0.800], [0.720, 0.835], 0.910);
        }),
    ]
}

/// Checks the recall of the reference peaks, exact and within one bin, of one and of two segments, and the exact one of
/// four spread segments.
fn assert_recall(data: &Path, folder: &str, frames: usize, ultra: [f64; 2], fast: [f64; 2], spread: f64) {
    let section = ModelSection::default();
    let corpus = Corpus::load(&data.join(folder), section.frame()).unwrap();
    let set = frames_without_overlap(&corpus, section.frame()).unwrap();
    assert_eq!(set.len(), frames);
    let rows = compare(folder, &set, &section, &[], &Device::flex()).unwrap();
    for (name, expected) in [("ultra", ultra), ("fast", fast), ("reference", [1.0, 1.0])] {
        let row = rows.iter().find(|row| row.name == name).unwrap();
        let recall = [row.recall, row.recall_within_one_bin];
        for (recall, expected) in recall.iter().zip(expected) {
            assert!((recall - expected).abs() <= 0.0005, "{folder}, {name}: {recall} for {expected}");
        }
    }
    let row = rows.iter().find(|row| row.name == "4 segments, spread").unwrap();
    assert!((row.recall - spread).abs() <= 0.0005, "{folder}: {} for {spread}", row.recall);
}
