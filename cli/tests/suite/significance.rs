//! `firefly peaks --significance`: rare false alarms of noise, lines with errors, and refusals.

use std::f64::consts::TAU;

use crate::common::{errors, number, rows, run, success, text, wav};

/// Noise, uniform from −0.1 to 0.1, a function of the samples' number alone.
fn noise(count: usize) -> Vec<f64> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / f64::from(1 << 24)
    };
    (0..count).map(|_| 0.2 * next() - 0.1).collect()
}

fn samples(noise: &[f64], line: impl Fn(f64) -> f64) -> Vec<f32> {
    noise.iter().enumerate().map(|(time, noise)| (noise + line(time as f64)) as f32).collect()
}

#[test]
fn noise_has_few_significant_peaks() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("peaks.csv");
    let input = wav(&folder.path().join("x.wav"), 1, &samples(&noise(384 * 1000), |_| 0.0));
    let frames_with = |level: &str| {
        success(&["peaks", text(&input), "-k", "4", "--significance", level, "--out", text(&out)]);
        let rows = rows(&out);
        assert!(rows.iter().all(|row| number(row, "false_alarm") <= level.parse().unwrap()), "{level}");
        rows.iter().filter(|row| row["rank"] == "1").count()
    };
    // Of 1000 frames: five standard deviations.
    let (tenth, hundredth) = (frames_with("0.1"), frames_with("0.01"));
    assert!((52..=148).contains(&tenth), "{tenth}");
    assert!(hundredth <= 26, "{hundredth}");
    // All but those at the ends of the spectrum.
    let printed = success(&["peaks", text(&input), "-k", "4", "--significance", "1"]);
    assert!(printed.contains("at most 4 peaks per frame") && !printed.contains("frames without peaks"), "{printed}");
}

#[test]
fn lines_have_their_frequency_and_amplitude_within_the_stated_errors() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("lines.csv");
    // Bin 32 of 256 samples at 8 kHz is 1000 Hz.
    let (hertz, amplitude) = (1011.25, 0.1);
    let tone = |time: f64| amplitude * (TAU * hertz * time / 8000.0 + 1.0).cos();
    let input = wav(&folder.path().join("x.wav"), 1, &samples(&noise(384 * 100), tone));
    for options in [&["--local-maxima"][..], &["-k", "1"], &["-k", "1", "--band", "500..2000"]] {
        let command = ["peaks", text(&input), "--significance", "1e-3", "--scaling", "spectrum"];
        success(&[&command[..], options, &["--out", text(&out)]].concat());
        let rows = rows(&out);
        let lines: Vec<_> = rows.iter().filter(|row| row["rank"] == "1").collect();
        assert_eq!(lines.len(), 100, "{options:?}");
        assert!(rows.len() <= 102, "{options:?}: {} rows", rows.len());
        let mut squares = 0.0;
        for line in lines {
            assert_eq!(number(line, "bin"), 32.0);
            assert!(number(line, "false_alarm") < 1e-6 && number(line, "prominence") > 0.0, "{line:?}");
            let error = (number(line, "frequency_hz") - hertz) / number(line, "frequency_error_hz");
            assert!(error.abs() < 5.0, "{options:?} {line:?}");
            squares += error * error;
            let error = (number(line, "amplitude") - amplitude) / number(line, "amplitude_error");
            assert!(error.abs() < 5.0, "{options:?} {line:?}");
        }
        assert!((40.0..180.0).contains(&squares), "{options:?}: {squares}");
    }
}

#[test]
fn what_has_no_test_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let input = wav(&folder.path().join("x.wav"), 2, &[0.5; 4000]);
    for (options, message) in [
        (&["--significance", "0"][..], "--significance is 0, but must be above 0, and at most 1"),
        (&["--significance", "nan"], "--significance is NaN"),
        (&["--significance", "0.1", "--model", "universal"], "--significance is not for the model universal"),
        (&["--significance", "0.1", "--average", "median"], "`average` is median, but must be mean"),
        (&["--significance", "0.1", "--n-fft", "64"], "`n_fft` is 64, but must be enough for 47 bins"),
        (&["--significance", "0.1", "--iq"], "--significance is for real samples"),
    ] {
        let output = run(&[&["peaks", text(&input)], options].concat());
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        assert!(errors(&output).contains(message), "{}", errors(&output));
    }
}
