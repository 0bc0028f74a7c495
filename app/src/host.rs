//! Facts about the machine.

pub use firefly_framework::device::{available_cores, cpu_name};

/// The first value under `name` in a file of Linux's `/proc`.
pub fn entry(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let (_, value) = text.lines().find(|line| line.starts_with(name))?.split_once(':')?;
    Some(value.trim().to_string())
}
