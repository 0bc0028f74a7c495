//! Routines: what is timed.

use std::time::Duration;

use firefly_framework::graph::GraphError;
use firefly_ops::ArgumentError;
use firefly_ops::from_host::HostError;
use rustfft::num_complex::Complex;
use thiserror::Error;

/// Computation that is ready to run on any of several input sets.
pub trait Routine: Send {
    /// Restores the input of a set for routines that overwrite it. Not timed.
    fn restore(&mut self, _set: usize) {}

    /// Computes one input set to the end: the device is done, and the result is where the caller of such a computation
    /// needs it. Timed.
    ///
    /// # Errors
    /// [`RoutineError`] if there is no result.
    fn run(&mut self, set: usize) -> Result<(), RoutineError>;

    /// Calls of a run: a sample is the time of one of them.
    fn calls(&self) -> usize {
        1
    }

    /// Time of the last run's calls by the device's clock, where that takes the place of the host's.
    fn device_time(&self) -> Option<Duration> {
        None
    }

    /// The last run's result. Not timed.
    ///
    /// # Errors
    /// [`RoutineError`] if there is none, or it is not of a known type.
    fn output(&self) -> Result<Output, RoutineError>;

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
    /// Peaks.
    pub fn of_peaks(bins: Vec<i64>, power: Vec<f32>) -> Self {
        Self { bins, parts: vec![power] }
    }

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
    F: Fn(&mut B, usize) -> Result<(), RoutineError> + Send,
    O: Fn(&B) -> Output + Send,
{
    fn restore(&mut self, set: usize) {
        (self.restore)(&mut self.buffers, set);
    }

    fn run(&mut self, set: usize) -> Result<(), RoutineError> {
        (self.run)(&mut self.buffers, set)
    }

    fn output(&self) -> Result<Output, RoutineError> {
        Ok((self.output)(&self.buffers))
    }
}

/// Reason why a routine has no result.
#[derive(Debug, Error)]
pub enum RoutineError {
    /// An operation refused an argument.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// Frames in host memory could not be processed.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A captured graph could not be replayed.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// Failure that Burn or another library reported, or a result of an unexpected type or shape.
    #[error("{0}")]
    Failed(String),
    /// The device does not time its own work.
    #[error("the device has no clock that can be read")]
    NoDeviceClock,
    /// A timed iteration gave another result than the verified one.
    #[error("iteration {iteration} on set {set} gave another output than the verified one")]
    Changed {
        /// The iteration, from 0, warm-up included.
        iteration: usize,
        /// Its input set.
        set: usize,
    },
}

impl RoutineError {
    /// A failure that was reported.
    pub fn failed(error: impl ToString) -> Self {
        Self::Failed(error.to_string())
    }

    /// There is no result yet.
    pub fn not_run() -> Self {
        Self::failed("nothing was computed")
    }
}

/// Sum over every byte: equal for equal results.
pub fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let whole = words.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
    rest.iter().fold(whole, |sum, &byte| sum.rotate_left(8).wrapping_add(u64::from(byte)))
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
}
