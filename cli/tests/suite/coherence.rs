//! `firefly coherence`: its values, thresholds, order and errors.

use std::collections::HashMap;
use std::f64::consts::TAU;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{errors, number, rows, run, samples, success, text, wav};
use firefly_reference::window::{Symmetry, WindowShape, window};
use serde_json::Value;

/// Three channels: noise with tones, half of it three samples later with other noise, and other noise.
fn channels(count: usize) -> [Vec<f64>; 3] {
    let noise = |seed: u64| {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / f64::from(1 << 24) - 0.5
        }
    };
    let first: Vec<f64> = samples(count).into_iter().map(f64::from).collect();
    let (mut small, mut other) = (noise(3), noise(5));
    let second = (0..count).map(|at| if at < 3 { 0.0 } else { 0.5 * first[at - 3] } + 0.02 * small());
    let second = second.map(|sample| f64::from(sample as f32)).collect();
    [first, second, (0..count).map(|_| f64::from(other() as f32)).collect()]
}

/// The channels as rows of a table of text, each value changed; NaN is an empty cell.
fn csv(path: &Path, channels: &[Vec<f64>], change: impl Fn(f64) -> f64) -> PathBuf {
    let cell = |sample: f64| if sample.is_nan() { String::new() } else { change(sample).to_string() };
    let row = |at: usize| channels.iter().map(|samples| cell(samples[at])).collect::<Vec<_>>().join(",");
    let rows: Vec<String> = (0..channels[0].len()).map(row).collect();
    fs::write(path, ["x", "y", "z"][..channels.len()].join(",") + "\n" + &rows.join("\n")).unwrap();
    path.to_owned()
}

fn stereo(path: &Path, channels: &[Vec<f64>; 3]) -> PathBuf {
    let interleaved: Vec<f32> = (0..2 * channels[0].len()).map(|at| channels[at % 2][at / 2] as f32).collect();
    wav(path, 2, &interleaved)
}

type Complex = (f64, f64);

/// Spectra of the segments without their mean under a Hann window, by the definition: `[segments][bins]`.
fn spectra(samples: &[f64], n_fft: usize, hop: usize) -> Vec<Vec<Complex>> {
    let window = window(WindowShape::Hann, Symmetry::Periodic, n_fft);
    let segments = samples.windows(n_fft).step_by(hop);
    let bin = |segment: &[f64], k: usize| {
        let mean = segment.iter().sum::<f64>() / n_fft as f64;
        segment.iter().zip(&window).enumerate().fold((0.0, 0.0), |sum: Complex, (j, (x, weight))| {
            let (sin, cos) = (TAU * (k * j % n_fft) as f64 / n_fft as f64).sin_cos();
            (sum.0 + (x - mean) * weight * cos, sum.1 - (x - mean) * weight * sin)
        })
    };
    segments.map(|segment| (0..=n_fft / 2).map(|k| bin(segment, k)).collect()).collect()
}

/// Mean of conj(X) Y at a bin.
fn cross(x: &[Vec<Complex>], y: &[Vec<Complex>], bin: usize) -> Complex {
    let sum = x.iter().zip(y).fold((0.0, 0.0), |sum: Complex, (x, y)| {
        let ((a, b), (c, d)) = (x[bin], y[bin]);
        (sum.0 + a * c + b * d, sum.1 + a * d - b * c)
    });
    (sum.0 / x.len() as f64, sum.1 / x.len() as f64)
}

/// Checks a row against the definition, up to so much of the power.
fn check(row: &HashMap<String, String>, spectra: &[Vec<Vec<Complex>>], scale: f64, tolerance: f64) {
    let [first, second, bin] = ["first", "second", "bin"].map(|column| number(row, column) as usize);
    let (x, y) = (&spectra[first], &spectra[second]);
    let ((re, im), (of_x, _), (of_y, _)) = (cross(x, y, bin), cross(x, x, bin), cross(y, y, bin));
    let found = number(row, "coherence");
    assert!((found - (re * re + im * im) / (of_x * of_y)).abs() < tolerance, "{row:?}");
    let (sin, cos) = number(row, "phase_deg").to_radians().sin_cos();
    let (power, most) = (number(row, "cross_power"), tolerance * (of_x * of_y).sqrt() * scale);
    assert!((power * cos - re * scale).hypot(power * sin - im * scale) < most, "{row:?}: {re} {im}");
    let cross = re.hypot(im);
    let [h1, h2] = ["h1_gain", "h2_gain"].map(|column| number(row, column));
    assert!((h1 - cross / of_x).abs() < tolerance * (of_y / of_x).sqrt(), "{row:?}");
    assert!((h2 * cross / of_y - 1.0).abs() < tolerance * (of_x * of_y).sqrt() / cross, "{row:?}");
}

#[test]
fn every_value_is_that_of_its_definition_and_the_most_coherent_pair_is_first() {
    let folder = tempfile::tempdir().unwrap();
    let (signal, n_fft, hop) = (channels(700), 31, 20);
    let input = csv(&folder.path().join("x.csv"), &signal, |sample| sample);
    let out = folder.path().join("out.csv");
    let options = ["--rate", "800", "--n-fft", "31", "--hop", "20", "--scaling", "density", "--out", text(&out)];
    let printed = success(&[&["coherence", text(&input)], &options[..]].concat());
    let spectra = signal.map(|samples| spectra(&samples, n_fft, hop));
    let energy: f64 = window(WindowShape::Hann, Symmetry::Periodic, n_fft).iter().map(|weight| weight * weight).sum();
    let found = rows(&out);
    assert_eq!(found.len(), 3 * 16);
    for (place, row) in found.iter().enumerate() {
        let bin = place % 16;
        assert!((number(row, "frequency_hz") - bin as f64 * 800.0 / 31.0).abs() < 1e-9, "{row:?}");
        assert_eq!((number(row, "bin") as usize, row["file"].as_str()), (bin, text(&input)));
        check(row, &spectra, if bin == 0 { 1.0 } else { 2.0 } / energy / 800.0, 1e-4);
    }
    let highest =
        |rows: &[HashMap<String, String>]| rows[1..].iter().map(|row| number(row, "coherence")).fold(0.0, f64::max);
    let order: Vec<f64> = found.chunks(16).map(highest).collect();
    assert!(order[0] > 0.9 && order.is_sorted_by(|a, b| a >= b), "{order:?}");
    assert_eq!((found[0]["first_label"].as_str(), found[0]["second_label"].as_str()), ("x", "y"));
    assert!(printed.contains("x → y") && printed.contains("detrend constant, band .. Hz"), "{printed}");
    assert!(printed.find("x → y") < printed.find("→ z") && !printed.contains("more pairs"), "{printed}");
}

#[test]
fn digits_and_range_of_samples_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let signal = channels(600);
    let out = folder.path().join("out.csv");
    let options = ["--rate", "800", "--n-fft", "32", "--top", "1", "--out", text(&out)];
    let found = |name: &str, detrend: &str, change: fn(f64) -> f64| {
        let input = csv(&folder.path().join(name), &signal, change);
        let printed = success(&[&["coherence", text(&input), "--detrend", detrend], &options[..]].concat());
        assert!(printed.contains("… and 2 more pairs"), "{printed}");
        rows(&out)
    };
    let spectra = signal.clone().map(|samples| spectra(&samples, 32, 16));
    for row in &found("tiny.csv", "constant", |sample| sample * 1e-25) {
        let sides = if [0.0, 16.0].contains(&number(row, "bin")) { 1.0 } else { 2.0 };
        check(row, &spectra, sides * 1e-50, 1e-4);
    }
    // A Hann window has the offset in two bins.
    for row in &found("offset.csv", "none", |sample| sample + 1e7)[2..] {
        check(row, &spectra, if number(row, "bin") == 16.0 { 1.0 } else { 2.0 }, 1e-4);
    }
}

#[test]
fn bins_far_below_a_strong_line_keep_their_coherence() {
    let folder = tempfile::tempdir().unwrap();
    // A line in bin 4 of 32, 120 dB above noise that is half common.
    let mut signal = channels(3000);
    let noise = signal[2].clone();
    for (at, sample) in noise.iter().enumerate() {
        let line = (TAU * 4.0 * at as f64 / 32.0).sin();
        (signal[0][at], signal[1][at]) = (line + 1e-6 * sample, 2.0 * line + 1e-6 * (sample + noise[(at + 7) % 3000]));
    }
    let out = folder.path().join("out.csv");
    let found = |input: &Path| {
        success(&["coherence", text(input), "--rate", "8000", "--n-fft", "32", "--top", "1", "--out", text(&out)]);
        rows(&out)
    };
    // With all digits, and as rounded to f32, which is then what the samples are.
    let wide = found(&csv(&folder.path().join("x.csv"), &signal[..2], |sample| sample));
    let rounded: [Vec<f64>; 3] =
        signal.clone().map(|samples| samples.iter().map(|sample| f64::from(*sample as f32)).collect());
    let narrow = found(&stereo(&folder.path().join("x.wav"), &rounded));
    for (rows, signal) in [(wide, signal), (narrow, rounded)] {
        let spectra = signal.map(|samples| spectra(&samples, 32, 16));
        for row in rows.iter().filter(|row| number(row, "bin") > 6.0) {
            let bin = number(row, "bin") as usize;
            let ((re, im), (x, _), (y, _)) = (
                cross(&spectra[0], &spectra[1], bin),
                cross(&spectra[0], &spectra[0], bin),
                cross(&spectra[1], &spectra[1], bin),
            );
            let coherence = number(row, "coherence");
            assert!((coherence - (re * re + im * im) / (x * y)).abs() < 1e-6, "{row:?}");
        }
    }
}

#[test]
fn phase_and_gain_are_those_of_a_delay_in_the_order_of_the_channels() {
    let folder = tempfile::tempdir().unwrap();
    let input = stereo(&folder.path().join("x.wav"), &channels(20_000));
    let report = |more: &[&str]| {
        let printed = success(&[&["coherence", text(&input), "--json", "--band", "900..1100"], more].concat());
        let document: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(document["command"], "coherence");
        document["recordings"][0].clone()
    };
    let found = report(&[]);
    let pair = |report: &Value, key: &str| report["pairs"][0][key].as_f64().unwrap();
    let hertz = pair(&found, "frequency_hz");
    assert!((900.0..=1100.0).contains(&hertz) && pair(&found, "coherence") > 0.5, "{found}");
    // Three samples at 8 kHz.
    let late = -360.0 * hertz * 3.0 / 8000.0;
    assert!((pair(&found, "phase_deg") - late).abs() < 5.0, "{found}");
    assert!(pair(&found, "h1_gain") < pair(&found, "h2_gain"));
    assert!((pair(&found, "h1_gain") / 0.5 - 1.0).abs() < 0.1, "{found}");
    let turned = report(&["--channel", "1", "--channel", "0"]);
    assert!((pair(&turned, "phase_deg") + pair(&found, "phase_deg")).abs() < 1e-2, "{turned}");
    assert!((pair(&turned, "h2_gain") * pair(&found, "h1_gain") - 1.0).abs() < 1e-3, "{turned}");
    // 155 segments of 256 samples that overlap by one half are worth 1 / (1 + 2 / 36) of them, but for the ends.
    assert_eq!((found["segments"].as_u64(), found["segments_left_out"].as_u64()), (Some(155), Some(0)));
    let independent = found["independent_segments"].as_f64().unwrap();
    assert!((independent / 155.0 - 1.0 / (1.0 + 154.0 / 155.0 / 18.0)).abs() < 1e-6, "{independent}");
    let threshold = found["threshold"].as_f64().unwrap();
    assert!((threshold - (1.0 - 0.05f64.powf(1.0 / (independent - 1.0)))).abs() < 1e-12);
    assert_eq!(found["bins_searched"].as_u64(), Some(7));
    assert!(found["threshold_of_highest"].as_f64().unwrap() > threshold);
}

#[test]
fn noise_is_above_the_thresholds_as_often_as_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let [_, _, noise] = channels(400_000);
    let noise: Vec<f32> = noise.iter().map(|sample| *sample as f32).collect();
    let mut beyond = [0, 0];
    for (place, part) in noise.chunks_exact(2 * 2000).enumerate() {
        wav(&folder.path().join(format!("in/{place:03}.wav")), 2, part);
    }
    let input = folder.path().join("in");
    let arguments = ["coherence", text(&input), "--n-fft", "64", "--json", "--out"];
    let out = folder.path().join("out.csv");
    let printed = success(&[&arguments[..], &[text(&out)]].concat());
    let document: Value = serde_json::from_str(&printed).unwrap();
    let recordings = document["recordings"].as_array().unwrap();
    assert_eq!(recordings.len(), 100);
    for (recording, rows) in recordings.iter().zip(rows(&out).chunks(33)) {
        let of = |key: &str| recording[key].as_f64().unwrap();
        let coherence: Vec<f64> = rows[1..32].iter().map(|row| number(row, "coherence")).collect();
        beyond[0] += coherence.iter().filter(|value| **value > of("threshold")).count();
        beyond[1] += usize::from(coherence.iter().any(|value| *value > of("threshold_of_highest")));
    }
    // 155 of 3100 bins and 5 of 100 recordings are expected.
    assert!((110..200).contains(&beyond[0]) && beyond[1] <= 12, "{beyond:?}");
}

#[test]
fn segments_with_a_gap_in_a_channel_are_left_out_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let signal = channels(640);
    let out = folder.path().join("out.csv");
    let table = folder.path().join("x.csv");
    let rows_of = |signal: &[Vec<f64>]| {
        let input = csv(&table, signal, |sample| sample);
        let options = ["--rate", "800", "--n-fft", "64", "--hop", "64", "--out", text(&out)];
        (success(&[&["coherence", text(&input)], &options[..]].concat()), rows(&out))
    };
    // The third of ten segments.
    let mut gap = signal.clone();
    gap[2][150] = f64::NAN;
    let (printed, with_gap) = rows_of(&gap);
    assert!(printed.contains("9 segments") && printed.contains("left out: 1 of 10"), "{printed}");
    let shorter = signal.map(|samples| [&samples[..128], &samples[192..]].concat());
    let (printed, without) = rows_of(&shorter);
    assert!(printed.contains("9 segments") && !printed.contains("left out"), "{printed}");
    assert_eq!(with_gap.len(), without.len());
    for (row, other) in with_gap.iter().zip(&without) {
        assert!(["first", "second", "bin"].iter().all(|column| row[*column] == other[*column]), "{row:?}");
        // Segments on both sides of the gap are summed apart.
        for column in ["coherence", "cross_power", "h1_gain", "h2_gain"] {
            let [value, other] = [row, other].map(|row| number(row, column));
            assert!((value - other).abs() < 1e-4 * other, "{column}: {value}, not {other}");
        }
    }
}

#[test]
fn drawings_and_tables_have_the_top_pairs_of_every_recording() {
    let folder = tempfile::tempdir().unwrap();
    let signal = channels(4000);
    for name in ["in/a.wav", "in/b.wav"] {
        stereo(&folder.path().join(name), &signal);
    }
    let page = folder.path().join("page.html");
    let input = folder.path().join("in");
    let arguments = ["coherence", text(&input), "--plot", text(&page), "--device"];
    let [one, two] = ["cpu", "cpu:0,cpu:1"].map(|device| {
        let out = folder.path().join("out.parquet");
        success(&[&arguments[..], &[device, "--out", text(&out)]].concat());
        (fs::read(out).unwrap(), fs::read_to_string(&page).unwrap())
    });
    assert!(one.0 == two.0);
    for wanted in ["<caption>Pairs", "a.wav, channel 0 → channel 1", "b.wav, channel 0", "|H1|, dB", "phase, °"] {
        assert!(one.1.contains(wanted) && !one.1.contains("NaN"), "{wanted}");
    }
}

#[test]
fn what_has_no_coherence_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let signal = samples(1000);
    let one = wav(&folder.path().join("one.wav"), 1, &signal);
    let two = wav(&folder.path().join("two.wav"), 2, &signal);
    let many = folder.path().join("many.raw");
    fs::write(&many, vec![0; 200 * 1024 * 4]).unwrap();
    let refused = |input: &Path, more: &[&str], message: &str| {
        let output = run(&[&["coherence", text(input)], more].concat());
        assert_eq!(output.status.code(), Some(2), "{more:?}: {}", errors(&output));
        assert!(errors(&output).contains(message), "{more:?}: {}", errors(&output));
    };
    refused(&one, &[], "coherence is that of two channels or more, and there is one");
    refused(&two, &["--channel", "1"], "coherence is that of two channels or more");
    refused(&two, &["--iq"], "these are complex");
    refused(&two, &["--average", "median"], "--average median");
    refused(&two, &["--band", "5000.."], "--band is 5000.., but must be a band with bins");
    refused(&two, &["--band", "4000.."], "no frequency between 0 and half the sample rate");
    refused(&two, &["--n-fft", "400"], "two segments that are finite in all channels, and there are 1 of 1");
    refused(&two, &["--n-fft", "600"], "no recording has the 600 samples of a segment");
    refused(&two, &["--top", "0"], "--top");
    refused(&two, &["--channel", "1", "--channel", "1"], "--channel 1 is given twice");
    // Another command writes the output.
    let out = folder.path().join("x.csv");
    let lock = fs::File::create(folder.path().join("x.csv.journal")).unwrap();
    lock.lock().unwrap();
    refused(&two, &["--out", text(&out)], "another process writes this output");
    drop(lock);
    let raw = ["--format", "f32", "--channels", "200", "--rate", "8000", "--n-fft", "1024"];
    refused(&many, &raw, "name fewer channels by --channel, or lower --n-fft");
    // Of a folder, the recordings that have pairs are computed.
    let output = run(&["coherence", text(folder.path()), "--n-fft", "128"]);
    assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("two.wav: 8000 Hz, 6 segments"));
}
