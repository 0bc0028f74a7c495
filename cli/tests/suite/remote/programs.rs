//! Commands on a server's device.

use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::server::{ServerProcess, TOKEN, without_token};
use crate::common::{errors, samples, text, wav};

/// Limit of a command that has lost its server.
const PATIENCE: Duration = Duration::from_secs(60);

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
fn two_servers_share_the_frames() {
    let folder = tempfile::tempdir().unwrap();
    let recording = wav(&folder.path().join("a.wav"), 1, &samples(1 << 18));
    let servers = [ServerProcess::start(), ServerProcess::start()];
    let both = servers.each_ref().map(ServerProcess::device).join(",");
    let [local, remote] = ["cpu", &both].map(|device| {
        let out = folder.path().join("out.csv");
        let arguments = ["peaks", text(&recording), "--step", "64", "--device", device, "--out", text(&out)];
        let output = without_token(&arguments).output().unwrap();
        assert!(output.status.success(), "{}", errors(&output));
        fs::read(out).unwrap()
    });
    assert!(local == remote);
}

#[test]
fn peaks_whose_server_is_killed_end_with_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let recording = wav(&folder.path().join("a.wav"), 1, &samples(1 << 22));
    let [out, journal] = ["out.npy", "out.npy.journal"].map(|name| folder.path().join(name));
    for others in [0, 1] {
        let mut servers = vec![ServerProcess::start()];
        servers.extend((0..others).map(|_| ServerProcess::start()));
        let devices = servers.iter().map(ServerProcess::device).collect::<Vec<_>>().join(",");
        let arguments = ["peaks", text(&recording), "--step", "8", "--device", &devices, "--out", text(&out)];
        let mut command = without_token(&arguments);
        let peaks = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let started = Instant::now();
        while fs::metadata(&journal).map_or(0, |file| file.len()) < 100_000 {
            assert!(started.elapsed() < PATIENCE, "no block was computed");
            sleep(Duration::from_millis(1));
        }
        let mut killed = servers.pop().unwrap();
        killed.kill();
        let output = peaks.wait_with_output().unwrap();
        assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
        let message = errors(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        let expected = format!("device {} failed: server {}", killed.device(), &killed.device()["remote:".len()..]);
        assert!(message.contains(&expected) && message.contains("can't be reached"), "{message}");
        assert!(!out.exists() && journal.exists());
        fs::remove_file(&journal).unwrap();
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
