//! A server whose process is stopped: its connections stay open, and nothing comes over them.

use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::server::{ServerProcess, without_token};
use super::training::{configuration, wait_for_checkpoint};
use crate::common::{errors, text};

/// Seconds without an answer after which a client ends, and a margin.
const SILENCE: Duration = Duration::from_secs(60 + 30);

/// Checks that a training run on `device`, which is that of `server` or reaches it, ends once the server is stopped.
pub fn assert_ends_with_a_stopped_server(server: &ServerProcess, device: &str, roots: Option<&Path>) {
    let folder = tempfile::tempdir().unwrap();
    let (config, out) = (configuration(folder.path()), folder.path().join("run"));
    let arguments = ["train", text(&config), "--device", device, "--out", text(&out), "--steps", "1000000"];
    let mut command = without_token(&arguments);
    command.envs(roots.map(|roots| ("SSL_CERT_FILE", roots)));
    let mut training = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_checkpoint(&out);
    server.stop();
    let stopped = Instant::now();
    while training.try_wait().unwrap().is_none() {
        if stopped.elapsed() > SILENCE {
            training.kill().unwrap();
            panic!("the run waits for a stopped server");
        }
        sleep(Duration::from_millis(100));
    }
    let output = training.wait_with_output().unwrap();
    let message = errors(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    let server = &device["remote:".len()..];
    assert!(message.contains(&format!("error: server {server} has not answered for 60 s")), "{message}");
}

#[test]
fn a_client_ends_with_an_error() {
    let server = ServerProcess::start();
    assert_ends_with_a_stopped_server(&server, server.device(), None);
}
