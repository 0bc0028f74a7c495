use std::path::PathBuf;

use firefly_recordings::Recording;

use super::*;
use crate::data::{Corpus, DataConfig, DataSets, SamplingConfig, SyntheticConfig};

fn is_shareable<T: Clone + Send + Sync + 'static>() {}

#[test]
fn sources_can_be_shared_between_threads() {
    is_shareable::<FrameSource>();
    is_shareable::<DataSets>();
    is_shareable::<Corpus>();
}

fn recordings(count: usize) -> Corpus {
    let recordings = (0..count)
        .map(|n| Recording {
            path: PathBuf::from(format!("{n}.wav")).into(),
            channel: 0,
            sample_rate: 100,
            samples: (0..200).map(|s| (n * 1000 + s) as f32).collect::<Vec<_>>().into(),
        })
        .collect();
    Corpus::from_recordings(recordings, 32).unwrap()
}

#[test]
fn a_batch_has_the_frames_of_its_indices() {
    let sampler = FrameSampler::new(recordings(5), 32, SamplingConfig::default(), 1).unwrap();
    let synthetic = Synthetic::new(SyntheticConfig::default(), 32, 1).unwrap();
    for source in [FrameSource::Recordings(sampler), FrameSource::Synthetic(synthetic)] {
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
fn signals_are_synthetic_without_recordings() {
    let config = DataConfig { synthetic_frames: 6, ..DataConfig::default() };
    let sets = config.open(48, 5).unwrap();
    assert!(matches!(sets.train, FrameSource::Synthetic(_)));
    let test = &sets.evaluation[0].frames;
    assert_eq!((sets.validation.len(), test.len(), sets.train.frame()), (6, 6, 48));
    assert_ne!(sets.validation.rows(0..6), test.rows(0..6));
    let none = DataConfig { synthetic_frames: 0, ..DataConfig::default() };
    assert!(none.open(48, 5).is_err());
}
