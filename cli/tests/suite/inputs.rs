//! Inputs with odd names, and those that are no files.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use crate::common::{errors, firefly, run, samples, text, wav};

#[test]
fn names_that_are_no_text_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let name = OsStr::from_bytes(b"caf\xe9.wav");
    let input = folder.path().join("in").join(name);
    let plain = wav(&folder.path().join("plain.wav"), 1, &samples(2000));
    fs::create_dir(input.parent().unwrap()).unwrap();
    // Some file systems accept text only.
    if fs::copy(plain, &input).is_err() {
        return;
    }
    for recordings in [&input, &input.parent().unwrap().to_owned()] {
        let out = folder.path().join("out.csv");
        let output = firefly(&["peaks", "--out", text(&out)]).arg(recordings).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
        assert!(fs::read_to_string(out).unwrap().contains("caf\u{fffd}.wav,0,0,0,1,"));
    }
}

#[test]
fn pipes_and_devices_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let recordings = folder.path().join("in");
    fs::create_dir(&recordings).unwrap();
    let (pipe, device) = (recordings.join("pipe.wav"), recordings.join("device.csv"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    symlink("/dev/zero", &device).unwrap();
    for path in [&pipe, &device] {
        let output = run(&["peaks", text(path), "--rate", "100"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(errors(&output).contains("a recording must be a file"), "{}", errors(&output));
    }
    // Beside others in a folder they fail alone, if they are looked at.
    wav(&recordings.join("a.wav"), 1, &samples(2000));
    let output = run(&["peaks", text(&recordings)]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", errors(&output));
}

#[test]
fn frames_that_do_not_fit_into_memory_are_refused() {
    let options = ["--rate", "1", "--format", "u8", "--channels", "65536", "--n-fft", "65536", "--model", "reference"];
    let arguments = [&["peaks", "-"][..], &options].concat();
    let mut child = firefly(&arguments).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    // A machine may have the memory; then there are too few samples.
    assert_eq!(output.status.code(), Some(2));
    let message = errors(&output);
    assert!(message.contains("samples of 65536 channels take") || message.contains("no recording has"), "{message}");
}
