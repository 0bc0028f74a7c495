//! Helpers of the program's tests.

use std::process::{Command, Output};

/// The program with these arguments.
pub fn firefly_bench(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firefly-bench"));
    command.args(arguments);
    command
}

/// Runs it to its end.
pub fn output_of(arguments: &[&str]) -> Output {
    firefly_bench(arguments).output().unwrap()
}

/// Runs one of its commands, on the CPU unless another device is named.
pub fn run(command: &str, arguments: &[&str]) -> Output {
    let device: &[&str] = if arguments.contains(&"--device") { &[] } else { &["--device", "cpu"] };
    firefly_bench(&[command]).args(arguments).args(device).output().unwrap()
}

/// Text that the program printed.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
