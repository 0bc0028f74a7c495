//! Commands that are killed and started again: their outputs have the bytes of an uninterrupted command.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::common::{errors, firefly, run, samples, text, wav};

/// Runs a command to its end, killing it again and again on the way; returns its last output and the number of kills.
fn killed_and_continued(arguments: &[&str], check: impl Fn()) -> (Output, usize) {
    let (mut kills, mut delay) = (0, 10);
    loop {
        let mut child = firefly(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        sleep(Duration::from_millis(delay));
        if child.try_wait().unwrap().is_some() || kills == 40 {
            return (child.wait_with_output().unwrap(), kills);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        check();
        kills += 1;
        delay += 25;
    }
}

/// Journals and unfinished outputs, which are there as long as a command can be continued.
fn left_behind(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".journal") || name.ends_with(".partial")).collect()
}

#[test]
fn a_killed_command_continues_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let signal = samples(1 << 20);
    let many = folder.path().join("in");
    for name in ["a.wav", "b.wav", "c.wav"] {
        wav(&many.join(name), 1, &signal);
    }
    fs::write(many.join("bad.wav"), "no sound").unwrap();
    let one = wav(&folder.path().join("one.wav"), 2, &signal);
    let many = text(&many);
    let commands: [(&[&str], &str, i32); 6] = [
        (&["peaks", many, "--step", "64"], "parquet", 1),
        (&["peaks", many, "--step", "64"], "npy", 1),
        (&["peaks", many, "--step", "128", "--local-maxima", "--height", "-20dB"], "csv", 1),
        (&["peaks", many, "--step", "64", "--device", "cpu:0,cpu:1"], "csv", 1),
        (&["spectrum", many, "--hop", "4", "--n-fft", "128"], "csv", 1),
        (&["spectrogram", text(&one), "--channel", "1", "--hop", "8", "--n-fft", "128"], "npy", 0),
    ];
    for (arguments, extension, status) in commands {
        let [whole, out] = ["whole", "resumed"].map(|name| folder.path().join(format!("{name}.{extension}")));
        let [whole_plot, plot] = ["whole", "resumed"].map(|name| folder.path().join(format!("{name}.svg")));
        let with_outputs = |out, plot| [arguments, &["--out", text(out), "--plot", text(plot)]].concat();
        let finished = run(&with_outputs(&whole, &whole_plot));
        assert_eq!(finished.status.code(), Some(status), "{}", errors(&finished));
        let bytes = fs::read(&whole).unwrap();
        // An output appears when it is complete.
        let check = || assert!(!out.exists() || fs::read(&out).unwrap() == bytes);
        let (last, kills) = killed_and_continued(&with_outputs(&out, &plot), check);
        assert!(kills > 0);
        // A recording that failed before a kill still counts.
        assert_eq!(last.status.code(), Some(status), "{arguments:?}: {}", errors(&last));
        let printed = |output: &Output| String::from_utf8_lossy(&output.stdout).replace("resumed.", "whole.");
        assert_eq!(printed(&last), printed(&finished));
        assert!(fs::read(&out).unwrap() == bytes, "{arguments:?} after {kills} kills");
        assert!(fs::read(&plot).unwrap() == fs::read(&whole_plot).unwrap(), "{arguments:?}");
        assert!(left_behind(folder.path()).is_empty(), "{:?}", left_behind(folder.path()));
        fs::remove_file(&out).unwrap();
    }
}

#[test]
fn a_spectrogram_whose_rows_are_gone_is_computed_anew() {
    let folder = tempfile::tempdir().unwrap();
    let input = wav(&folder.path().join("x.wav"), 1, &samples(1 << 20));
    let [whole, out] = ["whole.npy", "out.npy"].map(|name| folder.path().join(name));
    let arguments = |out| ["spectrogram", text(&input), "--hop", "8", "--n-fft", "128", "--out", out];
    assert!(run(&arguments(text(&whole))).status.success());
    let partial = folder.path().join(".out.npy.partial");
    let damages: [fn(&mut Vec<u8>); 4] =
        [|_| {}, |bytes| bytes.truncate(bytes.len() / 2), |bytes| bytes[1000] ^= 1, |bytes| bytes.clear()];
    for damage in damages {
        let mut child = firefly(&arguments(text(&out))).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Until a few blocks are in the file.
        while child.try_wait().unwrap().is_none() && fs::metadata(&partial).map_or(0, |file| file.len()) < 20_000_000 {
            sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if let Ok(mut bytes) = fs::read(&partial) {
            damage(&mut bytes);
            fs::write(&partial, bytes).unwrap();
        }
        let continued = run(&arguments(text(&out)));
        assert!(continued.status.success(), "{}", errors(&continued));
        assert!(fs::read(&out).unwrap() == fs::read(&whole).unwrap());
        fs::remove_file(&out).unwrap();
    }
}

#[test]
fn a_journal_of_other_options_is_not_continued() {
    let folder = tempfile::tempdir().unwrap();
    let numbers = folder.path().join("x.csv");
    let rows: Vec<String> = samples(1 << 17).iter().map(f32::to_string).collect();
    fs::write(&numbers, rows.join("\n")).unwrap();
    let [whole, out] = ["whole.csv", "out.csv"].map(|name| folder.path().join(name));
    let journal = folder.path().join("out.csv.journal");
    let arguments = |rate, out| ["peaks", text(&numbers), "--step", "4", "--rate", rate, "--out", out];
    assert!(run(&arguments("100", text(&whole))).status.success());
    let mut child = firefly(&arguments("200", text(&out))).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while child.try_wait().unwrap().is_none() && fs::metadata(&journal).map_or(0, |file| file.len()) < 100_000 {
        sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let other = run(&arguments("100", text(&out)));
    assert!(other.status.success() && !errors(&other).contains("continuing"), "{}", errors(&other));
    assert!(fs::read(&out).unwrap() == fs::read(&whole).unwrap());
}
