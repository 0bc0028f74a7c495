//! Calls of a run on a device: one that is waited for, many in flight, or some that the device itself times by its clock.

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use anyhow::Result;
use burn::tensor::{Device, Tensor};

use super::CaseError;
#[cfg(feature = "cube")]
use super::failed;

/// Approximate time of the calls before a synchronisation. It is long because waking up after a long wait takes up to
/// half a millisecond.
const IN_FLIGHT: Duration = Duration::from_millis(40);
const CALLS_IN_FLIGHT: RangeInclusive<usize> = 16..=512;

/// Summary of a strategy whose calls are in flight, after that of one whose calls are waited for.
pub const QUEUED: &str = "the same, calls of 40 ms before a synchronisation: the time of one of them";

/// Summary of a strategy whose calls the device times, after that of one whose calls are waited for.
pub const BY_DEVICE_CLOCK: &str = "the same by the device's clock, queued behind other work: the time of its kernels";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// One call, followed by a synchronisation.
    One,
    /// The number of calls that take 40 ms, from 16 to 512, followed by one synchronisation.
    InFlight,
    /// Several calls behind other work, and the time of one of them by the device's clock.
    ByDeviceClock,
}

/// Runner of calls: their number, counted at the first run, and their time by the device's clock.
pub struct CallRunner {
    calls: Calls,
    count: Option<usize>,
    clock: Option<DeviceClock>,
    /// Time of a call of the last run by the device's clock, where that is what is measured.
    pub device_time: Option<Duration>,
}

impl CallRunner {
    pub fn new(calls: Calls, device: &Device) -> Self {
        let count = (calls != Calls::InFlight).then_some(1);
        let clock = if calls == Calls::ByDeviceClock { DeviceClock::of(device) } else { None };
        Self { calls, count, clock, device_time: None }
    }

    /// The number of calls whose time is measured together; 1 before it is counted.
    pub fn count(&self) -> usize {
        self.count.unwrap_or(1)
    }

    /// Runs `calls` with the number of calls, counting them first if that was not done: `calls` makes that many and
    /// waits for them.
    pub fn run(&mut self, mut calls: impl FnMut(usize) -> Result<()>) -> Result<()> {
        if self.calls == Calls::ByDeviceClock {
            let missing = || CaseError::unsupported("the device has no clock that can be read");
            let clock = self.clock.as_ref().ok_or_else(missing)?;
            self.device_time = Some(clock.time(calls)?);
            return Ok(());
        }
        let count = match self.count {
            Some(count) => count,
            None => {
                calls(1)?;
                let start = Instant::now();
                calls(*CALLS_IN_FLIGHT.start())?;
                *self.count.insert(calls_in_flight(start.elapsed()))
            }
        };
        calls(count)
    }
}

/// As many calls as are in flight at a time, where the fewest of them take so long.
fn calls_in_flight(time_of_fewest: Duration) -> usize {
    let (fewest, most) = (*CALLS_IN_FLIGHT.start(), *CALLS_IN_FLIGHT.end());
    let count = IN_FLIGHT.as_nanos() * fewest as u128 / time_of_fewest.as_nanos().max(1);
    (count as usize).clamp(fewest, most)
}

/// Values of each of the operations that precede the calls: as many as every device can bind, 128 MiB.
const LEADING_VALUES: usize = 1 << 25;
/// What these operations add, one value each: together they keep a large GPU busy for a quarter of a millisecond, in
/// which the host queues the calls.
const LEADING_SUMMANDS: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

/// Numbers of calls whose times are compared: few, so that the host queues them while the leading operations run.
const FEW_CALLS: usize = 2;
const MANY_CALLS: usize = 6;

/// Queue of an accelerator, in which events are recorded in the order of the calling thread's work.
#[cfg(feature = "cube")]
type Queue = cubecl::client::Client;
/// There is none in a build without accelerators.
#[cfg(not(feature = "cube"))]
type Queue = std::convert::Infallible;

/// Clock of an accelerator that records events in the order of its work.
pub struct DeviceClock {
    queue: Queue,
    leading: Tensor<1>,
}

impl DeviceClock {
    /// Clock of `device`; none for a host, and where the driver has no such events.
    pub fn of(device: &Device) -> Option<Self> {
        Some(Self { queue: queue(device)?, leading: Tensor::ones([LEADING_VALUES], device) })
    }

    /// Time of a call, of which `calls` makes as many as it is told: exact where the host queues them all within the
    /// time of the leading operations; otherwise the device's waits are part of it.
    ///
    /// The end of a window is late by the time that the host takes to wake up. It is the same for few calls and for
    /// many, so that their difference has no part of it.
    pub fn time(&self, mut calls: impl FnMut(usize) -> Result<()>) -> Result<Duration> {
        let few = self.window(|| calls(FEW_CALLS))?;
        let many = self.window(|| calls(MANY_CALLS))?;
        Ok(many.saturating_sub(few) / (MANY_CALLS - FEW_CALLS) as u32)
    }

    /// Time of the leading operations and those that `calls` queues, to the end of the wait for them.
    fn window(&self, calls: impl FnOnce() -> Result<()>) -> Result<Duration> {
        between_events(&self.queue, || {
            // Held until the end: an operation whose result is dropped before it is needed is not computed.
            let _leading = LEADING_SUMMANDS.map(|value| self.leading.clone() + value);
            calls()
        })
    }
}

#[cfg(feature = "cube")]
fn queue(device: &Device) -> Option<Queue> {
    let burn::backend::DispatchDevice::Cube(device) = device.as_dispatch() else { return None };
    let queue = device.client();
    (queue.properties().timing_method == cubecl::profile::TimingMethod::Device).then_some(queue)
}

#[cfg(not(feature = "cube"))]
fn queue(_device: &Device) -> Option<Queue> {
    None
}

/// Time from an event before `work` is queued to one after it.
#[cfg(feature = "cube")]
fn between_events(queue: &Queue, work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let window = queue.profile_start().map_err(failed)?;
    if let Err(error) = work() {
        queue.profile_abandon(window);
        return Err(error);
    }
    let profile = queue.profile_end(window).map_err(failed)?;
    let ticks = cubecl::future::block_on(profile.resolve());
    ticks.map(|ticks| ticks.duration()).ok_or_else(|| failed("the device recorded no time"))
}

#[cfg(not(feature = "cube"))]
fn between_events(queue: &Queue, _work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    match *queue {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(calls: Calls) -> Vec<usize> {
        let mut runner = CallRunner::new(calls, &Device::flex());
        let mut numbers = Vec::new();
        for _ in 0..2 {
            let run = runner.run(|calls| {
                numbers.push(calls);
                Ok(())
            });
            run.unwrap();
        }
        assert_eq!(runner.count(), *numbers.last().unwrap());
        assert_eq!(runner.device_time, None);
        numbers
    }

    #[test]
    fn calls_in_flight_are_counted_once() {
        assert_eq!(numbers(Calls::One), [1, 1]);
        let [one, fewest, counted, again] = numbers(Calls::InFlight)[..] else { panic!("they are counted twice") };
        assert_eq!((one, fewest, counted), (1, 16, again));
    }

    #[test]
    fn calls_in_flight_fill_a_span_of_time() {
        let counts = [0, 1, 4, 20, 40, 48].map(|milliseconds| calls_in_flight(Duration::from_millis(milliseconds)));
        assert_eq!(counts, [512, 512, 160, 32, 16, 16]);
    }

    #[test]
    fn a_host_has_no_clock_of_its_own() {
        let run = CallRunner::new(Calls::ByDeviceClock, &Device::flex()).run(|_| Ok(()));
        assert!(matches!(CaseError::from(run.unwrap_err()), CaseError::Unsupported(_)));
    }
}
