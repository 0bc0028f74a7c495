//! What is known of the machine.

use std::thread::available_parallelism;

/// The processor's name; none where the system doesn't say.
pub fn cpu_name() -> Option<String> {
    entry("/proc/cpuinfo", "model name")
}

/// Cores this process may use; at least 1.
pub fn available_cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// The first value under `name` in a file of Linux's `/proc`.
pub fn entry(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let (_, value) = text.lines().find(|line| line.starts_with(name))?.split_once(':')?;
    Some(value.trim().to_string())
}

/// What tells this machine's device named `device` from others, for calibrated profiles: its name, the processor, its
/// cores, and the version of this program.
pub fn fingerprint(device: &str) -> String {
    let cpu = cpu_name().unwrap_or_else(|| std::env::consts::ARCH.into());
    format!("{device}, {cpu}, {} cores, firefly {}", available_cores(), env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_of_a_machine_differ() {
        assert_eq!(fingerprint("cpu"), fingerprint("cpu"));
        assert_ne!(fingerprint("cuda:0"), fingerprint("cuda:1"));
    }
}
