//! Firefly's transform of rows in host memory.

use burn::tensor::{Device, Tensor, TensorData, Transaction};
use firefly_ops::butterfly;

use crate::harness::routine::{Produces, Workload, checksum};
use crate::harness::strategy::Strategy;
use crate::harness::verification::{Refusal, Verified};
use crate::suites::fft::coefficients::Network;
use crate::suites::fft::expected::Expected;
use crate::suites::fft::inputs::Inputs;
use crate::suites::fft::problem::TransformProblem;
use crate::suites::fft::verify::Spectrum;
use crate::suites::fft::verify::check;

/// [`butterfly`] with exact twiddles from host memory to host memory.
pub struct FromHost;

impl Strategy<TransformProblem> for FromHost {
    fn name(&self) -> &'static str {
        "firefly-host"
    }

    fn summary(&self) -> &'static str {
        "the same as firefly, from host memory to host memory"
    }

    fn needs_accelerator(&self) -> bool {
        true
    }

    fn verify<'a>(
        &self,
        problem: &TransformProblem,
        inputs: &'a Inputs,
        expected: &Expected,
    ) -> Result<Verified<'a>, Refusal> {
        let (twiddles, _) = inputs.networks().tensors(Network::Exact, inputs.device());
        let run = Run {
            sets: inputs.host(),
            shape: [problem.batch, problem.n],
            device: inputs.device(),
            twiddles,
            spectrum: Vec::new(),
        };
        check(Network::Exact, run, inputs, expected)
    }
}

struct Run<'a> {
    sets: &'a [[Vec<f32>; 2]],
    shape: [usize; 2],
    device: &'a Device,
    twiddles: Tensor<3>,
    /// The parts, `[batch, n]`.
    spectrum: Vec<TensorData>,
}

impl Workload for Run<'_> {
    fn run(&mut self, set: usize) -> Result<(), String> {
        let upload = |part: &Vec<f32>| {
            let mut data = TensorData::new(part.clone(), self.shape);
            self.device.staging(std::iter::once(&mut data));
            Tensor::<2>::from_data(data, self.device)
        };
        let [re, im] = self.sets[set].each_ref().map(upload);
        let (re, im) = butterfly(re, im, self.twiddles.clone(), None).map_err(|error| error.to_string())?;
        let read = Transaction::default().register(re).register(im).try_execute();
        self.spectrum = read.map_err(|error| error.to_string())?;
        Ok(())
    }

    fn checksum(&self) -> u64 {
        self.spectrum.iter().fold(0, |sum, part| sum.wrapping_mul(3) ^ checksum(part.as_bytes()))
    }
}

impl Produces<Spectrum> for Run<'_> {
    fn output(&self) -> Result<Spectrum, String> {
        let [re, im] = self.spectrum.as_slice() else { return Err("nothing was computed".into()) };
        let part = |data: &TensorData| data.as_slice::<f32>().map(<[f32]>::to_vec).map_err(|error| error.to_string());
        Ok(Spectrum { re: part(re)?, im: part(im)? })
    }
}
