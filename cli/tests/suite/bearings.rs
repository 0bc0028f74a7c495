//! `firefly bearings`: lines of recordings with damaged races, and errors.

use std::f64::consts::{PI, TAU};
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{errors, run, samples, success, text, wav};
use serde_json::Value;

/// The verdict on each rate, and a line of the first channel.
fn verdicts(report: &Value) -> Vec<(&str, &str)> {
    let verdicts = report["channels"][0]["bearing"]["verdicts"].as_array().unwrap();
    verdicts.iter().map(|of| (of["rate"].as_str().unwrap(), of["verdict"].as_str().unwrap())).collect()
}

fn line<'a>(report: &'a Value, name: &str) -> &'a Value {
    let lines = report["channels"][0]["bearing"]["lines"].as_array().unwrap();
    lines.iter().find(|line| line["line"] == name).unwrap()
}

#[test]
fn a_damaged_outer_race_has_lines_at_its_rate() {
    let motor = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/recordings/motor.flac");
    let bearing = ["--shaft", "29.6", "--bearing", "6205-2RS", "--band", "3000..4000"];
    let printed = success(&[&["bearings", text(&motor)], &bearing[..], &["--json"]].concat());
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(report["command"], "bearings");
    assert_eq!(verdicts(&report), [("BPFO", "consistent"), ("BPFI", "none"), ("BSF", "none"), ("FTF", "none")]);
    let power: Vec<f64> =
        report["channels"][0]["power"].as_array().unwrap().iter().map(|power| power.as_f64().unwrap()).collect();
    for order in 1..=3 {
        let found = line(&report, &format!("{order}× BPFO"));
        let number = |key: &str| found[key].as_f64().unwrap();
        let rolling = f64::from(order) * 29.6 * 4.5 * (1.0 - 0.3126 / 1.537);
        assert!((number("expected_hz") / rolling - 1.0).abs() < 1e-12, "{found}");
        // Impacts are at 3.58 times the rate of the shaft.
        assert!((number("frequency_hz") - f64::from(order) * 3.58 * 29.6).abs() < 0.2, "{found}");
        assert_eq!((found["stands_out"].as_bool(), found["nearer_to"].as_str()), (Some(true), Some("")), "{found}");
        // The strongest bin over the median of the 32 that begin two bins beyond the slip, on either side.
        let hertz = |bin: usize| bin as f64 * 12_000.0 / 8192.0;
        let within = |bin: &usize| (hertz(*bin) - rolling).abs() <= 0.02 * rolling + 0.5 * hertz(1);
        let bins: Vec<usize> = (0..power.len()).filter(within).collect();
        let highest = bins.iter().map(|bin| power[*bin]).fold(0.0, f64::max);
        let (low, high) = (bins[0] - 2, bins[bins.len() - 1] + 3);
        let mut beside = [&power[low - 32..low], &power[high..high + 32]].concat();
        beside.sort_by(f64::total_cmp);
        let height = 10.0 * (highest / beside[32]).log10();
        assert!((number("height_db") - height).abs() < 1e-6 && height > 25.0, "{found}: {height}");
    }
    assert_eq!(line(&report, "2× BPFI")["nearer_to"], "3× BPFO");

    assert_eq!(report["channels"][0]["bearing"]["notes"].as_array().unwrap().len(), 0);
    // A speed that is 2.7 % too high.
    let wrong = ["--shaft", "30.4", "--bearing", "6205-2RS", "--band", "3000..4000"];
    let printed = success(&[&["bearings", text(&motor)], &wrong[..]].concat());
    let note = "note: lines of BPFO stand out more with a shaft at 29.5";
    assert!(printed.contains(note) && printed.contains("is the speed right?"), "{printed}");

    let folder = tempfile::tempdir().unwrap();
    let [page, out] = ["x.html", "x.csv"].map(|name| folder.path().join(name));
    let files = ["--plot", text(&page), "--out", text(&out)];
    let printed = success(&[&["bearings", text(&motor)], &bearing[..], &files].concat());
    let verdict = "BPFO: 3 of 3 lines stand out: consistent with a fault of the outer race\n";
    assert!(printed.contains(verdict) && printed.contains("11 segments"), "{printed}");
    assert!(printed.contains("BPFI: 0 of 3 lines stand out: no sign of a fault of the inner race\n"), "{printed}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("<caption>Lines") && page.contains("1× BPFO") && !page.contains("NaN"));
    assert!(fs::read_to_string(out).unwrap().starts_with("file,channel,bin,frequency_hz,power,"));
}

/// Impacts on a resonance at 2.5 kHz, 5.4152 per turn of a shaft at 25 Hz, which modulates them; and a silent channel.
fn inner_race(path: &Path) -> PathBuf {
    let mut state = 1u32;
    let noise = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        0.2 * (f64::from(state >> 8) / f64::from(1 << 23) - 1.0)
    };
    let mut signal: Vec<f64> = (0..64_000).map(noise).collect();
    for impact in 0..1083 {
        let time = f64::from(impact) / (5.4152 * 25.0);
        let strength = 1.0 + 0.8 * (TAU * 25.0 * time).cos();
        let first = (time * 8000.0).ceil() as usize;
        for (index, sample) in signal.iter_mut().enumerate().skip(first).take(200) {
            let after = index as f64 / 8000.0 - time;
            *sample += strength * (-after / 0.001).exp() * (2.0 * PI * 2500.0 * after).sin();
        }
    }
    let stereo: Vec<f32> = signal.iter().flat_map(|sample| [*sample as f32, 0.0]).collect();
    wav(path, 2, &stereo)
}

#[test]
fn a_damaged_inner_race_has_sidebands_and_silence_has_no_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let input = inner_race(&folder.path().join("x.wav"));
    let geometry = ["--balls", "9", "--ball-diameter", "0.3126", "--pitch-diameter", "1.537"];
    let options = ["--rpm", "1500", "--band", "2000..3000", "--n-fft", "4096", "--json"];
    let printed = success(&[&["bearings", text(&input)], &geometry[..], &options].concat());
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(verdicts(&report)[..2], [("BPFO", "none"), ("BPFI", "consistent")]);
    for (name, hertz) in
        [("1× BPFI -1× shaft", 110.38), ("1× BPFI", 135.38), ("1× BPFI +1× shaft", 160.38), ("1× shaft", 25.0)]
    {
        let found = line(&report, name);
        assert!((found["frequency_hz"].as_f64().unwrap() - hertz).abs() < 0.2, "{found}");
        assert_eq!(found["stands_out"], true, "{found}");
    }
    let silent = &report["channels"][1]["bearing"];
    assert!(silent["verdicts"].as_array().unwrap().iter().all(|of| of["verdict"] == "unknown"), "{silent}");
    assert!(silent["lines"][0]["frequency_hz"].is_null(), "{silent}");
    // Lines below the threshold do not stand out.
    let printed = success(&[&["bearings", text(&input)], &geometry[..], &options, &["--threshold", "60"]].concat());
    assert_eq!(verdicts(&serde_json::from_str(&printed).unwrap())[1], ("BPFI", "none"));
}

#[test]
fn what_has_no_bearing_lines_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let input = wav(&folder.path().join("x.wav"), 2, &samples(80_000));
    let refused = |options: &str, message: &str| {
        let options: Vec<&str> = options.split_whitespace().collect();
        let output = run(&[&["bearings", text(&input)], &options[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{options:?}: {}", errors(&output));
        assert!(errors(&output).contains(message), "{options:?}: {}", errors(&output));
    };
    let band = "--band 500..3500";
    let known = format!("--bearing 6205-2RS {band} --n-fft 4096");
    refused(&known, "--shaft <HZ>");
    refused(&format!("{known} --shaft 0"), "is not a number above 0");
    refused(&format!("{known} --rpm=-5"), "is not a number above 0");
    refused(&format!("{known} --shaft 25 --rpm 1500"), "cannot be used with");
    refused(&format!("{known} --shaft 25 --balls 9"), "cannot be used with");
    refused(&format!("--shaft 25 --bearing 6204 {band}"), "6203-2RS");
    refused(&format!("--shaft 25 {band}"), "--balls <N>");
    refused(&format!("--shaft 25 --balls 9 --ball-diameter 1 {band}"), "--pitch-diameter <D>");
    let geometry = "--shaft 25 --balls 9 --ball-diameter 2 --pitch-diameter";
    refused(&format!("{geometry} 1 {band}"), "--ball-diameter 2 do not fit on --pitch-diameter 1");
    refused(&format!("{geometry} 10 {band} --angle 90"), "--angle is 90");
    refused("--shaft 25 --bearing 6205-2RS", "--band <LOW..HIGH>");
    refused(&format!("{known} --shaft 25 --slip 0.2"), "--slip is 0.2");
    refused(&format!("{known} --shaft 25 --threshold=-1"), "--threshold is -1");
    refused(&format!("{known} --shaft 25 --window hann"), "--window and --multitaper are not for bearings");
    refused(&format!("{known} --shaft 25 --multitaper"), "--window and --multitaper are not for bearings");
    refused(&format!("{known} --shaft 800"), "BPFI is 4332.18 Hz, above half the sample rate");
    // It is 10.4 Hz from the fourth multiple of the shaft's rate, and bins are every 7.8 Hz.
    refused(
        &format!("--bearing 6205-2RS {band} --n-fft 1024 --shaft 25"),
        "but 2313 samples tell BPFO, 89.62 Hz, from",
    );
    refused("--shaft 25 --bearing 6205-2RS --band 1000..1100 --n-fft 4096", "too near the width of --band, 99.61 Hz");
    refused(&format!("{known} --shaft 25 --iq"), "these are complex");
}
