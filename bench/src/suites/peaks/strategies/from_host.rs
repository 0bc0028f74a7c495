//! Firefly's peaks of frames in host memory.

use burn::tensor::TensorData;
use firefly_models::WelchPeaks;
use firefly_ops::{HostMemory, HostPeaks, host_chunks};

use crate::harness::routine::{Produces, Workload, checksum};
use crate::harness::strategy::Strategy;
use crate::harness::verification::{Refusal, Verified};
use crate::suites::peaks::expected::ExpectedRow;
use crate::suites::peaks::inputs::Inputs;
use crate::suites::peaks::model::exact_model;
use crate::suites::peaks::problem::PeaksProblem;
use crate::suites::peaks::verify::check_peaks;

/// [`WelchPeaks`] from frames in host memory to peaks in host memory, chunk by chunk.
pub struct FromHost {
    /// Whether the frames lie in chunks in pinned memory before a run.
    pub pinned: bool,
}

impl Strategy<PeaksProblem> for FromHost {
    fn name(&self) -> &'static str {
        if self.pinned { "firefly-pinned" } else { "firefly-host" }
    }

    fn summary(&self) -> &'static str {
        if self.pinned {
            "the same from frames in pinned host memory to peaks in host memory, in chunks that overlap"
        } else {
            "the same from frames in host memory to peaks in host memory, in chunks that overlap"
        }
    }

    fn needs_accelerator(&self) -> bool {
        true
    }

    fn verify<'a>(
        &self,
        problem: &PeaksProblem,
        inputs: &'a Inputs,
        expected: &Vec<ExpectedRow>,
    ) -> Result<Verified<'a>, Refusal> {
        let pinned = self.pinned.then(Vec::new);
        let run = Run { inputs, model: exact_model(problem, inputs.device())?, pinned, peaks: HostPeaks::default() };
        check_peaks(Box::new(run), problem, inputs, expected, true)
    }
}

struct Run<'a> {
    inputs: &'a Inputs,
    model: WelchPeaks,
    pinned: Option<Vec<TensorData>>,
    peaks: HostPeaks,
}

fn chunks(inputs: &Inputs, set: usize, memory: HostMemory) -> Result<impl Iterator<Item = TensorData>, String> {
    host_chunks(&inputs.host()[set], inputs.row(set, 0).len(), memory).map_err(|error| error.to_string())
}

impl Workload for Run<'_> {
    fn restore(&mut self, set: usize) {
        let Some(pinned) = &mut self.pinned else { return };
        pinned.clear();
        if let Ok(chunks) = chunks(self.inputs, set, HostMemory::Pinned) {
            pinned.extend(chunks);
            self.inputs.device().staging(pinned.iter_mut());
        }
    }

    fn run(&mut self, set: usize) -> Result<(), String> {
        let peaks = match &mut self.pinned {
            Some(chunks) => self.model.try_forward_from_host(std::mem::take(chunks)),
            None => self.model.try_forward_from_host(chunks(self.inputs, set, HostMemory::Pageable)?),
        };
        self.peaks = peaks.map_err(|error| error.to_string())?;
        Ok(())
    }

    fn checksum(&self) -> u64 {
        let HostPeaks { bins, power } = &self.peaks;
        checksum(bytemuck::cast_slice(bins)).wrapping_add(checksum(bytemuck::cast_slice(power)))
    }
}

impl Produces<HostPeaks> for Run<'_> {
    fn output(&self) -> Result<HostPeaks, String> {
        Ok(self.peaks.clone())
    }
}
