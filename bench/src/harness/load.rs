//! Load that other processes put on the machine, as far as it slows a measurement.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use firefly_app::device::DeviceKind;

use super::available_cores;

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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

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
