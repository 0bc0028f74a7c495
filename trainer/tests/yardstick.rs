//! The whole chain against what plain Welch estimates are known to reach on real recordings.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use burn::tensor::Device;
use common::recordings;
use firefly_trainer::config::ModelSection;
use firefly_trainer::data::{Corpus, frames_without_overlap};
use firefly_trainer::evaluate::compare;

/// Recall of the reference peaks, exact and within one bin, of the ultra and the fast tier.
fn assert_recall(folder: &str, frames: usize, ultra: [f64; 2], fast: [f64; 2]) {
    let Some(data) = recordings() else { return };
    let section = ModelSection::default();
    let corpus = Corpus::load(&data.join(folder), section.frame()).unwrap();
    let set = frames_without_overlap(&corpus, section.frame()).unwrap();
    assert_eq!(set.len(), frames);
    let rows = compare(folder, &set, &section, &[], &Device::flex()).unwrap();
    for (row, expected) in rows.iter().zip([ultra, fast, [1.0, 1.0]]) {
        let recall = [row.recall, row.recall_within_one_bin];
        for (recall, expected) in recall.iter().zip(expected) {
            assert!((recall - expected).abs() <= 0.0005, "{folder}, {}: {recall} for {expected}", row.name);
        }
    }
}

#[test]
fn exact_tiers_on_bearings() {
    assert_recall("bearing/test", 949, [0.741, 0.914], [0.829, 0.945]);
}

#[test]
fn exact_tiers_on_speech() {
    assert_recall("speech", 4583, [0.659, 0.800], [0.720, 0.835]);
}
