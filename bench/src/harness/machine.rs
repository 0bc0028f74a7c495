//! Description of the machine, and the dates of reports.

pub use firefly_app::host::available_cores;
use firefly_app::host::cpu_name;
pub use firefly_recordings::available_memory;
use serde::{Deserialize, Serialize};

/// Machine that a report was measured on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineInfo {
    /// The processor's name; none where the system doesn't say.
    pub cpu: Option<String>,
    pub cores: usize,
    pub instruction_sets: Vec<String>,
    pub os: String,
    pub arch: String,
}

impl MachineInfo {
    pub fn detect() -> Self {
        Self {
            cpu: cpu_name(),
            cores: available_cores(),
            instruction_sets: instruction_sets().into_iter().map(str::to_string).collect(),
            os: std::env::consts::OS.into(),
            arch: std::env::consts::ARCH.into(),
        }
    }

    pub fn summary(&self) -> String {
        let cpu = self.cpu.as_deref().unwrap_or(&self.arch);
        let plural = if self.cores == 1 { "" } else { "s" };
        format!("{cpu}, {} core{plural}, {}", self.cores, self.instruction_sets.join(" "))
    }
}

macro_rules! detected {
    ($detect:ident: $($name:tt)*) => {
        [$(($name, std::arch::$detect!($name))),*]
            .into_iter()
            .filter_map(|(name, there)| there.then_some(name))
            .collect()
    };
}

#[cfg(target_arch = "x86_64")]
fn instruction_sets() -> Vec<&'static str> {
    detected!(is_x86_feature_detected: "sse4.2" "avx" "f16c" "fma" "avx2" "avx512f" "avx512bw" "avx512cd" "avx512dq"
        "avx512vl" "avx512vbmi" "avx512fp16")
}

#[cfg(target_arch = "aarch64")]
fn instruction_sets() -> Vec<&'static str> {
    detected!(is_aarch64_feature_detected: "neon" "fp16" "sve" "sve2")
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn instruction_sets() -> Vec<&'static str> {
    Vec::new()
}

/// Seconds since 1970 as a date and time, UTC.
pub fn date(seconds: u64) -> String {
    moment(seconds, "%Y-%m-%d %H:%M UTC")
}

/// Seconds since 1970 as a date, UTC.
pub fn day(seconds: u64) -> String {
    moment(seconds, "%Y-%m-%d")
}

fn moment(seconds: u64, format: &str) -> String {
    let timestamp = i64::try_from(seconds).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    timestamp.map_or_else(|| format!("{seconds} s after 1970-01-01"), |moment| moment.strftime(format).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_described_in_a_line() {
        let host = MachineInfo {
            cpu: Some("Abacus 3".into()),
            cores: 1,
            instruction_sets: vec!["beads".into(), "wires".into()],
            os: "linux".into(),
            arch: "wood".into(),
        };
        assert_eq!(host.summary(), "Abacus 3, 1 core, beads wires");
        assert!(MachineInfo::detect().cores >= 1);
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_826_800), "2000-02-29 12:20 UTC");
        assert_eq!(date(1_798_761_599), "2026-12-31 23:59 UTC");
        // Beyond the calendar, the number itself.
        assert_eq!(day(u64::MAX), "18446744073709551615 s after 1970-01-01");
        assert_eq!(date(u64::MAX - 1), "18446744073709551614 s after 1970-01-01");
    }
}
