//! Commands on a server's device.

use std::fs;

use super::server::{ServerProcess, TOKEN, without_token};
use crate::common::{errors, samples, text, wav};

#[test]
fn peaks_are_those_of_a_local_device() {
    let folder = tempfile::tempdir().unwrap();
    let recording = wav(&folder.path().join("a.wav"), 2, &samples(40_000));
    let server = ServerProcess::with_token(TOKEN);
    let token = folder.path().join("token");
    fs::write(&token, format!("{TOKEN}\n")).unwrap();
    for model in ["fast", "auto", "reference"] {
        let [local, remote] = ["cpu", server.device()].map(|device| {
            let out = folder.path().join(format!("{model}-{}.csv", device.len()));
            let arguments = ["peaks", text(&recording), "--model", model, "--device", device, "--out", text(&out)];
            let output = without_token(&arguments).env("FIREFLY_TOKEN_FILE", &token).output().unwrap();
            assert!(output.status.success(), "{model}: {}", errors(&output));
            fs::read(out).unwrap()
        });
        assert!(local == remote, "{model}");
    }
}

#[test]
fn spectra_are_those_of_a_local_device() {
    let folder = tempfile::tempdir().unwrap();
    let recording = wav(&folder.path().join("a.wav"), 1, &samples(20_000));
    let server = ServerProcess::start();
    let [local, remote] = ["cpu", server.device()].map(|device| {
        let out = folder.path().join(format!("{}.csv", device.len()));
        let arguments = ["spectrum", text(&recording), "--device", device, "--out", text(&out)];
        let output = without_token(&arguments).output().unwrap();
        assert!(output.status.success(), "{}", errors(&output));
        fs::read(out).unwrap()
    });
    assert!(local == remote);
}
