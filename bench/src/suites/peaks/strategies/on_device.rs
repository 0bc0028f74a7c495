//! Peaks of frames on the device; the peaks stay there.

use firefly_models::Peaks;
use firefly_models::testing::{Formulation, StockWelchPeaks};
use firefly_ops::{InstructionSet, welch_instruction_set};

use crate::harness::calls::{BY_DEVICE_CLOCK, Calls, QUEUED};
use crate::harness::strategy::BenchStrategy;
use crate::suites::peaks::exact_module::{config, exact_model};
use crate::suites::peaks::memory;
use crate::suites::peaks::problem::PeaksProblem;
use crate::suites::peaks::tensor_routine::{MemorySpace, TensorRoutine};
use crate::suites::peaks::verify::check_peaks;

/// Name of the strategy that calls the fused operation.
pub(super) const FIREFLY: &str = "firefly";

/// [`WelchPeaks`](firefly_models::WelchPeaks).
pub fn firefly() -> BenchStrategy<PeaksProblem> {
    calls_of_module(FIREFLY, "Firefly's WelchPeaks module on the device", Calls::One)
}

/// Calls of it one after the other.
pub fn many_calls() -> BenchStrategy<PeaksProblem> {
    calls_of_module("firefly-queued", QUEUED, Calls::InFlight).in_flight()
}

/// Calls of it by the device's clock.
pub fn kernels() -> BenchStrategy<PeaksProblem> {
    calls_of_module("firefly-kernels", BY_DEVICE_CLOCK, Calls::ByDeviceClock).in_flight()
}

fn calls_of_module(name: &'static str, summary: &'static str, calls: Calls) -> BenchStrategy<PeaksProblem> {
    BenchStrategy::new(name, summary, move |problem: &PeaksProblem, inputs, expected| {
        let model = exact_model(problem, inputs.device())?;
        let routine = TensorRoutine::new(inputs, MemorySpace::Device, move |signal| Ok(model.try_forward(signal)?));
        check_peaks(routine.with_calls(calls), problem, inputs, expected, true)
    })
    .with_forced_sets(kernel_set)
    .with_memory(memory::of_operation)
}

/// Firefly's power spectra, then Burn's top-K. Burn's sort leaves the order of equal powers open.
pub fn psd_top_k() -> BenchStrategy<PeaksProblem> {
    BenchStrategy::new(
        "psd-topk",
        "Firefly's welch_psd, then Burn's topk_with_indices, both on the device",
        |problem: &PeaksProblem, inputs, expected| {
            let model = exact_model(problem, inputs.device())?;
            let routine = TensorRoutine::new(inputs, MemorySpace::Device, move |signal| {
                let (power, bins) = model.try_psd(signal)?.topk_with_indices(model.k(), 1);
                Ok(Peaks { bins, power })
            });
            check_peaks(routine, problem, inputs, expected, false)
        },
    )
    .with_forced_sets(kernel_set)
    .with_memory(memory::of_spectra)
}

/// Burn's own operations, as a user of Burn alone would write them. Burn's sort leaves the order of equal powers open.
pub fn burn_stock() -> BenchStrategy<PeaksProblem> {
    BenchStrategy::new(
        "burn-stock",
        "Burn's own operations on the device: unfold, window, rfft, power, mean, topk_with_indices",
        |problem: &PeaksProblem, inputs, expected| {
            let stock = StockWelchPeaks::new(&config(problem), Formulation::Unfold, inputs.device())?;
            let routine = TensorRoutine::new(inputs, MemorySpace::Device, move |signal| Ok(stock.forward(signal)));
            check_peaks(routine, problem, inputs, expected, false)
        },
    )
    .with_memory(memory::of_stock)
}

/// Instruction set of the fused kernel on the calling thread.
pub(super) fn kernel_set(problem: &PeaksProblem) -> Option<&'static str> {
    welch_instruction_set(problem.options.n_fft).map(InstructionSet::name)
}
