//! The machine: its description, load that other processes put on it as far as it slows a measurement, and dates.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use firefly_app::device::DeviceKind;
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

/// Approximate time of a unit of work. It is much shorter than a scheduler's time slice, so that some units are not
/// interrupted even if another process always runs.
const UNIT: Duration = Duration::from_micros(200);
/// Units that each core computes per sample: together longer than several time slices.
const UNITS: usize = 60;
/// Slowdown above which the machine is busy: that of one more process on every second core.
const BUSY: f64 = 1.25;

/// Probe of other load: the same work on several cores at once, whose time is compared with that of undisturbed work.
pub struct LoadProbe {
    cores: usize,
    steps: u64,
    /// Nanoseconds of the fastest unit so far.
    fastest: f64,
}

impl LoadProbe {
    /// A probe for measurements on a kind of device: on a host, of every core that this process may use; on an
    /// accelerator, of one core, because one thread launches the kernels.
    pub fn new(kind: DeviceKind) -> Self {
        let mut steps = 1 << 10;
        while timed(steps) < UNIT.as_nanos() as f64 {
            steps *= 2;
        }
        Self { cores: if kind.is_host() { available_cores() } else { 1 }, steps, fastest: f64::INFINITY }
    }

    /// Time of the slowest core now, divided by that of undisturbed work: 1 on an idle machine.
    pub fn slowdown(&mut self) -> f64 {
        let steps = self.steps;
        let units = || (0..UNITS).map(|_| timed(steps)).collect::<Vec<f64>>();
        let cores: Vec<Vec<f64>> = thread::scope(|scope| {
            let cores: Vec<_> = (0..self.cores).map(|_| scope.spawn(units)).collect();
            cores.into_iter().filter_map(|core| core.join().ok()).collect()
        });
        self.fastest = cores.iter().flatten().copied().fold(self.fastest, f64::min);
        let slowest = cores.iter().map(|core| core.iter().sum::<f64>()).fold(0.0, f64::max);
        slowest / (UNITS as f64 * self.fastest)
    }
}

/// Nanoseconds of a chain of dependent multiplications, whose time does not depend on what shares a core's units.
fn timed(steps: u64) -> f64 {
    let start = Instant::now();
    black_box((0..steps).fold(1u64, |value, step| black_box(value.wrapping_mul(6_364_136_223_846_793_005) ^ step)));
    start.elapsed().as_nanos() as f64
}

/// Slowdowns of the parts of a measurement by other load.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoadRecord {
    pub slowdowns: Vec<f64>,
    /// Number of parts that were measured again because the machine was busy.
    pub repeated: usize,
}

impl LoadRecord {
    pub fn is_busy(slowdown: f64) -> bool {
        slowdown > BUSY
    }

    /// Remark on a measurement of which parts count although the machine was busy; none on an idle machine.
    pub fn remark(&self) -> Option<String> {
        let busy = self.slowdowns.iter().filter(|slowdown| Self::is_busy(**slowdown)).count();
        let worst = self.slowdowns.iter().copied().fold(1.0, f64::max);
        (busy > 0).then(|| {
            format!(
                "measured on a busy machine: in {busy} of {} parts, after {} were repeated, other load made the \
                 slowest core take up to {worst:.2} times as long",
                self.slowdowns.len(),
                self.repeated
            )
        })
    }
}

/// Measures `rounds` times with `measure`, which returns the slowdown of its round. Rounds on a busy machine are
/// repeated, at most `rounds` in total, and those of the least slowdown are kept, in the order in which they were
/// measured.
pub fn in_quiet_rounds<T, E>(
    rounds: usize,
    mut measure: impl FnMut(usize) -> Result<(T, f64), E>,
) -> Result<(Vec<T>, LoadRecord), E> {
    let (mut measured, mut quiet) = (Vec::new(), 0);
    while quiet < rounds && measured.len() < 2 * rounds {
        let (result, slowdown) = measure(measured.len())?;
        quiet += usize::from(!LoadRecord::is_busy(slowdown));
        measured.push((measured.len(), (result, slowdown)));
    }
    let repeated = measured.len().saturating_sub(rounds);
    measured.sort_by(|(_, (_, a)), (_, (_, b))| a.total_cmp(b));
    measured.truncate(rounds);
    measured.sort_by_key(|(round, _)| *round);
    let (results, slowdowns) = measured.into_iter().map(|(_, measured)| measured).unzip();
    Ok((results, LoadRecord { slowdowns, repeated }))
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
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicBool, Ordering};

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

    #[test]
    fn another_load_on_every_core_is_noticed() {
        let mut probe = LoadProbe::new(DeviceKind::Cpu);
        let stop = AtomicBool::new(false);
        let slowdown = thread::scope(|scope| {
            for _ in 0..2 * probe.cores {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            let slowdown = (0..3).map(|_| probe.slowdown()).fold(0.0, f64::max);
            stop.store(true, Ordering::Relaxed);
            slowdown
        });
        assert!(LoadRecord::is_busy(slowdown), "{slowdown}");
    }

    /// The rounds that count where they have these slowdowns, and the record.
    fn counted(rounds: usize, slowdowns: &[f64]) -> (Vec<usize>, LoadRecord) {
        in_quiet_rounds(rounds, |round| Ok::<_, Infallible>((round, slowdowns[round]))).unwrap()
    }

    #[test]
    fn busy_rounds_are_repeated_and_quiet_ones_count() {
        let (rounds, record) = counted(2, &[1.0, 2.0, 1.1]);
        assert_eq!((rounds, record.repeated, record.remark()), (vec![0, 2], 1, None));
        assert_eq!(counted(3, &[1.0; 3]).0, [0, 1, 2]);
    }

    #[test]
    fn a_machine_that_stays_busy_is_remarked_on() {
        let (rounds, record) = counted(2, &[2.0, 1.5, 1.7, 1.2]);
        assert_eq!((rounds, record.repeated), (vec![1, 3], 2));
        let remark = record.remark().unwrap();
        assert!(remark.contains("in 1 of 2 parts, after 2 were repeated") && remark.contains("1.50 times"), "{remark}");
    }
}
