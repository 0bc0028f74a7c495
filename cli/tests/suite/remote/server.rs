//! A server in another process.

use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::common::{firefly, text};

/// Token of the tests.
pub const TOKEN: &str = "a-token-of-the-tests-alone";

/// A server of the CPU on a free port, which ends with this.
pub struct ServerProcess {
    child: Child,
    device: String,
}

impl ServerProcess {
    /// A server without a token.
    pub fn start() -> Self {
        Self::of(&mut without_token(&["serve", "--device", "cpu", "--listen", "127.0.0.1:0"]))
    }

    /// A server with a token.
    pub fn with_token(token: &str) -> Self {
        let mut command = without_token(&["serve", "--device", "cpu", "--listen", "127.0.0.1:0"]);
        Self::of(command.env("FIREFLY_TOKEN", token))
    }

    /// A server with the token in a file.
    pub fn with_token_file(path: &Path) -> Self {
        let options = ["--token-file", text(path)];
        Self::of(&mut without_token(&[&["serve", "--device", "cpu", "--listen", "127.0.0.1:0"][..], &options].concat()))
    }

    fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("serving cpu at ").unwrap_or_else(|| panic!("{line}"));
        let device = format!("remote:{address}");
        // Drains the pipe of the log: writes to a full pipe block the server.
        thread::spawn(move || io::copy(&mut log, &mut io::sink()));
        Self { child, device }
    }

    /// Name of the server's device.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Bytes of memory that the process has in use.
    pub fn memory(&self) -> Option<u64> {
        let statistics = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = statistics.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(1024 * line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?)
    }

    /// Stops the process, which keeps its connections.
    pub fn stop(&self) {
        let stopped = Command::new("kill").args(["-STOP", &self.child.id().to_string()]).status().unwrap();
        assert!(stopped.success());
    }

    /// Ends the process at once.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program with these arguments, and no token in its environment.
pub fn without_token(arguments: &[&str]) -> Command {
    let mut command = firefly(arguments);
    command.env_remove("FIREFLY_TOKEN").env_remove("FIREFLY_TOKEN_FILE").env_remove("FIREFLY_DATA");
    command
}
