//! The adaptive estimate that ships, on bearings under a load it was not trained on, and what the task `estimation`
//! trains.

use std::cell::RefCell;
use std::path::Path;

use burn::tensor::Device;
use firefly_models::zoo::{self, ZooModel};
use firefly_models::{Tier, WelchPeaksConfig};
use firefly_trainer::data::{Corpus, frames_without_overlap};
use firefly_trainer::tasks::found_peaks::{Agreement, peaks_of};
use libtest_mimic::Trial;

use crate::shipped_configs::learned;
use crate::{assert_near, figure, trial};

const MODEL: &str = "adaptive_welch_peaks_bearing";

pub fn trials() -> Vec<Trial> {
    vec![
        trial("the_adaptive_estimate_that_ships_has_the_recall_of_its_card", "bearing", adaptive),
        trial("adaptive_peaks_are_trained_to_the_recall_of_six_segments_with_five_and_a_third", "bearing", |data| {
            let [recall, segments] = learned("estimation-bearing-adaptive", data, ["recall", "segments"]);
            assert!(recall >= 0.94 && segments <= 5.3, "recall {recall} with {segments} segments");
        }),
        trial("a_third_of_the_butterflies_before_log_mel_bands_close_within_3_db", "speech", |data| {
            let [error, open] = learned("estimation-speech-log-mel", data, ["rms_error_db", "open_share"]);
            assert!(error <= 3.0 && open <= 0.75, "{error} dB with {open} of the butterflies");
        }),
    ]
}

fn adaptive(data: &Path) {
    let device = Device::flex();
    let ZooModel::AdaptiveWelchPeaks(model) = zoo::pretrained(MODEL, &device).unwrap() else {
        panic!("another family")
    };
    let (config, frame) = (model.config(), model.options().frame());
    let corpus = Corpus::load(&data.join("bearing/test"), frame).unwrap();
    let frames = frames_without_overlap(&corpus, frame).unwrap();
    let eight = WelchPeaksConfig::new().with_n_fft(config.n_fft).with_k(config.k).with_tier(Tier::Reference);
    let eight = eight.init(&device);
    let reference = peaks_of(&frames, &device, |signal| eight.try_forward(signal)).unwrap();
    let segments = RefCell::new(Vec::new());
    let found = peaks_of(&frames, &device, |signal| {
        let found = model.try_forward(signal)?;
        segments.borrow_mut().extend(found.segments.into_data().iter::<f64>());
        Ok(found.peaks)
    });
    let recall = Agreement::of(&found.unwrap(), &reference, config.k).recall;
    let segments = segments.into_inner();
    let mean = segments.iter().sum::<f64>() / segments.len() as f64;
    assert_near(recall, figure(MODEL, "16 strongest bins"), 1e-3);
    assert_near(mean, figure(MODEL, "segments on average"), 0.02);
}
