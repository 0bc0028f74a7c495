//! Clock of an accelerator: the time that calls take there, without that of the host.

use std::time::Duration;

use anyhow::Result;
use burn::tensor::{Device, Tensor};

#[cfg(feature = "cube")]
use super::failed;

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
