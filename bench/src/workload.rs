//! What is timed, and what a strategy has to say before it is.

use firefly_ops::ArgumentError;
use thiserror::Error;

use crate::json::{Accuracy, Verification};
use crate::movement::Movement;

/// Something that is ready to run on any of several input sets.
pub trait Workload: Send {
    /// Puts the input back where a run takes it from, for workloads that overwrite it. Not timed.
    fn restore(&mut self, _set: usize) {}

    /// Computes one input set, to the end: what it computed is where the caller of such a computation wants it. Timed.
    ///
    /// # Errors
    /// What went wrong.
    fn run(&mut self, set: usize) -> Result<(), String>;

    /// The [`checksum`] of what the last run computed. Not timed.
    fn checksum(&self) -> u64;
}

/// A workload whose output can be looked at.
pub trait Produces<O>: Workload {
    /// What the last run computed.
    ///
    /// # Errors
    /// If there is nothing, or it is not of a known type.
    fn output(&self) -> Result<O, String>;
}

/// Why a strategy doesn't run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// It isn't made for the problem or the device.
    #[error("{0}")]
    Unsupported(String),
    /// It should have run.
    #[error("{0}")]
    Failed(String),
}

impl From<ArgumentError> for Refusal {
    fn from(error: ArgumentError) -> Self {
        Self::Unsupported(error.to_string())
    }
}

/// A workload whose output was found right for every input set.
pub struct Verified<'a> {
    /// What runs.
    pub workload: Box<dyn Workload + 'a>,
    /// Checksums of its verified output, one an input set.
    pub checksums: Vec<u64>,
    /// What the comparison with the float64 reference found.
    pub verification: Verification,
    /// How well it does what it was trained for; none for an exact computation.
    pub accuracy: Option<Accuracy>,
    /// What it moves; none where that is not asked for.
    pub movement: Option<Box<Movement>>,
}

impl<'a> Verified<'a> {
    /// A workload whose output is exact, or as good as.
    pub const fn exact(workload: Box<dyn Workload + 'a>, checksums: Vec<u64>, verification: Verification) -> Self {
        Self { workload, checksums, verification, accuracy: None, movement: None }
    }
}

/// Checksums of a workload's output for each of `sets` input sets, each output shown to `check`.
///
/// # Errors
/// [`Refusal::Failed`] if a run fails or `check` does.
pub fn run_and_check<O, W: Produces<O> + ?Sized>(
    workload: &mut W,
    sets: usize,
    mut check: impl FnMut(usize, &O) -> Result<(), String>,
) -> Result<Vec<u64>, Refusal> {
    (0..sets)
        .map(|set| {
            workload.restore(set);
            workload.run(set)?;
            check(set, &workload.output()?)?;
            Ok(workload.checksum())
        })
        .collect::<Result<_, String>>()
        .map_err(Refusal::Failed)
}

/// A sum over every byte, that two outputs share if they are equal.
pub fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let whole = words.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
    rest.iter().fold(whole, |sum, &byte| sum.rotate_left(8).wrapping_add(u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_sees_every_byte() {
        let bytes: Vec<u8> = (0..29).collect();
        for position in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[position] ^= 1;
            assert_ne!(checksum(&changed), checksum(&bytes), "byte {position}");
        }
    }
}
