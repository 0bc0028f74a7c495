//! Routines: what is timed.

use std::time::Duration;

use firefly_framework::graph::GraphError;
use firefly_ops::{ArgumentError, HostError};
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

    /// The [`checksum`] of the last run's result. Not timed.
    fn checksum(&self) -> u64;

    /// Drops the last run's result, as its caller does before the next run. Timed.
    fn release(&mut self) {}
}

/// Routine whose result can be read.
pub trait RoutineOutput<O>: Routine {
    /// The last run's result.
    ///
    /// # Errors
    /// [`RoutineError`] if there is none, or it is not of a known type.
    fn output(&self) -> Result<O, RoutineError>;
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
    /// Burn reported a failure of the device, or data of another type.
    #[error("{0}")]
    Burn(String),
    /// The library of a baseline reported a failure.
    #[error("{0}")]
    Baseline(String),
    /// The device does not time its own work.
    #[error("the device has no clock that can be read")]
    NoDeviceClock,
    /// The routine has not run yet.
    #[error("nothing was computed")]
    NotRun,
    /// Automatic differentiation left out a gradient.
    #[error("a gradient is missing")]
    MissingGradient,
    /// Another number of tensors came back than were computed.
    #[error("{got} outputs, not {expected}")]
    OutputCount {
        /// Tensors that came back.
        got: usize,
        /// Tensors that were computed.
        expected: usize,
    },
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
    /// An error that Burn reported.
    pub fn burn(error: impl ToString) -> Self {
        Self::Burn(error.to_string())
    }
}

/// Sum over every byte: equal for equal results.
pub fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let whole = words.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
    rest.iter().fold(whole, |sum, &byte| sum.rotate_left(8).wrapping_add(u64::from(byte)))
}

/// The [`checksum`] of several parts, which depends on their order.
pub fn parts_checksum(parts: &[Vec<f32>]) -> u64 {
    parts.iter().fold(0, |sum, part| sum.wrapping_mul(3) ^ checksum(bytemuck::cast_slice(part)))
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
