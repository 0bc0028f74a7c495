//! Transforms of rows on the device; the result stays there.

use burn::signal::cfft;
use burn::tensor::Tensor;
use firefly_ops::{InstructionSet, butterfly};

use crate::harness::calls::{BY_DEVICE_CLOCK, Calls, QUEUED};
use crate::harness::device_routine::DeviceRoutine;
use crate::harness::strategy::BenchStrategy;
use crate::suites::butterfly::coefficients::Coefficients;
use crate::suites::butterfly::inputs::ButterflyInputs;
use crate::suites::butterfly::problem::ButterflyProblem;
use crate::suites::butterfly::verify::check;

/// [`butterfly`] with the given twiddles and gates.
pub fn forward(coefficients: Coefficients) -> BenchStrategy<ButterflyProblem> {
    let (name, summary) = match coefficients {
        Coefficients::Exact => ("firefly", "Firefly's butterfly on the device, exact twiddles, no gates"),
        Coefficients::Open => ("firefly-open", "Firefly's butterfly on the device, learned twiddles, every gate open"),
        Coefficients::Soft => {
            ("firefly-soft", "Firefly's butterfly on the device, learned twiddles, gates between closed and open")
        }
        Coefficients::Hard => (
            "firefly-hard",
            "Firefly's butterfly on the device, learned twiddles, only the share --open of the gates open",
        ),
    };
    let strategy = calls_of(name, summary, coefficients, Calls::One);
    if coefficients == Coefficients::Exact { strategy } else { strategy.without_competing() }
}

/// Calls with exact twiddles one after the other.
pub fn many_calls() -> BenchStrategy<ButterflyProblem> {
    calls_of("firefly-queued", QUEUED, Coefficients::Exact, Calls::InFlight).in_flight()
}

/// Calls with exact twiddles by the device's clock.
pub fn kernels() -> BenchStrategy<ButterflyProblem> {
    calls_of("firefly-kernels", BY_DEVICE_CLOCK, Coefficients::Exact, Calls::ByDeviceClock).in_flight()
}

fn calls_of(
    name: &'static str,
    summary: &'static str,
    coefficients: Coefficients,
    calls: Calls,
) -> BenchStrategy<ButterflyProblem> {
    BenchStrategy::new(name, summary, move |_, inputs: &ButterflyInputs, expected| {
        let (twiddles, gates) = inputs.coefficients().tensors(coefficients, inputs.device());
        let transform = move |[re, im]: [Tensor<2>; 2]| {
            let (re, im) = butterfly(re, im, twiddles.clone(), gates.clone())?;
            Ok(vec![re, im])
        };
        let routine = DeviceRoutine::new(inputs.tensors().to_vec(), inputs.device(), transform).with_calls(calls);
        check(coefficients, routine, inputs, expected)
    })
    .with_forced_sets(|_| Some(InstructionSet::current().name()))
}

/// Burn's own `cfft`.
pub fn burn_stock() -> BenchStrategy<ButterflyProblem> {
    BenchStrategy::new("burn-stock", "Burn's own cfft on the device", |_, inputs: &ButterflyInputs, expected| {
        let transform = |[re, im]: [Tensor<2>; 2]| Ok(<[_; 2]>::from(cfft(re, im, 1, None)).into());
        let routine = DeviceRoutine::new(inputs.tensors().to_vec(), inputs.device(), transform);
        check(Coefficients::Exact, routine, inputs, expected)
    })
}
