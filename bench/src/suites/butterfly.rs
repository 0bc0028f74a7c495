//! `firefly-bench butterfly`: butterfly transforms, exact and learned, forward and backward.

use std::io::Write;

use anyhow::{Result, ensure};
use burn::tensor::TensorData;
use firefly_framework::graph::AnyTensor;
use firefly_ops::fft::ComplexTensor;
use firefly_ops::options::{MAX_N_FFT, MIN_N_FFT};
use firefly_ops::{Direction, butterfly};
use firefly_reference::butterfly::{exact_twiddles, gated_butterfly};
use firefly_reference::butterfly_gradient::gated_butterfly_gradients;
use firefly_reference::fftn::{joined, split};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::comparison::{Comparison, MeasureOptions};
use super::fft::{self, FftProblem, FftShape, FftValues};
use super::operation::{Function, Operation, Pass, calls, next};
use crate::baselines::copy;
use crate::baselines::transforms::{Placement, instruction_set};
use crate::harness::{
    BY_DEVICE_CLOCK, BenchStrategy, Calls, CaseError, CaseRecord, CaseResult, Expectation, Fill, Inputs, NumberRange,
    ParameterMap, Problem, ProblemSpec, QUEUED, TensorRoutine, TensorSpec, check, floats, numbers, tolerance,
    too_large, whole_tensors, widened,
};

#[derive(Debug, Clone, clap::Args)]
pub struct ButterflyArgs {
    /// Complex values per row: powers of two from 8 to 65536
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "256,1024")]
    pub n: Vec<NumberRange>,
    /// Rows per call, from 1; their values take at most 8 GiB
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "32,2048")]
    pub batch: Vec<NumberRange>,
    /// Share of the gates that are open in firefly-hard, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    pub open: f64,
    #[command(flatten)]
    pub measure: MeasureOptions,
}

pub fn run(arguments: &ButterflyArgs, out: &mut dyn Write) -> Result<Vec<CaseRecord>> {
    let ButterflyArgs { n, batch, open, measure } = arguments;
    ensure!((0.0..=1.0).contains(open), "--open is {open}, but must be from 0 to 1");
    let (lengths, batches) = (numbers(n), numbers(batch));
    let of_length = |&n: &usize| batches.iter().map(move |&batch| ButterflyProblem { n, batch, open: *open });
    let comparison = Comparison {
        command: "butterfly",
        heading: vec![
            format!("unnormalised forward transforms of complex f32; {open} of the gates of firefly-hard open"),
            "GB/s: every value read once and written once; error: of a value, of its row's largest magnitude (of a \
             gradient, of its tensor's)"
                .into(),
        ],
        facts: ParameterMap::default()
            .with("direction", "forward")
            .with("scaling", "none")
            .with("values", "complex f32"),
        options: ParameterMap::default().with("n", lengths.clone()).with("batch", batches.clone()).with("open", *open),
        problems: lengths.iter().flat_map(of_length).collect(),
        columns: &["n", "batch"],
        catalogue: &catalogue(),
        default_baseline: "rustfft",
    };
    comparison.run(measure, out)
}

/// The unnormalised forward transform of each of `batch` rows of `n` complex f32.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ButterflyProblem {
    pub n: usize,
    pub batch: usize,
    /// Share of open gates among the hard gates.
    pub open: f64,
}

/// Amplitude of the difference between learned and exact twiddles.
const MOVED: f32 = 0.1;

impl ButterflyProblem {
    /// Twiddles `[log2 n, n/2, 2]`, and gates `[log2 n, n/2]` if there are any, for the inputs of a seed.
    fn coefficients(&self, form: Coefficients, seed: u64) -> (Vec<f32>, Option<Vec<f32>>) {
        let exact: Vec<f32> = exact_twiddles(self.n).into_iter().map(|value| value as f32).collect();
        let (mut random, count) = (ChaCha8Rng::seed_from_u64(seed), exact.len() / 2);
        let learned = exact.iter().map(|value| value + MOVED * (2.0 * random.random::<f32>() - 1.0)).collect();
        let soft = (0..count).map(|_| random.random()).collect();
        let gates = match form {
            Coefficients::Exact => return (exact, None),
            Coefficients::Open => vec![1.0; count],
            Coefficients::Soft => soft,
            Coefficients::Hard => {
                let open = (self.open * count as f64).round() as usize;
                let mut gates: Vec<f32> = (0..count).map(|gate| if gate < open { 1.0 } else { 0.0 }).collect();
                gates.shuffle(&mut random);
                gates
            }
        };
        (learned, Some(gates))
    }

    fn wide_coefficients(&self, form: Coefficients, seed: u64) -> (Vec<f64>, Option<Vec<f64>>) {
        let (twiddles, gates) = self.coefficients(form, seed);
        (widened(&twiddles), gates.map(|gates| widened(&gates)))
    }

    /// The Fourier transform that exact twiddles compute.
    fn fft(&self) -> FftProblem {
        let (values, direction) = (FftValues::Complex, Direction::Forward);
        FftProblem { values, direction, shape: FftShape::row(self.n), batch: self.batch }
    }
}

impl Problem for ButterflyProblem {
    fn spec(&self) -> ProblemSpec {
        let Self { n, batch, open } = *self;
        let parameters = ParameterMap::default().with("n", n).with("batch", batch).with("open", open);
        let inputs = vec![TensorSpec::new([batch, n], Fill::Noise); 2];
        let row = 2 * n * size_of::<f32>();
        let refused = if n.is_power_of_two() && (MIN_N_FFT..=MAX_N_FFT).contains(&n) {
            too_large(batch, row)
        } else {
            Some(CaseError::out_of_range("n", n, format_args!("a power of two from {MIN_N_FFT} to {MAX_N_FFT}")))
        };
        ProblemSpec { refused, ..ProblemSpec::new(parameters, batch, inputs, batch.saturating_mul(row)) }
    }
}

/// Exact twiddles without gates, or learned twiddles with gates as the summaries of the strategies say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coefficients {
    Exact,
    Open,
    Soft,
    Hard,
}

/// Gradients are sums over the batch and through every stage twice: they may be off by this many times the tolerance of
/// a transform, relative to the largest of their tensor.
const TOLERANCES: f64 = 8.0;

pub fn catalogue() -> Vec<BenchStrategy<ButterflyProblem>> {
    use Coefficients::{Exact, Hard, Open, Soft};
    use Pass::{Backward, Forward};
    let gated =
        |name, summary, coefficients| calls(name, summary, coefficients, Forward, Calls::One).without_competing();
    let of_rustfft = |summary, placement| {
        let library = fft::rustfft(placement);
        of_library(library.name, summary, library).with_instruction_set(|_| Some(instruction_set()))
    };
    let exact = "Firefly's butterfly on the device, exact twiddles, no gates";
    let soft = "Firefly's butterfly on the device, learned twiddles, gates between closed and open";
    let hard = "Firefly's butterfly on the device, learned twiddles, only the share --open of the gates open";
    let backward = "as firefly-soft, then all gradients of a weighted sum";
    vec![
        calls("firefly", exact, Exact, Forward, Calls::One),
        calls("firefly-queued", QUEUED, Exact, Forward, Calls::InFlight),
        calls("firefly-kernels", BY_DEVICE_CLOCK, Exact, Forward, Calls::ByDeviceClock),
        from_host(),
        gated("firefly-open", "Firefly's butterfly on the device, learned twiddles, every gate open", Open),
        gated("firefly-soft", soft, Soft),
        gated("firefly-hard", hard, Hard),
        calls("firefly-backward", backward, Soft, Backward, Calls::One).with_temporaries(8),
        of_rustfft("host: rustfft, planned, interleaved rows in place", Placement::InPlace),
        of_rustfft("host: rustfft, planned, interleaved rows from one buffer into another", Placement::OutOfPlace),
        of_library("burn-stock", "Burn's own cfft on the device", fft::burn_signal()),
        copy::strategy(),
    ]
}

impl Operation for ButterflyProblem {
    type Form = Coefficients;

    fn function(&self, _form: Coefficients) -> Function {
        Box::new(|operands| {
            let mut operands = operands.into_iter();
            let rows = ComplexTensor::new(next::<2>(&mut operands)?, next(&mut operands)?);
            let (twiddles, gates) = (next(&mut operands)?, operands.next().map(floats).transpose()?);
            let ComplexTensor { re, im } = butterfly(rows, twiddles, gates)?;
            Ok(vec![re.into(), im.into()])
        })
    }

    fn extra_operands(&self, form: Coefficients, inputs: &Inputs) -> Vec<AnyTensor> {
        let (stages, pairs) = (self.n.trailing_zeros() as usize, self.n / 2);
        let (twiddles, gates) = self.coefficients(form, inputs.seed);
        let twiddles = TensorData::new(twiddles, [stages, pairs, 2]);
        let gates = gates.map(|gates| TensorData::new(gates, [stages, pairs]));
        [twiddles].into_iter().chain(gates).map(|data| AnyTensor::from_data(data, inputs.device())).collect()
    }

    fn expected(&self, form: Coefficients, inputs: &Inputs) -> CaseResult<Expectation> {
        if form == Coefficients::Exact {
            // The exact transform has exact twiddles, not those rounded to f32.
            return self.fft().expected((), inputs);
        }
        let (twiddles, gates) = self.wide_coefficients(form, inputs.seed);
        let rows = inputs.expected_rows(&format!("{form:?}"), |set, row| {
            split(&gated_butterfly(&joined(&inputs.row(set, row)), &twiddles, gates.as_deref()))
        });
        Ok(Expectation::of_rows(rows, [2, self.batch, self.n], tolerance(self.n)))
    }

    /// The gradients in twiddles and gates are sums over every row: a set is compared whole.
    fn expected_gradients(&self, form: Coefficients, weights: &[Vec<f32>], inputs: &Inputs) -> CaseResult<Expectation> {
        let (twiddles, gates) = self.wide_coefficients(form, inputs.seed);
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
        let rows = inputs.expected_values("gradients", whole)?;
        Ok(Expectation::of_tensors(rows, self.batch, TOLERANCES * tolerance(self.n)))
    }
}

/// [`butterfly`] with exact twiddles from host memory to host memory.
fn from_host() -> BenchStrategy<ButterflyProblem> {
    let summary = "the same as firefly, from host memory to host memory";
    BenchStrategy::new("firefly-host", summary, |problem: &ButterflyProblem, inputs| {
        let form = Coefficients::Exact;
        let function = problem.function(form);
        let extra = problem.extra_operands(form, inputs);
        let transform = move |set: usize| {
            let uploaded: Vec<AnyTensor> = inputs.uploaded(set).into_iter().map(AnyTensor::from).collect();
            function([uploaded, extra.clone()].concat())
        };
        let routine = TensorRoutine::new(inputs.device(), Ok, transform).reading_back();
        check(routine, &problem.expected(form, inputs)?, inputs)
    })
    .on_accelerators()
}

fn of_library(
    name: &'static str,
    summary: &'static str,
    library: BenchStrategy<FftProblem>,
) -> BenchStrategy<ButterflyProblem> {
    BenchStrategy::new(name, summary, move |problem: &ButterflyProblem, inputs| {
        (library.verify)(&problem.fft(), inputs)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_out_of_range_are_errors() {
        let reason = |n, batch| ButterflyProblem { n, batch, open: 0.5 }.spec().refused.unwrap().to_string();
        assert_eq!(reason(12, 1), "n is 12, but must be a power of two from 8 to 65536");
        assert!(reason(131_072, 1).contains("65536"));
        assert!(reason(1024, 1 << 21).contains("at most 1048576"));
    }

    #[test]
    fn the_given_share_of_hard_gates_is_open() {
        for (open, count) in [(0.0, 0), (0.25, 3), (0.5, 6), (1.0, 12)] {
            let (_, gates) = ButterflyProblem { n: 8, batch: 1, open }.coefficients(Coefficients::Hard, 1);
            let gates = gates.unwrap();
            assert_eq!(gates.len(), 12);
            assert_eq!(gates.iter().filter(|gate| **gate == 1.0).count(), count);
            assert!(gates.iter().all(|gate| *gate == 0.0 || *gate == 1.0));
        }
    }

    #[test]
    fn a_seed_gives_the_same_coefficients() {
        let of = |form, seed| ButterflyProblem { n: 16, batch: 1, open: 0.5 }.coefficients(form, seed);
        assert_eq!(of(Coefficients::Soft, 3), of(Coefficients::Soft, 3));
        assert_ne!(of(Coefficients::Soft, 3), of(Coefficients::Soft, 4));
        assert_ne!(of(Coefficients::Soft, 3).0, of(Coefficients::Exact, 3).0);
    }
}
