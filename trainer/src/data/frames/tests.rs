use std::path::Path;

use firefly_recordings::Recording;
use proptest::prelude::*;

use super::*;

/// Recordings of the given (file, channel, length). Sample s of recording r is 1000 r + s, so
/// a frame tells where it was cut.
fn corpus(parts: &[(&str, usize, usize)], frame: usize) -> Corpus {
    let recordings = parts
        .iter()
        .enumerate()
        .map(|(r, &(file, channel, length))| Recording {
            path: Path::new(file).into(),
            channel,
            sample_rate: Some(100.0),
            samples: (0..length).map(|s| (1000 * r + s) as f32).collect::<Vec<_>>().into(),
        })
        .collect();
    Corpus::from_recordings(recordings, frame).unwrap()
}

fn sampler(corpus: Corpus, frame: usize, config: SamplingConfig, seed: u64) -> FrameSampler {
    FrameSampler::new(corpus, frame, config, seed).unwrap()
}

fn first_samples(sampler: &FrameSampler, count: u64) -> Vec<usize> {
    let mut frame = vec![0.0; sampler.frame()];
    (0..count)
        .map(|index| {
            sampler.fill(index, &mut frame);
            assert!(frame.windows(2).all(|pair| pair[1] == pair[0] + 1.0), "{frame:?}");
            frame[0] as usize
        })
        .collect()
}

#[test]
fn evaluation_takes_all_whole_frames_in_order() {
    let corpus = corpus(&[("a", 0, 25), ("b", 0, 10), ("c", 0, 31)], 10);
    let frames = frames_without_overlap(&corpus, 10).unwrap();
    assert_eq!((frames.len(), frames.frame()), (6, 10));
    let firsts: Vec<f32> = frames.iter().map(|frame| frame[0]).collect();
    assert_eq!(firsts, [0.0, 10.0, 1000.0, 2000.0, 2010.0, 2020.0]);
    assert_eq!(frames.rows(1..4), frames.iter().skip(1).take(3).flatten().copied().collect::<Vec<_>>());
    assert_eq!((frames.rows(0..9).len(), frames.rows(6..9).len()), (60, 0));
    let spaced: Vec<f32> = frames.evenly_spaced(3).iter().map(|frame| frame[0]).collect();
    assert_eq!(spaced, [0.0, 1000.0, 2010.0]);
    assert!(frames_without_overlap(&corpus, 32).is_err());
    assert!(frames_without_overlap(&corpus, 0).is_err());
}

#[test]
fn by_length_makes_every_frame_equally_likely() {
    // 1, 3 and 6 possible frames.
    let corpus = corpus(&[("a", 0, 8), ("b", 0, 10), ("c", 0, 13)], 8);
    let sampler = sampler(corpus, 8, SamplingConfig::default(), 3);
    let firsts = first_samples(&sampler, 20_000);
    for place in [0, 1000, 1001, 1002, 2000, 2001, 2002, 2003, 2004, 2005] {
        let hits = firsts.iter().filter(|&&first| first == place).count();
        assert!((1800..2200).contains(&hits), "{place}: {hits} of 2000 expected");
    }
}

#[test]
fn by_file_makes_every_file_equally_likely() {
    let corpus = corpus(&[("a", 0, 8), ("a", 1, 8), ("b", 0, 500)], 8);
    let config = SamplingConfig { choice: FileChoice::ByFile, ..SamplingConfig::default() };
    let firsts = first_samples(&sampler(corpus, 8, config, 3), 20_000);
    let hits = |range: std::ops::Range<usize>| firsts.iter().filter(|f| range.contains(f)).count();
    assert!((4700..5300).contains(&hits(0..1000)));
    assert!((4700..5300).contains(&hits(1000..2000)));
    assert!((9700..10_300).contains(&hits(2000..2500)));
    assert!(hits(2000..2010) > 0 && hits(2480..2493) > 0);
}

#[test]
fn augmentation_alters_the_frame_but_not_its_place() {
    let parts = [("a", 0, 50), ("b", 0, 70)];
    let plain = sampler(corpus(&parts, 8), 8, SamplingConfig::default(), 9);
    let config = SamplingConfig { gain_db: 6.0, random_polarity: true, ..SamplingConfig::default() };
    let altered = sampler(corpus(&parts, 8), 8, config, 9);
    let (mut x, mut y) = ([0.0; 8], [0.0; 8]);
    let mut turned = 0;
    for index in 0..1000 {
        plain.fill(index, &mut x);
        altered.fill(index, &mut y);
        let gain = y[7] / x[7];
        turned += usize::from(gain < 0.0);
        assert!((0.5..2.0).contains(&gain.abs()), "{gain}");
        assert!(x.iter().zip(&y).all(|(x, y)| (y - gain * x).abs() <= 1e-3), "{x:?} {y:?}");
    }
    assert!((440..560).contains(&turned), "{turned}");
}

#[test]
fn bad_settings_are_refused() {
    let parts = [("a", 0, 50)];
    for gain_db in [-1.0, f64::NAN, f64::INFINITY] {
        let config = SamplingConfig { gain_db, ..SamplingConfig::default() };
        assert!(FrameSampler::new(corpus(&parts, 8), 8, config, 0).is_err(), "{gain_db}");
    }
    for frame in [0, 51] {
        let config = SamplingConfig::default();
        assert!(FrameSampler::new(corpus(&parts, 8), frame, config, 0).is_err(), "{frame}");
    }
}

proptest! {
    #[test]
    fn a_resumed_run_draws_what_an_uninterrupted_one_draws(
        seed in any::<u64>(),
        start in any::<u64>(),
        by_file in any::<bool>(),
    ) {
        let config = SamplingConfig {
            choice: if by_file { FileChoice::ByFile } else { FileChoice::ByLength },
            gain_db: 3.0,
            random_polarity: true,
        };
        let parts = [("a", 0, 50), ("b", 0, 700), ("b", 1, 700)];
        let whole = sampler(corpus(&parts, 8), 8, config.clone(), seed);
        let resumed = sampler(corpus(&parts, 8), 8, config, seed);
        let draw = |sampler: &FrameSampler, index| {
            let mut frame = [0.0; 8];
            sampler.fill(index, &mut frame);
            frame
        };
        let start = start.min(u64::MAX - 20);
        let uninterrupted: Vec<_> = (start..start + 20).map(|i| draw(&whole, i)).collect();
        let later: Vec<_> = (start + 10..start + 20).map(|i| draw(&resumed, i)).collect();
        prop_assert_eq!(&uninterrupted[10..], &later[..]);
    }
}
