//! Clock of an accelerator: the time that calls take there, without that of the host.

use std::time::Duration;

use burn::tensor::{Device, Tensor};

use super::RoutineError;

/// Values of each of the operations that precede the calls: as many as every device can bind, 128 MiB.
const LEADING_VALUES: usize = 1 << 25;
/// What these operations add, one value each: together they keep a large GPU busy for a quarter of a millisecond, in
/// which the host queues the calls.
const LEADING_SUMMANDS: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

/// Numbers of calls whose times are compared: few, so that the host queues them while the leading operations run.
const FEW_CALLS: usize = 2;
const MANY_CALLS: usize = 6;

/// Clock of an accelerator that records events in the order of its work.
pub struct DeviceClock {
    events: events::Events,
    leading: Tensor<1>,
}

impl DeviceClock {
    /// Clock of `device`; none for a host, and where the driver has no such events.
    pub fn of(device: &Device) -> Option<Self> {
        let events = events::Events::of(device)?;
        Some(Self { events, leading: Tensor::ones([LEADING_VALUES], device) })
    }

    /// Time of a call, of which `calls` makes as many as it is told: exact where the host queues them all within the
    /// time of the leading operations; otherwise the device's waits are part of it.
    ///
    /// The end of a window is late by the time that the host takes to wake up. It is the same for few calls and for
    /// many, so that their difference has no part of it.
    pub fn time(&self, mut calls: impl FnMut(usize) -> Result<(), RoutineError>) -> Result<Duration, RoutineError> {
        let few = self.window(|| calls(FEW_CALLS))?;
        let many = self.window(|| calls(MANY_CALLS))?;
        Ok(many.saturating_sub(few) / (MANY_CALLS - FEW_CALLS) as u32)
    }

    /// Time of the leading operations and those that `calls` queues, to the end of the wait for them.
    fn window(&self, calls: impl FnOnce() -> Result<(), RoutineError>) -> Result<Duration, RoutineError> {
        self.events.between(|| {
            // Held until the end: an operation whose result is dropped before it is needed is not computed.
            let _leading = LEADING_SUMMANDS.map(|value| self.leading.clone() + value);
            calls()
        })
    }
}

#[cfg(feature = "cube")]
mod events {
    use std::time::Duration;

    use burn::backend::DispatchDevice;
    use burn::tensor::Device;
    use cubecl::client::Client;
    use cubecl::future::block_on;
    use cubecl::profile::TimingMethod;

    use super::RoutineError;

    /// Events in the queue of the calling thread's work.
    pub struct Events(Client);

    impl Events {
        pub fn of(device: &Device) -> Option<Self> {
            let DispatchDevice::Cube(device) = device.as_dispatch() else { return None };
            let client = device.client();
            (client.properties().timing_method == TimingMethod::Device).then_some(Self(client))
        }

        /// Time from an event before `work` is queued to one after it.
        pub fn between(&self, work: impl FnOnce() -> Result<(), RoutineError>) -> Result<Duration, RoutineError> {
            let window = self.0.profile_start().map_err(RoutineError::failed)?;
            if let Err(error) = work() {
                self.0.profile_abandon(window);
                return Err(error);
            }
            let profile = self.0.profile_end(window).map_err(RoutineError::failed)?;
            let ticks = block_on(profile.resolve());
            ticks.map(|ticks| ticks.duration()).ok_or_else(|| RoutineError::failed("the device recorded no time"))
        }
    }
}

#[cfg(not(feature = "cube"))]
mod events {
    use std::time::Duration;

    use burn::tensor::Device;

    use super::RoutineError;

    /// There are no events in a build without accelerators.
    pub enum Events {}

    impl Events {
        pub fn of(_device: &Device) -> Option<Self> {
            None
        }

        pub fn between(&self, _work: impl FnOnce() -> Result<(), RoutineError>) -> Result<Duration, RoutineError> {
            match *self {}
        }
    }
}
