//! A server behind nginx with TLS, configured as the guide says. The tests need `nginx` and `openssl`; `just remote` runs
//! them.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::server::{ServerProcess, without_token};
use super::stopped::assert_ends_with_a_stopped_server;
use crate::common::{errors, samples, text, wav};

/// A proxy in front of a server, with a certificate of `localhost`; it ends with this.
struct Proxy {
    child: Child,
    device: String,
    certificate: PathBuf,
}

impl Proxy {
    /// nginx in `folder` with the guide's configuration, but for addresses and paths.
    fn start(folder: &Path, server: &ServerProcess) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let [key, certificate] = ["key.pem", "certificate.pem"].map(|name| folder.join(name));
        // What signs is trusted and what a server shows is no authority: this certificate is both.
        let request = folder.join("request.cnf");
        let extensions = "subjectAltName = DNS:localhost\nbasicConstraints = critical,CA:FALSE\n";
        fs::write(
            &request,
            format!(
                "[req]\ndistinguished_name = name\nx509_extensions = extensions\n[name]\n[extensions]\n{extensions}"
            ),
        )
        .unwrap();
        let new_key = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
        let names = ["-config", text(&request), "-subj", "/CN=localhost", "-days", "2"];
        let files = ["-keyout", text(&key), "-out", text(&certificate)];
        let made = Command::new("openssl").args([&new_key[..], &names, &files].concat()).output().unwrap();
        assert!(made.status.success(), "{}", errors(&made));

        let guide = include_str!("../../../../docs/guide/remote.md");
        let block = guide.split_once("```nginx\n").unwrap().1.split_once("```").unwrap().0;
        let block = [
            ("listen 443", format!("listen 127.0.0.1:{port}")),
            ("gpu.example.com;", "localhost;".into()),
            ("/etc/ssl/gpu.example.com.pem", text(&certificate).into()),
            ("/etc/ssl/gpu.example.com.key", text(&key).into()),
            ("127.0.0.1:7700", server.device()["remote:".len()..].into()),
        ]
        .iter()
        .fold(block.to_string(), |block, (of_guide, here)| {
            assert!(block.contains(of_guide), "{block}");
            block.replace(of_guide, here)
        });
        let folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {}/{kind};\n", text(folder)))
            .concat();
        let configuration = format!(
            "daemon off;\nmaster_process off;\npid {0}/pid;\nerror_log {0}/log;\nevents {{}}\n\
             http {{\naccess_log off;\n{folders}{block}}}\n",
            text(folder)
        );
        let path = folder.join("nginx.conf");
        fs::write(&path, configuration).unwrap();
        let child = Command::new("nginx").args(["-c", text(&path)]).stderr(Stdio::null()).spawn().unwrap();
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(started.elapsed() < Duration::from_secs(10), "{:?}", fs::read_to_string(folder.join("log")));
            sleep(Duration::from_millis(20));
        }
        Self { child, device: format!("remote:wss://localhost:{port}"), certificate }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `firefly peaks` of a recording into a table, trusting a certificate if there is one.
fn peaks(recording: &Path, device: &str, roots: Option<&Path>, out: &Path) -> Output {
    let mut command = without_token(&["peaks", text(recording), "--device", device, "--out", text(out)]);
    command.envs(roots.map(|roots| ("SSL_CERT_FILE", roots))).output().unwrap()
}

#[test]
#[ignore = "needs nginx and openssl"]
fn peaks_are_those_of_a_local_device_and_failures_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = ServerProcess::start();
    let proxy = Proxy::start(folder.path(), &server);
    let recording = wav(&folder.path().join("a.wav"), 1, &samples(20_000));
    let [local, remote] = ["local.csv", "remote.csv"].map(|name| folder.path().join(name));
    let refusal = |roots| {
        let output = peaks(&recording, &proxy.device, roots, &remote);
        assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
        errors(&output)
    };
    for (device, out) in [("cpu", &local), (&proxy.device, &remote)] {
        let output = peaks(&recording, device, Some(&proxy.certificate), out);
        assert!(output.status.success(), "{}", errors(&output));
    }
    let [here, there] = [&local, &remote].map(|table| fs::read(table).unwrap());
    assert!(here == there && here.len() > 1000);

    let message = refusal(None);
    assert!(message.contains("can't be reached: invalid peer certificate"), "{message}");
    server.kill();
    let message = refusal(Some(&proxy.certificate));
    assert!(message.contains("can't be reached: HTTP 502 Bad Gateway"), "{message}");
}

#[test]
#[ignore = "needs nginx and openssl"]
fn a_client_of_a_stopped_server_ends_with_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let server = ServerProcess::start();
    let proxy = Proxy::start(folder.path(), &server);
    assert_ends_with_a_stopped_server(&server, &proxy.device, Some(&proxy.certificate));
}
