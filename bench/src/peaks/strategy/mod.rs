//! Ways to solve a [`Problem`], and the catalogue of them.

mod firefly;
mod psd_top_k;

use burn::tensor::{Int, Tensor, TensorData};
use thiserror::Error;

use crate::input::Inputs;
use crate::peers::{RealFft, RustFft};
use crate::problem::Problem;

pub use firefly::Firefly;
pub use psd_top_k::PsdTopK;

/// A way to solve a problem.
pub trait Strategy: Sync {
    /// The name users select it by.
    fn name(&self) -> &'static str;

    /// What it does, in one line.
    fn summary(&self) -> &'static str;

    /// Whether bins of exactly equal power come lower bin first, as Firefly's contract says.
    fn orders_ties(&self) -> bool {
        true
    }

    /// Everything that needs doing once: plans, buffers, tensors on the device of `inputs`. Called, as is the workload,
    /// on the rayon pool whose threads may be used.
    ///
    /// # Errors
    /// [`Refusal`] if the problem can't be solved this way.
    fn prepare<'a>(&self, problem: &Problem, inputs: &'a Inputs) -> Result<Box<dyn Workload + 'a>, Refusal>;
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

/// A strategy that is ready to run.
pub trait Workload: Send {
    /// Computes the peaks of one input set, has all of them in host memory, and returns the [`checksum`] of every byte.
    ///
    /// # Errors
    /// What went wrong.
    fn run(&mut self, set: usize) -> Result<u64, String>;

    /// The peaks that the last run computed.
    ///
    /// # Errors
    /// If there are none, or they are not of a known type.
    fn peaks(&self) -> Result<HostPeaks, String>;
}

/// Peaks in host memory, `[batch, k]` in row-major order.
#[derive(Debug, Clone, PartialEq)]
pub struct HostPeaks {
    /// Bin numbers; −1 where a row has too few finite bins.
    pub bins: Vec<i64>,
    /// Power at those bins; NaN where the bin is −1.
    pub power: Vec<f32>,
}

/// Every strategy, in the order of the table's rows.
pub fn catalogue() -> Vec<Box<dyn Strategy>> {
    vec![Box::new(Firefly), Box::new(PsdTopK), Box::new(RustFft), Box::new(RealFft)]
}

/// A sum over every byte, that two outputs share if they are equal.
pub fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let whole = words.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
    rest.iter().fold(whole, |sum, &byte| sum.rotate_left(8).wrapping_add(u64::from(byte)))
}

/// Peaks read back from a device.
#[derive(Default)]
struct ReadBack(Option<(TensorData, TensorData)>);

impl ReadBack {
    /// Waits for the peaks and brings them to host memory.
    fn read(&mut self, bins: Tensor<2, Int>, power: Tensor<2>) -> Result<u64, String> {
        let bins = bins.try_into_data().map_err(|error| error.to_string())?;
        let power = power.try_into_data().map_err(|error| error.to_string())?;
        let sum = checksum(bins.as_bytes()).wrapping_add(checksum(power.as_bytes()));
        self.0 = Some((bins, power));
        Ok(sum)
    }

    fn peaks(&self) -> Result<HostPeaks, String> {
        let (bins, power) = self.0.as_ref().ok_or("nothing was computed")?;
        let bins = match bins.as_slice::<i32>() {
            Ok(bins) => bins.iter().map(|&bin| bin.into()).collect(),
            Err(_) => bins.as_slice::<i64>().map_err(|error| error.to_string())?.to_vec(),
        };
        Ok(HostPeaks { bins, power: power.as_slice::<f32>().map_err(|error| error.to_string())?.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_catalogue_are_unique() {
        let mut names: Vec<_> = catalogue().iter().map(|strategy| strategy.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), catalogue().len());
    }

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
