//! The binary `firefly-train`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
