//! Routines: what is timed.

use std::time::Duration;

use anyhow::{Result, anyhow};
use rustfft::num_complex::Complex;

/// Computation that is ready to run on any of several input sets.
pub trait Routine: Send {
    /// Restores the input of a set for routines that overwrite it. Not timed.
    fn restore(&mut self, _set: usize) {}

    /// Computes one input set to the end: the device is done, and the result is where the caller of such a computation
    /// needs it. Timed.
    ///
    /// # Errors
    /// If there is no result.
    fn run(&mut self, set: usize) -> Result<()>;

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
    /// If there is none, or it is not of a known type.
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
