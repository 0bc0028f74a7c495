//! `firefly envelope`, and linear trends and medians of the other commands.

use std::f64::consts::TAU;

use crate::common::{errors, number, rows, run, samples, success, text, wav};

#[test]
fn repeated_impacts_are_lines_of_the_envelope() {
    // A resonance at 2 kHz, modulated at 93.75 Hz by 0.8, below a strong tone at 400 Hz.
    let folder = tempfile::tempdir().unwrap();
    let signal = |index: usize| {
        let time = index as f64 / 8000.0;
        let modulation = 1.0 + 0.8 * (TAU * 93.75 * time).cos();
        (modulation * (TAU * 2000.0 * time).cos() + 3.0 * (TAU * 400.0 * time).cos()) as f32
    };
    let stereo: Vec<f32> = (0..2 * 16_000).map(|at| if at % 2 == 0 { signal(at / 2) } else { 0.0 }).collect();
    let input = wav(&folder.path().join("x.wav"), 2, &stereo);
    let out = folder.path().join("x.csv");
    let estimate = ["--n-fft", "1024", "--scaling", "spectrum", "--out", text(&out)];
    let printed = success(&[&["envelope", text(&input), "--band", "1500..2500"], &estimate[..]].concat());
    assert!(printed.contains("envelope of 1500..2500 Hz") && printed.contains("detrend constant"), "{printed}");
    assert!(printed.contains("93.75 Hz"), "{printed}");
    let rows = rows(&out);
    assert_eq!(rows.len(), 2 * 513);
    let strongest = rows[..513].iter().max_by(|a, b| number(a, "power").total_cmp(&number(b, "power"))).unwrap();
    assert_eq!(number(strongest, "frequency_hz"), 93.75);
    // The power of a cosine of amplitude 0.8.
    assert!((number(strongest, "power") / 0.32 - 1.0).abs() < 1e-2, "{strongest:?}");
    // Neither the tone nor the carrier is in the envelope.
    let beyond = rows[..513].iter().filter(|row| number(row, "frequency_hz") > 300.0);
    assert!(beyond.map(|row| number(row, "power")).fold(0.0, f64::max) < 1e-4);
    assert!(rows[513..].iter().all(|row| number(row, "power") == 0.0));
}

#[test]
fn an_envelope_is_that_of_its_definition() {
    let folder = tempfile::tempdir().unwrap();
    let signal = samples(300);
    let input = wav(&folder.path().join("x.wav"), 1, &signal);
    let out = folder.path().join("x.csv");
    let estimate = ["--n-fft", "64", "--hop", "40", "--window", "rectangular", "--detrend", "linear"];
    success(&[&["envelope", text(&input), "--band", "500..1500", "--out", text(&out)], &estimate[..]].concat());
    // 128 samples a segment, at 8 kHz bins 8 to 24 of them.
    let mut expected = vec![0.0; 33];
    let starts: Vec<usize> = (0..).map(|index| 40 * index).take_while(|start| start + 128 <= 300).collect();
    for start in &starts {
        let frame: Vec<f64> = signal[*start..][..128].iter().map(|sample| f64::from(*sample)).collect();
        let rotated = |k: usize, j: usize| (TAU * (k * j % 128) as f64 / 128.0).sin_cos();
        let bin = |k: usize| {
            let terms = frame.iter().enumerate().map(|(j, x)| (x * rotated(k, j).1, -x * rotated(k, j).0));
            terms.fold((0.0, 0.0), |sum, term| (sum.0 + term.0, sum.1 + term.1))
        };
        let passed: Vec<_> = (8..=24).map(|k| (k, bin(k))).collect();
        let envelope: Vec<f64> = (32..96)
            .map(|j| {
                let terms = passed.iter().map(|(k, (re, im))| {
                    let (sin, cos) = rotated(*k, j);
                    (re * cos - im * sin, re * sin + im * cos)
                });
                let sum = terms.fold((0.0, 0.0), |sum: (f64, f64), term| (sum.0 + term.0, sum.1 + term.1));
                2.0 * sum.0.hypot(sum.1) / 128.0
            })
            .collect();
        let mean = envelope.iter().sum::<f64>() / 64.0;
        let slope = envelope.iter().enumerate().map(|(j, x)| (j as f64 - 31.5) * x).sum::<f64>();
        let slope = slope / (0..64).map(|j| (f64::from(j) - 31.5).powi(2)).sum::<f64>();
        for (k, power) in expected.iter_mut().enumerate() {
            let sum = envelope.iter().enumerate().fold((0.0, 0.0), |sum: (f64, f64), (j, x)| {
                let (sin, cos) = (TAU * (k * j % 64) as f64 / 64.0).sin_cos();
                let rest = x - mean - slope * (j as f64 - 31.5);
                (sum.0 + rest * cos, sum.1 - rest * sin)
            });
            let sides = if k == 0 || k == 32 { 1.0 } else { 2.0 };
            *power += sides * (sum.0 * sum.0 + sum.1 * sum.1) / starts.len() as f64;
        }
    }
    let largest = expected.iter().copied().fold(0.0, f64::max);
    let found = rows(&out);
    assert_eq!(found.len(), 33);
    for (row, expected) in found.iter().zip(&expected) {
        assert!((number(row, "power") - expected).abs() < 1e-5 * largest, "{row:?}: {expected}");
    }
}

#[test]
fn linear_trends_and_medians_are_those_of_the_estimate() {
    let folder = tempfile::tempdir().unwrap();
    // A ramp of 100 over a segment, and a transient in one frame.
    let mut ramp: Vec<f32> = samples(64 * 40).iter().enumerate().map(|(at, x)| x + at as f32 * 1.5).collect();
    let input = wav(&folder.path().join("ramp.wav"), 1, &ramp);
    let out = folder.path().join("x.csv");
    let strongest = |detrend: &str, command: &str| {
        let kind = if command == "peaks" { ["-k", "1"] } else { ["--hop", "32"] };
        let estimate = ["--n-fft", "64", "--detrend", detrend, "--out", text(&out)];
        success(&[&[command, text(&input)], &kind[..], &estimate[..]].concat());
        let rows = rows(&out);
        let strongest = rows.iter().max_by(|a, b| number(a, "power").total_cmp(&number(b, "power"))).unwrap();
        number(strongest, "bin")
    };
    for command in ["peaks", "spectrum"] {
        assert_eq!([strongest("constant", command), strongest("linear", command)], [1.0, 3.0], "{command}");
    }
    ramp.iter_mut().enumerate().for_each(|(at, x)| *x -= at as f32 * 1.5);
    ramp[100] += 500.0;
    let input = wav(&folder.path().join("click.wav"), 1, &ramp);
    let power = |average: &str| {
        let estimate = ["--n-fft", "64", "--segments", "7", "-k", "33", "--average", average, "--out", text(&out)];
        let printed = success(&[&["peaks", text(&input)], &estimate[..]].concat());
        assert_eq!(printed.contains(", median"), average == "median", "{printed}");
        rows(&out)[..33].iter().map(|row| number(row, "power")).fold(0.0, f64::max)
    };
    let [mean, median] = ["mean", "median"].map(power);
    assert!(median < 0.02 * mean, "{median} {mean}");
    let matrix = folder.path().join("x.npy");
    success(&["spectrogram", text(&input), "--segments", "5", "--average", "median", "--out", text(&matrix)]);
}

#[test]
fn what_has_no_envelope_or_median_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let input = wav(&folder.path().join("x.wav"), 2, &samples(20_000));
    let refused = |arguments: &[&str], status: i32, message: &str| {
        let output = run(&[&[arguments[0], text(&input)], &arguments[1..]].concat());
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", errors(&output));
        assert!(errors(&output).contains(message), "{arguments:?}: {}", errors(&output));
    };
    refused(&["envelope"], 2, "--band");
    refused(&["envelope", "--band", "5000.."], 2, "--band is 5000.., but must be a band with bins");
    refused(&["envelope", "--band", "4000..", "--n-fft", "64"], 2, "no frequency between 0 and half the sample rate");
    refused(&["envelope", "--band", "..0", "--n-fft", "64"], 2, "no frequency between 0 and half the sample rate");
    refused(
        &["envelope", "--band", "100..900", "--iq", "--n-fft", "64"],
        2,
        "x.wav: --band and --multitaper take real samples",
    );
    refused(&["envelope", "--band", "100..900", "--average", "median"], 2, "--average median");
    refused(&["envelope", "--band", "100..900", "--n-fft", "8192"], 2, "no recording has the 16384 samples");
    refused(&["spectrum", "--average", "median"], 2, "peaks and spectrogram take it");
    refused(&["peaks", "--model", "universal", "--average", "median"], 2, "--average is set by the model universal");
    refused(&["peaks", "--average", "mode"], 2, "accepted: mean, median");
    refused(&["peaks", "--detrend", "quadratic"], 2, "accepted: none, constant, linear");
}
