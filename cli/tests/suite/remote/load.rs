//! Eight clients of one server at once, for the seconds of FIREFLY_LOAD_SECONDS, 5 by default.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use super::server::{ServerProcess, TOKEN, without_token};
use crate::common::{errors, samples, text, wav};

const CLIENTS: usize = 8;
const SAMPLES: usize = 384 * 8_192;

/// Peaks of a recording as a table.
fn peaks(recording: &Path, device: &str, out: &Path) -> Vec<u8> {
    let arguments = ["peaks", text(recording), "--device", device, "--out", text(out), "--quiet"];
    let output = without_token(&arguments).env("FIREFLY_TOKEN", TOKEN).output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    fs::read(out).unwrap()
}

#[test]
fn eight_clients_get_the_results_of_a_local_device() {
    let seconds = env::var("FIREFLY_LOAD_SECONDS").map_or(5, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let recording = wav(&folder.path().join("a.wav"), 1, &samples(SAMPLES));
    let expected = peaks(&recording, "cpu", &folder.path().join("local.npy"));
    let server = ServerProcess::with_token(TOKEN);
    peaks(&recording, server.device(), &folder.path().join("first.npy"));
    let before = server.memory();
    let started = Instant::now();
    let client = |number: usize| {
        let out = folder.path().join(format!("{number}.npy"));
        let mut longest = Duration::ZERO;
        let mut runs = 0;
        while started.elapsed() < Duration::from_secs(seconds) {
            let begun = Instant::now();
            assert!(peaks(&recording, server.device(), &out) == expected, "client {number}, run {runs}");
            longest = longest.max(begun.elapsed());
            runs += 1;
        }
        (runs, longest)
    };
    let client = &client;
    let ended: Vec<(usize, Duration)> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(move || client(number))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let runs: usize = ended.iter().map(|(runs, _)| runs).sum();
    let longest = ended.iter().map(|(_, longest)| *longest).max().unwrap_or_default();
    let megabytes = |bytes: Option<u64>| bytes.map_or(f64::NAN, |bytes| bytes as f64 / 1e6);
    eprintln!(
        "{CLIENTS} clients for {seconds} s: {runs} runs of 8,192 frames, {:.0} frames/s, the longest {longest:.1?}; \
         memory of the server {:.0} MB after one run, {:.0} MB at the end",
        (runs * 8_192) as f64 / started.elapsed().as_secs_f64(),
        megabytes(before),
        megabytes(server.memory()),
    );
}
