use std::path::PathBuf;

use firefly_recordings::{Recording, RecordingError, RecordingProblem};

use super::*;
use crate::data::{Corpus, FileChoice, SignalFamily};

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
            sample_rate: Some(100.0),
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

fn source(weight: f64, family: SignalFamily) -> MixtureSource {
    let synthetic = SyntheticConfig { families: vec![family], ..SyntheticConfig::default() };
    MixtureSource { weight, synthetic, ..MixtureSource::default() }
}

fn config(sources: Vec<MixtureSource>) -> DataConfig {
    DataConfig { sources, synthetic_frames: 8, ..DataConfig::default() }
}

#[test]
fn frames_are_drawn_from_the_sources_by_weight_and_are_those_of_their_source() {
    let sources = vec![source(3.0, SignalFamily::Tones), source(1.0, SignalFamily::Noise)];
    let sets = config(sources.clone()).open(32, 7).unwrap();
    let alone: Vec<FrameSource> =
        sources.into_iter().map(|source| config(vec![source]).open(32, 7).unwrap().train).collect();
    let frame = |source: &FrameSource, index: u64| {
        let mut frame = vec![0.0; 32];
        source.fill(index, &mut frame);
        frame
    };
    let mut of_first = 0;
    for index in 0..4000 {
        let drawn = frame(&sets.train, index);
        let [first, second] = [0, 1].map(|source: usize| frame(&alone[source], index) == drawn);
        assert!(first != second, "frame {index} is that of one source");
        of_first += usize::from(first);
    }
    assert!((2850..3150).contains(&of_first), "{of_first} of 4,000 frames with weight 3 of 4");
    let mut batch = vec![0.0; 50 * 32];
    sets.train.fill_batch(100, &mut batch);
    assert!(batch.chunks_exact(32).enumerate().all(|(row, got)| frame(&sets.train, 100 + row as u64) == got));
}

#[test]
fn validation_frames_are_shared_by_weight_and_every_source_is_evaluated() {
    let sets = config(vec![source(3.0, SignalFamily::Tones), source(1.0, SignalFamily::Noise)]).open(32, 7);
    let sets = sets.unwrap();
    assert_eq!((sets.validation.len(), sets.train.frame(), sets.fingerprint()), (8, 32, 0));
    let tones = config(vec![source(1.0, SignalFamily::Tones)]).open(32, 7).unwrap();
    assert_eq!(sets.validation.rows(0..6), tones.validation.rows(0..6));
    let names: Vec<_> = sets.evaluation.iter().map(|set| (set.name.as_str(), set.frames.len())).collect();
    assert_eq!(names, [("tones", 6), ("noise", 2)]);
}

#[test]
fn weights_out_of_range_and_recordings_beside_sources_are_refused() {
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = config(vec![source(weight, SignalFamily::Am)]).open(32, 7).unwrap_err().to_string();
        assert!(error.contains("sources.weight"), "{error}");
    }
    let both =
        DataConfig { recordings: Some(RecordingsConfig::new("x")), ..config(vec![source(1.0, SignalFamily::Am)]) };
    assert!(both.open(32, 7).unwrap_err().to_string().contains("sources"));
}

#[test]
fn recordings_of_one_source_have_one_sample_rate() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, sample_rate: u32| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let sample_format = hound::SampleFormat::Int;
        let spec = hound::WavSpec { channels: 1, sample_rate, bits_per_sample: 16, sample_format };
        let mut writer = hound::WavWriter::create(path, spec).unwrap();
        (0..200).for_each(|index| writer.write_sample((index * 7919 % 1000) as i16).unwrap());
        writer.finalize().unwrap();
    };
    for name in ["a.wav", "b.wav", "c.wav"] {
        write(&format!("slow/{name}"), 8_000);
        write(&format!("fast/{name}"), 16_000);
    }
    let [slow, fast] = ["slow", "fast"].map(|name| folder.path().join(name));
    let source = |folder: &PathBuf| MixtureSource {
        recordings: Some(RecordingsConfig::new(folder)),
        ..MixtureSource::default()
    };
    let open_mixture = || config(vec![source(&slow), source(&fast)]).open(32, 7).map(|sets| sets.evaluation.len());
    assert_eq!(open_mixture().unwrap(), 2);
    let tested_on_fast = RecordingsConfig { test: Some(fast.clone()), ..RecordingsConfig::new(&slow) };
    let alone = DataConfig { recordings: Some(tested_on_fast), ..DataConfig::default() };
    let file_of_other_rate = |error: DataError| match error {
        DataError::Recording(RecordingError::Recording { path, problem: RecordingProblem::OtherRate { .. } }) => path,
        error => panic!("{error}"),
    };
    assert_eq!(file_of_other_rate(alone.open(32, 7).unwrap_err()), fast.join("a.wav"));
    write("slow/d.wav", 16_000);
    assert!(file_of_other_rate(open_mixture().unwrap_err()).starts_with(&slow));
}

fn recording(length: usize) -> Recording {
    let samples: Vec<f32> = (0..length).map(|i| ((i * i) as f32).sin()).collect();
    Recording {
        path: PathBuf::from(format!("{length}.wav")).into(),
        channel: 0,
        sample_rate: Some(100.0),
        samples: samples.into(),
    }
}

#[test]
fn a_batch_cut_on_a_device_has_the_bits_of_one_cut_on_the_host() {
    let corpus = Corpus::from_recordings([40, 9, 100].map(recording).to_vec(), 8).unwrap();
    for gain_db in [0.0, 6.0] {
        let config = SamplingConfig { choice: FileChoice::ByFile, gain_db, random_polarity: true };
        let sampler = FrameSampler::new(corpus.clone(), 8, config, 3).unwrap();
        let on_device = DeviceCorpus::new(&sampler, &Device::flex()).unwrap();
        let mut expected = vec![0.0; 50 * 8];
        FrameSource::Recordings(sampler).fill_batch(20, &mut expected);
        let cut = on_device.batch(20, 50).into_data().try_to_vec::<f32>().unwrap();
        assert!(expected.iter().zip(&cut).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}
