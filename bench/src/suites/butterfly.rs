//! Suite of butterfly transforms, exact and learned, forward and backward.

use burn::signal::cfft;
use burn::tensor::{Device, Tensor, TensorData};
use firefly_framework::graph::AnyTensor;
use firefly_ops::fft::ComplexTensor;
use firefly_ops::options::{MAX_N_FFT, MIN_N_FFT};
use firefly_ops::{Direction, butterfly};
use firefly_reference::butterfly::{exact_twiddles, gated_butterfly};
use firefly_reference::butterfly_gradient::gated_butterfly_gradients;
use firefly_reference::fast_dft::fast_dft;
use firefly_reference::fftn::{joined, split};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::operation::{Function, Operation, Pass, TensorKind, calls, next};
use crate::baselines::copy;
use crate::baselines::transforms::{Placement, complex_rows, instruction_set};
use crate::harness::{
    BY_DEVICE_CLOCK, BenchStrategy, Calls, CaseError, Expectation, Fill, Inputs, ParameterMap, Problem, ProblemError,
    QUEUED, References, RoutineError, TensorRoutine, TensorSpec, check, floats, tolerance, whole_tensors, widened,
};

/// The unnormalised forward transform of each of `batch` rows of `n` complex f32.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ButterflyProblem {
    pub n: usize,
    pub batch: usize,
    /// Share of open gates among the hard gates.
    pub open: f64,
}

impl ButterflyProblem {
    /// Twiddles and gates for the inputs of a seed.
    pub fn coefficients(&self, inputs: &Inputs) -> CoefficientSets {
        CoefficientSets::new(self.n, self.open, inputs.seed)
    }
}

impl Problem for ButterflyProblem {
    fn parameters(&self) -> ParameterMap {
        ParameterMap::default().with("n", self.n).with("batch", self.batch).with("open", self.open)
    }

    fn check(&self) -> Result<(), ProblemError> {
        if !(self.n.is_power_of_two() && (MIN_N_FFT..=MAX_N_FFT).contains(&self.n)) {
            let expected = format!("a power of two from {MIN_N_FFT} to {MAX_N_FFT}");
            return Err(ProblemError::out_of_range("n", self.n, expected));
        }
        ProblemError::check_batch(self.batch, 2 * self.n * size_of::<f32>())
    }

    fn rows(&self) -> usize {
        self.batch
    }

    fn inputs(&self) -> Vec<TensorSpec> {
        vec![TensorSpec::new([self.batch, self.n], Fill::Noise); 2]
    }

    fn output_bytes(&self) -> usize {
        self.input_bytes()
    }
}

pub fn grid(lengths: &[usize], batches: &[usize], open: f64) -> Vec<ButterflyProblem> {
    let of_length = |&n: &usize| batches.iter().map(move |&batch| ButterflyProblem { n, batch, open });
    lengths.iter().flat_map(of_length).collect()
}

/// Amplitude of the difference between learned and exact twiddles.
const MOVED: f32 = 0.1;

/// Kind of twiddles and gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coefficients {
    /// Exact twiddles, no gates: the Fourier transform.
    Exact,
    /// Learned twiddles, every gate open.
    Open,
    /// Learned twiddles, gates anywhere between closed and open.
    Soft,
    /// Learned twiddles, a share of the gates open and the others closed.
    Hard,
}

/// Twiddles and gates of every kind, made from a seed.
#[derive(Debug, Clone)]
pub struct CoefficientSets {
    n: usize,
    exact: Vec<f32>,
    learned: Vec<f32>,
    soft: Vec<f32>,
    hard: Vec<f32>,
}

impl CoefficientSets {
    /// Coefficients for rows of `n` values, a share `open` of the hard gates open, at random places.
    pub fn new(n: usize, open: f64, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let exact: Vec<f32> = exact_twiddles(n).into_iter().map(|value| value as f32).collect();
        let learned = exact.iter().map(|value| value + MOVED * (2.0 * random.random::<f32>() - 1.0)).collect();
        let gates = exact.len() / 2;
        let soft = (0..gates).map(|_| random.random()).collect();
        let count = (open * gates as f64).round() as usize;
        let mut hard: Vec<f32> = (0..gates).map(|gate| if gate < count { 1.0 } else { 0.0 }).collect();
        hard.shuffle(&mut random);
        Self { n, exact, learned, soft, hard }
    }

    /// Twiddles `[log2 n, n/2, 2]`, and gates `[log2 n, n/2]` if there are any.
    pub fn values(&self, coefficients: Coefficients) -> (Vec<f32>, Option<Vec<f32>>) {
        match coefficients {
            Coefficients::Exact => (self.exact.clone(), None),
            Coefficients::Open => (self.learned.clone(), Some(vec![1.0; self.hard.len()])),
            Coefficients::Soft => (self.learned.clone(), Some(self.soft.clone())),
            Coefficients::Hard => (self.learned.clone(), Some(self.hard.clone())),
        }
    }

    /// Twiddles `[log2 n, n/2, 2]` and gates `[log2 n, n/2]` as tensors on `device`.
    pub fn tensors(&self, coefficients: Coefficients, device: &Device) -> (Tensor<3>, Option<Tensor<2>>) {
        let (stages, pairs) = (self.n.trailing_zeros() as usize, self.n / 2);
        let (twiddles, gates) = self.values(coefficients);
        let twiddles = Tensor::from_data(TensorData::new(twiddles, [stages, pairs, 2]), device);
        (twiddles, gates.map(|gates| Tensor::from_data(TensorData::new(gates, [stages, pairs]), device)))
    }
}

/// Gradients are sums over the batch and through every stage twice: they may be off by this many times the tolerance of
/// a transform, relative to the largest of their tensor.
const TOLERANCES: f64 = 8.0;

/// Every strategy, in the order of the table's rows.
pub fn catalogue() -> Vec<BenchStrategy<ButterflyProblem>> {
    use Coefficients::{Exact, Hard, Open, Soft};
    use Pass::{Backward, Forward};
    let gated =
        |name, summary, coefficients| calls(name, summary, coefficients, Forward, Calls::One).without_competing();
    let exact = "Firefly's butterfly on the device, exact twiddles, no gates";
    let backward = "as firefly-soft, then all gradients of a weighted sum";
    vec![
        calls("firefly", exact, Exact, Forward, Calls::One),
        calls("firefly-queued", QUEUED, Exact, Forward, Calls::InFlight),
        calls("firefly-kernels", BY_DEVICE_CLOCK, Exact, Forward, Calls::ByDeviceClock),
        from_host(),
        gated("firefly-open", "Firefly's butterfly on the device, learned twiddles, every gate open", Open),
        gated(
            "firefly-soft",
            "Firefly's butterfly on the device, learned twiddles, gates between closed and open",
            Soft,
        ),
        gated(
            "firefly-hard",
            "Firefly's butterfly on the device, learned twiddles, only the share --open of the gates open",
            Hard,
        ),
        calls("firefly-backward", backward, Soft, Backward, Calls::One).with_temporaries(8),
        rustfft(Placement::InPlace),
        rustfft(Placement::OutOfPlace),
        burn_stock(),
        copy::strategy(),
    ]
}

impl Operation for ButterflyProblem {
    type Form = Coefficients;

    fn function(&self, _form: Coefficients, _kind: &TensorKind) -> Function {
        Box::new(|operands| {
            let mut operands = operands.into_iter();
            let rows = ComplexTensor::new(next::<2>(&mut operands)?, next(&mut operands)?);
            let (twiddles, gates) = (next(&mut operands)?, operands.next().map(floats).transpose()?);
            let ComplexTensor { re, im } = butterfly(rows, twiddles, gates)?;
            Ok(vec![re.into(), im.into()])
        })
    }

    fn extra_operands(&self, form: Coefficients, inputs: &Inputs) -> Vec<AnyTensor> {
        let (twiddles, gates) = self.coefficients(inputs).tensors(form, inputs.device());
        [AnyTensor::from(twiddles)].into_iter().chain(gates.map(AnyTensor::from)).collect()
    }

    fn expected(&self, form: Coefficients, inputs: &Inputs, references: &References) -> Result<Expectation, CaseError> {
        let row = |set: usize, row: usize| joined(&inputs.row(set, row));
        let rows = if form == Coefficients::Exact {
            // The exact transform has exact twiddles, not those rounded to f32.
            references.rows("Exact", |set, at| split(&fast_dft(&row(set, at))))
        } else {
            let (twiddles, gates) = self.coefficients(inputs).values(form);
            let (twiddles, gates) = (widened(&twiddles), gates.map(|gates| widened(&gates)));
            references.rows(&format!("{form:?}"), |set, at| {
                split(&gated_butterfly(&row(set, at), &twiddles, gates.as_deref()))
            })
        };
        Ok(Expectation::of_rows(rows, [2, self.batch, self.n], tolerance(self.n)))
    }

    /// The gradients in twiddles and gates are sums over every row: a set is compared whole.
    fn expected_gradients(
        &self,
        form: Coefficients,
        weights: &[Vec<f32>],
        inputs: &Inputs,
        references: &References,
    ) -> Result<Expectation, CaseError> {
        let (twiddles, gates) = self.coefficients(inputs).values(form);
        let (twiddles, gates) = (widened(&twiddles), gates.map(|gates| widened(&gates)));
        let of_row = |row: usize| {
            let weights: Vec<Vec<f64>> = weights.iter().map(|part| widened(&part[row * self.n..][..self.n])).collect();
            let found =
                gated_butterfly_gradients(&joined(&inputs.row(0, row)), &twiddles, gates.as_deref(), &joined(&weights));
            [split(&found.input), vec![found.twiddles, found.gates]].concat()
        };
        let sum = |mut all: Vec<Vec<f64>>, row: Vec<Vec<f64>>| {
            for (place, (all, row)) in all.iter_mut().zip(row).enumerate() {
                if place < 2 {
                    all.extend(row);
                } else {
                    all.iter_mut().zip(row).for_each(|(sum, term)| *sum += term);
                }
            }
            all
        };
        let pairs = twiddles.len() / 2;
        let nothing = || vec![Vec::new(), Vec::new(), vec![0.0; 2 * pairs], vec![0.0; pairs]];
        let whole = || {
            let gradients = (0..self.batch).into_par_iter().map(of_row).reduce(nothing, sum);
            Ok::<_, CaseError>(whole_tensors(0, gradients).collect())
        };
        let rows = references.whole("gradients", whole)?;
        Ok(Expectation::of_tensors(rows, self.batch, TOLERANCES * tolerance(self.n)))
    }
}

/// [`butterfly`] with exact twiddles from host memory to host memory.
fn from_host() -> BenchStrategy<ButterflyProblem> {
    BenchStrategy::new(
        "firefly-host",
        "the same as firefly, from host memory to host memory",
        |problem: &ButterflyProblem, inputs, references| {
            let (twiddles, _) = problem.coefficients(inputs).tensors(Coefficients::Exact, inputs.device());
            let transform = move |set| {
                let [re, im] = two(&inputs.uploaded(set))?;
                let ComplexTensor { re, im } = butterfly(ComplexTensor::new(re, im), twiddles.clone(), None)?;
                Ok(vec![re, im])
            };
            let routine = TensorRoutine::new(inputs.device(), Ok, transform).reading_back();
            check(routine, &problem.expected(Coefficients::Exact, inputs, references)?, inputs)
        },
    )
    .on_accelerators()
}

/// Real and imaginary parts.
fn two(parts: &[Tensor<2>]) -> Result<[Tensor<2>; 2], RoutineError> {
    let [re, im] = parts else { return Err(RoutineError::failed(format!("{} parts, not 2", parts.len()))) };
    Ok([re.clone(), im.clone()])
}

/// rustfft, planned, on interleaved rows.
fn rustfft(placement: Placement) -> BenchStrategy<ButterflyProblem> {
    let (name, summary) = placement.strategy();
    BenchStrategy::new(name, summary, move |problem: &ButterflyProblem, inputs, references| {
        let routine = complex_rows(inputs, [problem.batch, problem.n], Direction::Forward, placement);
        check(routine, &problem.expected(Coefficients::Exact, inputs, references)?, inputs)
    })
    .with_instruction_set(|_| Some(instruction_set()))
}

/// Burn's own `cfft`.
fn burn_stock() -> BenchStrategy<ButterflyProblem> {
    BenchStrategy::new(
        "burn-stock",
        "Burn's own cfft on the device",
        |problem: &ButterflyProblem, inputs, references| {
            let sets = inputs.tensors();
            let transform = |[re, im]: [Tensor<2>; 2]| Ok(<[_; 2]>::from(cfft(re, im, 1, None)).to_vec());
            let routine = TensorRoutine::new(inputs.device(), move |set| two(&sets[set]), transform);
            check(routine, &problem.expected(Coefficients::Exact, inputs, references)?, inputs)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_out_of_range_are_errors() {
        let reason = |n, batch| ButterflyProblem { n, batch, open: 0.5 }.check().unwrap_err().to_string();
        assert_eq!(reason(12, 1), "n is 12, but must be a power of two from 8 to 65536");
        assert!(reason(131_072, 1).contains("65536"));
        assert!(reason(1024, 1 << 21).contains("at most 1048576"));
    }

    #[test]
    fn a_grid_is_every_combination() {
        let problems = grid(&[8, 16], &[1, 2, 3], 0.5);
        assert_eq!(problems.len(), 6);
        assert_eq!((problems[1].batch, problems[3].n, problems[0].size().useful_bytes), (2, 16, 128));
    }

    #[test]
    fn the_given_share_of_hard_gates_is_open() {
        for (open, count) in [(0.0, 0), (0.25, 3), (0.5, 6), (1.0, 12)] {
            let (_, gates) = CoefficientSets::new(8, open, 1).values(Coefficients::Hard);
            let gates = gates.unwrap();
            assert_eq!(gates.len(), 12);
            assert_eq!(gates.iter().filter(|gate| **gate == 1.0).count(), count);
            assert!(gates.iter().all(|gate| *gate == 0.0 || *gate == 1.0));
        }
    }

    #[test]
    fn a_seed_gives_the_same_coefficients() {
        let of = |seed| CoefficientSets::new(16, 0.5, seed).values(Coefficients::Soft);
        assert_eq!(of(3), of(3));
        assert_ne!(of(3), of(4));
        assert_ne!(of(3).0, CoefficientSets::new(16, 0.5, 3).values(Coefficients::Exact).0);
    }
}
