//! `firefly-bench fft`: discrete Fourier transforms, complex and real, forward and inverse, of any lengths in up to three
//! dimensions, none of them normalised.

use std::fmt;
use std::io::Write;
use std::str::FromStr;

use anyhow::Result;
use burn::signal::{cfft, irfft as burn_irfft, rfft as burn_rfft};
use burn::tensor::Tensor;
use clap::ValueEnum;
use firefly_framework::graph::AnyTensor;
use firefly_ops::fft::{
    ComplexTensor, fft, fftn_with, ifft_with, ifftn_with, irfft_with, irfftn_with, rfft, rfftn_with,
};
use firefly_ops::instruction_sets::InstructionSet;
use firefly_ops::{Direction, Norm};
use firefly_reference::fftn::FftnDefinition;

use super::comparison::{Comparison, MeasureOptions};
use super::operation::{Function, Operation, Pass, calls, next};
use super::options::named;
use crate::baselines::copy;
use crate::baselines::transforms::{Placement, complex_rows, half_spectra, instruction_set, real_rows};
use crate::harness::{
    BY_DEVICE_CLOCK, BenchStrategy, Calls, CaseError, CaseRecord, CaseResult, Expectation, Fill, Inputs, NumberRange,
    ParameterMap, Problem, ProblemSpec, QUEUED, TensorRoutine, TensorSpec, check, distinct, floats, numbers, tolerance,
    too_large, value_name, whole, widened,
};

#[derive(Debug, Clone, clap::Args)]
pub struct FftArgs {
    /// Points of a transform, or of each of its dimensions as in 128x128
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "256,1000,4096")]
    pub n: Vec<Shapes>,
    /// Values to transform: complex ones, or real ones to half spectra and back
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "complex,real")]
    pub values: Vec<FftValues>,
    /// Forward or inverse transforms, neither of them normalised
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "forward")]
    #[arg(value_parser = named([("forward", Direction::Forward), ("inverse", Direction::Inverse)]))]
    pub direction: Vec<Direction>,
    /// Transforms per call, from 1; their values take at most 8 GiB
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "32,2048")]
    pub batch: Vec<NumberRange>,
    /// As many transforms per call, at least one, as have about so many points together
    #[arg(long, value_name = "N", conflicts_with = "batch", value_parser = whole::<usize>)]
    pub points: Option<usize>,
    #[command(flatten)]
    pub measure: MeasureOptions,
}

impl FftArgs {
    /// Every combination, those that share inputs next to each other.
    fn problems(&self) -> Vec<FftProblem> {
        let mut problems = Vec::new();
        for shape in Shapes::of(&self.n) {
            let of_points = |points: usize| vec![(points / shape.points()).max(1)];
            for batch in self.points.map_or_else(|| numbers(&self.batch), of_points) {
                for values in distinct(self.values.iter().copied()) {
                    let of = |direction| FftProblem { values, direction, shape: shape.clone(), batch };
                    problems.extend(distinct(self.direction.iter().copied()).into_iter().map(of));
                }
            }
        }
        problems
    }
}

pub fn run(arguments: &FftArgs, out: &mut dyn Write) -> Result<Vec<CaseRecord>> {
    let problems = arguments.problems();
    let of_problems = |name| distinct(problems.iter().map(|problem| problem.spec().parameters.shown(name)));
    let batches: Vec<usize> = distinct(problems.iter().map(|problem| problem.batch));
    let comparison = Comparison {
        command: "fft",
        heading: vec![
            "unnormalised transforms of f32; half spectra where values are real".into(),
            "GB/s: every value read once and written once; error: of a value, of its row's largest magnitude".into(),
        ],
        facts: ParameterMap::default().with("scaling", "none"),
        options: ParameterMap::default()
            .with("values", of_problems("values"))
            .with("direction", of_problems("direction"))
            .with("n", of_problems("n"))
            // One of the two: the other is refused beside it.
            .with("batch", arguments.points.is_none().then_some(batches))
            .with("points", arguments.points),
        problems,
        columns: &["values", "direction", "n", "batch"],
        catalogue: &catalogue(),
        default_baseline: "rustfft",
    };
    comparison.run(&arguments.measure, out)
}

/// Largest number of points of a transform: complex values of 8 GiB.
const MAX_POINTS: usize = 1 << 30;

/// Points along each dimension of a transform, one to three of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FftShape(Vec<usize>);

impl FftShape {
    pub fn row(n: usize) -> Self {
        Self(vec![n])
    }

    pub fn dims(&self) -> &[usize] {
        &self.0
    }

    /// Points along all dimensions but the last.
    pub fn outer(&self) -> usize {
        self.0.iter().rev().skip(1).product()
    }

    pub fn last(&self) -> usize {
        self.0.last().copied().unwrap_or(1)
    }

    pub fn points(&self) -> usize {
        self.outer() * self.last()
    }
}

impl fmt::Display for FftShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&dims.join("x"))
    }
}

/// Item of a list of shapes: `1000`, `128x128`, or `256..4096` for the powers of two from 256 to 4096.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shapes(Vec<FftShape>);

impl Shapes {
    /// The shapes of a list in the order typed, each once.
    pub fn of(list: &[Self]) -> Vec<FftShape> {
        distinct(list.iter().flat_map(|item| item.0.iter().cloned()))
    }
}

impl FromStr for Shapes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let dims: Vec<NumberRange> = text.split('x').map(str::parse).collect::<Result<_, _>>()?;
        if dims.len() > 3 {
            return Err(format!("`{text}` has more than three dimensions"));
        }
        let all = dims.iter().fold(vec![Vec::new()], |shapes: Vec<Vec<usize>>, range| {
            let extended = |shape: Vec<usize>| {
                let with = move |n| shape.iter().copied().chain([n]).collect();
                numbers(std::slice::from_ref(range)).into_iter().map(with)
            };
            shapes.into_iter().flat_map(extended).collect()
        });
        let points = |dims: &Vec<usize>| dims.iter().try_fold(1usize, |points, n| points.checked_mul(*n));
        if all.iter().any(|dims| points(dims).is_none_or(|points| points > MAX_POINTS)) {
            return Err(format!("`{text}` has more than {MAX_POINTS} points"));
        }
        Ok(Self(all.into_iter().map(FftShape).collect()))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FftValues {
    Complex,
    // Real values to the lower half of their spectrum along the last dimension, or back.
    Real,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FftProblem {
    pub values: FftValues,
    pub direction: Direction,
    pub shape: FftShape,
    pub batch: usize,
}

impl FftProblem {
    /// Input and output of one transform: parts (one of real values, two of complex ones), and values of each.
    fn rows(&self) -> [[usize; 2]; 2] {
        let samples = [if self.values == FftValues::Real { 1 } else { 2 }, self.shape.points()];
        let spectrum = match self.values {
            FftValues::Complex => samples,
            FftValues::Real => [2, self.shape.outer() * (self.shape.last() / 2 + 1)],
        };
        if self.direction == Direction::Forward { [samples, spectrum] } else { [spectrum, samples] }
    }

    fn definition(&self) -> FftnDefinition {
        let (real, forward) = (self.values == FftValues::Real, self.direction == Direction::Forward);
        FftnDefinition { dims: self.shape.dims().to_vec(), real, forward }
    }

    fn input_dims(&self) -> Vec<usize> {
        let [[_, len], _] = self.rows();
        let outer = &self.shape.dims()[..self.shape.dims().len() - 1];
        [&[self.batch], outer, &[len / self.shape.outer()]].concat()
    }
}

impl Problem for FftProblem {
    /// Noise; along the last dimension of half spectra, bins that a real spectrum has no imaginary part at have none.
    fn spec(&self) -> ProblemSpec {
        let parameters = ParameterMap::default()
            .with("values", value_name(&self.values))
            .with("direction", format!("{:?}", self.direction).to_lowercase())
            .with("n", self.shape.to_string())
            .with("batch", self.batch);
        let is_half = self.values == FftValues::Real && self.direction == Direction::Inverse;
        let imaginary = if is_half { Fill::HalfSpectrum { n: self.shape.last() } } else { Fill::Noise };
        let fills = [Fill::Noise, imaginary];
        let inputs = fills[..self.rows()[0][0]].iter().map(|fill| TensorSpec::new(self.input_dims(), *fill)).collect();
        let [input, output] = self.rows().map(|[parts, len]| parts * len * size_of::<f32>());
        let refused = too_large(self.batch, input.max(output));
        let spec = ProblemSpec::new(parameters, self.batch, inputs, self.batch.saturating_mul(output));
        ProblemSpec { refused, ..spec }
    }
}

/// Memory of the buffers that strategies keep between runs, and of gradients, in input sets with their results.
const BUFFERS: usize = 8;

pub fn catalogue() -> Vec<BenchStrategy<FftProblem>> {
    use Pass::{Backward, Forward};
    let one_call = "Firefly's transform on the device, one call and a synchronisation";
    let backward = "as firefly, then the gradient in the input of a weighted sum";
    vec![
        calls("firefly", one_call, (), Forward, Calls::One),
        calls("firefly-queued", QUEUED, (), Forward, Calls::InFlight),
        calls("firefly-kernels", BY_DEVICE_CLOCK, (), Forward, Calls::ByDeviceClock),
        in_place(),
        calls("firefly-backward", backward, (), Backward, Calls::One),
        rustfft(Placement::InPlace),
        rustfft(Placement::OutOfPlace),
        burn_signal(),
        copy::strategy(),
    ]
}

impl Operation for FftProblem {
    type Form = ();

    fn function(&self, _form: ()) -> Function {
        match self.shape.dims().len() {
            1 => transform::<2>(self),
            2 => transform::<3>(self),
            _ => transform::<4>(self),
        }
    }

    fn expected(&self, _form: (), inputs: &Inputs) -> CaseResult<Expectation> {
        let rows = inputs.expected_rows("transform", |set, row| self.definition().output(&inputs.row(set, row)));
        let [_, [parts, len]] = self.rows();
        Ok(Expectation::of_rows(rows, [parts, self.batch, len], tolerance(self.shape.points())))
    }

    /// The transform is linear: its gradient does not depend on the input.
    fn expected_gradients(&self, _form: (), weights: &[Vec<f32>], inputs: &Inputs) -> CaseResult<Expectation> {
        let [[parts, len], [_, width]] = self.rows();
        let rows = inputs.expected_rows("gradient", |_, row| {
            let part = |part: &Vec<f32>| widened(&part[row * width..][..width]);
            self.definition().gradient(&weights.iter().map(part).collect())
        });
        Ok(Expectation::of_rows(rows, [parts, self.batch, len], tolerance(self.shape.points())))
    }
}

/// The transform of a problem along all dimensions but the first, without normalisation in either direction.
fn transform<const D: usize>(problem: &FftProblem) -> Function {
    use Direction::{Forward, Inverse};
    use FftValues::{Complex, Real};
    let (values, direction, shape) = (problem.values, problem.direction, problem.shape.dims().to_vec());
    let dims: Vec<usize> = (1..D).collect();
    let (last, is_row) = (problem.shape.last(), D == 2);
    Box::new(move |parts| {
        let mut parts = parts.into_iter();
        let re = next::<D>(&mut parts)?;
        let im = parts.next().map(floats).transpose()?;
        let (s, along) = (Some(&shape[..]), &dims[..]);
        let complex = |re: Tensor<D>| match im {
            Some(im) => ComplexTensor::new(re, im),
            None => re.into(),
        };
        let both = |spectrum: ComplexTensor<D>| vec![spectrum.re.into(), spectrum.im.into()];
        Ok(match (values, direction, is_row) {
            (Complex, Forward, true) => both(fft(complex(re))?),
            (Complex, Forward, false) => both(fftn_with(complex(re), None, along, Norm::Backward)?),
            (Complex, Inverse, true) => both(ifft_with(complex(re), None, 1, Norm::Forward)?),
            (Complex, Inverse, false) => both(ifftn_with(complex(re), None, along, Norm::Forward)?),
            (Real, Forward, true) => both(rfft(re)?),
            (Real, Forward, false) => both(rfftn_with(re, None, along, Norm::Backward)?),
            (Real, Inverse, true) => vec![irfft_with(complex(re), Some(last), 1, Norm::Forward)?.into()],
            (Real, Inverse, false) => vec![irfftn_with(complex(re), s, along, Norm::Forward)?.into()],
        })
    })
}

/// One call with tensors that nothing else holds.
fn in_place() -> BenchStrategy<FftProblem> {
    let summary = "Firefly's transform of a tensor that is given away: complex rows on the host in place";
    BenchStrategy::new("firefly-in-place", summary, |problem: &FftProblem, inputs| {
        let device = inputs.device();
        let copy = |part: AnyTensor| AnyTensor::from_data(part.into_data(), device);
        let copies = move |set| Ok(inputs.operands(set)?.into_iter().map(copy).collect());
        let routine = TensorRoutine::new(device, copies, problem.function(())).with_input_made_ahead();
        check(routine, &problem.expected((), inputs)?, inputs)
    })
    .with_forced_sets(|_| Some(InstructionSet::current().name()))
}

/// rustfft, planned, on interleaved rows; in place also real rows, by realfft on top of it, which overwrites its input.
pub fn rustfft(placement: Placement) -> BenchStrategy<FftProblem> {
    use FftValues::{Complex, Real};
    use Placement::{InPlace, OutOfPlace};
    let (name, summary) = match placement {
        InPlace => ("rustfft", "host: rustfft, planned, interleaved rows in place; realfft where values are real"),
        OutOfPlace => ("rustfft-out", "host: rustfft, planned, interleaved rows from one buffer into another"),
    };
    BenchStrategy::new(name, summary, move |problem: &FftProblem, inputs| {
        let (shape, direction) = ([problem.batch, problem.shape.last()], problem.direction);
        let expectation = problem.expected((), inputs)?;
        match (problem.values, placement, direction) {
            _ if problem.shape.dims().len() > 1 => Err(CaseError::no_transform("rustfft")),
            (Complex, ..) => check(complex_rows(inputs, shape, direction, placement), &expectation, inputs),
            (Real, InPlace, Direction::Forward) => check(real_rows(inputs, shape), &expectation, inputs),
            (Real, InPlace, Direction::Inverse) => check(half_spectra(inputs, shape), &expectation, inputs),
            (Real, OutOfPlace, _) => Err(CaseError::no_transform("rustfft")),
        }
    })
    .with_instruction_set(|_| Some(instruction_set()))
    .with_temporaries(BUFFERS)
}

/// Burn's own transforms: rows of a power of two, complex ones forward only.
pub fn burn_signal() -> BenchStrategy<FftProblem> {
    BenchStrategy::new("burn-signal", "Burn's own cfft, rfft or irfft on the device", |problem: &FftProblem, inputs| {
        let (n, values) = (problem.shape.last(), problem.values);
        let is_inverse = problem.direction == Direction::Inverse;
        if problem.shape.dims().len() > 1 || !n.is_power_of_two() || (values == FftValues::Complex && is_inverse) {
            return Err(CaseError::no_transform("burn-signal"));
        }
        let sets = inputs.tensors();
        let call = move |parts: &Vec<Tensor<2>>| {
            let (re, im) = (parts[0].clone(), parts.get(1).cloned());
            Ok(match (values, im) {
                (FftValues::Complex, Some(im)) => <[_; 2]>::from(cfft(re, im, 1, None)).to_vec(),
                (FftValues::Real, Some(im)) => vec![burn_irfft(re, im, 1, Some(n))],
                (_, None) => <[_; 2]>::from(burn_rfft(re, 1, None)).to_vec(),
            })
        };
        // Burn divides inverse transforms by n.
        let scale = if is_inverse { n as f64 } else { 1.0 };
        let routine = TensorRoutine::new(inputs.device(), move |set: usize| Ok(&sets[set]), call);
        check(routine, &Expectation { scale, ..problem.expected((), inputs)? }, inputs)
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        arguments: FftArgs,
    }

    fn parsed(text: &str) -> Vec<String> {
        Shapes::of(&[text.parse().unwrap()]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn shapes_are_numbers_separated_by_x() {
        assert_eq!(parsed("1000"), ["1000"]);
        assert_eq!(parsed("8..32"), ["8", "16", "32"]);
        assert_eq!(parsed("12x5x7"), ["12x5x7"]);
        let shape = &Shapes::of(&["12x5x7".parse().unwrap()])[0];
        assert_eq!((shape.outer(), shape.last(), shape.points()), (60, 7, 420));
    }

    #[test]
    fn wrong_shapes_are_refused() {
        let error = |text: &str| text.parse::<Shapes>().unwrap_err();
        assert!(error("12xa").contains("`a` is not a whole number"));
        assert!(error("0x2").contains("numbers start at 1"));
        assert_eq!(error("2x2x2x2"), "`2x2x2x2` has more than three dimensions");
        for text in ["4294967296", "65536x65536", "4294967296x4294967296x2"] {
            assert_eq!(error(text), format!("`{text}` has more than 1073741824 points"));
        }
    }

    fn problems(arguments: &[&str]) -> Vec<FftProblem> {
        Program::parse_from([&["fft"], arguments].concat()).arguments.problems()
    }

    #[test]
    fn a_grid_is_every_combination() {
        let both = ["--values", "complex,real", "--direction", "forward,inverse"];
        let problems = problems(&[&["--n", "8,3x5", "--batch", "1,2"][..], &both].concat());
        assert_eq!(problems.len(), 16);
        let real = &problems[15];
        assert_eq!(real.spec().parameters.to_string(), "values real, direction inverse, n 3x5, batch 2");
        assert_eq!(real.rows(), [[2, 9], [1, 15]]);
        assert_eq!(real.input_dims(), [2, 3, 3]);
        assert_eq!(real.spec().useful_bytes, 2 * (2 * 9 + 15) * 4);
    }

    #[test]
    fn a_number_of_points_is_shared_out() {
        let of = |points| problems(&["--values", "complex", "--n", "1000,7x7", "--points", points]);
        assert_eq!(of("10000").iter().map(|problem| problem.batch).collect::<Vec<_>>(), [10, 204]);
        assert_eq!(of("10").iter().map(|problem| problem.batch).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn values_that_take_too_much_memory_are_refused() {
        let problem = &problems(&["--values", "complex", "--n", "1024", "--batch", "2097152"])[0];
        assert!(problem.spec().refused.unwrap().to_string().contains("at most 1048576"));
    }
}
