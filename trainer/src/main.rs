//! The binary `firefly-train`.

#![warn(clippy::print_stderr)]

fn main() -> std::process::ExitCode {
    firefly_trainer::cli::main()
}
