//! `firefly peaks`: its outputs, their order and their bytes.

use std::collections::{BTreeMap, HashMap};
use std::f32::consts::TAU;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::Stdio;

use crate::common::{errors, firefly, number, rows, run, samples, success, text, wav};
use firefly_recordings::{ReadOptions, open_with};
use firefly_reference::peaks::top_k;
use firefly_reference::welch::{PowerScaling, WelchDefinition, welch_psd};
use firefly_reference::window::{Symmetry, WindowShape, window};
use serde_json::json;

#[test]
fn peaks_are_those_of_the_definition_in_the_order_of_file_frame_channel_and_rank() {
    // Powers of two, round, odd and prime lengths; numbers of segments with and without a name.
    for (n_fft, segments, option) in [
        (64, 8, ["--model", "reference"]),
        (1000, 3, ["--segments", "3"]),
        (45, 5, ["--segments", "5"]),
        (97, 1, ["--model", "ultra"]),
        (2, 3, ["--segments", "3"]),
    ] {
        follow_the_definition(n_fft, segments, &option);
    }
}

/// Checks the peaks of frames against Welch's estimate in float64, by the definition of `scipy.signal.welch`.
fn follow_the_definition(n_fft: usize, segments: usize, model: &[&str]) {
    let (hop, bins) = (n_fft / 2, n_fft / 2 + 1);
    let (k, frame) = (5.min(bins), n_fft + (segments - 1) * hop);
    let lengths = [frame + 400, frame + 1200];
    let folder = tempfile::tempdir().unwrap();
    let signal = samples(2 * lengths[1]);
    wav(&folder.path().join("in/b.wav"), 2, &signal);
    wav(&folder.path().join("in/a.wav"), 1, &signal[..lengths[0]]);
    wav(&folder.path().join("in/short.wav"), 1, &signal[..frame - 1]);
    let out = folder.path().join("peaks.csv");
    let input = folder.path().join("in");
    let (n_fft_text, k_text) = (n_fft.to_string(), k.to_string());
    let estimate = ["--n-fft", &n_fft_text, "-k", &k_text, "--scaling", "density", "--detrend", "constant"];
    let printed =
        success(&[&["peaks", text(&input)], model, &estimate, &["--step", "200", "--out", text(&out)]].concat());
    assert!(printed.contains("recordings that are too short, left out: 1"), "{printed}");
    let rows = rows(&out);
    let coefficients = window(WindowShape::Hann, Symmetry::Periodic, n_fft);
    let definition = WelchDefinition {
        n_fft,
        hop,
        segments,
        scaling: PowerScaling::Density { sample_rate: 8000.0 },
        remove_mean: true,
    };
    let mut expected = rows.iter();
    for (name, channels, length) in [("a.wav", 1, lengths[0]), ("b.wav", 2, lengths[1])] {
        for index in (0..).take_while(|index| index * 200 + frame <= length) {
            for channel in 0..channels {
                let start = index * 200;
                let samples: Vec<f64> =
                    (start..start + frame).map(|at| f64::from(signal[at * channels + channel])).collect();
                let power = welch_psd(&samples, frame, &coefficients, &definition);
                let scale = power.iter().copied().fold(0.0, f64::max);
                let (strongest, power) = top_k(&power, bins, k);
                for rank in 0..k {
                    let row = expected.next().unwrap();
                    assert_eq!(row["file"], name);
                    let found = ["channel", "frame", "rank", "bin"].map(|column| number(row, column) as usize);
                    assert_eq!(found, [channel, index, rank + 1, strongest[rank] as usize], "n_fft {n_fft}");
                    assert_eq!(number(row, "time_s"), start as f64 / 8000.0);
                    let hertz = strongest[rank] as f64 * 8000.0 / n_fft as f64;
                    assert!((number(row, "frequency_hz") - hertz).abs() < 1e-9 * 8000.0);
                    assert!((number(row, "power") - power[rank]).abs() < 1e-5 * scale, "n_fft {n_fft}");
                    assert!((number(row, "power_db") - 10.0 * number(row, "power").log10()).abs() < 1e-4);
                }
            }
        }
    }
    assert!(expected.next().is_none());
}

#[test]
fn maxima_bands_and_the_picker_take_any_length_and_number_of_segments() {
    let folder = tempfile::tempdir().unwrap();
    let input = wav(&folder.path().join("x.wav"), 1, &samples(20_000));
    let out = folder.path().join("x.csv");
    let estimate = ["--n-fft", "1000", "--segments", "3", "-k", "4", "--out", text(&out)];
    let peaks = |more: &[&str]| {
        success(&[&["peaks", text(&input)], &estimate[..], more].concat());
        rows(&out).iter().map(|row| number(row, "frequency_hz")).collect::<Vec<_>>()
    };
    let exact = peaks(&[]);
    assert_eq!(exact.len(), 10 * 4);
    assert_eq!(peaks(&["--model", "auto"]), exact);
    // The tones are at 0.31 and 1.7 radians per sample.
    let tones = [0.31, 1.7].map(|radians| radians * 8000.0 / std::f64::consts::TAU);
    let maxima = peaks(&["--local-maxima", "--prominence", "15dB"]);
    assert!(tones.iter().all(|tone| maxima.iter().filter(|hertz| (**hertz - tone).abs() < 1.0).count() == 10));
    assert!(peaks(&["--band", "2000..2400"]).iter().all(|hertz| (2000.0..=2400.0).contains(hertz)));
    let refused = run(&["peaks", text(&input), "--model", "universal", "--segments", "3"]);
    assert!(errors(&refused).contains("--segments is set by the model universal"), "{}", errors(&refused));
}

/// Of a frame of eight segments, power is the mean of those of the segments that are averaged.
#[test]
fn segments_are_spread_or_listed() {
    const N: usize = 64;
    const FRAME: usize = N + 7 * N / 2;
    let folder = tempfile::tempdir().unwrap();
    let signal = samples(3 * FRAME);
    let (input, out) = (wav(&folder.path().join("x.wav"), 1, &signal), folder.path().join("x.csv"));
    let taper = window(WindowShape::Hann, Symmetry::Periodic, N);
    let single = WelchDefinition { n_fft: N, hop: 1, segments: 1, scaling: PowerScaling::Raw, remove_mean: false };
    for (options, indices, described) in [
        (&["--segments", "4", "--spread"][..], &[0, 2, 4, 6][..], "4 segments (spread over 8)"),
        (&["--spread=8", "--model", "fast"], &[0, 4], "2 segments (spread over 8)"),
        (&["--segments", "3", "--spread", "--model", "auto"], &[0, 2, 5], "3 segments (spread over 8)"),
        (&["--segments", "0,1,7"], &[0, 1, 7], "3 segments (0, 1, 7)"),
    ] {
        let estimate = ["peaks", text(&input), "--n-fft", "64", "-k", "3", "--out", text(&out)];
        let printed = success(&[&estimate[..], options].concat());
        assert!(printed.contains(described), "{printed}");
        let rows = rows(&out);
        assert_eq!(rows.len(), signal.len() / FRAME * 3);
        for (frame, rows) in signal.chunks(FRAME).zip(rows.chunks(3)) {
            let frame: Vec<f64> = frame.iter().map(|sample| f64::from(*sample)).collect();
            let mut power = vec![0.0; N / 2 + 1];
            for index in indices {
                let of_segment = welch_psd(&frame[index * N / 2..][..N], N, &taper, &single);
                power.iter_mut().zip(of_segment).for_each(|(sum, of)| *sum += of / indices.len() as f64);
            }
            let (bins, powers) = top_k(&power, N / 2 + 1, 3);
            for (row, (bin, power)) in rows.iter().zip(bins.iter().zip(&powers)) {
                assert_eq!(number(row, "bin") as i64, *bin, "{options:?}");
                assert!((number(row, "power") / power - 1.0).abs() < 1e-5, "{options:?}");
            }
        }
    }
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
        assert!(object["label"].is_null() && object["unit"].is_null() && row["label"].is_empty());
    }
    assert_eq!(json.lines().count(), csv.len());
    // A table's columns of numbers are read as channels; times, which are not even here, are left out.
    let mut parquet = Vec::new();
    let options = ReadOptions { ignores_times: true, ..ReadOptions::default() };
    let mut reader = open_with(&path("parquet"), &options).unwrap();
    assert_eq!(reader.layout().length, Some(csv.len() as u64));
    while reader.read(&mut parquet, 1000).unwrap() > 0 {}
    let columns = ["channel", "frame", "rank", "bin", "frequency_hz", "power", "power_db"];
    for (values, row) in parquet.chunks(columns.len()).zip(&csv) {
        assert_eq!(values, columns.map(|column| number(row, column) as f32));
    }
    let npy = fs::read(path("npy")).unwrap();
    let header = String::from_utf8_lossy(&npy[10..1024]);
    // The last two columns are a label and a unit, which the recording does not have.
    let width = text(&input).len() + 4 + 8 + 8 + 4 + 4 + 8 + 8 + 8 + 2 * 16;
    assert!(header.contains(&format!("'shape': ({},)", csv.len())), "{header}");
    assert_eq!(npy.len(), 1024 + width * csv.len());
    for (record, row) in npy[1024..].chunks(width).zip(&csv) {
        assert_eq!(record[width - 40..width - 32], number(row, "power_db").to_le_bytes());
        assert!(record[width - 32..].iter().all(|byte| *byte == 0));
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
        ("1e9..", "x.wav: --band is 1000000000.., but must be a band with bins: at 8000 Hz"),
    ] {
        let output = run(&["peaks", text(&input), "--band", band]);
        assert!(errors(&output).contains(reason), "{}", errors(&output));
    }
    let output = run(&["peaks", text(&input), "--band", "..100", "-k", "16"]);
    let message = "x.wav: -k is 16, but must be from 1 to the number of bins in the band at 8000 Hz, 4";
    assert!(errors(&output).contains(message), "{}", errors(&output));
}

#[test]
fn a_band_of_few_bins_has_as_many_peaks() {
    let folder = tempfile::tempdir().unwrap();
    let signal = samples(20_000);
    let input = wav(&folder.path().join("x.wav"), 2, &signal);
    let raw = folder.path().join("x.cf32");
    fs::write(&raw, signal.iter().flat_map(|sample| sample.to_le_bytes()).collect::<Vec<_>>()).unwrap();
    let complex = ["--format", "cf32", "--rate", "8000"];
    for (input, more) in
        [(&input, &[][..]), (&input, &["--model", "auto"]), (&input, &["--model", "universal"]), (&raw, &complex)]
    {
        let peaks = |k: &[&str]| {
            let out = folder.path().join("x.csv");
            let options = ["--n-fft", "64", "--band", "500..1375", "--out", text(&out)];
            (success(&[&["peaks", text(input)], more, &options[..], k].concat()), fs::read(out).unwrap())
        };
        // 8 bins, 125 Hz apart.
        let (printed, rows) = peaks(&[]);
        assert!(printed.contains("at most 16 peaks per frame"), "{printed}");
        assert!(rows == peaks(&["-k", "8"]).1, "{more:?}");
    }
}

#[test]
fn options_that_do_not_fit_one_recording_fail_it_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (input, out) = (folder.path().join("in"), folder.path().join("x.csv"));
    fs::create_dir(&input).unwrap();
    for (name, rate) in [("a.csv", 64.0), ("b.csv", 8.0), ("c.csv", 64.0)] {
        let row = |(index, sample): (usize, f32)| format!("{},{sample}\n", index as f64 / rate);
        let rows: String = samples(1000).into_iter().enumerate().map(row).collect();
        fs::write(input.join(name), format!("time_s,x\n{rows}")).unwrap();
    }
    for device in ["cpu", "cpu:0,cpu:1"] {
        let options = ["--n-fft", "64", "--band", "10..14", "--device", device, "--out", text(&out)];
        let output = run(&[&["peaks", text(&input)], &options[..]].concat());
        assert_eq!(output.status.code(), Some(1));
        let message = "error: b.csv: --band is 10..14, but must be a band with bins: at 8 Hz they are every 0.125 Hz";
        assert!(errors(&output).starts_with(message), "{}", errors(&output));
        // 10 frames of 5 bins.
        let files: Vec<String> = rows(&out).iter().map(|row| row["file"].clone()).collect();
        assert_eq!(files, [["a.csv"; 50], ["c.csv"; 50]].concat());
    }
    let output = run(&["peaks", text(&input), "--n-fft", "64", "--band", "3..9", "-k", "8"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).matches("-k is 8").count() == 2, "{}", errors(&output));
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
fn lines_of_a_stream_are_printed_while_it_goes_on() {
    let raw = ["peaks", "-", "--rate", "8000", "--format", "f32", "--channels", "2", "-k", "2"];
    let mut child = firefly(&raw).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut printed = BufReader::new(child.stdout.take().unwrap());
    let tone = |index: usize| (index as f32 * TAU / 8.0).sin();
    let mut row = String::new();
    for second in 1..=2 {
        // A second, and what its last block waits for; the stream stays open.
        let samples = (0..if second == 1 { 12_000 } else { 8000 }).flat_map(|index| [tone(index), 0.5 * tone(index)]);
        input.write_all(&samples.flat_map(f32::to_le_bytes).collect::<Vec<u8>>()).unwrap();
        for (channel, power) in [(0, "39.1 dB"), (1, "33.1 dB")] {
            row.clear();
            printed.read_line(&mut row).unwrap();
            let seconds: f64 = row.trim().split(' ').next().unwrap().parse().unwrap();
            assert!((f64::from(second)..f64::from(second) + 0.5).contains(&seconds), "{row}");
            let wanted = [format!("channel {channel}  1000 Hz"), power.to_owned()];
            assert!(wanted.iter().all(|wanted| row.contains(wanted)), "{row}");
        }
    }
    drop(input);
    row.clear();
    printed.read_to_string(&mut row).unwrap();
    assert!(row.contains("1000 Hz") && row.contains("100.0\u{202f}%"), "{row}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn documents_have_the_lines_of_every_channel() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("x.csv");
    let tone = |index: usize, cycle: usize| (index as f32 * TAU / cycle as f32).cos();
    let lines = (0..4000).map(|index| format!("{},{},{}\n", index as f32 / 64.0, tone(index, 8), tone(index, 4)));
    fs::write(&table, format!("time,left,right\n(s),(V),()\n{}", lines.collect::<String>())).unwrap();
    let document = |command: &str| -> serde_json::Value {
        let more = if command == "info" { &[][..] } else { &["--n-fft", "64"] };
        let printed = success(&[&[command, text(&table), "--json"], more].concat());
        serde_json::from_str(&printed).unwrap()
    };
    for command in ["peaks", "spectrum"] {
        let found = document(command);
        assert_eq!(
            (&found["command"], &found["scaling"], &found["n_fft"]),
            (&json!(command), &json!("power"), &json!(64))
        );
        assert_eq!((&found["failed"], &found["too_short"]), (&json!([]), &json!(0)));
        for (channel, label, unit, hertz) in [(0, "left", json!("V"), 8.0), (1, "right", json!(null), 16.0)] {
            let found = &found["channels"][channel];
            assert_eq!((&found["channel"], &found["label"], &found["unit"]), (&json!(channel), &json!(label), &unit));
            assert_eq!((&found["rate_hz"], &found["recording"]), (&json!(64.0), &json!(text(&table))));
            let line = &found["lines"][0];
            assert_eq!(line["frequency_hz"], json!(hertz));
            assert!((line["power"].as_f64().unwrap() / 512.0 - 1.0).abs() < 1e-3, "{line}");
            match command {
                "peaks" => assert_eq!(line["share"], json!(1.0)),
                _ => assert_eq!(found["power"].as_array().unwrap().len(), 33),
            }
        }
    }
    let info = &document("info")["recordings"][0];
    assert_eq!((&info["format"], &info["samples"], &info["rate_hz"]), (&json!("CSV"), &json!(4000), &json!(64.0)));
    assert_eq!(info["channels"], json!([{ "label": "left", "unit": "V" }, { "label": "right", "unit": null }]));
    let out = folder.path().join("out.csv");
    for command in ["peaks", "spectrum"] {
        success(&[command, text(&table), "--n-fft", "64", "--out", text(&out)]);
        for row in rows(&out) {
            let expected = if row["channel"] == "0" { ["left", "V"] } else { ["right", ""] };
            assert_eq!([&row["label"], &row["unit"]], expected);
        }
    }
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
    refused(&[input, "--n-fft", "0"], "0 is not in 1..=16777216");
    refused(&[input, "--segments", "0"], "--segments is 0");
    refused(&[input, "--segments", "0,128"], "below 128");
    refused(&[input, "--segments", "8", "--spread"], "--spread is 8, but must be more segments than the 8");
    refused(&[input, "--segments", "0,4", "--spread"], "--segments lists them");
    refused(&[input, "--model", "universal", "--spread"], "--spread is set by the model universal");
    refused(&[input, "-k", "200"], "from 1 to the number of bins, 129");
    refused(&[input, "--hop", "0"], "--hop is 0");
    refused(&[input, "--model", "referense"], "did you mean `reference`?");
    refused(&[input, "--model", "univrsal"], "did you mean `universal`?");
    refused(&[input, "--model", "universal", "--window", "hann"], "--window is set by the model universal");
    refused(&[input, "--model", "universal", "--n-fft", "99"], "--n-fft is 99");
    refused(&[input, "--scaling", "densty"], "did you mean `density`?");
    refused(&[input, "--out", "x.txt"], "accepted: parquet, csv, jsonl and npy");
    refused(&[input, "--out", text(folder.path())], "accepted: parquet");
    refused(&[input, "--format", "s16"], "samples with --format need --rate");
    refused(&[input, "--format", "s16", "--rate", "9"], "--format is for samples without a header");
    refused(&[input, "--channels", "2"], "--channels is for samples with --format; --channel chooses");
    refused(
        &[input, "--window", "dpss(200)"],
        "--window dpss(NW): NW is 200, but must be above 0 and below half of 256",
    );
    refused(&[input, "--shard", "-1/4"], "`-1/4` is not a shard: I/N with I from 1 to N");
    refused(&[input, "--channel", "left"], "it has no channel `left`; its channels are 0 to 0");
    refused(&[input, "--time-column", "t"], "--time-column is for tables");
    refused(&[input, "--dataset", "x"], "--dataset is for HDF5 files");
    refused(&[input, "--n-fft", "8192"], "no recording has the 12288 samples of a frame");
    refused(&["-"], "need --rate and --format");
    refused(&["no-such.wav"], "no-such.wav: No such file");
    refused(&[text(&text_file)], "nothing was computed: the errors above say why");
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
