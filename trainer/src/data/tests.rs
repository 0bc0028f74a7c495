use std::path::PathBuf;

use super::*;

fn usable_anywhere<T: Clone + Send + Sync + 'static>() {}

#[test]
fn sources_can_be_shared_between_threads() {
    usable_anywhere::<Source>();
    usable_anywhere::<DataSets>();
    usable_anywhere::<Corpus>();
}

fn recordings(count: usize) -> Corpus {
    let recordings = (0..count)
        .map(|n| Recording {
            path: PathBuf::from(format!("{n}.wav")).into(),
            channel: 0,
            sample_rate: 100,
            samples: (0..200).map(|s| (n * 1000 + s) as f32).collect(),
        })
        .collect();
    Corpus::from_recordings(recordings, 32).unwrap()
}

#[test]
fn a_batch_is_its_frames() {
    let sampler = FrameSampler::new(recordings(5), 32, SamplingConfig::default(), 1).unwrap();
    let synthetic = Synthetic::new(SyntheticConfig::default(), 32, 1).unwrap();
    for source in [Source::Recordings(sampler), Source::Synthetic(synthetic)] {
        let mut batch = vec![0.0; 7 * 32];
        source.fill_batch(100, &mut batch);
        for (row, got) in batch.chunks_exact(32).enumerate() {
            let mut frame = vec![0.0; 32];
            source.fill(100 + row as u64, &mut frame);
            assert_eq!(frame, got);
        }
    }
}

#[test]
fn without_recordings_the_signals_are_synthetic() {
    let config = DataConfig { synthetic_frames: 6, ..DataConfig::default() };
    let sets = config.open(48, 5).unwrap();
    assert!(matches!(sets.train, Source::Synthetic(_)));
    let test = sets.test.unwrap();
    assert_eq!((sets.validation.len(), test.len(), sets.train.frame()), (6, 6, 48));
    assert_ne!(sets.validation.samples(), test.samples());
    let none = DataConfig { synthetic_frames: 0, ..DataConfig::default() };
    assert!(none.open(48, 5).is_err());
}

/// The shared recordings: the folder in `FIREFLY_DATA`, or `shared/data` beside this
/// crate or a folder above it.
fn shared_data() -> Option<PathBuf> {
    let found = match std::env::var_os("FIREFLY_DATA") {
        Some(folder) => vec![PathBuf::from(folder)],
        None => std::env::current_dir().unwrap().ancestors().map(|above| above.join("shared/data")).collect(),
    }
    .into_iter()
    .find(|folder| folder.is_dir());
    if found.is_none() {
        println!("skipped: no recordings; name their folder in FIREFLY_DATA");
    }
    found
}

#[test]
fn the_bearing_recordings_as_their_readme_says() {
    let Some(data) = shared_data() else { return };
    let train = Corpus::load(&data.join("bearing/train"), 1152).unwrap();
    let test = Corpus::load(&data.join("bearing/test"), 1152).unwrap();
    assert_eq!((train.files(), test.files()), (28, 9));
    assert_eq!(train.sample_rates(), [12_000]);
    let config =
        RecordingsConfig { test: Some(data.join("bearing/test")), ..RecordingsConfig::new(data.join("bearing/train")) };
    let corpora = config.load(1152, 7).unwrap();
    assert_eq!((corpora.train.files(), corpora.validation.files()), (24, 4));
    let frames = frames_without_overlap(&test, 1152).unwrap();
    let whole: usize = test.recordings().iter().map(|r| r.samples.len() / 1152).sum();
    assert_eq!(frames.len(), whole);
}

#[test]
fn the_speech_recordings_as_their_readme_says() {
    let Some(data) = shared_data() else { return };
    let speech = Corpus::load(&data.join("speech"), 1152).unwrap();
    assert_eq!(speech.recordings().len() + speech.skipped(), 2000);
    assert_eq!(frames_without_overlap(&speech, 1152).unwrap().len(), 4583);
    // Every recording is there for frames of one sample, four speakers times ten digits.
    let whole = Corpus::load(&data.join("speech"), 1).unwrap();
    let suffixes = ["_0", "_1", "_2", "_3", "_4"].map(str::to_owned);
    let (train, test) = split_by_suffix(&whole, &suffixes).unwrap();
    assert_eq!((train.files(), test.files()), (1800, 200));
}

#[test]
fn the_electrocardiogram_has_two_channels() {
    let Some(data) = shared_data() else { return };
    let ecg = Corpus::load(&data.join("ecg"), 1152).unwrap();
    assert_eq!((ecg.files(), ecg.recordings().len()), (1, 2));
    assert_eq!(ecg.sample_rates(), [360]);
    assert_eq!(ecg.recordings()[0].samples.len(), 5 * 60 * 360);
}
