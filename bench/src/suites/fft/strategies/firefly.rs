//! Firefly's transforms.

use burn::tensor::Tensor;
use firefly_ops::fft::{ComplexTensor, fft, fftn, ifft, ifftn, irfft, irfftn, rfft, rfftn};
use firefly_ops::{Direction, InstructionSet, Norm};

use super::tensors::{TensorParts, sets};
use crate::harness::calls::{BY_DEVICE_CLOCK, Calls, QUEUED};
use crate::harness::device_routine::DeviceRoutine;
use crate::harness::routine::RoutineError;
use crate::harness::strategy::BenchStrategy;
use crate::harness::verification::{CaseError, Verified};
use crate::suites::fft::expected::ExpectedRows;
use crate::suites::fft::inputs::FftInputs;
use crate::suites::fft::problem::{FftProblem, FftValues};
use crate::suites::fft::verify::check;

/// One call, then a synchronisation.
pub fn one_call() -> BenchStrategy<FftProblem> {
    let summary = "Firefly's transform on the device, one call and a synchronisation";
    strategy("firefly", summary, Calls::One, InputUse::Kept)
}

/// One call with a tensor that nothing else holds.
pub fn in_place() -> BenchStrategy<FftProblem> {
    let summary = "Firefly's transform of a tensor that is given away: complex rows on the host in place";
    strategy("firefly-in-place", summary, Calls::One, InputUse::GivenAway)
}

/// Calls one after the other.
pub fn many_calls() -> BenchStrategy<FftProblem> {
    strategy("firefly-queued", QUEUED, Calls::InFlight, InputUse::Kept).in_flight()
}

/// Calls by the device's clock.
pub fn kernels() -> BenchStrategy<FftProblem> {
    strategy("firefly-kernels", BY_DEVICE_CLOCK, Calls::ByDeviceClock, InputUse::Kept).in_flight()
}

/// Use of a call's input: the caller keeps it, or gives it away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputUse {
    Kept,
    GivenAway,
}

fn strategy(name: &'static str, summary: &'static str, calls: Calls, input: InputUse) -> BenchStrategy<FftProblem> {
    BenchStrategy::new(name, summary, move |problem: &FftProblem, inputs, expected| match problem.shape.dims().len() {
        1 => verified::<2>(problem, inputs, expected, calls, input),
        2 => verified::<3>(problem, inputs, expected, calls, input),
        _ => verified::<4>(problem, inputs, expected, calls, input),
    })
    .with_forced_sets(|_| Some(InstructionSet::current().name()))
}

fn verified<'a, const D: usize>(
    problem: &FftProblem,
    inputs: &'a FftInputs,
    expected: &ExpectedRows,
    calls: Calls,
    input: InputUse,
) -> Result<Verified<'a>, CaseError> {
    let transform = transform::<D>(problem);
    let mut routine = DeviceRoutine::new(sets(problem, inputs), inputs.device(), transform).with_calls(calls);
    if input == InputUse::GivenAway {
        routine = routine.with_input_given_away(copies);
    }
    check(problem, routine, 1.0, inputs, expected)
}

/// Tensors of the same values in memory of their own.
fn copies<const D: usize>(parts: &TensorParts<D>) -> TensorParts<D> {
    parts.iter().map(|part| Tensor::from_data(part.to_data(), &part.device())).collect()
}

/// The transform of a problem along all dimensions but the first.
pub fn transform<const D: usize>(
    problem: &FftProblem,
) -> impl Fn(TensorParts<D>) -> Result<TensorParts<D>, RoutineError> + use<D> {
    let (values, direction, shape) = (problem.values, problem.direction, problem.shape.dims().to_vec());
    let dims: Vec<isize> = (1..D as isize).collect();
    let last = problem.shape.last();
    let is_row = D == 2;
    // Without normalisation in either direction.
    move |mut parts: TensorParts<D>| {
        let im = if parts.len() == 2 { parts.pop() } else { None };
        let (Some(re), s, along) = (parts.pop(), Some(&shape[..]), Some(&dims[..])) else {
            return Err(RoutineError::NotRun);
        };
        let complex = |re: Tensor<D>| match im {
            Some(im) => ComplexTensor::new(re, im),
            None => re.into(),
        };
        let both = |spectrum: ComplexTensor<D>| vec![spectrum.re, spectrum.im];
        Ok(match (values, direction) {
            (FftValues::Complex, Direction::Forward) if is_row => both(fft(complex(re), None, 1, Norm::Backward)?),
            (FftValues::Complex, Direction::Forward) => both(fftn(complex(re), None, along, Norm::Backward)?),
            (FftValues::Complex, Direction::Inverse) if is_row => both(ifft(complex(re), None, 1, Norm::Forward)?),
            (FftValues::Complex, Direction::Inverse) => both(ifftn(complex(re), None, along, Norm::Forward)?),
            (FftValues::Real, Direction::Forward) if is_row => both(rfft(re, None, 1, Norm::Backward)?),
            (FftValues::Real, Direction::Forward) => both(rfftn(re, None, along, Norm::Backward)?),
            (FftValues::Real, Direction::Inverse) if is_row => vec![irfft(complex(re), Some(last), 1, Norm::Forward)?],
            (FftValues::Real, Direction::Inverse) => vec![irfftn(complex(re), s, along, Norm::Forward)?],
        })
    }
}
