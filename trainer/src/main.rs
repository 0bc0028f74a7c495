//! The binary `firefly-train`.

#![warn(clippy::print_stderr)]

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
