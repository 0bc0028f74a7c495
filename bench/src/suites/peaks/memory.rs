//! Memory that strategies of peaks take beside their inputs, in bytes.

use firefly_models::Tier;

use super::inputs::FrameInputs;
use super::problem::PeaksProblem;
use crate::harness::strategy::MemoryNeed;

/// Copies of the peaks while a result is compared: on the device, read back, and as bins of 64 bits with powers.
const RESULTS: usize = 4;
const VALUE: usize = size_of::<f32>();

/// One operation on the device.
pub fn of_operation(problem: &PeaksProblem) -> MemoryNeed {
    MemoryNeed { held: 0, transient: RESULTS * peaks(problem) }
}

/// Spectra of power, which the host or Burn searches: a sort has indices of 64 bits beside each value, twice.
pub fn of_spectra(problem: &PeaksProblem) -> MemoryNeed {
    let sorted = 2 * (VALUE + size_of::<i64>());
    MemoryNeed { held: 0, transient: power(problem) / VALUE * (VALUE + sorted) + RESULTS * peaks(problem) }
}

/// Burn's own operations: segments before and after the window, their spectra as they are and squared, then as
/// [`of_spectra`].
pub fn of_stock(problem: &PeaksProblem) -> MemoryNeed {
    let segments = problem.batch * problem.options.segments;
    let transforms = segments * VALUE * (2 * problem.options.n_fft + 4 * problem.options.bins());
    MemoryNeed { held: 0, transient: transforms + of_spectra(problem).transient }
}

/// Complex spectra of every segment, as they are, in another layout, and read back.
pub fn of_read_spectra(problem: &PeaksProblem) -> MemoryNeed {
    let spectra = problem.batch * problem.options.segments * problem.options.n_fft * 2 * VALUE;
    MemoryNeed { held: 0, transient: 3 * spectra + of_spectra(problem).transient }
}

/// A library on the host with buffers of its own: peaks with bins of 32 bits.
pub fn of_host_library(problem: &PeaksProblem) -> MemoryNeed {
    MemoryNeed { held: problem.batch * problem.k * 2 * VALUE, transient: peaks(problem) }
}

/// A copy of the input.
pub fn of_copy(problem: &PeaksProblem) -> MemoryNeed {
    MemoryNeed { held: problem.input_bytes(), transient: 0 }
}

/// Frames in host memory that go to the device in chunks, in pinned memory at most all of them at once.
pub fn of_chunks(problem: &PeaksProblem) -> MemoryNeed {
    MemoryNeed { held: 0, transient: problem.input_bytes() + RESULTS * peaks(problem) }
}

/// Copies of all input sets, cut to the frames of tier fast, on the host and on the device.
pub fn of_cut_frames(problem: &PeaksProblem) -> MemoryNeed {
    let cut = PeaksProblem::new(problem.options.n_fft, Tier::Fast, problem.batch, problem.k);
    MemoryNeed {
        held: FrameInputs::memory(problem, usize::MAX) / problem.frame() * cut.frame(),
        ..of_operation(problem)
    }
}

/// Peaks as an operation gives them: a bin of 64 bits and a power of 32.
fn peaks(problem: &PeaksProblem) -> usize {
    problem.batch * problem.k * (size_of::<i64>() + VALUE)
}

/// Power of every bin.
fn power(problem: &PeaksProblem) -> usize {
    problem.batch * problem.options.bins() * VALUE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_of_burn_take_several_times_the_input() {
        let problem = PeaksProblem::new(256, Tier::Fast, 1000, 16);
        let [operation, stock] = [of_operation(&problem), of_stock(&problem)].map(MemoryNeed::total);
        assert_eq!(operation, 4 * 1000 * 16 * 12);
        assert!(stock > 4 * problem.input_bytes() && stock < 12 * problem.input_bytes(), "{stock}");
    }
}
