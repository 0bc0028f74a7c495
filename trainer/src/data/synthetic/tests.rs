use std::f64::consts::TAU;

use proptest::prelude::*;

use super::*;

fn only(family: SignalFamily) -> SyntheticConfig {
    SyntheticConfig { families: vec![family], ..SyntheticConfig::default() }
}

fn source(config: SyntheticConfig, frame: usize) -> Synthetic {
    Synthetic::new(config, frame, 11).unwrap()
}

fn make(source: &Synthetic, index: u64) -> Vec<f32> {
    let mut frame = vec![0.0; source.frame_len()];
    source.frame(index, &mut frame);
    frame
}

/// Power of bins 0..=n/2 under a periodic Hann window, from the definition of the transform.
fn periodogram(x: &[f32]) -> Vec<f64> {
    let n = x.len();
    let turn: Vec<(f64, f64)> = (0..n).map(|j| (TAU * j as f64 / n as f64).sin_cos()).collect();
    let y: Vec<f64> = (0..n).map(|j| (0.5 - 0.5 * turn[j].1) * f64::from(x[j])).collect();
    (0..=n / 2)
        .map(|k| {
            let (mut re, mut im) = (0.0, 0.0);
            for (j, y) in y.iter().enumerate() {
                let (sin, cos) = turn[j * k % n];
                re += y * cos;
                im -= y * sin;
            }
            re * re + im * im
        })
        .collect()
}

fn mean_periodogram(source: &Synthetic, count: u64) -> Vec<f64> {
    let mut mean = vec![0.0; source.frame_len() / 2 + 1];
    for index in 0..count {
        for (mean, power) in mean.iter_mut().zip(periodogram(&make(source, index))) {
            *mean += power / count as f64;
        }
    }
    mean
}

/// Share of the power above `fraction` of the sample rate.
fn share_above(power: &[f64], fraction: f64) -> f64 {
    let first = (fraction * 2.0 * (power.len() - 1) as f64).ceil() as usize;
    power[first..].iter().sum::<f64>() / power.iter().sum::<f64>()
}

fn strongest(power: &[f64]) -> usize {
    (0..power.len()).max_by(|&a, &b| power[a].total_cmp(&power[b])).unwrap()
}

#[test]
fn coloured_noise_has_the_slope_asked_for() {
    for exponent in [-1.0, 0.0, 1.0, 2.0] {
        let config = SyntheticConfig { noise_exponent: [exponent; 2], ..only(SignalFamily::Noise) };
        let power = mean_periodogram(&source(config, 200), 400);
        let points: Vec<(f64, f64)> = (6..90).map(|k| ((k as f64).ln(), power[k].ln())).collect();
        let count = points.len() as f64;
        let mean = |f: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / count;
        let (mx, my) = (mean(&|p| p.0), mean(&|p| p.1));
        let slope = mean(&|p| (p.0 - mx) * (p.1 - my)) / mean(&|p| (p.0 - mx).powi(2));
        assert!((slope + exponent).abs() < 0.08, "asked {}, got {slope}", -exponent);
    }
}

#[test]
fn a_tone_peaks_at_its_bin() {
    let n = 256;
    for bin in [3, 20, 77, 120] {
        let config = SyntheticConfig {
            frequency: [bin as f64 / n as f64; 2],
            tones: [1, 1],
            snr_db: [20.0, 20.0],
            ..only(SignalFamily::Tones)
        };
        let source = source(config, n);
        for index in 0..20 {
            assert_eq!(strongest(&periodogram(&make(&source, index))), bin);
        }
    }
}

#[test]
fn the_signal_to_noise_ratio_is_the_one_asked_for() {
    let (n, bin) = (1024, 100);
    for snr_db in [0.0, 10.0, 30.0] {
        let config = SyntheticConfig {
            frequency: [bin as f64 / n as f64; 2],
            tones: [1, 1],
            snr_db: [snr_db; 2],
            ..only(SignalFamily::Tones)
        };
        let x = make(&source(config, n), 4);
        let part = |wave: fn(f64) -> f64| {
            let cycles = |j| TAU * (bin * j) as f64 / n as f64;
            let dot: f64 = (0..n).map(|j| f64::from(x[j]) * wave(cycles(j))).sum();
            dot * 2.0 / n as f64
        };
        let tone = (part(f64::sin).powi(2) + part(f64::cos).powi(2)) / 2.0;
        let got = 10.0 * (tone / (mean_square(&x) - tone)).log10();
        assert!((got - snr_db).abs() < 0.7, "asked {snr_db}, got {got}");
    }
}

#[test]
fn harmonics_are_multiples_of_one_fundamental() {
    let n = 512;
    let config = SyntheticConfig {
        frequency: [20.0 / 512.0, 100.5 / 512.0],
        harmonics: [5, 5],
        harmonic_decay_db: [0.0, 0.0],
        snr_db: [60.0, 60.0],
        ..only(SignalFamily::Harmonics)
    };
    let power = periodogram(&make(&source(config, n), 0));
    let level = power.iter().copied().fold(0.0, f64::max);
    let strong: Vec<usize> =
        (1..n / 2).filter(|&k| power[k] > 0.2 * level && power[k] >= power[k - 1] && power[k] > power[k + 1]).collect();
    assert_eq!(strong, [20, 40, 60, 80, 100]);
}

#[test]
fn nothing_reaches_beyond_the_frequency_range() {
    for family in
        [SignalFamily::Tones, SignalFamily::Harmonics, SignalFamily::Am, SignalFamily::Fm, SignalFamily::Chirps]
    {
        let config = SyntheticConfig { frequency: [0.02, 0.40], snr_db: [100.0, 100.0], ..only(family) };
        let source = source(config, 256);
        for index in 0..60 {
            // The window's own width and Carson's remainder (about 1 %) are allowed for.
            let beyond = share_above(&periodogram(&make(&source, index)), 0.43);
            assert!(beyond < 0.01, "{family}, frame {index}: {beyond}");
        }
    }
}

#[test]
fn fm_and_chirps_move_in_frequency() {
    let fm = SyntheticConfig {
        fm_deviation: [0.05; 2],
        modulation_rate: [0.002; 2],
        snr_db: [100.0; 2],
        ..only(SignalFamily::Fm)
    };
    let chirp = SyntheticConfig { snr_db: [100.0; 2], ..only(SignalFamily::Chirps) };
    for config in [fm, chirp] {
        let source = source(config, 1024);
        let travel = |index| {
            let x = make(&source, index);
            let bins = x.chunks_exact(128).map(|part| strongest(&periodogram(part)));
            let (low, high) = bins.fold((64, 0), |(low, high), k| (k.min(low), k.max(high)));
            high - low
        };
        let mean = (0..20).map(travel).sum::<usize>() as f64 / 20.0;
        assert!(mean > 6.0, "{:?} moves {mean} of 64 bins", source.config().families);
    }
}

#[test]
fn the_level_is_the_root_mean_square() {
    for family in SignalFamily::ALL {
        let config = SyntheticConfig { level_db: [-12.0, 6.0], ..only(family) };
        let source = source(config, 384);
        let levels: Vec<f64> = (0..200).map(|index| 10.0 * mean_square(&make(&source, index)).log10()).collect();
        assert!(levels.iter().all(|l| (-12.001..6.001).contains(l)), "{family}");
        assert!(levels.iter().any(|l| *l < -9.0) && levels.iter().any(|l| *l > 3.0), "{family}");
    }
}

#[test]
fn parts_and_seeds_have_different_draws() {
    let config = SyntheticConfig::default();
    let train = source(config.clone(), 64);
    let other = Synthetic::new(config, 64, 12).unwrap();
    let validation = train.for_part(Part::Validation);
    assert_eq!(make(&train, 5), make(&train.clone(), 5));
    assert_ne!(make(&train, 5), make(&train, 6));
    assert_ne!(make(&train, 5), make(&other, 5));
    assert_ne!(make(&train, 5), make(&validation, 5));
    let frames = validation.frames(9);
    assert_eq!(frames.len(), 9);
    for (index, frame) in frames.iter().enumerate() {
        assert_eq!(frame, make(&validation, index as u64));
    }
}

#[test]
fn families_are_called_the_same_everywhere() {
    for family in SignalFamily::ALL {
        assert_eq!(family.to_string().parse(), Ok(family));
        let config = only(family);
        let text = toml::to_string(&config).unwrap();
        assert!(text.contains(&format!("[\"{family}\"]")), "{text}");
        assert_eq!(toml::from_str::<SyntheticConfig>(&text).unwrap(), config);
    }
    let error = "tone".parse::<SignalFamily>().unwrap_err().to_string();
    assert!(error.contains("tone") && error.contains("chirps"), "{error}");
}

#[test]
fn settings_out_of_range_name_their_key() {
    assert!(SyntheticConfig::default().validate().is_ok());
    let bad = |text: &str, key: &str| {
        let config: SyntheticConfig = toml::from_str(text).unwrap();
        match config.validate() {
            Err(DataError::Setting { key: named, .. }) => assert_eq!(named, key, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    };
    bad("families = []", "families");
    bad("frequency = [0.1, 0.5]", "frequency");
    bad("frequency = [0.0, 0.4]", "frequency");
    bad("frequency = [0.3, 0.2]", "frequency");
    bad("frequency = [nan, 0.2]", "frequency");
    bad("tones = [0, 4]", "tones");
    bad("tones = [5, 4]", "tones");
    bad("snr_db = [0.0, inf]", "snr_db");
    bad("am_depth = [0.0, 1.1]", "am_depth");
    bad("noise_exponent = [0.0, 9.0]", "noise_exponent");
    bad("frequency = [0.1, 0.4]", "harmonics");
    bad("families = ['fm']\nfm_deviation = [0.0, 0.25]", "fm_deviation");
    bad("families = ['am']\nfrequency = [0.2, 0.21]", "modulation_rate");
    assert!(toml::from_str::<SyntheticConfig>("snr = [0.0, 1.0]").is_err());
    assert!(Synthetic::new(SyntheticConfig::default(), 0, 0).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_frame_is_finite(frame in 1usize..700, seed in any::<u64>(), index in any::<u64>()) {
        let source = Synthetic::new(SyntheticConfig::default(), frame, seed).unwrap();
        let x = make(&source, index);
        prop_assert!(x.iter().all(|v| v.is_finite()));
        let level = 10.0 * mean_square(&x).log10();
        prop_assert!((-20.01..0.01).contains(&level), "{}", level);
    }
}
