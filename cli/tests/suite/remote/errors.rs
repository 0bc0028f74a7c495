//! Servers that can't be used, and addresses that can't be served.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

use burn::tensor::Device;
use firefly_app::remote::server::Server;

use super::server::{ServerProcess, TOKEN, without_token};
use crate::common::{errors, samples, text, wav};

/// Limit of a command that fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// What `firefly peaks` says of a device that it can't use.
fn refusal(device: &str, token: Option<&str>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let recording = wav(&folder.path().join("a.wav"), 1, &samples(4_000));
    let mut command = without_token(&["peaks", text(&recording), "--device", device]);
    if let Some(token) = token {
        command.env("FIREFLY_TOKEN", token);
    }
    let started = Instant::now();
    let output = command.output().unwrap();
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    errors(&output)
}

/// A port that nothing listens on.
fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

#[test]
fn a_wrong_and_a_missing_token_are_refused() {
    let server = ServerProcess::with_token(TOKEN);
    let message = refusal(server.device(), Some("another-token-of-the-tests"));
    assert!(message.contains("refused the token: set FIREFLY_TOKEN"), "{message}");
    assert!(!message.contains("another-token"), "{message}");
    let message = refusal(server.device(), None);
    assert!(message.contains("wants a token, and none is given"), "{message}");
    let message = refusal(server.device(), Some("short"));
    assert!(message.contains("FIREFLY_TOKEN has 5 characters"), "{message}");
}

#[test]
fn the_token_of_a_file_is_required() {
    let folder = tempfile::tempdir().unwrap();
    let [token, recording] = ["token", "a.wav"].map(|name| folder.path().join(name));
    fs::write(&token, format!("{TOKEN}\n")).unwrap();
    let server = ServerProcess::with_token_file(&token);
    let message = refusal(server.device(), None);
    assert!(message.contains("wants a token, and none is given"), "{message}");
    let message = refusal(server.device(), Some("another-token-of-the-tests"));
    assert!(message.contains("refused the token"), "{message}");
    wav(&recording, 1, &samples(4_000));
    let mut command = without_token(&["peaks", text(&recording), "--device", server.device()]);
    let output = command.env("FIREFLY_TOKEN", TOKEN).output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
}

#[test]
fn an_address_without_a_server_is_named() {
    let address = free_address();
    let message = refusal(&format!("remote:{address}"), None);
    assert!(message.contains(&format!("server {address} can't be reached: Connection refused")), "{message}");
    let message = refusal("remote:no-such-host.invalid:7700", None);
    assert!(message.contains("server no-such-host.invalid:7700 can't be reached"), "{message}");
}

#[test]
fn another_service_is_recognised() {
    let closing = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = closing.local_addr().unwrap();
    thread::spawn(move || closing.incoming().for_each(drop));
    let message = refusal(&format!("remote:{address}"), None);
    assert!(message.contains(&format!("{address} is no server of devices")), "{message}");

    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let message = refusal(&format!("remote:{address}"), None);
    assert!(message.contains(&format!("server {address} did not answer within 5 s")), "{message}");
}

#[test]
fn a_device_that_the_server_lacks_is_named() {
    let server = ServerProcess::start();
    let message = refusal(&format!("{}:3", server.device()), None);
    assert!(message.contains("has no device 3: it has 1, numbered from 0"), "{message}");
}

#[test]
fn a_server_of_another_version_is_refused() {
    let loopback: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let server = Server::listen(loopback, None).unwrap().with_version("firefly 0.0.9");
    let address = server.address();
    thread::spawn(move || server.serve(vec![Device::flex()]));
    let message = refusal(&format!("remote:{address}"), None);
    let expected = format!("runs firefly 0.0.9, and this program firefly {}", env!("CARGO_PKG_VERSION"));
    assert!(message.contains(&expected), "{message}");
}

/// What `firefly serve` says of arguments that it refuses.
fn unserved(arguments: &[&str]) -> String {
    let output = without_token(&[&["serve", "--device", "cpu"][..], arguments].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    errors(&output)
}

#[test]
fn an_address_beyond_loopback_wants_a_token() {
    for address in ["0.0.0.0:0", "[::]:0", "[::ffff:0.0.0.0]:0"] {
        let message = unserved(&["--listen", address]);
        assert!(message.contains("can be reached from other machines, and there is no token"), "{message}");
    }
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    fs::write(&token, "short\n").unwrap();
    let message = unserved(&["--listen", "0.0.0.0:0", "--token-file", text(&token)]);
    assert!(message.contains("has 5 characters, but must have at least 16"), "{message}");
    let message = unserved(&["--token-file", text(Path::new("missing"))]);
    assert!(message.contains("the file of the token, missing"), "{message}");
    assert!(unserved(&["--listen", "7700"]).contains("an address is HOST:PORT"));
}

#[test]
fn an_address_that_is_taken_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let message = unserved(&["--listen", &address]);
    assert!(message.contains(&format!("{address} can't be listened on")), "{message}");
}

#[test]
fn devices_of_servers_are_not_served_on() {
    let server = ServerProcess::start();
    let output = without_token(&["serve", "--device", server.device(), "--listen", "127.0.0.1:0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("remote device cannot host"), "{}", errors(&output));
}
