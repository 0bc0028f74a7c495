//! Copy of the input within the memory of the device: a lower bound on the time of every strategy that reads it.

use burn::tensor::{Device, Tensor};
use firefly_app::device::DeviceName;
use rayon::prelude::*;
use thiserror::Error;

use crate::harness::problem::Problem;
use crate::harness::routine::{Routine, RoutineError, RoutineOutput, checksum};
use crate::harness::runner::COPY_BASELINE;
use crate::harness::strategy::BenchStrategy;
use crate::harness::verification::{CaseError, Verification, Verified, run_and_check};

/// Number of values from which a second thread saves time.
const PARALLEL_VALUES: usize = 1 << 18;
/// Distance in values between those that the checksum reads: a page.
const STRIDE: usize = 1024;

/// Input sets that can be copied, each in several parts.
pub trait CopyInputs {
    /// The sets in host memory.
    fn host_parts(&self) -> Vec<Vec<&[f32]>>;

    /// The sets on the device, parts in the same order.
    fn device_parts(&self) -> Vec<&[Tensor<2>]>;

    /// Device of the tensors.
    fn device(&self) -> &Device;
}

/// Strategy that copies the input: on a host by its processor, on an accelerator by a kernel of Burn's that reads every
/// value and writes it.
pub fn strategy<P: Problem<Inputs: CopyInputs> + 'static>() -> BenchStrategy<P> {
    BenchStrategy::new(
        COPY_BASELINE,
        "a copy of the input in the memory of the device, the least time that memory allows",
        move |problem: &P, inputs: &P::Inputs, _| {
            if DeviceName::of(inputs.device()).kind().is_host() {
                let sets = inputs.host_parts();
                let rows = problem.size().rows * sets.len();
                checked(Box::new(CopyRoutine::new(sets)), rows)
            } else {
                let sets = inputs.device_parts();
                let rows = problem.size().rows * sets.len();
                checked(
                    Box::new(DeviceCopyRoutine { sets, device: inputs.device(), copies: Vec::new(), last: 0 }),
                    rows,
                )
            }
        },
    )
    .without_competing()
}

/// The copy is not the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the copy differs from the input")]
struct CopyMismatch;

struct CopyRoutine<'a> {
    sets: Vec<Vec<&'a [f32]>>,
    copies: Vec<Vec<f32>>,
    threads: usize,
    last: usize,
}

impl<'a> CopyRoutine<'a> {
    fn new(sets: Vec<Vec<&'a [f32]>>) -> Self {
        let copies: Vec<Vec<f32>> = sets[0].iter().map(|part| vec![0.0; part.len()]).collect();
        let values: usize = copies.iter().map(Vec::len).sum();
        let threads = if values < PARALLEL_VALUES { 1 } else { rayon::current_num_threads() };
        Self { sets, copies, threads, last: 0 }
    }
}

/// Copies every set, and checks the copies. `rows` are those of all sets.
fn checked<'a, R: CopiedSets + 'a>(mut routine: Box<R>, rows: usize) -> Result<Verified<'a>, CaseError> {
    let count = routine.count();
    let checksums =
        run_and_check(routine.as_mut(), count, |_, right: &bool| if *right { Ok(()) } else { Err(CopyMismatch) })?;
    let verification = Verification { rows, tolerance: 0.0, error: 0.0, ranking: None };
    Ok(Verified::exact(routine, checksums, verification))
}

/// Copies of input sets, whose output says whether the last copy is the input.
trait CopiedSets: RoutineOutput<bool> {
    /// Number of sets.
    fn count(&self) -> usize;
}

impl CopiedSets for CopyRoutine<'_> {
    fn count(&self) -> usize {
        self.sets.len()
    }
}

impl Routine for CopyRoutine<'_> {
    fn run(&mut self, set: usize) -> Result<(), RoutineError> {
        for (copy, part) in self.copies.iter_mut().zip(&self.sets[set]) {
            if self.threads == 1 {
                copy.copy_from_slice(part);
            } else {
                let chunk = part.len().div_ceil(self.threads);
                let pieces = copy.par_chunks_mut(chunk).zip(part.par_chunks(chunk));
                pieces.for_each(|(copy, part)| copy.copy_from_slice(part));
            }
        }
        self.last = set;
        Ok(())
    }

    fn checksum(&self) -> u64 {
        let values = self.copies.iter().flat_map(|copy| copy.iter().step_by(STRIDE));
        values.fold(0, |sum, value| sum.rotate_left(8) ^ u64::from(value.to_bits()))
    }
}

/// Whether the copy is the input.
impl RoutineOutput<bool> for CopyRoutine<'_> {
    fn output(&self) -> Result<bool, RoutineError> {
        Ok(self.copies == self.sets[self.last])
    }
}

/// Copies on the device: each part times one, which keeps its bits.
struct DeviceCopyRoutine<'a> {
    sets: Vec<&'a [Tensor<2>]>,
    device: &'a Device,
    copies: Vec<Tensor<2>>,
    last: usize,
}

impl DeviceCopyRoutine<'_> {
    fn values(tensors: &[Tensor<2>]) -> Result<Vec<Vec<f32>>, RoutineError> {
        let read = |tensor: &Tensor<2>| {
            let data = tensor.clone().try_into_data().map_err(RoutineError::burn)?;
            data.try_to_vec::<f32>().map_err(RoutineError::burn)
        };
        tensors.iter().map(read).collect()
    }
}

impl Routine for DeviceCopyRoutine<'_> {
    fn run(&mut self, set: usize) -> Result<(), RoutineError> {
        self.copies = self.sets[set].iter().map(|part| part.clone() * 1.0).collect();
        self.last = set;
        self.device.sync().map_err(RoutineError::burn)
    }

    fn checksum(&self) -> u64 {
        let parts = Self::values(&self.copies).unwrap_or_default();
        parts.iter().fold(0, |sum, part| sum.rotate_left(8) ^ checksum(bytemuck::cast_slice(part)))
    }

    fn release(&mut self) {
        self.copies.clear();
    }
}

impl RoutineOutput<bool> for DeviceCopyRoutine<'_> {
    fn output(&self) -> Result<bool, RoutineError> {
        Ok(Self::values(&self.copies)? == Self::values(self.sets[self.last])?)
    }
}

impl CopiedSets for DeviceCopyRoutine<'_> {
    fn count(&self) -> usize {
        self.sets.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_on_the_device_is_the_input() {
        let device = Device::flex();
        let tensors = [[1.0, f32::MIN_POSITIVE], [-0.0, 3e38]].map(|row| [Tensor::<2>::from_data([row], &device)]);
        let sets: Vec<&[Tensor<2>]> = tensors.iter().map(|set| &set[..]).collect();
        let routine = Box::new(DeviceCopyRoutine { sets, device: &device, copies: Vec::new(), last: 0 });
        let copied = checked(routine, 2).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(copied.checksums.len(), 2);
        assert_ne!(copied.checksums[0], copied.checksums[1]);
    }

    #[test]
    fn every_part_of_a_set_is_copied() {
        let large: Vec<f32> = (0..PARALLEL_VALUES).map(|value| value as f32).collect();
        let (few, many) = ([1.0, 2.0, 3.0], [4.0, 5.0]);
        for sets in [vec![vec![&few[..], &many[..]], vec![&few[..], &many[..]]], vec![vec![&large[..]]]] {
            let count = sets.len();
            let mut copied = checked(Box::new(CopyRoutine::new(sets)), 7).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((copied.checksums.len(), copied.verification.rows), (count, 7));
            copied.routine.run(0).unwrap();
            assert_eq!(copied.routine.checksum(), copied.checksums[0]);
        }
    }
}
