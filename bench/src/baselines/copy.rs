//! Copy of the input within the memory of the device: a lower bound on the time of every strategy that reads it.

use anyhow::{Result, ensure};
use burn::tensor::Tensor;
use firefly_app::device::DeviceName;
use rayon::prelude::*;

use crate::harness::{
    BenchStrategy, COPY_BASELINE, CaseResult, Inputs, Output, Problem, Routine, TensorRoutine, Verified, check_each,
};

/// Number of values from which a second thread saves time.
const PARALLEL_VALUES: usize = 1 << 18;
/// Distance in values between those that the checksum reads: a page.
const STRIDE: usize = 1024;

/// Strategy that copies the input: on a host by its processor, on an accelerator by a kernel of Burn's that reads every
/// value and writes it.
pub fn strategy<P: Problem>() -> BenchStrategy<P> {
    BenchStrategy::new(
        COPY_BASELINE,
        "a copy of the input in the memory of the device, the least time that memory allows where all of it is read",
        |problem: &P, inputs| {
            let mut verified = if DeviceName::of(inputs.device()).kind().is_host() {
                copied(CopyRoutine::new(inputs), inputs)?
            } else {
                copied(device_routine(inputs), inputs)?
            };
            verified.verification.rows = problem.spec().rows * inputs.count();
            Ok(verified)
        },
    )
    .without_competing()
}

fn copied<'a>(routine: impl Routine + 'a, inputs: &Inputs) -> CaseResult<Verified<'a>> {
    check_each(routine, inputs, |set, output, _| {
        ensure!(output.parts == inputs.host(set), "the copy differs from the input");
        Ok(())
    })
}

/// Copies on the device: each part times one, which keeps its bits.
fn device_routine(inputs: &Inputs) -> impl Routine {
    let sets = inputs.tensors();
    TensorRoutine::new(
        inputs.device(),
        move |set| Ok(&sets[set]),
        |parts: &Vec<Tensor<2>>| Ok(parts.iter().map(|part| part.clone() * 1.0).collect::<Vec<_>>()),
    )
}

struct CopyRoutine<'a> {
    inputs: &'a Inputs,
    copies: Vec<Vec<f32>>,
    threads: usize,
}

impl<'a> CopyRoutine<'a> {
    fn new(inputs: &'a Inputs) -> Self {
        let copies: Vec<Vec<f32>> = inputs.host(0).iter().map(|part| vec![0.0; part.len()]).collect();
        let values: usize = copies.iter().map(Vec::len).sum();
        Self { inputs, copies, threads: if values < PARALLEL_VALUES { 1 } else { rayon::current_num_threads() } }
    }
}

impl Routine for CopyRoutine<'_> {
    fn run(&mut self, set: usize) -> Result<()> {
        for (copy, part) in self.copies.iter_mut().zip(self.inputs.host(set)) {
            if self.threads == 1 {
                copy.copy_from_slice(part);
            } else {
                let chunk = part.len().div_ceil(self.threads);
                let pieces = copy.par_chunks_mut(chunk).zip(part.par_chunks(chunk));
                pieces.for_each(|(copy, part)| copy.copy_from_slice(part));
            }
        }
        Ok(())
    }

    fn output(&self) -> Result<Output> {
        Ok(Output { bins: Vec::new(), parts: self.copies.clone() })
    }

    fn checksum(&self) -> u64 {
        let values = self.copies.iter().flat_map(|copy| copy.iter().step_by(STRIDE));
        values.fold(0, |sum, value| sum.rotate_left(8) ^ u64::from(value.to_bits()))
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::harness::{CaseError, Fill, TensorSpec};

    fn inputs(values: usize) -> Inputs {
        let spec = || TensorSpec::new([2, values], Fill::Noise);
        Inputs::generate(vec![spec(), spec()], 2, 1, 2, &Device::flex())
    }

    #[test]
    fn every_part_of_a_set_is_copied() {
        for values in [3, PARALLEL_VALUES / 4] {
            let inputs = inputs(values);
            let mut copied = copied(CopyRoutine::new(&inputs), &inputs).unwrap_or_else(|error| panic!("{error}"));
            copied.routine.run(0).unwrap();
            assert_eq!(copied.routine.checksum(), copied.checksums[0]);
            assert_ne!(copied.checksums[0], copied.checksums[1]);
        }
    }

    #[test]
    fn a_copy_on_the_device_is_the_input_and_another_value_is_not() {
        let inputs = inputs(5);
        assert!(copied(device_routine(&inputs), &inputs).is_ok());
        let sets = inputs.tensors();
        let doubled = |set: usize| Ok(vec![sets[set][0].clone() * 2.0, sets[set][1].clone()]);
        let wrong = TensorRoutine::new(inputs.device(), doubled, Ok);
        assert!(matches!(copied(wrong, &inputs), Err(CaseError::Failed(_))));
    }
}
