//! Routines, what is timed: of a library on the host, or of tensor operations, from the memory of the device or of the host
//! to either.

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use burn::tensor::{Device, Tensor, TensorData, Transaction};
use firefly_framework::graph::AnyTensor;
use firefly_ops::{ArgumentError, Peaks};
use rustfft::num_complex::Complex;

use super::CaseError;

/// Computation that is ready to run on any of several input sets.
pub trait Routine: Send {
    /// Restores the input of a set for routines that overwrite it. Not timed.
    fn restore(&mut self, _set: usize) {}

    /// Computes one input set to the end: the device is done, and the result is where the caller of such a computation
    /// needs it. Timed.
    fn run(&mut self, set: usize) -> Result<()>;

    /// Time of one call of the last run, which took `elapsed` by the host's clock.
    fn sample(&self, elapsed: Duration) -> Duration {
        elapsed
    }

    /// The last run's result. Not timed.
    fn output(&self) -> Result<Output>;

    /// The checksum of the last run's result. Not timed.
    fn checksum(&self) -> u64 {
        self.output().map_or(0, |output| output.checksum())
    }

    /// Drops the last run's result, as its caller does before the next run. Timed.
    fn release(&mut self) {}
}

/// Result of a routine in host memory.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Output {
    /// Bins of peaks `[rows, k]`; empty where nothing is chosen.
    pub bins: Vec<i64>,
    /// Values of every tensor, row-major: of peaks their power.
    pub parts: Vec<Vec<f32>>,
}

impl Output {
    /// Real and imaginary parts.
    pub fn of_complex(values: &[Complex<f32>]) -> Self {
        let parts = vec![values.iter().map(|z| z.re).collect(), values.iter().map(|z| z.im).collect()];
        Self { bins: Vec::new(), parts }
    }

    /// The checksum of every byte, which depends on the order of the parts.
    pub fn checksum(&self) -> u64 {
        let bins = checksum(bytemuck::cast_slice(&self.bins));
        self.parts.iter().fold(bins, |sum, part| sum.wrapping_mul(3) ^ checksum(bytemuck::cast_slice(part)))
    }
}

/// Routine of a library on the host: buffers, and functions on them.
pub struct HostRoutine<B, R, F, O> {
    /// Inputs, outputs and plans.
    pub buffers: B,
    /// Restores the input of a set.
    pub restore: R,
    /// Computes a set.
    pub run: F,
    /// Reads the last result.
    pub output: O,
}

impl<B, R, F, O> Routine for HostRoutine<B, R, F, O>
where
    B: Send,
    R: Fn(&mut B, usize) + Send,
    F: Fn(&mut B, usize) -> Result<()> + Send,
    O: Fn(&B) -> Output + Send,
{
    fn restore(&mut self, set: usize) {
        (self.restore)(&mut self.buffers, set);
    }

    fn run(&mut self, set: usize) -> Result<()> {
        (self.run)(&mut self.buffers, set)
    }

    fn output(&self) -> Result<Output> {
        Ok((self.output)(&self.buffers))
    }
}

/// A failure that Burn or another library reported as text.
pub fn failed(error: impl ToString) -> anyhow::Error {
    anyhow!(error.to_string())
}

/// Sum over every byte: equal for equal results.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let whole = words.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
    rest.iter().fold(whole, |sum, &byte| sum.rotate_left(8).wrapping_add(u64::from(byte)))
}

pub fn floats<const D: usize>(tensor: AnyTensor) -> Result<Tensor<D>, ArgumentError> {
    tensor.try_float("firefly-bench", "tensor")
}

/// Calls a generic expression with a tensor of floats.
macro_rules! each_rank {
    ($tensor:expr, $inner:ident => $result:expr) => {{
        let tensor: AnyTensor = $tensor;
        each_rank!(tensor, $inner, $result, 1 2 3 4 5)
    }};
    ($tensor:ident, $inner:ident, $result:expr, $($rank:literal)*) => {
        match $tensor.dims().len() {
            $($rank => {
                let $inner = floats::<$rank>($tensor)?;
                $result
            })*
            rank => bail!("a tensor of {rank} dimensions"),
        }
    };
}

/// A tensor on `device` of these values with the shape and type of another.
pub fn with_values(like: &AnyTensor, values: &[f32], device: &Device) -> AnyTensor {
    AnyTensor::from_data(TensorData::new(values.to_vec(), like.dims()).convert_dtype(like.dtype()), device)
}

/// Gradients of Σ weights · outputs in `inputs`, for outputs of one rank.
pub fn gradients(
    inputs: Vec<AnyTensor>,
    weights: &[AnyTensor],
    forward: impl Fn(Vec<AnyTensor>) -> Result<Vec<AnyTensor>>,
) -> Result<Vec<AnyTensor>> {
    let tracked = |input: AnyTensor| -> Result<AnyTensor> {
        Ok(each_rank!(input, input => input.autodiff().require_grad().into()))
    };
    let inputs = inputs.into_iter().map(tracked).collect::<Result<Vec<_>, _>>()?;
    let mut loss: Option<AnyTensor> = None;
    for (output, weights) in forward(inputs.clone())?.into_iter().zip(weights) {
        loss = Some(each_rank!(output, output => add_weighted(loss, output, weights.clone())?));
    }
    let loss = loss.context("nothing was computed")?;
    // The gradients of a tensor are those of the sum of its values.
    let gradients = each_rank!(loss, loss => loss.backward());
    let gradient = |input: AnyTensor| -> Result<AnyTensor> {
        let gradient = each_rank!(input, input => input.grad(&gradients).map(AnyTensor::from));
        gradient.context("a gradient is missing")
    };
    inputs.into_iter().map(gradient).collect()
}

/// A loss, or none yet, plus weights · output.
fn add_weighted<const D: usize>(loss: Option<AnyTensor>, output: Tensor<D>, weights: AnyTensor) -> Result<AnyTensor> {
    let term = output * floats::<D>(weights)?.autodiff();
    Ok(match loss {
        Some(loss) => (floats::<D>(loss)? + term).into(),
        None => term.into(),
    })
}

/// Result of operations, in the memory where they leave it.
#[derive(Debug, Clone)]
pub enum Computed {
    OnDevice(Vec<AnyTensor>),
    OnHost(Vec<TensorData>),
}

impl From<Peaks<2>> for Computed {
    fn from(peaks: Peaks<2>) -> Self {
        Self::OnDevice(vec![peaks.bins.into(), peaks.power.into()])
    }
}

impl<T: Into<AnyTensor>> From<Vec<T>> for Computed {
    fn from(tensors: Vec<T>) -> Self {
        Self::OnDevice(tensors.into_iter().map(Into::into).collect())
    }
}

/// A result in host memory, read in one transaction: tensors read one by one are copied on first access, after the run.
pub fn read(computed: impl Into<Computed>) -> Result<Vec<TensorData>> {
    let tensors = match computed.into() {
        Computed::OnHost(data) => return Ok(data),
        Computed::OnDevice(tensors) => tensors,
    };
    let mut reads = Transaction::default();
    for tensor in tensors {
        reads = if tensor.is_float() {
            each_rank!(tensor, tensor => reads.register(tensor))
        } else {
            reads.register(tensor.try_int::<2>("firefly-bench", "bins")?)
        };
    }
    reads.try_execute().map_err(failed)
}

/// Values of float64 tensors; fails with tensors of another type.
pub fn read_wide(tensors: Vec<AnyTensor>) -> Result<Vec<Vec<f64>>> {
    read(tensors)?.iter().map(|data| data.try_to_vec::<f64>().map_err(failed)).collect()
}

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

/// Calls of operations on input sets.
pub struct TensorRoutine<'a, S> {
    source: Box<dyn Fn(usize) -> Result<S> + Send + 'a>,
    /// Whether the input is made before the run, and the input if it is.
    ahead: bool,
    given: Option<S>,
    call: Box<dyn Fn(S) -> Result<Computed> + Send + 'a>,
    reads_back: bool,
    device: &'a Device,
    calls: CallRunner,
    result: Option<Computed>,
}

impl<'a, S: Send + 'a> TensorRoutine<'a, S> {
    /// One call per run on what `source` gives of a set; the result stays on `device`, for which the run waits.
    pub fn new<C: Into<Computed> + 'a>(
        device: &'a Device,
        source: impl Fn(usize) -> Result<S> + Send + 'a,
        call: impl Fn(S) -> Result<C> + Send + 'a,
    ) -> Self {
        let (source, call) = (Box::new(source), Box::new(move |input| Ok(call(input)?.into())));
        let calls = CallRunner::new(Calls::One, device);
        Self { source, ahead: false, given: None, call, reads_back: false, device, calls, result: None }
    }

    /// The same, whose input is made anew before each run, not in its time: the call may overwrite it.
    pub fn with_input_made_ahead(self) -> Self {
        Self { ahead: true, ..self }
    }

    /// The same with another number of calls, of which the last one's result is kept.
    pub fn with_calls(self, calls: Calls) -> Self {
        Self { calls: CallRunner::new(calls, self.device), ..self }
    }

    /// The same to host memory: reading the result back is part of a run, and ends it.
    pub fn reading_back(self) -> Self {
        Self { reads_back: true, ..self }
    }

    fn data(&self) -> Result<Vec<TensorData>> {
        read(self.result.clone().context("nothing was computed")?)
    }
}

impl<'a, S: Send + 'a> Routine for TensorRoutine<'a, S> {
    fn restore(&mut self, set: usize) {
        if self.ahead {
            // Memory of the last input, in which its result may lie.
            (self.result, self.given) = (None, None);
            self.given = (self.source)(set).ok();
        }
    }

    fn run(&mut self, set: usize) -> Result<()> {
        let Self { source, given, call, reads_back, device, calls, result, .. } = self;
        calls.run(|count| {
            for _ in 0..count {
                let input = given.take().map_or_else(|| source(set), Ok)?;
                let computed = call(input)?;
                *result = Some(if *reads_back { Computed::OnHost(read(computed)?) } else { computed });
            }
            if *reads_back { Ok(()) } else { device.sync().map_err(failed) }
        })
    }

    fn sample(&self, elapsed: Duration) -> Duration {
        self.calls.device_time.unwrap_or(elapsed / self.calls.count.unwrap_or(1) as u32)
    }

    fn output(&self) -> Result<Output> {
        let mut output = Output::default();
        for data in self.data()? {
            if data.dtype().is_float() {
                output.parts.push(data.try_to_vec::<f32>().map_err(failed)?);
            } else {
                output.bins = data.iter::<i64>().collect();
            }
        }
        Ok(output)
    }

    fn checksum(&self) -> u64 {
        let data = self.data().unwrap_or_default();
        data.iter().fold(0, |sum, data| sum.wrapping_mul(3) ^ checksum(data.as_bytes()))
    }

    /// A result in the memory of an input is dropped when the next input is made: that memory is not the call's.
    fn release(&mut self) {
        if !self.ahead {
            self.result = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_changes_with_every_byte() {
        let bytes: Vec<u8> = (0..29).collect();
        for position in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[position] ^= 1;
            assert_ne!(checksum(&changed), checksum(&bytes), "byte {position}");
        }
    }

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
        assert_eq!(runner.count.unwrap_or(1), *numbers.last().unwrap());
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
