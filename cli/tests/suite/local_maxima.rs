//! `firefly peaks --local-maxima`: SciPy's maxima, frequencies between bins, and tables without empty rows.

use std::f64::consts::TAU;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{errors, number, rows, run, success, text, wav};
use serde::Deserialize;

/// Results of `scipy.signal.find_peaks`, as `make_local_maxima.py` writes them.
#[derive(Deserialize)]
struct Stored {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    options: Vec<String>,
    /// Maxima of each frame: bin, frequency, power and prominence.
    frames: Vec<Vec<(i64, f64, f64, f64)>>,
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn is_close(found: f64, expected: f64, scale: f64) -> bool {
    (found - expected).abs() <= 1e-5 * scale
}

#[test]
fn stored_maxima_of_scipy_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("lines.csv");
    let stored: Stored = serde_json::from_slice(&fs::read(fixture("local_maxima.json")).unwrap()).unwrap();
    assert_eq!(stored.cases.len(), 8);
    let hertz_per_bin = 8000.0 / 128.0;
    for case in &stored.cases {
        let recording = fixture("tones.wav");
        let mut arguments = vec!["peaks", text(&recording), "--local-maxima", "--n-fft", "128", "--out", text(&out)];
        arguments.extend(case.options.iter().map(String::as_str));
        success(&arguments);
        let rows = rows(&out);
        assert_eq!(rows.len(), case.frames.iter().map(Vec::len).sum::<usize>(), "{arguments:?}");
        let expected = case.frames.iter().enumerate().flat_map(|(frame, maxima)| {
            maxima.iter().enumerate().map(move |(rank, maximum)| (frame, rank + 1, *maximum))
        });
        for (row, (frame, rank, (bin, frequency, power, prominence))) in rows.iter().zip(expected) {
            assert_eq!([number(row, "frame"), number(row, "rank")], [frame as f64, rank as f64], "{arguments:?}");
            assert_eq!(number(row, "bin"), bin as f64, "{arguments:?}, frame {frame}");
            assert!(is_close(number(row, "frequency_hz"), frequency, 100.0 * hertz_per_bin), "{row:?} {frequency}");
            assert!(is_close(number(row, "power"), power, power), "{row:?} {power}");
            assert!(is_close(number(row, "prominence"), prominence, power), "{row:?} {prominence}");
            assert!((number(row, "power_db") - 10.0 * power.log10()).abs() < 1e-3, "{row:?}");
        }
    }
}

#[test]
fn a_tone_between_two_bins_has_its_frequency() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("lines.csv");
    // 125 Hz are four bins of 256 samples at 8 kHz; the tone lies 0.37 bins above one.
    let hertz = 1011.5625;
    let tone = |index: usize| (0.5 * (TAU * hertz * index as f64 / 8000.0).sin()) as f32;
    let input = wav(&folder.path().join("tone.wav"), 1, &(0..16_000).map(tone).collect::<Vec<_>>());
    for (window, least_error) in [("hann", 0.001), ("blackman", 0.02)] {
        let options = ["--local-maxima", "--prominence", "40dB", "--scaling", "spectrum", "--window", window];
        success(&[&["peaks", text(&input)][..], &options, &["--out", text(&out)]].concat());
        let rows = rows(&out);
        assert_eq!(rows.len(), 16_000 / 384, "one line per frame");
        for row in &rows {
            assert_eq!(number(row, "bin"), 32.0);
            let error = (number(row, "frequency_hz") - hertz) / (8000.0 / 256.0);
            assert!(error.abs() < least_error, "{window}: {error} bins");
        }
    }
}

#[test]
fn a_frame_without_maxima_has_no_rows_in_any_table() {
    let folder = tempfile::tempdir().unwrap();
    let mut signal = vec![0.0; 384 * 3];
    // A tone in the middle frame only.
    (384..768).for_each(|index| signal[index] = (index as f32 * 0.7).sin());
    let input = wav(&folder.path().join("x.wav"), 1, &signal);
    let options = ["--local-maxima", "--prominence", "20dB", "--height", "0dB", "-k", "3"];
    let path = |extension: &str| folder.path().join(format!("x.{extension}"));
    for extension in ["csv", "jsonl", "parquet", "npy"] {
        let printed = success(&[&["peaks", text(&input), "--out", text(&path(extension))], &options[..]].concat());
        assert!(printed.contains(": 1 rows"), "{printed}");
        assert!(printed.contains("at most 3 local maxima per frame (height 0dB, prominence 20dB"), "{printed}");
    }
    assert_eq!(rows(&path("csv")).iter().map(|row| number(row, "frame")).collect::<Vec<_>>(), [1.0]);
    assert_eq!(fs::read_to_string(path("jsonl")).unwrap().lines().count(), 1);
    assert!(String::from_utf8_lossy(&fs::read(path("npy")).unwrap()[..1024]).contains("'shape': (1,)"));
    // A recording of silence has a table without rows.
    let silent = wav(&folder.path().join("silent.wav"), 1, &[0.0; 1000]);
    for extension in ["csv", "parquet", "npy"] {
        success(&["peaks", text(&silent), "--local-maxima", "--out", text(&path(extension))]);
    }
    assert!(rows(&path("csv")).is_empty());
}

#[test]
fn conditions_out_of_range_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let input = wav(&folder.path().join("x.wav"), 1, &[0.5; 1000]);
    let refused = |options: &[&str], message: &str| {
        let output = run(&[&["peaks", text(&input)], options].concat());
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        assert!(errors(&output).contains(message), "{}", errors(&output));
    };
    refused(&["--height", "-40dB"], "--height is for --local-maxima");
    refused(&["--local-maxima", "--distance", "-4Hz"], "`-4Hz` is not a distance: bins from 1");
    refused(&["--local-maxima", "--height", "loud"], "`loud` is not a power");
    refused(&["--local-maxima", "--height=-3"], "decibels need their unit");
    refused(&["--local-maxima", "--height", "nan"], "`nan` is not a power");
    refused(&["--local-maxima", "--prominence", "90dB"], "0dB to 60dB");
    refused(&["--local-maxima", "--prominence", "-1dB"], "0dB to 60dB");
    refused(&["--local-maxima", "--distance", "0"], "bins from 1");
    refused(&["--local-maxima", "--distance", "5dB"], "hertz from 0");
    refused(&["--local-maxima", "-k", "0"], "-k is 0");
}
