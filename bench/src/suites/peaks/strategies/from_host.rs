//! Peaks of frames in host memory.

use burn::tensor::TensorData;
use firefly_models::WelchPeaks;
use firefly_ops::{ArgumentError, HostPeaks, host_chunks};

use crate::harness::routine::{Routine, RoutineError, RoutineOutput, checksum};
use crate::harness::strategy::BenchStrategy;
use crate::suites::peaks::exact_module::exact_model;
use crate::suites::peaks::inputs::FrameInputs;
use crate::suites::peaks::memory;
use crate::suites::peaks::problem::PeaksProblem;
use crate::suites::peaks::verify::check_peaks;

/// [`WelchPeaks`] from frames in host memory to peaks in host memory, chunk by chunk; `pinned` if the frames lie in
/// chunks in pinned memory before a run.
pub fn from_host(pinned: bool) -> BenchStrategy<PeaksProblem> {
    let (name, summary) = if pinned {
        ("firefly-pinned", "the same from frames in pinned host memory to peaks in host memory, in chunks that overlap")
    } else {
        ("firefly-host", "the same from frames in host memory to peaks in host memory, in chunks that overlap")
    };
    BenchStrategy::new(name, summary, move |problem: &PeaksProblem, inputs, expected| {
        let model = exact_model(problem, inputs.device())?;
        let pinned = pinned.then(Vec::new);
        let routine = HostFramesRoutine { inputs, model, pinned, peaks: HostPeaks::default() };
        check_peaks(Box::new(routine), problem, inputs, expected, true)
    })
    .on_accelerators()
    .with_memory(memory::of_chunks)
}

struct HostFramesRoutine<'a> {
    inputs: &'a FrameInputs,
    model: WelchPeaks,
    pinned: Option<Vec<TensorData>>,
    peaks: HostPeaks,
}

fn chunks(inputs: &FrameInputs, set: usize) -> Result<impl Iterator<Item = TensorData>, ArgumentError> {
    host_chunks(&inputs.host()[set], inputs.row(set, 0).len(), inputs.device())
}

impl Routine for HostFramesRoutine<'_> {
    fn restore(&mut self, set: usize) {
        let Some(pinned) = &mut self.pinned else { return };
        pinned.clear();
        if let Ok(chunks) = chunks(self.inputs, set) {
            pinned.extend(chunks);
        }
    }

    fn run(&mut self, set: usize) -> Result<(), RoutineError> {
        self.peaks = match &mut self.pinned {
            Some(chunks) => self.model.try_forward_from_host(std::mem::take(chunks))?,
            None => self.model.try_forward_from_host(chunks(self.inputs, set)?)?,
        };
        Ok(())
    }

    fn checksum(&self) -> u64 {
        let HostPeaks { bins, power } = &self.peaks;
        checksum(bytemuck::cast_slice(bins)).wrapping_add(checksum(bytemuck::cast_slice(power)))
    }

    fn release(&mut self) {
        self.peaks = HostPeaks::default();
    }
}

impl RoutineOutput<HostPeaks> for HostFramesRoutine<'_> {
    fn output(&self) -> Result<HostPeaks, RoutineError> {
        Ok(self.peaks.clone())
    }
}
