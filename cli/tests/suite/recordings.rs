//! Recordings whose values or headers are out of the ordinary: what is computed, and what is said about them.

use std::collections::HashMap;
use std::f64::consts::TAU;
use std::fs;
use std::path::{Path, PathBuf};

use firefly_reference::welch::{PowerScaling, WelchDefinition, welch_psd};
use firefly_reference::window::{Symmetry, WindowShape, window};
use serde_json::Value;

use crate::common::{errors, number, rows, run, samples, success, text, wav};

/// Writes an array of doubles.
fn npy(path: &Path, values: impl Iterator<Item = f64>) -> PathBuf {
    let values: Vec<u8> = values.flat_map(f64::to_le_bytes).collect();
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({},), }}", values.len() / 8);
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{header:<117}\n").bytes());
    bytes.extend(values);
    fs::write(path, bytes).unwrap();
    path.to_owned()
}

/// The tone of a sample: 10 Hz at 100 samples per second.
fn tone(index: u32) -> f64 {
    (TAU * 10.0 * f64::from(index) / 100.0).sin()
}

/// Welch's estimate of so many segments of 256 samples, 128 apart, under a Hann window, in f64.
fn power_of(samples: &[f64], segments: usize) -> Vec<f64> {
    let definition = WelchDefinition { n_fft: 256, hop: 128, segments, scaling: PowerScaling::Raw, remove_mean: false };
    let coefficients = window(WindowShape::Hann, Symmetry::Periodic, 256);
    welch_psd(samples, samples.len(), &coefficients, &definition)
}

/// Checks power against a definition: to a millionth of the largest besides the bins of the mean, or of the bin itself.
fn assert_power(found: impl Iterator<Item = f64>, expected: &[f64], message: &str) {
    let scale = expected[2..].iter().copied().fold(0.0, f64::max);
    let found: Vec<f64> = found.collect();
    assert_eq!(found.len(), expected.len());
    for (bin, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs();
        assert!(error <= 1e-6 * scale.max(*expected), "{message}, bin {bin}: {found:e}, not {expected:e}");
    }
}

#[test]
fn a_small_signal_on_a_large_offset_has_the_power_of_f64() {
    let folder = tempfile::tempdir().unwrap();
    let [table, matrix] = ["out.csv", "out.npy"].map(|name| folder.path().join(name));
    let noisy = |index: u32| tone(index) + 0.1 * (f64::from(index * index % 101) / 101.0 - 0.5);
    // A barometer, strain, steps that f32 holds but not its sums, and what f32 does not hold at all.
    for (offset, scale, step) in [
        (101_325.0, 1e-3, 1e-9),
        (3e-18, 1e-22, 1e-30),
        (1_048_576.0, 1.0, 0.125),
        (0.0, 1e-60, 1e-70),
        (-5e44, 1e40, 1e30),
    ] {
        let message = format!("{offset:e} ± {scale:e}");
        let samples: Vec<f64> = (0..3000).map(|index| offset + (scale * noisy(index) / step).round() * step).collect();
        let input = npy(&folder.path().join("x.npy"), samples.iter().copied());
        let read = |command: &str, out: &Path, more: &[&str]| {
            let output = run(&[&[command, text(&input), "--rate", "100", "--out", text(out)], more].concat());
            assert!(output.status.success() && errors(&output).is_empty(), "{message}: {}", errors(&output));
        };
        read("spectrum", &table, &[]);
        let found = rows(&table);
        assert_power(found.iter().map(|row| number(row, "power")), &power_of(&samples, 22), &message);
        let frames: Vec<_> = samples.chunks_exact(1152).map(|frame| power_of(frame, 8)).collect();
        for more in [&[][..], &["--local-maxima"], &["--model", "auto", "--segments", "8"]] {
            let reference = ["--model", "reference"];
            let model = if more.len() < 2 { &reference[..] } else { &[] };
            read("peaks", &table, &[&["-k", "1", "--band", "5..20"], model, more].concat());
            for (row, power) in rows(&table).iter().zip(&frames) {
                let strongest = (13..=51).max_by(|a, b| power[*a].total_cmp(&power[*b])).unwrap();
                assert_eq!(number(row, "bin"), strongest as f64, "{message}");
                let relative = number(row, "power") / power[strongest] - 1.0;
                assert!(relative.abs() < 1e-6, "{message}, {more:?}: {relative}");
            }
        }
        // The matrix is of f32.
        if (1e-10..1e10).contains(&scale) {
            read("spectrogram", &matrix, &["--segments", "8"]);
            let bytes = fs::read(&matrix).unwrap();
            let power = bytes[128..].as_chunks::<4>().0.iter().map(|raw| f64::from(f32::from_le_bytes(*raw)));
            let power: Vec<f64> = power.collect();
            for (found, expected) in power.chunks(129).zip(samples.windows(1152).step_by(1024)) {
                assert_power(found.iter().copied(), &power_of(expected, 8), &message);
            }
        }
    }
}

#[test]
fn digits_are_kept_of_complex_samples_and_of_the_channels_that_need_them() {
    let folder = tempfile::tempdir().unwrap();
    let [input, out] = ["x.bin", "out.csv"].map(|name| folder.path().join(name));
    let read = |samples: &[f64], more: &[&str]| {
        fs::write(&input, samples.iter().flat_map(|sample| sample.to_le_bytes()).collect::<Vec<_>>()).unwrap();
        let peaks = ["peaks", text(&input), "--rate", "100", "-k", "3", "--out", text(&out)];
        let output = run(&[&peaks[..], more].concat());
        assert!(output.status.success() && errors(&output).is_empty(), "{}", errors(&output));
        rows(&out)
    };
    // Frequency −10 Hz around an offset, at bins −26 and −25 of 256.
    let turn = |index: u32| (TAU * -0.1 * f64::from(index)).sin_cos();
    let complex = |offset: f64| {
        let pairs = (0..3000).flat_map(|index| [offset + 1e-3 * turn(index).1, 1e-3 * turn(index).0 - offset]);
        pairs.collect::<Vec<f64>>()
    };
    for more in [&["--band=-20..-5"][..], &["--band=-20..-5", "--local-maxima"]] {
        let [found, right] = [1e5, 0.0].map(|offset| read(&complex(offset), &[&["--format", "cf64"], more].concat()));
        let strongest = |rows: &[HashMap<String, String>]| -> Vec<f64> {
            rows.iter().filter(|row| row["rank"] == "1").map(|row| number(row, "power")).collect()
        };
        assert!(found.iter().any(|row| row["bin"] == "230"));
        let (found, right) = (strongest(&found), strongest(&right));
        assert_eq!((found.len(), right.len()), (3000 / 384, 3000 / 384));
        for (found, right) in found.into_iter().zip(right) {
            assert!((found / right - 1.0).abs() < 1e-5, "{found} {right}");
        }
    }
    // Another channel has the bytes that it has alone.
    let plain = |index: u32| tone(index) + 0.3 * f64::from(index % 7);
    let both: Vec<f64> = (0..3000).flat_map(|index| [1e6 + 1e-2 * tone(index), plain(index)]).collect();
    let mut beside = read(&both, &["--format", "f64", "--channels", "2"]);
    beside.retain(|row| row["channel"] == "1");
    let mut alone = read(&(0..3000).map(plain).collect::<Vec<_>>(), &["--format", "f64"]);
    for row in &mut alone {
        row.insert("channel".to_owned(), "1".to_owned());
    }
    assert_eq!(beside, alone);
}

#[test]
fn a_learned_estimate_says_what_rounding_changes() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.csv");
    let input = npy(&folder.path().join("x.npy"), (0..3000).map(|index| 1e6 + 0.01 * tone(index)));
    let arguments = ["peaks", text(&input), "--rate", "100", "-k", "1", "--model", "universal", "--out", text(&out)];
    let output = run(&[&arguments[..], &["--detrend", "constant"]].concat());
    assert!(output.status.success() && errors(&output).is_empty(), "{}", errors(&output));
    assert!(rows(&out).iter().all(|row| number(row, "frequency_hz") == 10.156_25));
    let output = run(&arguments);
    assert!(errors(&output).contains("--detrend constant subtracts the mean"), "{}", errors(&output));
}

#[test]
fn power_of_any_range_is_computed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.csv");
    let one = npy(&folder.path().join("one.npy"), (0..3000).map(tone));
    let peaks = |input: &Path, more: &[&str]| {
        success(&[&["peaks", text(input), "--rate", "100", "-k", "3", "--out", text(&out)], more].concat());
        rows(&out).iter().map(|row| (number(row, "bin"), number(row, "power"))).collect::<Vec<_>>()
    };
    for more in [&[][..], &["--local-maxima", "--band", "5..20"]] {
        let right = peaks(&one, more);
        for scale in [1e-23, 1e-21, 1e18, 1e20] {
            let scaled = npy(&folder.path().join("scaled.npy"), (0..3000).map(|index| scale * tone(index)));
            let found = peaks(&scaled, more);
            // The bins of a tone, of which those beside it are far above the rounding of the samples.
            for (found, right) in found.iter().zip(&right).filter(|(_, right)| right.1 > 1.0) {
                assert_eq!(found.0, right.0, "{scale:e}");
                assert!((found.1 / (right.1 * scale * scale) - 1.0).abs() < 1e-4, "{scale:e}: {found:?} {right:?}");
            }
        }
    }
    let strongest = peaks(&one, &[])[0].1;
    let scaled = npy(&folder.path().join("scaled.npy"), (0..3000).map(|index| 1e-23 * tone(index)));
    let height = format!("{:e}", strongest * 1e-46 / 2.0);
    let found = peaks(&scaled, &["--local-maxima", "--height", &height]);
    assert_eq!(found.len(), 1 + (3000 - 384) / 384, "one line per frame");
    let printed = success(&["spectrum", text(&scaled), "--rate", "100", "--out", text(&out)]);
    assert!(printed.contains("10.1"), "{printed}");
    assert!(rows(&out).iter().all(|row| row["power"].is_empty() || number(row, "power") > 0.0));
}

#[test]
fn a_bad_sample_costs_the_segments_that_have_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.csv");
    let input =
        npy(&folder.path().join("x.npy"), (0..3000).map(|index| if index == 1500 { f64::NAN } else { tone(index) }));
    let printed = success(&["spectrum", text(&input), "--rate", "100", "--out", text(&out)]);
    assert!(printed.contains("segments with samples that are not finite, left out: 2 of 22"), "{printed}");
    assert!(rows(&out).iter().all(|row| number(row, "power").is_finite()));
}

/// Two tones of a complex signal at 1 MHz: at −250 kHz, and a hundredth of its amplitude at 125 kHz.
fn iq(count: usize) -> Vec<f32> {
    let pair = |index: usize| {
        let angles = [-0.25, 0.125].map(|part| TAU * part * index as f64);
        let sum = |part: fn(f64) -> f64| part(angles[0]) + 0.01 * part(angles[1]);
        [sum(f64::cos) as f32, sum(f64::sin) as f32]
    };
    (0..count).flat_map(pair).collect()
}

#[test]
fn complex_samples_have_frequencies_of_both_signs() {
    let folder = tempfile::tempdir().unwrap();
    let samples = iq(4000);
    let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
    let raw = folder.path().join("x.cf32");
    fs::write(&raw, &bytes).unwrap();
    fs::write(folder.path().join("x.sigmf-data"), &bytes).unwrap();
    let meta = folder.path().join("x.sigmf-meta");
    let text_of =
        r#"{"global": {"core:datatype": "cf32_le", "core:sample_rate": 1e6}, "captures": [{"core:frequency": 1e8}]}"#;
    fs::write(&meta, text_of).unwrap();
    let pairs = wav(&folder.path().join("x.wav"), 2, &samples);
    let out = folder.path().join("out.csv");
    let estimate = ["--n-fft", "64", "--model", "reference", "-k", "1", "--scaling", "spectrum", "--out", text(&out)];
    for (input, more, centre) in [
        (&raw, &["--format", "cf32", "--rate", "1e6"][..], 0.0),
        (&meta, &[], 1e8),
        (&meta, &["--centre", "2e8"], 2e8),
        (&pairs, &["--iq", "--rate", "1e6"], 0.0),
        (&pairs, &["--iq", "--rate", "1e6", "--centre", "9e7"], 9e7),
    ] {
        let peaks = |options: &[&str]| {
            success(&[&["peaks", text(input)], more, &estimate[..], options].concat());
            rows(&out)
        };
        for row in peaks(&[]) {
            assert_eq!((number(&row, "bin"), number(&row, "frequency_hz")), (48.0, centre - 250e3));
            assert!((number(&row, "power") - 1.0).abs() < 1e-5);
        }
        let band = format!("--band={}..{}", centre + 62.5e3, centre + 300e3);
        for row in peaks(&[&band]).into_iter().chain(peaks(&[&band, "--local-maxima"])) {
            assert_eq!(number(&row, "bin"), 8.0);
            assert!((number(&row, "frequency_hz") - centre - 125e3).abs() < 1.0);
            assert!((number(&row, "power") - 1e-4).abs() < 1e-8);
        }
        success(&[&["spectrum", text(input)], more, &["--n-fft", "64", "--out", text(&out)]].concat());
        let spectrum = rows(&out);
        assert_eq!(spectrum.len(), 64);
        let strongest = spectrum.iter().max_by(|a, b| number(a, "power").total_cmp(&number(b, "power"))).unwrap();
        assert_eq!(number(strongest, "frequency_hz"), centre - 250e3);
        let drawing = folder.path().join("x.svg");
        success(&[&["spectrogram", text(input)], more, &["--plot", text(&drawing)]].concat());
    }
    let output = run(&["peaks", text(&meta), "--model", "universal"]);
    assert!(errors(&output).contains("complex samples take the exact estimate"), "{}", errors(&output));
}

#[test]
fn a_recording_that_ends_early_is_read_up_to_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = wav(&folder.path().join("x.wav"), 1, &samples(4000));
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 400]).unwrap();
    let out = folder.path().join("out.csv");
    let output = run(&["peaks", text(&path), "-k", "1", "--out", text(&out)]);
    assert_eq!(output.status.code(), Some(1));
    let message = errors(&output);
    assert!(
        message.contains("x.wav: truncated: the header announces 4000 samples per channel, the file holds 3900"),
        "{message}"
    );
    assert_eq!(rows(&out).len(), 3900 / 384);
}

#[test]
fn the_rate_of_the_command_counts_and_what_is_left_out_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = wav(&folder.path().join("x.wav"), 2, &samples(4000));
    let output = run(&["peaks", text(&path), "--rate", "384000", "--channel", "1"]);
    assert!(output.status.success());
    assert!(
        errors(&output).contains("note: ")
            && errors(&output).contains("its rate of 8000 Hz is replaced by --rate 384000")
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("384000 Hz"));
    assert!(errors(&run(&["peaks", text(&path), "--rate", "384000", "--quiet"])).is_empty());
    let table = folder.path().join("x.csv");
    let lines: String = (0..2000).map(|index| format!("{},{},note\n", f64::from(index) / 100.0, tone(index))).collect();
    fs::write(&table, format!("Time (s),x,remark\n{lines}")).unwrap();
    let output = run(&["peaks", text(&table)]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("100 Hz"), "{output:?}");
    assert!(errors(&output).contains("columns of text are left out: `remark`"), "{}", errors(&output));
}

#[test]
fn frames_within_gaps_of_times_and_damaged_lines_have_no_peaks() {
    let folder = tempfile::tempdir().unwrap();
    let (table, out) = (folder.path().join("x.csv"), folder.path().join("out.csv"));
    // Milliseconds at 100 Hz; 960 rows are missing behind the 960th.
    let time = |index: u32| 10 * (index + if index < 960 { 0 } else { 960 });
    let mut lines: Vec<String> = (0..1920).map(|index| format!("{},{}", time(index), tone(index))).collect();
    let written = |lines: &[String]| fs::write(&table, format!("time,x\n{}", lines.join("\n"))).unwrap();
    let arguments = ["peaks", text(&table), "--units", "ms", "--n-fft", "64", "-k", "1", "--out", text(&out)];
    written(&lines);
    let output = run(&arguments);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(errors(&output).contains("have gaps of 960 rows, which are NaN"), "{}", errors(&output));
    // Frames of two segments: 96 samples.
    let found = rows(&out);
    assert_eq!(found.len(), 30);
    for (frame, row) in found.iter().enumerate() {
        assert!((number(row, "time_s") - 0.96 * frame as f64).abs() < 1e-9);
        assert_eq!(number(row, "bin"), if (10..20).contains(&frame) { -1.0 } else { number(&found[0], "bin") });
    }
    // The line of the third frame is damaged.
    lines[200] = "20".to_owned();
    written(&lines);
    let output = run(&arguments);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("line 202 has no column 2; --repair makes it NaN"), "{}", errors(&output));
    let output = run(&[&arguments[..], &["--repair"]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("damaged: 1 lines are no rows"), "{}", errors(&output));
    let bins: Vec<f64> = rows(&out).iter().map(|row| number(row, "bin")).collect();
    assert!(bins.len() == 30 && bins[2] == -1.0 && bins[1] == bins[29] && bins[3] > 0.0, "{bins:?}");
    let output = run(&["peaks", text(&table), "--units", "fortnights"]);
    assert!(errors(&output).contains("unknown unit of times `fortnights`"), "{}", errors(&output));
}

#[test]
fn a_recording_is_described() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("x.csv");
    let lines: String = (0..50).map(|index| format!("{},{},a\n", f64::from(index) / 8.0, tone(index))).collect();
    fs::write(&table, format!("time,left,remark\n(s),(V),()\n{lines}")).unwrap();
    let described = success(&["info", text(&table)]);
    for wanted in ["x.csv: CSV, 1 channels of 50 samples, 8 Hz, 6.25 s", "channel 0: left, V", "note: columns of text"]
    {
        assert!(described.contains(wanted), "{described}");
    }
    assert!(!success(&["info", text(&table), "--quiet"]).contains("note: "));
    let path = wav(&folder.path().join("x.wav"), 1, &samples(4000));
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 400]).unwrap();
    let output = run(&["info", text(&path), "--quiet"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("truncated"), "{}", errors(&output));
    fs::write(&path, "no sound").unwrap();
    assert_eq!(run(&["info", text(&path)]).status.code(), Some(2));
}

#[test]
fn results_have_the_numbers_of_the_channels_in_the_recording() {
    let folder = tempfile::tempdir().unwrap();
    let input = wav(&folder.path().join("x.wav"), 4, &samples(4 * 8000));
    let (out, page) = (folder.path().join("out.csv"), folder.path().join("out.html"));
    let numbers = |input: &Path, command: &[&str], columns: &[&str]| {
        success(&[command, &[text(input), "--n-fft", "64", "--rate", "8000", "--out", text(&out)]].concat());
        let mut found: Vec<Vec<String>> =
            rows(&out).iter().map(|row| columns.iter().map(|column| row[*column].clone()).collect()).collect();
        found.sort();
        found.dedup();
        found.concat()
    };
    for command in [&["peaks"][..], &["spectrum"], &["envelope", "--band", "500..1500"]] {
        let chosen = [command, &["--channel", "2", "--channel", "1"]].concat();
        assert_eq!(numbers(&input, &chosen, &["channel"]), ["1", "2"], "{command:?}");
        let one = [command, &[text(&input), "--n-fft", "64", "--channel", "2"]].concat();
        let report = success(&[&one[..], &["--json", "--plot", text(&page)]].concat());
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["channels"][0]["channel"], 2, "{command:?}");
        assert!(fs::read_to_string(&page).unwrap().contains("channel 2"), "{command:?}");
        assert!(success(&one).contains("x.wav, channel 2: 8000 Hz"), "{command:?}");
    }
    let pair = ["coherence", "--channel", "3", "--channel", "1"];
    assert_eq!(numbers(&input, &pair, &["first", "second"]), ["3", "1"]);
    let report = success(&[&pair[..], &[text(&input), "--json"]].concat());
    let report: Value = serde_json::from_str(&report).unwrap();
    let found = &report["recordings"][0]["pairs"][0];
    assert_eq!([&found["first"], &found["second"]].map(Value::as_u64), [Some(3), Some(1)]);
    assert!(success(&[&pair[..], &[text(&input)]].concat()).contains("channel 3 → channel 1"));
    // By name: a column of times that is read as a channel does not renumber the others.
    let table = folder.path().join("x.csv");
    let line = |index: u32| format!("{},{},{}\n", f64::from(index) / 100.0, tone(index), -tone(index));
    fs::write(&table, "time,a,b\n".to_owned() + &(0..600).map(line).collect::<String>()).unwrap();
    assert_eq!(numbers(&table, &["peaks", "--channel", "b"], &["channel", "label"]), ["1", "b"]);
    let both = ["peaks", "--channel", "time", "--channel", "b"];
    assert_eq!(numbers(&table, &both, &["channel", "label"]), ["1", "b", "2", "time"]);
}

#[test]
fn rates_and_power_out_of_range_name_what_makes_them_so() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("x.csv");
    let rows = (0..2000u64).map(|row| format!("{},{}\n", 1_700_000_000_000_000_000 + row * 5_000_000, row % 7));
    fs::write(&table, format!("time,x\n{}", rows.collect::<String>())).unwrap();
    let message = errors(&run(&["spectrum", text(&table)]));
    assert!(message.contains("column `time` are taken for seconds; --units says otherwise"), "{message}");
    success(&["spectrum", text(&table), "--units", "ns"]);
    let large = npy(&folder.path().join("large.npy"), (0..4096).map(|index| 1e30 * tone(index)));
    let out = folder.path().join("out.npy");
    let message = errors(&run(&["spectrogram", text(&large), "--rate", "100", "--out", text(&out)]));
    assert!(message.contains("large.npy: its power leaves the range"), "{message}");
}
