//! Peaks of tier fast from a buffer that has nothing but the samples of that tier.

use firefly_models::Tier;
use firefly_ops::ArgumentError;

use super::on_device::kernel_set;
use crate::harness::strategy::BenchStrategy;
use crate::harness::verification::CaseError;
use crate::suites::peaks::exact_module::exact_model;
use crate::suites::peaks::expected::expected_at;
use crate::suites::peaks::inputs::FrameInputs;
use crate::suites::peaks::memory;
use crate::suites::peaks::problem::PeaksProblem;
use crate::suites::peaks::tensor_routine::{MemorySpace, TensorRoutine};
use crate::suites::peaks::verify::check_peaks;

/// [`WelchPeaks`](firefly_models::WelchPeaks) of tier fast on the first two segments of each frame, cut out before a
/// run: what it is worth to store only the samples that are used.
///
/// Its output is compared with the float64 reference of tier fast, and it doesn't compete.
pub fn fastbuf() -> BenchStrategy<PeaksProblem> {
    BenchStrategy::new(
        "fastbuf",
        "Firefly's WelchPeaks module of tier fast, on the device, on frames that were cut to two segments before",
        |problem: &PeaksProblem, inputs: &FrameInputs, expected| {
            let short = PeaksProblem::new(problem.options.n_fft, Tier::Fast, problem.batch, problem.k);
            if short.frame() > problem.frame() {
                let expected = format!("at a --tier whose frames have at least {} samples", short.frame());
                return Err(ArgumentError::new("welch-peaks", "strategy", "fastbuf", expected).into());
            }
            let rows = expected_at(Tier::Fast, problem, inputs, expected).map_err(CaseError::mismatch)?;
            let model = exact_model(&short, inputs.device())?;
            let cut = inputs.cut(short.frame());
            let routine = TensorRoutine::new(cut, MemorySpace::Device, move |signal| Ok(model.try_forward(signal)?));
            check_peaks(routine, problem, inputs, &rows, true)
        },
    )
    .with_forced_sets(kernel_set)
    .with_memory(memory::of_cut_frames)
    .without_competing()
    .by_name()
}
