//! `firefly spectrum` and `firefly spectrogram`: their values, drawings and errors.

use std::fs;

use crate::common::{errors, number, rows, run, samples, success, text, wav};
use firefly_reference::welch::{PowerScaling, WelchDefinition, welch_psd};
use firefly_reference::window::{Symmetry, WindowShape, window};

#[test]
fn a_spectrum_is_the_average_over_all_whole_segments() {
    let folder = tempfile::tempdir().unwrap();
    let signal = samples(2 * 3333);
    let input = wav(&folder.path().join("x.wav"), 2, &signal);
    let out = folder.path().join("x.csv");
    let options = ["--n-fft", "64", "--hop", "48", "--window", "hamming", "--scaling", "density", "--out", text(&out)];
    let printed = success(&[&["spectrum", text(&input)], &options[..]].concat());
    assert!(printed.contains("segments"), "{printed}");
    let definition = WelchDefinition {
        n_fft: 64,
        hop: 48,
        segments: (3333 - 64) / 48 + 1,
        scaling: PowerScaling::Density { sample_rate: 8000.0 },
        remove_mean: false,
    };
    let coefficients = window(WindowShape::Hamming, Symmetry::Periodic, 64);
    let table = fs::read_to_string(out).unwrap();
    let mut rows = table.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    for channel in 0..2 {
        let samples: Vec<f64> = signal.iter().skip(channel).step_by(2).map(|sample| f64::from(*sample)).collect();
        for (bin, power) in welch_psd(&samples, 3333, &coefficients, &definition).into_iter().enumerate() {
            let row = rows.next().unwrap();
            assert_eq!(row[1..4], [channel.to_string(), bin.to_string(), (bin as f64 * 125.0).to_string()]);
            assert!((row[4].parse::<f64>().unwrap() / power - 1.0).abs() < 1e-5, "bin {bin}");
        }
    }
    assert!(rows.next().is_none());
}

#[test]
fn a_multitaper_estimate_is_that_of_scipys_tapers() {
    let folder = tempfile::tempdir().unwrap();
    let input = wav(&folder.path().join("x.wav"), 1, &samples(300));
    let out = folder.path().join("x.csv");
    let options = ["--n-fft", "64", "--hop", "40", "--out", text(&out)];
    let command = |command: &[&str]| success(&[command, &[text(&input)], &options].concat());
    let printed = command(&["spectrum", "--multitaper=2.5"]);
    assert!(printed.contains("multitaper of NW 2.5 (K = 4), density scaling, detrend constant"), "{printed}");
    // With x the samples, SciPy 1.17 and
    //     v, r = scipy.signal.windows.dpss(65, 2.5, 4, return_ratios=True)
    // the mean over the six segments y of r @ abs(rfft((y - y.mean()) * v[:, :64]))**2 / r.sum() / 8000, twice that of
    // bins 1 to 31.
    let found = rows(&out);
    let strongest = found.iter().map(|row| number(row, "power")).fold(0.0, f64::max);
    for (bin, expected) in [
        (0, 2.241936869e-6),
        (1, 4.314169108e-5),
        (3, 7.772836395e-5),
        (10, 6.909400195e-7),
        (17, 1.159201270e-5),
        (31, 1.033688842e-6),
        (32, 6.356936660e-7),
    ] {
        assert!((number(&found[bin], "power") - expected).abs() < 1e-5 * strongest, "{:?}: {expected}", found[bin]);
    }
    command(&["spectrum", "--multitaper=2.5", "--scaling", "power"]);
    assert!((number(&rows(&out)[3], "power") / 8000.0 / 7.772836395e-5 - 1.0).abs() < 1e-5);
    // Of an envelope, too: 7 tapers by default.
    let printed = command(&["envelope", "--multitaper", "--band", "200..600"]);
    assert!(printed.contains("multitaper of NW 4 (K = 7), density scaling"), "{printed}");
    assert_eq!(rows(&out).len(), 33);
}

#[test]
fn a_spectrogram_has_a_row_per_spectrum_of_its_channel() {
    for (n_fft, segments) in [(128, 1), (100, 3), (75, 2)] {
        rows_follow_the_definition(n_fft, segments);
    }
}

fn rows_follow_the_definition(n_fft: usize, segments: usize) {
    let (hop, bins) = (n_fft / 2, n_fft / 2 + 1);
    let (frame, step) = (n_fft + (segments - 1) * hop, segments * hop);
    let folder = tempfile::tempdir().unwrap();
    let signal = samples(3 * 2000);
    let input = wav(&folder.path().join("x.wav"), 3, &signal);
    let out = folder.path().join("x.npy");
    let estimate = ["--n-fft", &n_fft.to_string(), "--segments", &segments.to_string()];
    success(&[&["spectrogram", text(&input), "--channel", "1", "--out", text(&out)], &estimate[..]].concat());
    let bytes = fs::read(out).unwrap();
    let rows = (2000 - frame) / step + 1;
    assert!(String::from_utf8_lossy(&bytes[..128]).contains(&format!("'shape': ({rows}, {bins})")));
    let power: Vec<f32> = bytes[128..].as_chunks::<4>().0.iter().map(|raw| f32::from_le_bytes(*raw)).collect();
    assert_eq!(power.len(), rows * bins);
    let definition = WelchDefinition { n_fft, hop, segments, scaling: PowerScaling::Raw, remove_mean: false };
    let coefficients = window(WindowShape::Hann, Symmetry::Periodic, n_fft);
    let channel: Vec<f64> = signal.iter().skip(1).step_by(3).map(|sample| f64::from(*sample)).collect();
    for (row, found) in power.chunks(bins).enumerate() {
        let expected = welch_psd(&channel[row * step..row * step + frame], frame, &coefficients, &definition);
        let scale = expected.iter().copied().fold(0.0, f64::max);
        assert!(found.iter().zip(&expected).all(|(found, power)| (f64::from(*found) - power).abs() < 1e-5 * scale));
    }
}

#[test]
fn drawings_are_self_contained_and_name_their_recording() {
    let folder = tempfile::tempdir().unwrap();
    let input = wav(&folder.path().join("a<b>.wav"), 1, &samples(40_000));
    for command in ["peaks", "spectrum", "spectrogram"] {
        for extension in ["svg", "html", "png"] {
            let path = folder.path().join(format!("{command}.{extension}"));
            success(&[command, text(&input), "--plot", text(&path)]);
            let bytes = fs::read(&path).unwrap();
            if extension == "png" {
                assert!(bytes.starts_with(b"\x89PNG") && bytes.ends_with(b"IEND\xae\x42\x60\x82"));
            } else {
                let drawing = String::from_utf8(bytes).unwrap();
                assert!(drawing.contains("<svg") && drawing.contains("a&lt;b&gt;.wav") && !drawing.contains("NaN"));
                let linked = drawing.split("href=").skip(1).any(|link| !link.starts_with("\"data:"));
                assert!(!drawing.contains("src=\"http") && !linked, "{command}.{extension}");
            }
        }
    }
}

#[test]
fn a_spectrogram_says_which_of_several_channels_it_shows() {
    let folder = tempfile::tempdir().unwrap();
    let input = wav(&folder.path().join("x.wav"), 2, &samples(4000));
    let plot = folder.path().join("x.svg");
    let notes = |more: &[&str]| {
        let output = run(&[&["spectrogram", text(&input), "--plot", text(&plot)], more].concat());
        assert!(output.status.success());
        errors(&output)
    };
    let note = notes(&[]);
    assert!(note.ends_with("x.wav: channel 0 of 2 is shown, --channel chooses another\n"), "{note}");
    for more in [&["--channel", "0"][..], &["--quiet"], &["--iq"]] {
        assert_eq!(notes(more), "");
    }
}

#[test]
fn tracks_of_a_tone_and_a_chirp_are_a_table() {
    let folder = tempfile::tempdir().unwrap();
    // 2000 Hz, and from 500 Hz by 400 Hz per second.
    let sample = |i: usize| {
        let time = i as f64 / 8000.0;
        let cycles = [2000.0 * time, 500.0 * time + 200.0 * time * time];
        let [tone, chirp] = cycles.map(|cycles| (std::f64::consts::TAU * cycles).sin());
        (0.5 * tone + 0.25 * chirp) as f32
    };
    let input = wav(&folder.path().join("x.wav"), 1, &(0..8000).map(sample).collect::<Vec<_>>());
    let out = folder.path().join("tracks.csv");
    let arguments = ["spectrogram", text(&input), "--tracks", "2", "--tracks-out", text(&out)];
    let printed = success(&arguments);
    assert!(printed.contains("tracks: 2 in ") && printed.contains(", 0 of fewer than 4 peaks left out"), "{printed}");
    let tracks = rows(&out);
    assert_eq!(tracks.len(), 2);
    // 61 spectra of 256 samples, 128 apart; the middle of the first is 0.016 s, that of the last 0.976 s after the start.
    let expected = [[2000.0; 3], [500.0 + 400.0 * 0.496, 500.0 + 400.0 * 0.016, 500.0 + 400.0 * 0.976]];
    for (track, expected) in tracks.iter().zip(expected) {
        assert_eq!(["start_s", "end_s", "peaks"].map(|column| number(track, column)), [0.0, 0.992, 61.0]);
        let hertz = ["frequency_hz", "lowest_hz", "highest_hz"].map(|column| number(track, column));
        assert!(hertz.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 3.0), "{hertz:?}");
        assert!((number(track, "power_db") - 10.0 * number(track, "power").log10()).abs() < 1e-4);
    }
    assert!(number(&tracks[0], "power") > 3.0 * number(&tracks[1], "power"));

    let printed = success(&[&arguments[..], &["--track-spectra", "62"]].concat());
    assert!(printed.contains("tracks: 0 in ") && printed.contains(", 2 of fewer than 62 peaks left out"), "{printed}");
    assert!(rows(&out).is_empty());
}

#[test]
fn impossible_drawings_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let input = wav(&folder.path().join("x.wav"), 1, &samples(1000));
    wav(&folder.path().join("y.wav"), 1, &samples(1000));
    let refused = |arguments: &[&str], message: &str| {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(errors(&output).contains(message), "{}", errors(&output));
    };
    let [svg, csv] = ["x.svg", "x.csv"].map(|name| folder.path().join(name));
    refused(&["spectrogram", text(&input)], "give --plot FILE (.svg, .png or .html), --out FILE (.npy), or both");
    refused(&["spectrogram", text(folder.path()), "--plot", text(&svg)], "has 2 recordings; a spectrogram shows one");
    refused(&["spectrogram", text(&input), "--channel", "1", "--plot", text(&svg)], "its channels are 0 to 0");
    refused(&["spectrogram", text(&input), "--out", text(&csv)], "written as .npy");
    let (npy, spectrogram) = (folder.path().join("x.npy"), ["spectrogram", text(&input)]);
    for (more, message) in [
        (&["--tracks-out", "x.txt"][..], "accepted: parquet, csv, jsonl and npy"),
        (&["--tracks-out", text(&csv), "--tracks", "0"], "--tracks 0 leaves no peaks to join"),
        (&["--tracks-out", text(&csv), "--track-step=-1"], "`max_step` is -1"),
        (&["--tracks-out", text(&npy), "--out", text(&npy)], "is the file of --out"),
        (&["--plot", text(&svg), "--track-step", "2"], "--tracks-out"),
    ] {
        refused(&[&spectrogram[..], more].concat(), message);
    }
    refused(&["spectrum", text(&input), "--plot", "x.gif"], "accepted: svg, png and html");
    for (option, value, message) in [
        ("--window", "hann", "--window is set by --multitaper"),
        ("--scaling", "spectrum", "--scaling is spectrum, but must be density or power with --multitaper"),
        ("--n-fft", "7", "--multitaper is 4, but must be from 1 to half of --n-fft, 3.5"),
        ("--multitaper=0.5", "--json", "--multitaper is 0.5, but must be from 1 to half of --n-fft, 128"),
        ("--multitaper=nan", "--json", "--multitaper is NaN, but must be"),
    ] {
        let multitaper = if option.starts_with("--multitaper") { "--quiet" } else { "--multitaper" };
        refused(&["spectrum", text(&input), multitaper, option, value], message);
    }
    let stereo = wav(&folder.path().join("iq/x.wav"), 2, &samples(1000));
    refused(&["spectrum", text(&stereo), "--iq", "--multitaper"], "x.wav: --band and --multitaper take real samples");
    refused(&["spectrum", text(&input), "--n-fft", "4096"], "no recording has the 4096 samples of a segment");
    assert!(!svg.exists() && !csv.exists());
}
