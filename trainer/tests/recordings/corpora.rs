//! The recordings are read as their README describes them.

use std::path::Path;

use firefly_trainer::data::{Corpus, RecordingsConfig, frames_without_overlap, split_by_suffix};
use libtest_mimic::Trial;

use crate::trial;

/// Samples per frame of eight half-overlapping segments of 256.
const FRAME: usize = 1152;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("bearing_recordings_are_split_by_file", "bearing", bearing),
        trial("speech_recordings_are_split_by_suffix", "speech", speech),
        trial("the_electrocardiogram_has_two_channels", "ecg", electrocardiogram),
    ]
}

fn bearing(data: &Path) {
    let train = Corpus::load(&data.join("bearing/train"), FRAME).unwrap();
    let test = Corpus::load(&data.join("bearing/test"), FRAME).unwrap();
    assert_eq!((train.files(), test.files()), (28, 9));
    assert_eq!(train.sample_rates(), [12_000.0]);
    let config =
        RecordingsConfig { test: Some(data.join("bearing/test")), ..RecordingsConfig::new(data.join("bearing/train")) };
    let corpora = config.load(FRAME, 7).unwrap();
    assert_eq!((corpora.train.files(), corpora.validation.files()), (24, 4));
    let frames = frames_without_overlap(&test, FRAME).unwrap();
    let whole: usize = test.recordings().iter().map(|recording| recording.samples.len() / FRAME).sum();
    assert_eq!(frames.len(), whole);
}

fn speech(data: &Path) {
    let speech = Corpus::load(&data.join("speech"), FRAME).unwrap();
    assert!(speech.recordings().len() < 2000);
    assert_eq!(frames_without_overlap(&speech, FRAME).unwrap().len(), 4583);
    // With frames of one sample no recording is too short: four speakers times ten digits times fifty.
    let whole = Corpus::load(&data.join("speech"), 1).unwrap();
    let suffixes = ["_0", "_1", "_2", "_3", "_4"].map(str::to_owned);
    let (train, test) = split_by_suffix(&whole, &suffixes).unwrap();
    assert_eq!((train.files(), test.files()), (1800, 200));
}

fn electrocardiogram(data: &Path) {
    let ecg = Corpus::load(&data.join("ecg"), FRAME).unwrap();
    assert_eq!((ecg.files(), ecg.recordings().len()), (1, 2));
    assert_eq!(ecg.sample_rates(), [360.0]);
    assert_eq!(ecg.recordings()[0].samples.len(), 5 * 60 * 360);
}
