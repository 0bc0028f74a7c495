//! Tracks of peaks: against their definition, on chirps, on lines that cross or pause, and errors.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use burn::tensor::{DType, Device, FloatDType, Tensor};
use common::{noise, tensor, uniform};
use firefly_ops::options::Interpolation;
use firefly_ops::tracks::{PeakTracker, Track, TrackOptions};
use firefly_ops::{LocalMaximaOptions, WelchOptions, Window, WindowSymmetry, local_maxima, welch_psd};

/// Frequency and power of a peak.
type Peak = (f64, f64);

/// Peaks of frames as `[frames, k]`, padded with NaN.
fn rows(frames: &[Vec<Peak>]) -> [Tensor<2>; 2] {
    let k = frames.iter().map(Vec::len).max().unwrap_or(0);
    let padded = |of: fn(&Peak) -> f64| {
        let value = |frame: &Vec<Peak>, at| frame.get(at).map_or(f64::NAN, of);
        let values: Vec<f64> = frames.iter().flat_map(|frame| (0..k).map(move |at| value(frame, at))).collect();
        tensor(&values, [frames.len(), k], &Device::flex(), DType::F64)
    };
    [padded(|peak| peak.0), padded(|peak| peak.1)]
}

fn tracks(frames: &[Vec<Peak>], options: TrackOptions) -> (Vec<Track>, usize) {
    let mut tracker = PeakTracker::new(options).unwrap();
    let [frequency, power] = rows(frames);
    tracker.add(frequency, power).unwrap();
    tracker.finish()
}

/// The first and the last frame.
fn ends(track: &Track) -> [usize; 2] {
    [track.frames[0], track.frames[track.frames.len() - 1]]
}

fn points(track: &Track) -> Vec<(usize, f64, f64)> {
    let values = track.frequencies.iter().zip(&track.powers);
    track.frames.iter().zip(values).map(|(frame, (frequency, power))| (*frame, *frequency, *power)).collect()
}

/// Tracks as they are defined: in each frame the nearest pair is linked, until none is near enough.
fn definition(frames: &[Vec<Peak>], options: TrackOptions) -> Vec<Vec<(usize, f64, f64)>> {
    let mut tracks: Vec<Vec<(usize, f64, f64)>> = Vec::new();
    for (frame, peaks) in frames.iter().enumerate() {
        let mut peaks = peaks.clone();
        peaks.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap());
        loop {
            let mut nearest: Option<(f64, usize, usize)> = None;
            for (index, track) in tracks.iter().enumerate() {
                let last = track[track.len() - 1];
                let gap = (frame - last.0) as f64;
                if gap < 1.0 || gap > options.max_missing as f64 + 1.0 {
                    continue;
                }
                for (place, peak) in peaks.iter().enumerate() {
                    let distance = (peak.0 - last.1).abs();
                    if distance <= options.max_step * gap && nearest.is_none_or(|nearest| distance < nearest.0) {
                        nearest = Some((distance, index, place));
                    }
                }
            }
            let Some((_, index, place)) = nearest else { break };
            let peak = peaks.remove(place);
            tracks[index].push((frame, peak.0, peak.1));
        }
        tracks.extend(peaks.into_iter().map(|peak| vec![(frame, peak.0, peak.1)]));
    }
    tracks
}

#[test]
fn tracks_of_random_peaks_are_those_of_the_definition() {
    let mut linked = 0;
    for seed in 0..40 {
        let counts = uniform(12, 0.0..6.0, seed);
        let peaks = |(frame, count): (usize, &f64)| -> Vec<Peak> {
            let seed = 1000 + 100 * seed + 2 * frame as u64;
            let powers = uniform(6, 0.0..1.0, seed + 1);
            // Multiples of a half, of which many are as near.
            let frequencies = uniform(6, 0.0..12.0, seed).into_iter().map(|frequency| (2.0 * frequency).round() / 2.0);
            frequencies.zip(powers).take(*count as usize).collect()
        };
        let frames: Vec<Vec<Peak>> = counts.iter().enumerate().map(peaks).collect();
        for max_missing in [0, 1, 3] {
            for max_step in [0.0, 0.5, 2.0] {
                let options = TrackOptions { max_step, max_missing, min_frames: 2 };
                let label = format!("seed {seed}, {options:?}");
                let (found, short) = tracks(&frames, options);
                let (mut expected, left_out): (Vec<_>, Vec<_>) =
                    definition(&frames, options).into_iter().partition(|track| track.len() >= 2);
                assert_eq!(short, left_out.len(), "{label}");
                let power = |track: &[(usize, f64, f64)]| track.iter().map(|point| point.2).fold(0.0, f64::max);
                expected.sort_by(|a, b| power(b).partial_cmp(&power(a)).unwrap());
                assert_eq!(found.iter().map(points).collect::<Vec<_>>(), expected, "{label}");
                linked += found.len();
            }
        }
    }
    assert!(linked > 500, "{linked} tracks are no test");
}

#[test]
fn a_chirp_and_a_tone_are_two_tracks() {
    const N: usize = 256;
    const HOP: usize = N / 2;
    const FRAMES: usize = 40;
    // Bins 20 and a quarter more per hop, and bin 70.4.
    let noise = noise((FRAMES + 1) * HOP, 3);
    let sample = |i: usize| {
        let cycles = |bins: f64| std::f64::consts::TAU * bins * i as f64 / N as f64;
        let chirp = cycles(20.0 + 0.125 * i as f64 / HOP as f64).sin();
        chirp + 0.5 * cycles(70.4).sin() + 1e-3 * noise[i]
    };
    let samples: Vec<f64> = (0..FRAMES).flat_map(|frame| (frame * HOP..frame * HOP + N).map(sample)).collect();
    let device = Device::flex();
    let window = Window::Hann.tensor(N, WindowSymmetry::Periodic, FloatDType::F32, &device);
    let signal = tensor(&samples, [FRAMES, N], &device, DType::F32);
    let power = welch_psd(signal, window, &WelchOptions::new(N, 1)).unwrap();
    let options = LocalMaximaOptions::new().with_height(100.0).with_interpolation(Interpolation::Hann);
    let maxima = local_maxima(power, &options, 4).unwrap();
    let options = TrackOptions { max_step: 1.0, min_frames: 10, ..TrackOptions::default() };
    let mut tracker = PeakTracker::new(options).unwrap();
    tracker.add(maxima.bins.float() + maxima.offset, maxima.power).unwrap();
    let (found, _) = tracker.finish();
    assert_eq!(found.iter().map(ends).collect::<Vec<_>>(), [[0, FRAMES - 1]; 2]);
    // In the middle of a frame the chirp is a quarter of a bin above its start; its middle is 19.5 frames later.
    for (track, slope, mean) in [(&found[0], 0.25, 20.0 + 0.25 * 20.5), (&found[1], 0.0, 70.4)] {
        assert!((track.slope() - slope).abs() < 0.005, "{} is not {slope}", track.slope());
        assert!((track.mean_frequency() - mean).abs() < 0.05, "{} is not {mean}", track.mean_frequency());
    }
    assert!(found[0].max_power() > 2.0 * found[1].max_power());
}

/// A rising line and a falling one of less power, which are one peak where they cross, in frame 10.
fn crossing() -> Vec<Vec<Peak>> {
    let frame = |frame: usize| match (10.0 + frame as f64, 30.0 - frame as f64) {
        (rising, falling) if rising == falling => vec![(rising, 3.0)],
        (rising, falling) => vec![(rising, 2.0), (falling, 1.0)],
    };
    (0..21).map(frame).collect()
}

#[test]
fn lines_that_cross_turn_back_to_their_sides() {
    let options = TrackOptions { max_step: 1.0, max_missing: 1, ..TrackOptions::default() };
    let (found, short) = tracks(&crossing(), options);
    assert_eq!((found.len(), short), (2, 0));
    // The peak where they cross is that of the earlier track, which was the lower one in the first frame.
    assert_eq!([found[0].frames.len(), found[1].frames.len()], [21, 20]);
    let range = |track: &Track| {
        let frequencies = || track.frequencies.iter().copied();
        [frequencies().fold(f64::INFINITY, f64::min), frequencies().fold(0.0, f64::max)]
    };
    assert_eq!(found.iter().map(range).collect::<Vec<_>>(), [[10.0, 20.0], [21.0, 30.0]]);
    assert_eq!([found[0].max_power(), found[1].max_power()], [3.0, 2.0]);

    // So do lines that cross between two frames.
    let frame = |frame: usize| vec![(10.0 + frame as f64, 2.0), (29.5 - frame as f64, 1.0)];
    let frames: Vec<Vec<Peak>> = (0..20).map(frame).collect();
    let (found, _) = tracks(&frames, options);
    assert_eq!(found.iter().map(range).collect::<Vec<_>>(), [[10.0, 19.5], [20.0, 29.5]]);
}

#[test]
fn a_line_that_pauses_is_one_track_within_the_missing_frames() {
    // Present in frames 0, 1, 4 and 5, half a unit higher per frame.
    let frame = |frame: usize| if (2..4).contains(&frame) { vec![] } else { vec![(7.0 + 0.5 * frame as f64, 1.0)] };
    let frames: Vec<Vec<Peak>> = (0..6).map(frame).collect();
    let options = |max_step, max_missing| TrackOptions { max_step, max_missing, ..TrackOptions::default() };
    let frames_of = |options| tracks(&frames, options).0.iter().map(ends).collect::<Vec<_>>();
    assert_eq!(frames_of(options(0.5, 1)), [[0, 1], [4, 5]]);
    assert_eq!(frames_of(options(0.5, 2)), [[0, 5]]);
    assert_eq!(frames_of(options(0.4, 2)).len(), 4);
    let (found, short) = tracks(&frames, TrackOptions { min_frames: 3, ..options(0.5, 1) });
    assert_eq!((found.len(), short), (0, 2));
    let (found, _) = tracks(&frames, options(0.5, 2));
    assert_eq!((found[0].slope(), found[0].mean_frequency()), (0.5, 8.25));
}

#[test]
fn blocks_of_frames_have_the_tracks_of_all_and_peaks_that_are_not_finite_are_none() {
    let frames = crossing();
    let options = TrackOptions { max_step: 1.0, max_missing: 1, ..TrackOptions::default() };
    let all = tracks(&frames, options);
    let mut blocks = PeakTracker::new(options).unwrap();
    for (first, count) in [(0, 3), (3, 1), (4, 17)] {
        let [frequency, power] = rows(&frames).map(|rows| rows.narrow(0, first, count));
        blocks.add(frequency, power).unwrap();
    }
    assert_eq!(blocks.finish(), all);

    let mut with_others = frames;
    for frame in &mut with_others {
        frame.splice(1..1, [(f64::NAN, 1.0), (12.0, f64::NAN), (f64::INFINITY, 1.0), (12.0, f64::INFINITY)]);
    }
    assert_eq!(tracks(&with_others, options), all);
}

#[test]
fn no_frames_and_no_peaks_have_no_tracks() {
    for shape in [[0, 3], [3, 0]] {
        let mut tracker = PeakTracker::new(TrackOptions::default()).unwrap();
        let none = || Tensor::<2>::zeros(shape, &Device::flex());
        tracker.add(none(), none()).unwrap();
        assert_eq!(tracker.finish(), (vec![], 0));
    }
    let (found, short) = tracks(&[vec![(3.0, 1.0)]], TrackOptions::default());
    assert_eq!((found.len(), found[0].slope(), ends(&found[0]), short), (1, 0.0, [0, 0], 0));
}

#[test]
fn arguments_out_of_range_are_refused() {
    for max_step in [-1.0, f64::NAN, f64::INFINITY] {
        let error = PeakTracker::new(TrackOptions { max_step, ..TrackOptions::default() }).err().unwrap();
        assert_eq!((error.operation, error.argument), ("PeakTracker", "max_step"));
        assert_eq!((error.got, error.expected), (max_step.to_string(), "a finite number from 0".to_string()));
    }
    let mut tracker = PeakTracker::new(TrackOptions::default()).unwrap();
    let zeros = |shape: [usize; 2]| Tensor::<2>::zeros(shape, &Device::flex());
    let error = tracker.add(zeros([4, 3]), zeros([4, 2])).err().unwrap();
    assert_eq!((error.argument, error.got, error.expected), ("power", "[4, 2]".into(), "[4, 3]".into()));
}
