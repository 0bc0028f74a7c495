//! Commands on several devices: their outputs have the bytes of one.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::common::{errors, firefly, run, samples, success, text, wav};

/// Lists of replicas of the processor.
const LISTS: [&str; 2] = ["cpu:0,cpu:1", "cpu,cpu:1,cpu:2"];

/// Output of a command on these devices.
fn output(arguments: &[&str], devices: &str, out: &Path) -> Vec<u8> {
    let printed = success(&[arguments, &["--device", devices, "--out", text(out)]].concat());
    let named = devices.replace("cpu:0", "cpu").replace(',', ", ");
    assert!(printed.contains(&format!("device: {named}\n")), "{printed}");
    fs::read(out).unwrap()
}

/// Channels of samples as an array of floats `[samples, channels]`.
fn npy(path: &Path, channels: usize, samples: &[f32]) -> PathBuf {
    let shape = (samples.len() / channels, channels);
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape:?}, }}");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{header:<117}\n").bytes());
    bytes.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
    fs::write(path, bytes).unwrap();
    path.to_owned()
}

/// Rows of numbers as text.
fn csv(path: &Path, channels: usize, samples: &[f32]) -> PathBuf {
    let row = |row: &[f32]| row.iter().map(f32::to_string).collect::<Vec<_>>().join(",") + "\n";
    fs::write(path, samples.chunks(channels).map(row).collect::<String>()).unwrap();
    path.to_owned()
}

#[cfg(not(feature = "remote"))]
#[test]
fn a_build_without_a_server_says_how_to_get_it() {
    let refused = run(&["serve", "--device", "cpu", "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(errors(&refused), "error: this build has no server of devices: build with --features remote\n");
}

#[test]
fn outputs_on_several_devices_have_the_bytes_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let signal = samples(1 << 17);
    let recording = wav(&folder.path().join("one.wav"), 2, &signal);
    let array = npy(&folder.path().join("array.npy"), 2, &signal);
    let numbers = csv(&folder.path().join("numbers.csv"), 2, &signal[..1 << 15]);
    let many = folder.path().join("many");
    for (index, length) in [1 << 17, 700, 100, 1 << 16, 700, 700].into_iter().enumerate() {
        wav(&many.join(format!("{index}.wav")), 1, &signal[..length]);
    }
    let [recording, array, numbers, many] = [&recording, &array, &numbers, &many].map(|path| text(path));
    // Each has several blocks.
    let commands: [(&[&str], &str); 8] = [
        (&["peaks", recording, "--step", "32"], "parquet"),
        (&["peaks", recording, "--step", "32", "--local-maxima", "--prominence", "6dB"], "csv"),
        (&["peaks", recording, "--step", "64", "--model", "auto"], "npy"),
        (&["peaks", many, "--step", "16", "--model", "reference", "--n-fft", "64"], "jsonl"),
        (&["peaks", array, "--step", "32", "--rate", "8000"], "csv"),
        (&["peaks", numbers, "--step", "8", "--rate", "8000"], "csv"),
        (&["spectrum", recording, "--hop", "8"], "csv"),
        (&["spectrogram", recording, "--hop", "8", "--channel", "1"], "npy"),
    ];
    for (arguments, extension) in commands {
        let out = folder.path().join(format!("out.{extension}"));
        let expected = output(arguments, "cpu", &out);
        for devices in LISTS {
            assert!(output(arguments, devices, &out) == expected, "{arguments:?} on {devices}");
        }
    }
}

#[test]
fn samples_on_standard_input_are_shared_by_several_devices() {
    let folder = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = samples(1 << 18).iter().flat_map(|sample| sample.to_le_bytes()).collect();
    let [one, two] = ["cpu", "cpu:0,cpu:1"].map(|devices| {
        let out = folder.path().join("out.csv");
        let arguments =
            ["peaks", "-", "--rate", "8000", "--format", "f32", "--step", "64", "--device", devices, "--out"];
        let mut command = firefly(&[&arguments[..], &[text(&out)]].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        assert!(child.wait().unwrap().success());
        fs::read(out).unwrap()
    });
    assert!(one == two);
}

#[test]
fn lists_that_name_a_device_twice_or_mix_kinds_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let input = wav(&folder.path().join("x.wav"), 1, &samples(5000));
    for (devices, message) in [
        ("cpu,cpu:0", "device `cpu` is named twice"),
        ("cpu,cuda", "devices `cpu` and `cuda` are of different kinds"),
        ("cpu,cpuu", "did you mean `cpu`?"),
        ("cpu,", "unknown device ``"),
        ("cpu:1", "there is one CPU"),
    ] {
        let refused = run(&["peaks", text(&input), "--device", devices]);
        assert_eq!(refused.status.code(), Some(2), "{devices}");
        assert!(errors(&refused).contains(message), "{}", errors(&refused));
    }
}
