//! Transforms of rows in host memory.

use burn::tensor::{Device, Tensor, TensorData, Transaction};
use firefly_ops::butterfly;

use crate::harness::routine::{Routine, RoutineError, RoutineOutput, checksum};
use crate::harness::strategy::BenchStrategy;
use crate::suites::butterfly::coefficients::Coefficients;
use crate::suites::butterfly::problem::ButterflyProblem;
use crate::suites::butterfly::verify::check;

/// [`butterfly`] with exact twiddles from host memory to host memory.
pub fn from_host() -> BenchStrategy<ButterflyProblem> {
    BenchStrategy::new(
        "firefly-host",
        "the same as firefly, from host memory to host memory",
        |problem: &ButterflyProblem, inputs, expected| {
            let (twiddles, _) = inputs.coefficients().tensors(Coefficients::Exact, inputs.device());
            let routine = HostTransformRoutine {
                sets: inputs.host(),
                shape: [problem.batch, problem.n],
                device: inputs.device(),
                twiddles,
                spectrum: Vec::new(),
            };
            check(Coefficients::Exact, routine, inputs, expected)
        },
    )
    .on_accelerators()
}

struct HostTransformRoutine<'a> {
    sets: &'a [[Vec<f32>; 2]],
    shape: [usize; 2],
    device: &'a Device,
    twiddles: Tensor<3>,
    /// Real and imaginary parts, `[batch, n]`.
    spectrum: Vec<TensorData>,
}

impl Routine for HostTransformRoutine<'_> {
    fn run(&mut self, set: usize) -> Result<(), RoutineError> {
        let upload = |part: &Vec<f32>| {
            let mut data = TensorData::new(part.clone(), self.shape);
            self.device.staging(std::iter::once(&mut data));
            Tensor::<2>::from_data(data, self.device)
        };
        let [re, im] = self.sets[set].each_ref().map(upload);
        let (re, im) = butterfly(re, im, self.twiddles.clone(), None)?;
        let read = Transaction::default().register(re).register(im).try_execute();
        self.spectrum = read.map_err(RoutineError::burn)?;
        Ok(())
    }

    fn checksum(&self) -> u64 {
        self.spectrum.iter().fold(0, |sum, part| sum.wrapping_mul(3) ^ checksum(part.as_bytes()))
    }

    fn release(&mut self) {
        self.spectrum.clear();
    }
}

impl RoutineOutput<Vec<Vec<f32>>> for HostTransformRoutine<'_> {
    fn output(&self) -> Result<Vec<Vec<f32>>, RoutineError> {
        if self.spectrum.is_empty() {
            return Err(RoutineError::NotRun);
        }
        let part = |data: &TensorData| data.as_slice::<f32>().map(<[f32]>::to_vec).map_err(RoutineError::burn);
        self.spectrum.iter().map(part).collect()
    }
}
