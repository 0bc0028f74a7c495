//! `firefly peaks`: its outputs, their order and their bytes.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use crate::common::{errors, firefly, number, rows, run, samples, success, text, wav};
use firefly_reference::peaks::top_k;
use firefly_reference::welch::{PowerScaling, WelchDefinition, welch_psd};
use firefly_reference::window::{Symmetry, WindowShape, window};
use firefly_trainer::data::formats::open;

#[test]
fn peaks_are_those_of_the_definition_in_the_order_of_file_frame_channel_and_rank() {
    let folder = tempfile::tempdir().unwrap();
    let signal = samples(2 * 1500);
    wav(&folder.path().join("in/b.wav"), 2, &signal);
    wav(&folder.path().join("in/a.wav"), 1, &signal[..700]);
    wav(&folder.path().join("in/short.wav"), 1, &signal[..100]);
    let out = folder.path().join("peaks.csv");
    let input = folder.path().join("in");
    let printed = success(&[
        "peaks",
        text(&input),
        "--model",
        "reference",
        "--n-fft",
        "64",
        "-k",
        "5",
        "--scaling",
        "density",
        "--detrend",
        "constant",
        "--step",
        "200",
        "--out",
        text(&out),
    ]);
    assert!(printed.contains("recordings that are too short, left out: 1"), "{printed}");
    let rows = rows(&out);
    let frame = 64 + 7 * 32;
    let coefficients = window(WindowShape::Hann, Symmetry::Periodic, 64);
    let definition = WelchDefinition {
        n_fft: 64,
        hop: 32,
        segments: 8,
        scaling: PowerScaling::Density { sample_rate: 8000.0 },
        remove_mean: true,
    };
    let mut expected = rows.iter();
    for (name, channels, length) in [("a.wav", 1, 700), ("b.wav", 2, 1500)] {
        for index in (0..).take_while(|index| index * 200 + frame <= length) {
            for channel in 0..channels {
                let start = index * 200;
                let samples: Vec<f64> =
                    (start..start + frame).map(|at| f64::from(signal[at * channels + channel])).collect();
                let power = welch_psd(&samples, frame, &coefficients, &definition);
                let (bins, power) = top_k(&power, 33, 5);
                for rank in 0..5 {
                    let row = expected.next().unwrap();
                    assert_eq!(row["file"], name);
                    let found = ["channel", "frame", "rank", "bin"].map(|column| number(row, column) as usize);
                    assert_eq!(found, [channel, index, rank + 1, bins[rank] as usize]);
                    assert_eq!(number(row, "time_s"), start as f64 / 8000.0);
                    assert_eq!(number(row, "frequency_hz"), bins[rank] as f64 * 125.0);
                    assert!((number(row, "power") / power[rank] - 1.0).abs() < 1e-5);
                    assert!((number(row, "power_db") - 10.0 * power[rank].log10()).abs() < 1e-4);
                }
            }
        }
    }
    assert!(expected.next().is_none());
}

/// The estimate is the mean power of two windows (`models/tests/suite/gains.rs`), so most of its peaks are the
/// reference's, and a tone has the power of both windows at it.
#[test]
fn the_universal_estimate_takes_the_options_of_exact_ones() {
    let folder = tempfile::tempdir().unwrap();
    let input = wav(&folder.path().join("x.wav"), 1, &samples(8000));
    let peaks = |model: &str| {
        let out = folder.path().join(format!("{model}.csv"));
        let options =
            ["--n-fft", "128", "-k", "8", "--detrend", "constant", "--scaling", "density", "--out", text(&out)];
        let printed = success(&[&["peaks", text(&input), "--model", model][..], &options].concat());
        (printed, rows(&out))
    };
    let ((printed, universal), (_, reference)) = (peaks("universal"), peaks("reference"));
    assert!(printed.contains("n_fft 128, hop 64, 2 of 8 segments, density scaling"), "{printed}");
    assert_eq!(universal.len(), reference.len());
    let place = |row: &HashMap<String, String>| (number(row, "frame") as usize, number(row, "bin") as usize);
    let of_reference: std::collections::HashSet<_> = reference.iter().map(place).collect();
    let found = universal.iter().filter(|row| of_reference.contains(&place(row))).count();
    assert!(2 * found > universal.len(), "{found} of {}", universal.len());
    // The strongest peak, a tone, within 3 dB of the reference's power.
    for (row, expected) in universal.iter().zip(&reference).filter(|(row, _)| number(row, "rank") == 1.0) {
        assert_eq!(place(row), place(expected));
        assert!((number(row, "power_db") - number(expected, "power_db")).abs() < 3.0);
    }
}

#[test]
fn every_format_has_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let input = wav(&folder.path().join("x.wav"), 1, &samples(200_000));
    let path = |extension: &str| folder.path().join(format!("p.{extension}"));
    for extension in ["csv", "jsonl", "npy", "parquet"] {
        success(&["peaks", text(&input), "--model", "ultra", "--out", text(&path(extension))]);
    }
    let csv = rows(&path("csv"));
    // More rows than a row group of Parquet has: 781 frames would be 12,496.
    assert_eq!(csv.len(), 200_000 / 256 * 16);
    let json = fs::read_to_string(path("jsonl")).unwrap();
    for (line, row) in json.lines().zip(&csv) {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(object["file"], row["file"]);
        for column in ["channel", "frame", "time_s", "rank", "bin", "frequency_hz", "power_db"] {
            assert_eq!(object[column].as_f64().unwrap(), number(row, column), "{column}");
        }
        assert_eq!(object["power"].as_f64().unwrap() as f32, number(row, "power") as f32);
    }
    assert_eq!(json.lines().count(), csv.len());
    // A table's columns of numbers are read as channels; times are left out.
    let mut parquet = Vec::new();
    let mut reader = open(&path("parquet")).unwrap();
    assert_eq!(reader.layout().length, Some(csv.len() as u64));
    while reader.read(&mut parquet, 1000).unwrap() > 0 {}
    let columns = ["channel", "frame", "rank", "bin", "frequency_hz", "power", "power_db"];
    for (values, row) in parquet.chunks(columns.len()).zip(&csv) {
        assert_eq!(values, columns.map(|column| number(row, column) as f32));
    }
    let npy = fs::read(path("npy")).unwrap();
    let header = String::from_utf8_lossy(&npy[10..1024]);
    let width = text(&input).len() + 4 + 8 + 8 + 4 + 4 + 8 + 4 + 8;
    assert!(header.contains(&format!("'shape': ({},)", csv.len())), "{header}");
    assert_eq!(npy.len(), 1024 + width * csv.len());
    for (record, row) in npy[1024..].chunks(width).zip(&csv) {
        assert_eq!(record[width - 8..], number(row, "power_db").to_le_bytes());
    }
}

#[test]
fn peaks_of_a_band_are_the_strongest_of_its_frequencies() {
    let folder = tempfile::tempdir().unwrap();
    // 8,000 Hz: with segments of 64 samples, bins are 125 Hz apart.
    let input = wav(&folder.path().join("x.wav"), 2, &samples(20_000));
    let rows_of = |k: &str, more: &[&str]| {
        let out = folder.path().join("x.csv");
        success(&[&["peaks", text(&input), "--n-fft", "64", "-k", k, "--out", text(&out)], more].concat());
        rows(&out)
    };
    for more in [&["--model", "fast"][..], &["--model", "auto"], &["--local-maxima"]] {
        // Every peak of every frame, of which the two strongest in the band are expected.
        let all = if more == ["--local-maxima"] { "15" } else { "33" };
        let bins_of = |rows: &[HashMap<String, String>]| {
            let mut bins = BTreeMap::<_, Vec<f64>>::new();
            for row in rows.iter().filter(|row| (500.0..=1375.0).contains(&(125.0 * number(row, "bin")))) {
                bins.entry((row["channel"].clone(), row["frame"].clone())).or_default().push(number(row, "bin"));
            }
            bins
        };
        let mut expected = bins_of(&rows_of(all, more));
        expected.values_mut().for_each(|bins| bins.truncate(2));
        assert!(expected.len() > 100);
        let found = rows_of("2", &[more, &["--band", "500..1375"]].concat());
        let bins = bins_of(&found);
        assert_eq!(bins.values().map(Vec::len).sum::<usize>(), found.len());
        assert_eq!(bins, expected, "{more:?}");
    }
    for (band, reason) in [
        ("5", "as in 500..5000"),
        ("7..3", "as in 500..5000"),
        ("1e9..", "error: peaks: `--band` is 1000000000.., but must be a band with bins: at "),
    ] {
        let output = run(&["peaks", text(&input), "--band", band]);
        assert!(errors(&output).contains(reason), "{}", errors(&output));
    }
    let output = run(&["peaks", text(&input), "--band", "..100"]);
    assert!(errors(&output).contains("`k` is 16"), "{}", errors(&output));
}

#[test]
fn a_trained_model_that_halves_its_transform_searches_the_bins_that_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let input = wav(&folder.path().join("x.wav"), 1, &samples(20_000));
    let (config, run_folder) = (folder.path().join("halved.toml"), folder.path().join("run"));
    let text_of_config = "[model]\nn_fft = 128\nhop = 64\nk = 4\nhalvings = 1\nband = [3, 62]\n\
        [training]\nsteps = 1\nlearn = [\"gain\"]\n[data]\nsynthetic_frames = 8\n";
    fs::write(&config, text_of_config).unwrap();
    success(&["train", text(&config), "--device", "cpu", "--out", text(&run_folder)]);
    let out = folder.path().join("x.csv");
    let peaks = ["peaks", text(&input), "--model", text(&run_folder), "--device", "cpu", "--out", text(&out)];
    success(&peaks);
    // The bins of the band that the halved transform has.
    let found = rows(&out);
    assert!(found.len() > 50);
    assert!(found.iter().all(|row| (3.0..33.0).contains(&number(row, "bin"))), "{:?}", found[0]);
    // Bins are 62.5 Hz apart, and the halved transform has those up to 2,000 Hz.
    let output = run(&[&peaks[..], &["--band", "2500..3500"]].concat());
    assert!(errors(&output).contains("it halves its transform, which has the bins 0..33"), "{}", errors(&output));
}

#[test]
fn frames_without_peaks_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gap.csv");
    // Of six frames the second has a sample that is missing, and the sixth one that is infinite.
    let mut cells: Vec<String> = samples(6 * 96).iter().map(f32::to_string).collect();
    (cells[100], cells[6 * 96 - 1]) = (String::new(), "inf".to_owned());
    fs::write(
        &file,
        format!("t,a\n{}", cells.iter().enumerate().map(|(i, x)| format!("{i},{x}\n")).collect::<String>()),
    )
    .unwrap();
    let arguments = ["peaks", text(&file), "--rate", "8000", "--n-fft", "64", "-k", "4", "--step", "96"];
    let printed = success(&arguments);
    assert!(printed.contains("frames without peaks: 2 of 6"), "{printed}");
    let printed = success(&[&arguments[..], &["--local-maxima", "--height", "1e30"]].concat());
    assert!(printed.contains("frames without peaks: 6 of 6"), "{printed}");
}

#[test]
fn shards_together_are_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let signal = samples(50_000);
    let one = wav(&folder.path().join("one/a.wav"), 2, &signal);
    for name in ["a.wav", "b.wav", "c.wav", "d.wav", "e.wav"] {
        wav(&folder.path().join("many").join(name), 1, &signal);
    }
    let many = folder.path().join("many");
    let options = [&[][..], &["--local-maxima", "--prominence", "6dB"]];
    for (input, options) in [text(&one), text(&many)].into_iter().flat_map(|input| options.map(|more| (input, more))) {
        let rows_of = |shard: &str| {
            let out = folder.path().join("x.jsonl");
            let arguments = ["peaks", input, "--shard", shard, "--step", "100", "--out", text(&out)];
            success(&[&arguments, options].concat());
            fs::read_to_string(out).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let mut whole = rows_of("1/1");
        let mut together: Vec<String> = (1..=3).flat_map(|shard| rows_of(&format!("{shard}/3"))).collect();
        whole.sort();
        together.sort();
        assert!(whole == together);
    }
    let output = run(&["peaks", text(&many), "--shard", "0/3"]);
    assert!(errors(&output).contains("I from 1 to N"), "{}", errors(&output));
}

#[test]
fn samples_on_standard_input_have_the_peaks_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let signal = samples(60_000);
    let input = wav(&folder.path().join("-"), 3, &signal).with_extension("wav");
    fs::rename(folder.path().join("-"), &input).unwrap();
    let [from_file, from_pipe] = ["file.csv", "pipe.csv"].map(|name| folder.path().join(name));
    success(&["peaks", text(&input), "--out", text(&from_file)]);
    let raw = ["peaks", "-", "--rate", "8000", "--format", "f32le", "--channels", "3", "--out", text(&from_pipe)];
    let mut child = firefly(&raw).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let bytes: Vec<u8> = signal.iter().flat_map(|sample| sample.to_le_bytes()).collect();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    assert!(child.wait().unwrap().success());
    let without_name = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(|line| line.split_once(',').unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(without_name(&from_file), without_name(&from_pipe));
}

#[test]
fn impossible_commands_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let input = wav(&folder.path().join("x.wav"), 1, &samples(5000));
    let text_file = folder.path().join("x.txt");
    fs::write(&text_file, "no sound").unwrap();
    let numbers = folder.path().join("x.csv");
    fs::write(&numbers, "1\n2\n".repeat(500)).unwrap();
    let refused = |arguments: &[&str], message: &str| {
        let output = run(&[&["peaks"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(errors(&output).contains(message), "{}", errors(&output));
    };
    let input = text(&input);
    refused(&[input, "--n-fft", "100"], "`n_fft` is 100");
    refused(&[input, "-k", "200"], "from 1 to the number of bins, 129");
    refused(&[input, "--hop", "0"], "`hop` is 0");
    refused(&[input, "--model", "referense"], "did you mean `reference`?");
    refused(&[input, "--model", "univrsal"], "did you mean `universal`?");
    refused(&[input, "--model", "universal", "--window", "hann"], "--window is set by the model universal");
    refused(&[input, "--model", "universal", "--n-fft", "100"], "`n_fft` is 100");
    refused(&[input, "--scaling", "densty"], "did you mean `density`?");
    refused(&[input, "--out", "x.txt"], "accepted: parquet, csv, jsonl and npy");
    refused(&[input, "--out", text(folder.path())], "accepted: parquet");
    refused(&[input, "--format", "s16"], "--format is for samples on standard input");
    refused(&[input, "--n-fft", "8192"], "no recording has the 12288 samples of a frame");
    refused(&["-"], "need --rate and --format");
    refused(&["no-such.wav"], "no-such.wav: No such file");
    refused(&[text(&text_file)], "no recording could be read");
    refused(&[text(&text_file)], "accepted: wav, flac, ogg");
    refused(&[text(&numbers)], "give --rate HZ");
    success(&["peaks", text(&numbers), "--rate", "100"]);
    #[cfg(unix)]
    {
        let device = folder.path().join("null.csv");
        std::os::unix::fs::symlink("/dev/null", &device).unwrap();
        refused(&[input, "--out", text(&device)], "an output must be a file");
    }
}
