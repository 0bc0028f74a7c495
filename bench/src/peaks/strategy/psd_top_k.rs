//! Firefly's power spectra, Burn's top-K.

use burn::tensor::Tensor;
use firefly_models::WelchPeaks;

use super::{HostPeaks, ReadBack, Refusal, Strategy, Workload, firefly};
use crate::input::Inputs;
use crate::problem::Problem;

/// `welch_psd` on the device, then Burn's own `topk` there, the peaks read back.
pub struct PsdTopK;

struct Run<'a> {
    model: WelchPeaks,
    inputs: &'a [Tensor<2>],
    read_back: ReadBack,
}

impl Strategy for PsdTopK {
    fn name(&self) -> &'static str {
        "psd-topk"
    }

    fn summary(&self) -> &'static str {
        "Firefly's welch_psd, then Burn's topk_with_indices, both on the device, the peaks read back"
    }

    /// Burn's sort leaves the order of equals open.
    fn orders_ties(&self) -> bool {
        false
    }

    fn prepare<'a>(&self, problem: &Problem, inputs: &'a Inputs) -> Result<Box<dyn Workload + 'a>, Refusal> {
        let inputs = inputs.tensors();
        Ok(Box::new(Run { model: firefly::model(problem, inputs)?, inputs, read_back: ReadBack::default() }))
    }
}

impl Workload for Run<'_> {
    fn run(&mut self, set: usize) -> Result<u64, String> {
        let power = self.model.psd(self.inputs[set].clone()).map_err(|error| error.to_string())?;
        let (power, bins) = power.topk_with_indices(self.model.k(), 1);
        self.read_back.read(bins, power)
    }

    fn peaks(&self) -> Result<HostPeaks, String> {
        self.read_back.peaks()
    }
}
